/*
 * URLs: right ones, every kind of wrong one, and what others may see of them.
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

#include "net/url.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static struct url
parsed(const char *text)
{
    struct errmsg err = { "" };
    struct url u;

    if (url_parse(pool, str_from(text), &u, &err) == -1) {
        fail_msg("%s: %s", text, err.text);
    }
    return u;
}

/* All parts with bars between them. */
static const char *
parts(const char *text)
{
    static char all[URL_MAX * 2];
    struct url u = parsed(text);

    snprintf(all, sizeof(all), "%s|%s|%s|%s|%u|%s|%s",
             url_scheme_name(u.scheme), u.has_user ? u.user.ptr : "-",
             u.has_password ? u.password.ptr : "-", u.host.ptr, u.port,
             u.path.ptr, u.has_query ? u.query.ptr : "-");
    assert_int_equal(u.tls, u.scheme == URL_RTMPS || u.scheme == URL_HTTPS);
    assert_int_equal(strlen(u.host.ptr), u.host.len);
    assert_int_equal(strlen(u.path.ptr), u.path.len);
    assert_int_equal(strlen(u.query.ptr), u.query.len);
    return all;
}

static void
it_is_taken_apart(void **state)
{
    static const char *const cases[][2] = {
        { "rtmp://example.org/live/cam",
          "rtmp|-|-|example.org|1935|/live/cam|-" },
        { "RTMP://Example.ORG", "rtmp|-|-|example.org|1935|/|-" },
        { "rtmps://a/b", "rtmps|-|-|a|443|/b|-" },
        { "http://a?q", "http|-|-|a|80|/|q" },
        { "https://a/?", "https|-|-|a|443|/|" },
        { "rtmp://a:1/x?b=c/d?e@f:g", "rtmp|-|-|a|1|/x|b=c/d?e@f:g" },
        { "rtmp://[2001:DB8::1]:65535/x", "rtmp|-|-|2001:db8::1|65535|/x|-" },
        { "rtmp://[::1]/x", "rtmp|-|-|::1|1935|/x|-" },
        { "rtmp://[::ffff:1.2.3.4]/", "rtmp|-|-|::ffff:1.2.3.4|1935|/|-" },
        { "rtmp://192.0.2.1/x", "rtmp|-|-|192.0.2.1|1935|/x|-" },
        { "rtmp://u@h/x", "rtmp|u|-|h|1935|/x|-" },
        { "rtmp://u:@h/x", "rtmp|u||h|1935|/x|-" },
        { "rtmp://u:p:q@h:9/x", "rtmp|u|p:q|h|9|/x|-" },
        { "rtmp://u%40x:%2F%3a%20%C3%A9@h/x",
          "rtmp|u@x|/: \xc3\xa9|h|1935|/x|-" },
        { "rtmp://h./x", "rtmp|-|-|h|1935|/x|-" },
        { "rtmp://xn--bcher-kva.example/x",
          "rtmp|-|-|xn--bcher-kva.example|1935|/x|-" },
        { "rtmp://cam_1/a%2Fb//c/", "rtmp|-|-|cam_1|1935|/a%2Fb//c/|-" },
        { "rtmp://h/x@y:z", "rtmp|-|-|h|1935|/x@y:z|-" },
        { "rtmp://1.example/", "rtmp|-|-|1.example|1935|/|-" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(parts(cases[i][0]), cases[i][1]);
    }
}

static const char *const wrong[][2] = {
    { "", "must begin with" },
    { "example.org/live", "must begin with" },
    { "rtmp:/example.org", "must begin with" },
    { "rtmpt://example.org", "must begin with" },
    { "file:///etc/passwd", "must begin with" },
    { "//example.org", "must begin with" },
    { "rtmp://", "there is no host" },
    { "rtmp:///live", "there is no host" },
    { "rtmp://u@/live", "there is no host" },
    { "rtmp://:1935/live", "there is no host" },
    { "rtmp://?h", "there is no host" },
    { "rtmp://h:/x", "the port" },
    { "rtmp://h:0/x", "the port" },
    { "rtmp://h:65536/x", "the port" },
    { "rtmp://h:+1/x", "the port" },
    { "rtmp://h:1x/x", "the port" },
    { "rtmp://h:1:2/x", "more than one \":\"" },
    { "rtmp://::1/x", "more than one \":\"" },
    { "rtmp://[::1/x", "no \"]\"" },
    { "rtmp://[::1]x/x", "only \":PORT\"" },
    { "rtmp://[]/x", "there is no host" },
    { "rtmp://[1.2.3.4]/x", "IPv6" },
    { "rtmp://[fe80::1%25eth0]/x", "IPv6" },
    { "rtmp://[v1.x]/x", "IPv6" },
    { "rtmp://[::12345]/x", "IPv6" },
    { "rtmp://127.1/x", "IPv4" },
    { "rtmp://2130706433/x", "IPv4" },
    { "rtmp://0x7f000001/x", "IPv4" },
    { "rtmp://0x7f.1/x", "IPv4" },
    { "rtmp://0177.0.0.1/x", "IPv4" },
    { "rtmp://1.2.3.4.5/x", "IPv4" },
    { "rtmp://256.0.0.1/x", "IPv4" },
    { "rtmp://a..b/x", "the host must be" },
    { "rtmp://.a/x", "the host must be" },
    { "rtmp://a%2eb/x", "the host must be" },
    { "rtmp://a,b/x", "the host must be" },
    { "rtmp://a@b@c/x", "more than one \"@\"" },
    { "rtmp://@h/x", "no user" },
    { "rtmp://:p@h/x", "no user" },
    { "rtmp://u%0a@h/x", "control character" },
    { "rtmp://u:p%00@h/x", "control character" },
    { "rtmp://h/x#y", "fragment" },
    { "rtmp://h/x y", "byte 11 of the URL (0x20)" },
    { "rtmp://h/x\r\ny", "0x0d" },
    { "rtmp://h/\xc3\xa9", "%C3" },
    { "rtmp://h\\x/", "0x5c" },
    { "rtmp://h/%", "\"%\" must" },
    { "rtmp://h/%4", "\"%\" must" },
    { "rtmp://h/%zz", "\"%\" must" },
};

static void
a_wrong_one_is_told(void **state)
{
    struct errmsg err;
    struct url u;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err.text[0] = 0;
        if (url_parse(pool, str_from(wrong[i][0]), &u, &err) != -1 ||
            strstr(err.text, wrong[i][1]) == NULL) {
            fail_msg("%s: %s", wrong[i][0], err.text);
        }
    }
}

