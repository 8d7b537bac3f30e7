/*
 * Paths of RTMP URLs: how they are taken apart.
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
#include <string.h>

#include "rtmp/target.h"

static const struct {
    const char *path;
    const char *want; /* "app|name|args", or a part of the error */
} rows[] = {
    { "/live/movie", "live|movie|" },
    { "live/movie", "live|movie|" },
    { "/live/movie?t=x&a=b", "live|movie|t=x&a=b" },
    { "/live/movie?", "live|movie|" },
    { "/live/movie?a=?b", "live|movie|a=?b" },
    /* a slash in a token is part of it */
    { "/live/movie?t=a/b", "live|movie|t=a/b" },
    { "/live/inst/movie?t=a/b/", "live/inst|movie|t=a/b/" },
    /* three segments and more */
    { "/live/inst/movie", "live/inst|movie|" },
    { "/live/inst/movie?t=x", "live/inst|movie|t=x" },
    { "/live/inst/a/b/c", "live/inst|a/b/c|" },
    { "/live/_definst_/movie", "live/_definst_|movie|" },
    /* what is not an instance */
    { "/vod/mp4:dir/file.mp4", "vod|mp4:dir/file.mp4|" },
    { "/vod/inst/mp4:dir/file", "vod/inst|mp4:dir/file|" },
    { "/ondemand/a/b", "ondemand|a/b|" },
    { "/ondemand2/a/b", "ondemand2/a|b|" },
    /* arguments of the application */
    { "/live?k=v/movie", "live?k=v|movie|" },
    { "/live?k=v/movie?t=x", "live?k=v|movie|t=x" },
    { "/live?k=v/a/b", "live?k=v|a/b|" },
    { "/live?k=v", "live?k=v||" },
    /* no name */
    { "/live", "live||" },
    { "/live/", "live||" },
    { "/live/inst/", "live/inst||" },
    { "/live/?k=v", "live||k=v" },
    /* nothing is decoded or made nicer */
    { "/live/a%20b", "live|a%20b|" },
    { "/live/a b", "live|a b|" },
    { "/live/caf\xc3\xa9", "live|caf\xc3\xa9|" },
    { "/live/inst/a/", "live/inst|a/|" },
    /* refused */
    { "", "names no application" },
    { "/", "names no application" },
    { "/?k=v", "names no application" },
    { "?k=v/movie", "names no application" },
    { "//live/movie", "empty segment" },
    { "/live//movie", "empty segment" },
    { "/live/inst//movie", "empty segment" },
    { "/live/inst/a//b", "empty segment" },
    { "/live/a\nb", "control character" },
    { "/live/\xff", "not UTF-8" },
};

static void
table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rtmp_target t;
        struct errmsg err;
        char got[600];

        if (rtmp_target_split(&t, str_from(rows[i].path), &err) == 0) {
            snprintf(got, sizeof(got), "%.*s|%.*s|%.*s", STR_ARGS(t.app),
                     STR_ARGS(t.name), STR_ARGS(t.args));
            assert_string_equal(got, rows[i].want);
        } else if (strstr(err.text, rows[i].want) == NULL) {
            fail_msg("%s: %s", rows[i].path, err.text);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
