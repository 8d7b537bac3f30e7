/*
 * Normalisation of app, tcUrl and name: what clients really send, and what
 * they should not.
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtmp/name.h"

static const struct {
    const char *app, *tc_url, *name; /* as sent */
    const char *want;                /* "app|name|args" */
} rows[] = {
    /* ffmpeg, rtmpdump, GStreamer, OBS */
    { "live", "rtmp://h:1935/live", "movie", "live|movie|" },
    { "live", "rtmp://h:1935/live", "name?token=x&a=b",
      "live|name|token=x&a=b" },
    { "live/inst", "rtmp://h/live/inst", "name?token=x",
      "live|inst/name|token=x" },
    { "live?k=v", "rtmp://h/live?k=v", "name", "live|name|k=v" },
    { "live/", "rtmp://h/live/", "movie", "live|movie|" },
    { "live", "rtmp://h/live", "/movie", "live|movie|" },
    { "live", "rtmp://h/live", "a/b/c", "live|a/b/c|" },
    /* queries in all three places, merged without repeating */
    { "live?a=1", "rtmp://h/live?b=2", "n?c=3", "live|n|c=3&a=1&b=2" },
    { "live?a=1&b=2", "rtmp://h/live?a=1&b=2", "n?b=2", "live|n|b=2&a=1" },
    { "live", "rtmp://h/live?b=2", "n", "live|n|b=2" },
    { "live", "", "n?&&a=1&&", "live|n|a=1" },
    { "live", "", "n?a=1&a=2", "live|n|a=1&a=2" },
    { "live", "", "n?", "live|n|" },
    { "live", "", "n?a=?b", "live|n|a=?b" },
    { "live", "", "n?path=/a//b/..", "live|n|path=/a//b/.." },
    /* the same stream however it is split */
    { "live", "", "inst/movie", "live|inst/movie|" },
    { "live/inst", "", "movie", "live|inst/movie|" },
    { "live/inst/movie", "", "", "live|inst/movie|" },
    { "live/a/b", "", "c/d", "live|a/b/c/d|" },
    /* _definst_ */
    { "live/_definst_", "", "movie", "live|movie|" },
    { "live", "", "_definst_/movie", "live|movie|" },
    { "live/_definst_/x", "", "movie", "live|x/movie|" },
    { "_definst_/live", "", "movie", "live|movie|" },
    { "live", "", "_definst_x", "live|_definst_x|" },
    /* slashes */
    { "/live//", "", "//a///b/", "live|a/b|" },
    { "live//inst", "", "movie//", "live|inst/movie|" },
    /* no app: tcUrl has it; quoted, or odd */
    { "", "rtmp://h/live", "movie", "live|movie|" },
    { "", "'rtmp://h/live/inst'", "movie", "live|inst/movie|" },
    { "", "\"rtmp://h/live?x=1\"", "movie", "live|movie|x=1" },
    { "live", "rtmp://h/%zz", "movie", "live|movie|" },
    { "live", "nonsense", "movie", "live|movie|" },
    { "?k=v", "rtmp://h/live", "movie", "live|movie|k=v" },
    /* an odd but harmless name */
    { "live", "", "..a", "live|..a|" },
    { "live", "", "a..", "live|a..|" },
    { "live", "", "name with space", "live|name with space|" },
    { "live", "", "caf\xc3\xa9", "live|caf\xc3\xa9|" },
    { "live", "", "100%", "live|100%|" },
    { "live", "", "a:b@c", "live|a:b@c|" },
};

static void
table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rtmp_name name;
        struct errmsg err;
        char got[2048];
        int bad = rtmp_name_resolve(&name, str_from(rows[i].app),
                                    str_from(rows[i].tc_url),
                                    str_from(rows[i].name), true, &err);
        if (bad != 0) {
            fail_msg("%s %s: %s", rows[i].app, rows[i].name, err.text);
        }
        snprintf(got, sizeof(got), "%.*s|%.*s|%.*s", STR_ARGS(name.app),
                 STR_ARGS(name.name), STR_ARGS(name.args));
        assert_string_equal(got, rows[i].want);
    }
}

