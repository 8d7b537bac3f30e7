/*
 * Instances, which are chosen by name, and rows that others add to a group.
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

#include "base/mem.h"
#include "help.h"

/* What part 1 added; the others added nothing. */
static const struct sample_added *
added_to(const struct conf *c)
{
    const struct sample *s = conf_settings(c);

    assert_int_equal(s->parts.count, 3);
    assert_null(s->parts.settings[0]);
    return s->parts.settings[1];
}

static const struct sample_voice *
voice_of(const struct conf *c, size_t i)
{
    const struct sample_speaker *speakers = added_to(c)->speakers.items;

    return speakers[i].voice.settings;
}

static void
test_is_found_by_name(void **state)
{
    struct conf *c = help_load(
        "port = 1; speakers = ( { voice = \"b\"; other = \"a\"; }, { voice = "
        "\"a\"; "
        "other = \"a\"; } );\n"
        "voices = ( { name = \"a\"; speed = 1; }, { name = \"b\"; } );");

    (void)state;
    assert_int_equal(voice_of(c, 0)->speed, 5);
    assert_int_equal(voice_of(c, 1)->speed, 1);
    conf_free(&c);
}

static void
test_the_only_one_is_the_default(void **state)
{
    struct conf *c = help_load(
        "port = 1; voices = { name = \"a\"; speed = 7; }; speakers = ( {} );");
    const struct sample_speaker *speakers = added_to(c)->speakers.items;

    (void)state;
    assert_int_equal(voice_of(c, 0)->speed, 7);
    assert_string_equal(speakers[0].other.name.ptr, "a");
    conf_free(&c);
}

static void
test_refused(void **state)
{
    (void)state;
    help_refused(
        "port = 1; speakers = (\n {\n voice = \"mian\"; } );\n"
        "voices = ( { name = \"main\"; } );",
        "t.conf:3: speakers.voice: there is no voices \"mian\"; did you mean "
        "\"main\"?\n");
    help_refused(
        "port = 1; speakers = (\n { voice = \"x\"; } );",
        "t.conf:2: speakers.voice: there is no voices \"x\" in the file\n");
    help_refused("port = 1; speakers = (\n { } );",
                 "t.conf:2: speakers.voice: there is no voices in the file\n");
    help_refused("port = 1; speakers = (\n { other = \"a\"; } );\n"
                 "voices = ( { name = \"a\"; }, { name = \"b\"; } );",
                 "t.conf:2: speakers.voice must be one of \"a\", \"b\"\n");
    help_refused(
        "port = 1; speakers = { voice = 5; };\nvoices = { name = \"a\"; };",
        "t.conf:1: speakers.voice must be a string, not 5\n");
}

static void
test_names_are_there_and_different(void **state)
{
    (void)state;
    help_refused(
        "port = 1; voices = (\n { speed = 2; } );",
        "t.conf:2: voices.name is missing, it must be a string of at least "
        "1 bytes\n");
    help_refused(
        "port = 1; voices = (\n { name = \"a\"; },\n { name = \"b\"; },\n"
        " { name = \"a\"; } );",
        "t.conf:4: voices: \"a\" is the name of the one in line 2\n");
}

static void
test_keys_of_parts_are_known(void **state)
{
    (void)state;
    help_refused("port = 1; volme = 1;",
                 "t.conf:1: volme is unknown, did you mean "
                 "\"volume\"?\n");
    help_refused("port = 1; zzzzzzzzzz = 1;",
                 "t.conf:1: zzzzzzzzzz is unknown; there are: "
                 "workers, port, pid, user, token, access, secrets, live, "
                 "units, store, format, voices, speakers, volume\n");
    help_refused(
        "port = 1; volume = \"x\";",
        "t.conf:1: volume must be a size in bytes, or with k, m or g, such "
        "as \"16M\", not \"x\"\n");
}

static char *
printed(const struct conf *c)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    if (c != NULL) {
        conf_print(c, out);
    } else {
        conf_print_keys(sample_keys, "", out);
    }
    fclose(out);
    return text;
}

static void
test_what_is_printed_can_be_read(void **state)
{
    struct conf *c =
        help_load("port = 1; voices = { name = \"a\"; }; speakers = ( {} );");
    char *text = printed(c);
    struct conf *again = help_load(text);
    char *second = printed(again);
    char *keys = printed(NULL);

    (void)state;
    assert_non_null(strstr(text, "voice = \"a\";"));
    assert_non_null(strstr(text, "volume = \"1K\";"));
    assert_string_equal(text, second);
    assert_non_null(strstr(keys, "\nvoices.speed  int  1..9  \"5\""));
    assert_non_null(strstr(keys, "speakers.voice  instance  voices  -"));
    mem_free(&text);
    mem_free(&second);
    mem_free(&keys);
    conf_free(&c);
    conf_free(&again);
}

static void
test_parts_are_compared(void **state)
{
    struct conf *a = help_load("port = 1; volume = \"1k\";");
    struct conf *b = help_load("port = 1; volume = \"2k\";");
    char *differences;

    (void)state;
    assert_int_equal(conf_same_start(a, b, &differences), -1);
    assert_string_equal(differences, "volume (from \"1K\" to \"2K\")\n");
    mem_free(&differences);
    conf_free(&a);
    conf_free(&b);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_found_by_name),
        cmocka_unit_test(test_the_only_one_is_the_default),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names_are_there_and_different),
        cmocka_unit_test(test_keys_of_parts_are_known),
        cmocka_unit_test(test_what_is_printed_can_be_read),
        cmocka_unit_test(test_parts_are_compared),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
