/*
 * Which spellings of a URL mean the same stream, and what of a file feeds
 * itself.
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
#include <unistd.h>

#include "base/mem.h"
#include "target.h"

/* ---- spellings ---- */

static void
means(const char *url, const char *text)
{
    struct pool *pool = pool_new(1024);
    struct relay_target t;
    struct errmsg err;

    assert_int_equal(
        relay_target_read(pool, str_from(url), STR("film"), &t, &err), 0);
    if (!str_eq(t.text, str_from(text))) {
        fail_msg("%s: %.*s", url, STR_ARGS(t.text));
    }
    pool_free(&pool);
}

static void
test_spellings(void **state)
{
    (void)state;
    means("rtmp://h/live/film", "h/live/film");
    means("rtmp://h/live", "h/live/film");
    means("rtmp://h/live/", "h/live/film");
    means("rtmp://H.Example./live/film", "h.example/live/film");
    means("rtmp://h:1935/live/film", "h/live/film");
    means("rtmp://h:1936/live/film", "h:1936/live/film");
    means("rtmps://h/live/film", "h/live/film");
    means("rtmps://h:443/live/film", "h/live/film");
    means("rtmps://h:1935/live/film", "h:1935/live/film");
    means("rtmp://me:word@h/live/film?token=x", "h/live/film");
    means("rtmp://h/live?k=v/film", "h/live/film");
    means("rtmp://h/live/_definst_/film", "h/live/film");
    means("rtmp://h/live/inst/", "h/live/inst/film");
    means("rtmp://h/live/inst/film", "h/live/inst/film");
}

static void
test_other_streams(void **state)
{
    (void)state;
    means("rtmp://h/live/Film", "h/live/Film");
    means("rtmp://h/Live/film", "h/Live/film");
    means("rtmp://h/live/film2", "h/live/film2");
}

static void
test_addresses(void **state)
{
    (void)state;
    means("rtmp://localhost/live/film", "localhost/live/film");
    means("rtmp://127.0.0.1/live/film", "localhost/live/film");
    means("rtmp://[::1]:1935/live/film", "localhost/live/film");
    means("rtmp://127.0.0.1:9/live/film", "localhost:9/live/film");
    means("rtmp://127.0.0.2/live/film", "127.0.0.2/live/film");
    means("rtmp://[2001:db8::1]/live/film", "2001:db8::1/live/film");
}

static void
test_what_is_no_url(void **state)
{
    struct pool *pool = pool_new(1024);
    struct relay_target t;
    struct errmsg err;

    (void)state;
    assert_int_equal(
        relay_target_read(pool, STR("rtmp://h"), STR("film"), &t, &err), -1);
    assert_int_equal(t.text.len, 0);
    assert_int_equal(
        relay_target_read(pool, STR("film"), STR("film"), &t, &err), -1);
    assert_int_equal(t.text.len, 0);
    pool_free(&pool);
}

/* ---- a file ---- */

#define FILE_OF(first, second)                                               \
    "rtmp = { servers = (\n"                                                 \
    "  { listen = ( \"127.0.0.1:0\" ); applications = (\n"                   \
    "    { name = \"live\"; publish = \"open\";\n" first "\n } ); },\n"      \
    "  { listen = ( \"127.0.0.1:0\" ); applications = (\n"                   \
    "    { name = \"live\"; publish = \"open\";\n" second "\n },\n"          \
    "    { name = \"other\"; publish = \"open\";\n"                          \
    "      pull = ( { name = \"film\"; url = \"rtmp://h/live/film\"; } );\n" \
    "    } ); } );\n"                                                        \
    "};"

static struct conf *
load(const char *text, char **mistakes)
{
    char path[] = "/tmp/weir-target-XXXXXX";
    int fd = mkstemp(path);
    struct conf *c;

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    *mistakes = NULL;
    c = settings_load(path, mistakes);
    unlink(path);
    return c;
}

static void
refuses(const char *text, const char *words)
{
    char *mistakes;
    struct conf *c = load(text, &mistakes);

    assert_null(c);
    assert_non_null(mistakes);
    if (strstr(mistakes, words) == NULL) {
        fail_msg("not said: %s\nbut: %s", words, mistakes);
    }
    mem_free(&mistakes);
}

static struct conf *
takes(const char *text)
{
    char *mistakes;
    struct conf *c = load(text, &mistakes);

    if (c == NULL) {
        fail_msg("%s", mistakes);
    }
    return c;
}

#define PUSH "push = ( { name = \"film\"; url = \"rtmp://h/live/film\"; } );"
#define PUSH_ALL "push = \"rtmp://H:1935/live\";"
#define PULL(name, to) \
    "pull = ( { name = \"" name "\"; url = \"rtmp://h/live/" to "\"; } );"

static void
test_a_file(void **state)
{
    struct conf *c;

    (void)state;
    refuses(FILE_OF(PUSH PULL("film", "film"), ""),
            ":4: pull: url is where the stream is pushed to in line 4: it "
            "would feed itself");
    refuses(FILE_OF(PUSH_ALL, PULL("film", "film")),
            ":8: pull: url is where the stream is pushed to in line 4: ");
    refuses(FILE_OF(PULL("film", "film"), PUSH),
            ":4: pull: url is where the stream is pushed to in line 8: ");
    c = takes(FILE_OF(PUSH PULL("film", "more"), PULL("more", "film")));
    conf_free(&c);
    c = takes(FILE_OF(PUSH_ALL PULL("film", "more"), ""));
    conf_free(&c);
}

static void
test_one_beside_a_file(void **state)
{
    struct conf *c = takes(FILE_OF(PUSH, PULL("in", "out")));
    const struct settings *s = settings_of(c);
    struct errmsg err;

    (void)state;
    assert_int_equal(relay_target_check(s, true, STR("live"), STR("film"),
                                        STR("rtmps://h/live"), &err),
                     -1);
    assert_string_equal(err.text,
                        "live/film has a push with this url in weir.conf "
                        "(line 4): the stream would feed itself");
    assert_int_equal(relay_target_check(s, false, STR("live"), STR("in"),
                                        STR("rtmp://h/live/out?k"), &err),
                     -1);
    assert_int_equal(relay_target_check(s, false, STR("live"), STR("film"),
                                        STR("rtmp://h/live/film"), &err),
                     0);
    assert_int_equal(relay_target_check(s, true, STR("other"), STR("film"),
                                        STR("rtmp://h/live/film"), &err),
                     0);
    assert_int_equal(relay_target_check(s, true, STR("live"), STR("in"),
                                        STR("rtmp://h/live/film"), &err),
                     0);
    conf_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_other_streams),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_what_is_no_url),
        cmocka_unit_test(test_a_file),
        cmocka_unit_test(test_one_beside_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