/* Refused, with these words in the reason. */
static const struct {
    const char *app, *tc_url, *name, *reason;
} refused[] = {
    { "live", "rtmp://h/live", "", "no stream" },
    { "live", "", "///", "no stream" },
    { "live", "", "?token=x", "no stream" },
    { "live", "", "_definst_", "no stream" },
    { "", "", "movie", "no application" },
    { "", "rtmp://h", "movie", "no application" },
    { "", "rtmp://h/", "movie", "no application" },
    { "///", "", "movie", "no application" },
    { "live", "", "..", "\"..\"" },
    { "live", "", "../secret", "\"..\"" },
    { "live", "", "a/../b", "\"..\"" },
    { "live", "", "a/./b", "\"..\"" },
    { "..", "", "a", "\"..\"" },
    { "live/..", "", "a", "\"..\"" },
    { "live", "", "a\nb", "control character" },
    { "live", "", "a\x7f", "control character" },
    { "li\tve", "", "a", "control character" },
    { "live", "rtmp://h/\x01", "a", "control character" },
    { "live", "", "a?x=\r\n", "control character" },
    { "live", "", "\xff\xfe", "UTF-8" },
    { "live", "", "\xc0\xaf", "UTF-8" },
};

static void
refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct rtmp_name name;
        struct errmsg err = { "" };
        int bad = rtmp_name_resolve(&name, str_from(refused[i].app),
                                    str_from(refused[i].tc_url),
                                    str_from(refused[i].name), true, &err);
        if (bad == 0 || strstr(err.text, refused[i].reason) == NULL) {
            fail_msg("row %zu: %d \"%s\"", i, bad, err.text);
        }
    }
}

static void
nul_bytes_are_refused(void **state)
{
    (void)state;
    struct rtmp_name name;
    struct errmsg err;
    assert_int_equal(rtmp_name_resolve(&name, STR("live"), STR_NONE,
                                       STR("a\0b"), true, &err),
                     -1);
}

static void
too_long(void **state)
{
    (void)state;
    static char text[4096];
    struct rtmp_name name;
    struct errmsg err;
    memset(text, 'a', sizeof(text));
    struct str app = STR("live");
    struct str max = str_of(text, RTMP_NAME_MAX);
    struct str over = str_of(text, RTMP_NAME_MAX + 1);
    assert_int_equal(rtmp_name_resolve(&name, app, STR_NONE, max, true, &err),
                     0);
    assert_int_equal(name.name.len, RTMP_NAME_MAX);
    assert_int_equal(rtmp_name_resolve(&name, app, STR_NONE, over, true, &err),
                     -1);
    assert_non_null(strstr(err.text, "stream name is longer than 256"));
    assert_int_equal(rtmp_name_resolve(&name, max, STR_NONE, app, true, &err),
                     0);
    assert_int_equal(rtmp_name_resolve(&name, over, STR_NONE, app, true, &err),
                     -1);
    /* The two together count when the app has something left over. */
    assert_int_equal(
        rtmp_name_resolve(&name, STR("live/x"), STR_NONE, max, true, &err), -1);

    text[1] = '?';
    struct str args = str_of(text, 2 + RTMP_ARGS_MAX);
    assert_int_equal(rtmp_name_resolve(&name, app, STR_NONE, args, true, &err),
                     0);
    assert_int_equal(name.args.len, RTMP_ARGS_MAX);
    args.len++;
    assert_int_equal(rtmp_name_resolve(&name, app, STR_NONE, args, true, &err),
                     -1);
    assert_non_null(strstr(err.text, "query is longer than 1024"));
}

static void
a_connect_has_no_name_yet(void **state)
{
    (void)state;
    struct rtmp_name name;
    struct errmsg err;
    assert_int_equal(rtmp_name_resolve(&name, STR("live?a=1"), STR_NONE,
                                       STR_NONE, false, &err),
                     0);
    assert_true(str_eq(name.app, STR("live")));
    assert_true(str_eq(name.args, STR("a=1")));
}

static void
tc_url_without_query(void **state)
{
    (void)state;
    assert_true(str_eq(rtmp_name_tc_url(STR("rtmp://h/live?token=x")),
                       STR("rtmp://h/live")));
    assert_true(
        str_eq(rtmp_name_tc_url(STR("'rtmp://h/live'")), STR("rtmp://h/live")));
    assert_int_equal(rtmp_name_tc_url(STR_NONE).len, 0);
    assert_int_equal(rtmp_name_tc_url(STR("'\"'")).len, 0);
}