static void
it_has_bounds(void **state)
{
    char text[URL_MAX + 2];
    struct errmsg err;
    struct url u;

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "rtmp://h/", 9);
    assert_int_equal(url_parse(pool, str_of(text, URL_MAX), &u, &err), 0);
    assert_int_equal(u.path.len, URL_MAX - 8);
    assert_int_equal(url_parse(pool, str_of(text, URL_MAX + 1), &u, &err), -1);
    assert_non_null(strstr(err.text, "2048"));
    text[8] = 'h'; /* a host of many letters */
    assert_int_equal(url_parse(pool, str_of(text, 7 + 63), &u, &err), 0);
    assert_int_equal(url_parse(pool, str_of(text, 7 + 64), &u, &err), -1);
    for (size_t i = 7 + 49; i < URL_MAX; i += 50) {
        text[i] = '.';
    }
    assert_int_equal(url_parse(pool, str_of(text, 7 + 253), &u, &err), 0);
    assert_int_equal(url_parse(pool, str_of(text, 7 + 254), &u, &err), -1);
    assert_non_null(strstr(err.text, "253"));
}

/* What is not in the text is not read, a NUL is no end. */
static void
it_ends_where_it_ends(void **state)
{
    struct errmsg err;
    struct url u;

    (void)state;
    assert_int_equal(url_parse(pool, str_of("rtmp://h/x%41", 10), &u, &err), 0);
    assert_string_equal(u.path.ptr, "/x");
    assert_int_equal(url_parse(pool, str_of("rtmp://h/x%41", 12), &u, &err),
                     -1);
    assert_int_equal(url_parse(pool, str_of("rtmp://h/\0x", 11), &u, &err), -1);
    assert_non_null(strstr(err.text, "0x00"));
}

