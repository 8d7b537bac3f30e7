/*
 * Names of settings of other servers, and whole configurations of them.
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

#include "help.h"

#include <string.h>

#include "base/buf.h"
#include "conf/others.h"

static void
assert_begins(struct str s, const char *begin)
{
    if (!str_starts(s, str_from(begin))) {
        fail_msg("\"%.*s\" does not begin with \"%s\"", STR_ARGS(s), begin);
    }
}

static void
test_answers(void **state)
{
    static const struct {
        const char *root, *group, *name, *answer;
    } rows[] = {
        { "rtmp", "servers", "chunk_size",
          "chunk_size of nginx-rtmp and SRS is rtmp.servers.chunk_size here" },
        { "", "", "on_publish",
          "on_publish of nginx-rtmp and SRS: weir calls no addresses" },
        { "", "", "runOnReady", "runOnReady of MediaMTX: weir starts no" },
        /* All that begin so. */
        { "", "", "rpiCameraHFlip", "rpiCameraHFlip of MediaMTX: weir reads" },
        /* Answers that differ. */
        { "", "", "play",
          "play of nginx-rtmp: weir has live streams alone; files are served "
          "by module static; play of SRS is rtmp.servers.applications."
          "play_access here (" },
        /* nginx alone is meant below http, its module below rtmp. */
        { "http", "locations", "allow",
          "allow of nginx is http.servers.locations.access here" },
        { "rtmp", "servers", "allow",
          "allow of nginx-rtmp and SRS is rtmp.servers.applications." },
        /* A name that weir has elsewhere is one of SRS in its block alone. */
        { "", "heartbeat", "url", "url of SRS: weir reports to no server" },
        { "", "vparams", "bf2", "bf2 of SRS: weir encodes nothing" },
    };
    struct pool *pool = pool_new(1024);
    struct str below_http =
        others_answer(pool, STR("http"), STR("locations"), STR("allow"));

    (void)state;
    assert_null(strstr(below_http.ptr, "SRS"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_begins(others_answer(pool, str_from(rows[i].root),
                                    str_from(rows[i].group),
                                    str_from(rows[i].name)),
                      rows[i].answer);
    }
    assert_int_equal(others_answer(pool, STR_NONE, STR_NONE, STR("url")).len,
                     0);
    assert_int_equal(
        others_answer(pool, STR_NONE, STR_NONE, STR("on_publis")).len, 0);
    pool_free(&pool);
}

static void
test_settings_that_there_are_not(void **state)
{
    (void)state;
    assert_true(others_lacking(STR("on_publish")));
    assert_false(others_lacking(STR("chunk_size")));
    assert_false(others_lacking(STR("play"))); /* SRS has it otherwise */
    assert_false(others_lacking(STR("nothing")));
}

static void
test_guesses(void **state)
{
    static const struct {
        const char *text, *name; /* NULL: none */
    } rows[] = {
        { "worker_processes 1;\nevents {\n}\nhttp {\n", "nginx" },
        { "worker_processes 1;\nhttp { }\nrtmp { server { live on; } }\n",
          "nginx-rtmp" },
        { "application live {\n  live on;\n}\n", "nginx-rtmp" },
        { "# listen = 1;\nlisten 1935;\nvhost __defaultVhost__ {\n}\n", "SRS" },
        { "logLevel: info\nrtmpAddress: :1935\n", "MediaMTX" },
        { "paths:\n  cam:\n    source: rtmp://x\n    record: no\n",
          "MediaMTX" },
        /* One forgotten "=" makes no other server. */
        { "listen 1935;\n", NULL },
        { "a = {\n  listen 80; };", NULL },
        { "pid = \"x\";\nuser = \"y\";\nrtmp = { listen 1; live on; };\n",
          NULL },
        { "logLevel : \"info\";\nrtmpAddress : \"x\";\n", NULL },
        { "Dear reader,\nthis is no configuration.\n", NULL },
        { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct other_server *server =
            others_guess(str_from(rows[i].text));

        if (rows[i].name == NULL) {
            assert_null(server);
        } else {
            assert_non_null(server);
            assert_string_equal(server->name, rows[i].name);
        }
    }
}

/* The first 500 statements are enough, however long a text is. */
static void
test_a_long_text_is_looked_at_in_part(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 64 * 1024);
    for (int i = 0; i < 500; i++) {
        buf_printf(&text, "word%d {\n", i);
    }
    buf_printf(&text, "worker_processes 1;\nevents {\nhttp {\n");
    assert_null(others_guess(buf_str(&text)));
    buf_clear(&text);
}

/* Whatever stops first, the file's own words or a quote of another kind. */
static void
test_whose_file_it_is(void **state)
{
    (void)state;
    help_refused("worker_processes 10s;\nevents { }\n",
                 "t.conf:1: this looks like a configuration of nginx; "
                 "docs/from-nginx-rtmp.md puts some beside those of weir\n"
                 "t.conf:1: syntax error at 10s (a setting is written with "
                 "\"=\": worker_processes = ...) in: worker_processes 10s;\n"
                 "t.conf:1: this is no number; text, times and sizes with a "
                 "unit, and addresses stand in quotes\n");
    help_refused("access_log \"a;\nevents { }\n",
                 "t.conf:1: this looks like a configuration of nginx; "
                 "docs/from-nginx-rtmp.md puts some beside those of weir\n"
                 "t.conf:1: this string does not end in: access_log \"a;\n");
    help_refused("logLevel: info\nreadTimeout: 10s\n",
                 "t.conf:1: this looks like a configuration of MediaMTX; "
                 "docs/from-mediamtx.md puts some beside those of weir\n"
                 "t.conf:1: syntax error at info (a text stands in quotes: "
                 "\"info\") in: logLevel: info\n");
}

/* The included one is looked at, not the one that includes it. */
static void
test_an_included_file(void **state)
{
    (void)state;
    help_write("s.conf", STR("listen 1935;\nvhost x {\n}\n"));
    help_refused("workers = 1;\n@include \"s.conf\"\n",
                 "s.conf:1: this looks like a configuration of SRS; "
                 "docs/from-srs.md puts some beside those of weir\n"
                 "s.conf:1: syntax error at 1935 (a setting is written with "
                 "\"=\": listen = ...) in: listen 1935;\n");
}

/* Instead of the nearest name, which would lead astray. */
static void
test_a_name_of_another_server(void **state)
{
    (void)state;
    help_refused("port = 1; dvr = 1;",
                 "t.conf:1: dvr is unknown; dvr of SRS: weir does not record; "
                 "ffmpeg -i rtmp://HOST/APP/NAME -c copy FILE does\n");
    help_refused("dvr session;",
                 "t.conf:1: syntax error at session (dvr of SRS: weir does "
                 "not record; ffmpeg -i rtmp://HOST/APP/NAME -c copy FILE "
                 "does) in: dvr session;\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_settings_that_there_are_not),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_a_long_text_is_looked_at_in_part),
        cmocka_unit_test(test_whose_file_it_is),
        cmocka_unit_test(test_an_included_file),
        cmocka_unit_test(test_a_name_of_another_server),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