/* Made of pieces that mean something: whatever passes the check comes out of
 * the resolver as it went in, whatever does not would not. */
static void
check_agrees_with_resolve(void **state)
{
    static const char *const pieces[] = { "a",         "/",    ".",    "..",
                                          "_definst_", "?",    "?x=1", " ",
                                          "\xc3\xa9",  "\xff", "\n",   "" };
    const size_t n = sizeof(pieces) / sizeof(pieces[0]);
    unsigned passed = 0;

    (void)state;
    for (size_t i = 0; i < n * n * n * n; i++) {
        struct errmsg err = { "" };
        struct rtmp_name out;
        char text[64];
        bool same;

        snprintf(text, sizeof(text), "%s%s%s%s", pieces[i % n],
                 pieces[i / n % n], pieces[i / n / n % n],
                 pieces[i / n / n / n]);
        struct str s = str_from(text);
        bool ok = rtmp_name_check(s, false, &err) == 0;

        same = strchr(text, '?') == NULL &&
               rtmp_name_resolve(&out, STR("live"), STR_NONE, s, true, &err) ==
                   0 &&
               str_eq(out.name, s);
        if (ok != same) {
            fail_msg("\"%s\": %d, %d", text, ok, same);
        }
        passed += ok;
        assert_int_equal(rtmp_name_check(s, true, &err) == 0,
                         ok && strchr(text, '/') == NULL);
    }
    assert_in_range(passed, 100, 5000);
}

static void
check_says_what_is_wrong(void **state)
{
    static char text[RTMP_NAME_MAX + 1];
    struct errmsg err;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(rtmp_name_check(str_of(text, RTMP_NAME_MAX), true, &err),
                     0);
    assert_int_equal(rtmp_name_check(str_of(text, sizeof(text)), true, &err),
                     -1);
    assert_string_equal(err.text, "must be 1 to 256 bytes long");
    assert_int_equal(rtmp_name_check(STR("a/b"), true, &err), -1);
    assert_string_equal(err.text, "must not contain '/' or '?'");
    assert_int_equal(rtmp_name_check(STR(".."), true, &err), -1);
    assert_string_equal(err.text, "must not be \".\", \"..\" or \"_definst_\"");
    assert_int_equal(rtmp_name_check(STR("a//b"), false, &err), -1);
    assert_string_equal(err.text, "must not have segments \".\", \"..\", "
                                  "nothing or \"_definst_\"");
}

/* "without the kind|without the ending|without both" */
static void
meanings(void **state)
{
    static const char *const names[][2] = {
        { "room", "-|-|-" },
        { "mp4:room", "room|-|-" },
        { "flv:room", "room|-|-" },
        { "MP3:room", "room|-|-" },
        { "room.flv", "-|room|-" },
        { "room.f4v", "-|room|-" },
        { "mp4:room.mp4", "room.mp4|mp4:room|room" },
        { "mp4:a/b.Mp4", "a/b.Mp4|mp4:a/b|a/b" },
        { "inst/mp4:room.mp3", "inst/room.mp3|inst/mp4:room|inst/room" },
        { "mp4:mp4:a", "mp4:a|-|-" },
        { "amp4:room", "-|-|-" },
        { "mp4:", "-|-|-" },
        { "a/mp4:", "-|-|-" },
        { "mp4:/a", "-|-|-" },
        { "a/.flv", "-|-|-" },
        { ".flv", "-|-|-" },
        { "mp4:.flv", ".flv|mp4:|-" },
        { "a.flv/b", "-|-|-" },
        { "", "-|-|-" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct rtmp_meaning m[3];
        char got[200];
        struct str s[3];

        for (unsigned n = 0; n < 3; n++) {
            s[n] = rtmp_name_meaning(&m[n], str_from(names[i][0]), n)
                       ? str_of(m[n].text, m[n].len)
                       : STR("-");
        }
        snprintf(got, sizeof(got), "%.*s|%.*s|%.*s", STR_ARGS(s[0]),
                 STR_ARGS(s[1]), STR_ARGS(s[2]));
        assert_string_equal(got, names[i][1]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(refusals),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(too_long),
        cmocka_unit_test(a_connect_has_no_name_yet),
        cmocka_unit_test(tc_url_without_query),
        cmocka_unit_test(check_agrees_with_resolve),
        cmocka_unit_test(check_says_what_is_wrong),
        cmocka_unit_test(meanings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
