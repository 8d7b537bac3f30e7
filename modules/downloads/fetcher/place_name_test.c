/*
 * Names of results: parts that are safe, templates filled in.
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

#include "base/utf8.h"
#include "fetcher/place_impl.h"

static char shown[4096];

static const char *
safe(struct str s)
{
    struct buf b;

    buf_init(&b, sizeof(shown));
    place_safe_part(s, &b);
    str_copy(shown, sizeof(shown), buf_str(&b));
    buf_clear(&b);
    return shown;
}

static void
test_a_part_stays_as_it_is(void **state)
{
    static const char *const same[] = {
        "Episode 1", "a",     "50% off",      "%(title)s",
        "CON",       "a.b.c", "Ärger 日本 🎵", "it's \"so\" <b>",
        "trailing-", "~root", "a  b",         "$HOME;`id`",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_string_equal(safe(str_from(same[i])), same[i]);
    }
}

static void
test_a_part_is_made_safe(void **state)
{
    static const struct {
        struct str from;
        const char *to;
    } rows[] = {
        { { "", 0 }, "_" },
        { { "   ", 3 }, "_" },
        { { ".", 1 }, "_" },
        { { "..", 2 }, "_" },
        { { "...", 3 }, "_" },
        { { ".hidden", 7 }, "_hidden" },
        { { "  .hidden", 9 }, "_hidden" },
        { { "-rf", 3 }, "_rf" },
        { { "--exec=id", 9 }, "_-exec=id" },
        { { "end. . .", 8 }, "end" },
        { { "../../etc/passwd", 16 }, "_._.._etc_passwd" },
        { { "a/b\\c", 5 }, "a_b_c" },
        { { "a\0b", 3 }, "a_b" },
        { { "a\nb\x7f\x1b[0m", 8 }, "a_b__[0m" },
        { { "\xc2\x85x", 3 }, "_x" },       /* a control of ISO 6429 */
        { { "a\xe2\x80\xaeg", 5 }, "a_g" }, /* from right to left */
        { { "a\xe2\x81\xa6g", 5 }, "a_g" }, /* the same, isolated */
        { { "a\xff\xc3", 3 }, "a__" },      /* not UTF-8 */
        { { "\xed\xa0\x80", 3 }, "___" },   /* a surrogate */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(safe(rows[i].from), rows[i].to);
    }
}

static void
test_a_part_is_cut_between_characters(void **state)
{
    char text[1000];

    (void)state;
    for (size_t i = 0; i + 3 <= sizeof(text); i += 3) {
        memcpy(text + i, "\xe6\x97\xa5", 3);
    }
    assert_int_equal(strlen(safe(str_of(text, 999))), 198);
    assert_true(utf8_valid(str_from(shown)));
    memset(text, 'a', sizeof(text));
    assert_int_equal(strlen(safe(str_of(text, sizeof(text)))), PLACE_PART_MAX);
    text[PLACE_PART_MAX - 1] = '.'; /* the cut leaves a dot at the end */
    assert_int_equal(strlen(safe(str_of(text, sizeof(text)))),
                     PLACE_PART_MAX - 1);
}

static void
test_a_part_is_no_longer_than_parts_are(void **state)
{
    char text[1000];
    struct buf b;

    (void)state;
    memset(text, 'a', sizeof(text));
    buf_init(&b, sizeof(text));
    place_safe(str_of(text, sizeof(text)), sizeof(text), &b);
    assert_int_equal(buf_len(&b), PLACE_PART_MAX);
    buf_clear(&b);
}

/* ---- templates ---- */

static const struct place_field fields[] = {
    { "title", { "AC/DC %(id)s %s", 15 } },
    { "id", { "../x", 4 } },
    { "ext", { "mp4", 3 } },
    { "playlist_index", { "7", 1 } },
    { "playlist_title", { "", 0 } },
    { "city", { "M\xc3\xbcnchen", 8 } },
    { NULL, { "", 0 } },
};

static const char *
fill(const char *template)
{
    struct errmsg err;
    struct buf b;

    buf_init(&b, 200);
    if (place_fill(str_from(template), fields, &b, &err) == 0) {
        str_copy(shown, sizeof(shown), buf_str(&b));
    } else {
        str_copy(shown, sizeof(shown), str_from(err.text));
    }
    buf_clear(&b);
    return shown;
}

static void
test_a_template_is_filled_once(void **state)
{
    (void)state;
    assert_string_equal(fill("%(title)s"), "AC_DC %(id)s %s");
    assert_string_equal(fill("%(id)s.%(ext)s"), ".._x.mp4");
    assert_string_equal(fill("a/%(playlist_title)s/b"), "a/NA/b");
    assert_string_equal(fill("100%%"), "100%");
    assert_string_equal(fill("%(playlist_index)03d"), "007");
    assert_string_equal(fill("%(playlist_index)d"), "7");
    assert_string_equal(fill("%(title)03d"), "AC_DC %(id)s %s");
    assert_string_equal(fill("%(city).2s"), "M\xc3\xbc");
    assert_string_equal(fill("%(city).0s"), "");
    assert_string_equal(fill(""), "");
}

static void
test_a_template_with_a_mistake_is_told(void **state)
{
    static const char *const bad[] = {
        "%",
        "%s",
        "%(title",
        "%(title)",
        "%(title)q",
        "%(title).s",
        "%(title)0s",
        "%(title)05s",
        "%(playlist_index).2d",
        "%(title).99999999999999999999s",
        "%(playlist_index)0999d",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_ptr_equal(strstr(fill(bad[i]), "after '%' stands"), shown);
    }
    assert_string_equal(fill("%(nobody)s"), "there is no field \"nobody\"");
    assert_string_equal(fill("%()s"), "there is no field \"\"");
}

static void
test_a_template_has_a_bound(void **state)
{
    char text[400];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_string_equal(fill(text),
                        "the name that the template makes is too long");
    for (size_t i = 0; i + 9 < sizeof(text); i += 9) {
        memcpy(text + i, "%(title)s", 10);
    }
    assert_string_equal(fill(text),
                        "the name that the template makes is too long");
}

static void
test_settings_are_checked(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(place_check_template(STR("%(title)s.%(ext)s"), &err), 0);
    assert_int_equal(
        place_check_template(
            STR("%(playlist_title)s/%(playlist_index)03d %(title)s.%(ext)s"),
            &err),
        0);
    assert_int_equal(place_check_template(STR("%(titel)s"), &err), -1);
    assert_string_equal(err.text, "there is no field \"titel\"");
    assert_int_equal(place_check_template(STR(""), &err), -1);
    assert_int_equal(place_check_template(STR("a/"), &err), -1);
    assert_int_equal(place_check_template(STR("/a"), &err), -1);
    assert_int_equal(place_check_template(STR("100%"), &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_part_stays_as_it_is),
        cmocka_unit_test(test_a_part_is_made_safe),
        cmocka_unit_test(test_a_part_is_cut_between_characters),
        cmocka_unit_test(test_a_part_is_no_longer_than_parts_are),
        cmocka_unit_test(test_a_template_is_filled_once),
        cmocka_unit_test(test_a_template_with_a_mistake_is_told),
        cmocka_unit_test(test_a_template_has_a_bound),
        cmocka_unit_test(test_settings_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
