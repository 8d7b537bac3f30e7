/*
 * Names of voices and variants, with a catalogue that is played here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "resolve.h"

/* ---- the catalogue ---- */

static const struct catalogue_voice voices[] = {
    { .name = { "en-US", 5 }, .file = { "gmw/en-US", 9 } },
    { .name = { "de", 2 }, .file = { "gmw/de", 6 } },
    { .name = { "a+b", 3 }, .file = { "own/a+b", 7 } },
};

const struct catalogue_voice *
catalogue_find(const struct catalogue *c, struct str asked)
{
    (void)c;
    for (size_t i = 0; i < sizeof(voices) / sizeof(voices[0]); i++) {
        if (str_eq_nocase(voices[i].name, asked)) {
            return &voices[i];
        }
    }
    return NULL;
}

struct str
catalogue_variant(const struct catalogue *c, struct str asked)
{
    (void)c;
    return str_eq_nocase(asked, STR("f3"))   ? STR("f3")
           : str_eq_nocase(asked, STR("m1")) ? STR("m1")
                                             : STR_NONE;
}

struct str
catalogue_variant_at(const struct catalogue *c, int64_t index)
{
    (void)c;
    return index == 1 ? STR("f3") : index == 2 ? STR("m1") : STR_NONE;
}

size_t
catalogue_variants(const struct catalogue *c)
{
    (void)c;
    return 2;
}

void
catalogue_nearest(const struct catalogue *c, struct str asked, struct buf *out)
{
    (void)c;
    (void)asked;
    buf_printf(out, "\"de\"");
}

void
catalogue_nearest_variant(const struct catalogue *c, struct str asked,
                          struct buf *out)
{
    (void)c;
    (void)asked;
    (void)out;
}

/* ---- asking ---- */

static struct resolve_defaults defaults;
static struct resolved found;
static struct speech_answer no;
static struct errmsg err;

static int
set_up(void **state)
{
    (void)state;
    defaults = (struct resolve_defaults){ STR("en-US"), STR_NONE, false };
    return 0;
}

static int
ask(const char *voice, const char *speaker, int64_t id)
{
    const struct speech_request asked = { .voice = str_from(voice),
                                          .speaker = str_from(speaker),
                                          .speaker_id = id };

    memset(&found, 0, sizeof(found));
    return resolve_voice(NULL, &defaults, &asked, &found, &no, &err);
}

static void
speaks(const char *voice, const char *speaker, int64_t id, const char *name)
{
    assert_int_equal(ask(voice, speaker, id), 0);
    assert_string_equal(found.name, name);
}

static void
is_refused(const char *voice, const char *speaker, int64_t id, int status,
           const char *field)
{
    assert_int_equal(ask(voice, speaker, id), -1);
    assert_int_equal(no.status, status);
    assert_true(str_eq(no.field, str_from(field)));
    assert_true(no.message.len > 0);
}

/* ---- tests ---- */

static void
the_default_speaks_for_requests_that_name_none(void **state)
{
    (void)state;
    speaks("", "", -1, "en-US");
    assert_true(str_eq(found.file, STR("gmw/en-US")));
    assert_int_equal(found.variant.len, 0);
    defaults.speaker = STR("m1");
    speaks("", "", -1, "en-US+m1");
    speaks("de", "", -1, "de+m1");
    speaks("de", "", 0, "de");
}

static void
variants_of_names_fields_and_numbers(void **state)
{
    (void)state;
    speaks("DE+F3", "", -1, "de+f3");
    speaks("+F3", "", -1, "en-US+f3");
    is_refused("+", "", -1, 404, "voice");
    is_refused("+nobody", "", -1, 400, "voice");
    speaks("de+f3", "m1", -1, "de+m1");
    speaks("de+f3", "m1", 1, "de+f3");
    speaks("de+f3", "m1", 0, "de");
    speaks("de", "", 2, "de+m1");
    speaks("a+b", "", -1, "a+b");
    speaks("a+b+f3", "", -1, "a+b+f3");
}

static void
unknown_voices_are_404(void **state)
{
    (void)state;
    is_refused("nobody", "", -1, 404, "voice");
    assert_non_null(strstr(err.text, "\"de\""));
    is_refused("nobody+f3", "", -1, 404, "voice");
    is_refused("\x01\"", "", -1, 404, "voice");
    assert_null(strchr(err.text, '\x01'));
}

static void
unknown_variants_are_400(void **state)
{
    (void)state;
    is_refused("de+f99", "", -1, 400, "voice");
    assert_non_null(strstr(err.text, "there is no speaker \"f99\""));
    is_refused("de", "f99", -1, 400, "speaker");
    is_refused("de", "", 3, 400, "speaker_id");
    is_refused("de", "", INT64_MAX, 400, "speaker_id");
}

static void
a_lenient_instance_lets_the_default_speak(void **state)
{
    (void)state;
    defaults.lenient = true;
    speaks("nobody", "", -1, "en-US");
    defaults.voice = STR("gone");
    is_refused("", "", -1, 503, "");
    is_refused("nobody", "", -1, 503, "");
    speaks("de", "", -1, "de");
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_default_speaks_for_requests_that_name_none),
        TEST(variants_of_names_fields_and_numbers),
        TEST(unknown_voices_are_404),
        TEST(unknown_variants_are_400),
        TEST(a_lenient_instance_lets_the_default_speak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