static void
errors_quote_no_secret(void **state)
{
    static const char *const cases[] = {
        "rtmp://user:geheim@h:x/y",     "rtmp://h/app/geheim#",
        "rtmp://user:geheim@h@i/x",     "rtmp://h/app/geheim y",
        "rtmp://h/app?key=geheim%",     "geheim://h/x",
        "rtmp://user:geheim%0a@h/path", "rtmp://user:geheim@h..i/path",
    };
    struct errmsg err;
    struct url u;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(url_parse(pool, str_from(cases[i]), &u, &err), -1);
        assert_null(strstr(err.text, "geheim"));
    }
}

static void
secrets_are_masked(void **state)
{
    static const char *const cases[][3] = {
        { "rtmp://h/app/cam", "rtmp://h/app/cam", "rtmp://h/app/***" },
        { "rtmp://h:1935/app/", "rtmp://h/app/", "rtmp://h/***" },
        { "rtmp://h/a/b/key//", "rtmp://h/a/b/key//", "rtmp://h/a/b/***" },
        { "rtmp://h", "rtmp://h/", "rtmp://h/" },
        { "rtmp://u:p@h:1/a/b", "rtmp://u:***@h:1/a/b",
          "rtmp://u:***@h:1/a/***" },
        { "rtmp://u@h/a", "rtmp://u@h/a", "rtmp://u@h/***" },
        { "rtmp://u%40%20:p@[::1]:1/a", "rtmp://u%40%20:***@[::1]:1/a",
          "rtmp://u%40%20:***@[::1]:1/***" },
        { "rtmps://h/a?x=1&Stream_KEY=abc&y=2",
          "rtmps://h/a?x=1&Stream_KEY=***&y=2", "rtmps://h/***?***" },
        { "rtmp://h/a?token=a=b&sign=&c", "rtmp://h/a?token=***&sign=***&***",
          "rtmp://h/***?***" },
        { "rtmp://h/a?to%6ben=x", "rtmp://h/a?to%6ben=***",
          "rtmp://h/***?***" },
        { "rtmp://h/a?", "rtmp://h/a?", "rtmp://h/***?***" },
        { "http://h/a?b=c&", "http://h/a?b=c&", "http://h/***?***" },
    };
    char text[URL_MASKED_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct url u = parsed(cases[i][0]);

        assert_string_equal(
            url_masked(text, sizeof(text), &u, URL_HIDE_SECRETS), cases[i][1]);
        assert_string_equal(url_masked(text, sizeof(text), &u, URL_HIDE_KEY),
                            cases[i][2]);
    }
}

static void
what_is_written_is_cut_to_fit(void **state)
{
    struct url u = parsed("rtmp://user:password@[2001:db8::1]:99/app/name?a=b");
    char whole[URL_MASKED_MAX], text[64];
    size_t len = strlen(url_masked(whole, sizeof(whole), &u, URL_HIDE_SECRETS));

    (void)state;
    for (size_t size = 1; size <= sizeof(text); size++) {
        size_t fits = size - 1 < len ? size - 1 : len;

        memset(text, 'z', sizeof(text));
        url_masked(text, size, &u, URL_HIDE_SECRETS);
        assert_int_equal(strlen(text), fits);
        assert_memory_equal(text, whole, fits);
    }
    assert_string_equal(url_authority(text, sizeof(text), &u),
                        "[2001:db8::1]:99");
    u = parsed("https://Host:443/");
    assert_string_equal(url_authority(text, sizeof(text), &u), "host");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_taken_apart),
        cmocka_unit_test(a_wrong_one_is_told),
        cmocka_unit_test(it_has_bounds),
        cmocka_unit_test(it_ends_where_it_ends),
        cmocka_unit_test(errors_quote_no_secret),
        cmocka_unit_test(secrets_are_masked),
        cmocka_unit_test(what_is_written_is_cut_to_fit),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
