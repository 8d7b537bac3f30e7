/*
 * Addresses of NetStreams in statistics: no user, no key, secrets masked.
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

#include "app/service/rtmp_url.h"

static const struct str secrets[] = { { "key", 3 }, { "token", 5 } };
static const struct line_mask mask = { secrets, 2 };

static struct str
url(char *dst, const char *tc_url, const char *args, bool player)
{
    struct rtmp_request r = { .tc_url = str_from(tc_url),
                              .args = str_from(args) };
    struct addr local = { .family = AF_INET, .port = 1935, .ip = { 10, 1 } };

    return rtmp_url(dst, &r, "rtmp", STR("live/room"), &local,
                    player ? &mask : NULL);
}

static void
test_publishers(void **state)
{
    static const char *const rows[][2] = {
        { "rtmp://h/live", "rtmp://h/live/room" },
        { "rtmps://h:443/live/", "rtmps://h:443/live/room" },
        { "rtmp://[::1]:1935/live", "rtmp://[::1]:1935/live/room" },
        { "rtmp://me:word@h/live", "rtmp://h/live/room" },
        { "rtmp://a@b@h/live", "rtmp://h/live/room" },
        { "rtmp://h/live/SECRET", "rtmp://h/live/room" },
        { "rtmp://h", "rtmp://h/live/room" },
        { "rtmp:///live", "rtmp://10.1.0.0:1935/live/room" },
        { "://h/live", "rtmp://10.1.0.0:1935/live/room" },
        { "live", "rtmp://10.1.0.0:1935/live/room" },
        { "", "rtmp://10.1.0.0:1935/live/room" },
    };
    char dst[RTMP_URL_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct str got = url(dst, rows[i][0], "token=x", false);

        assert_string_equal(dst, rows[i][1]);
        assert_int_equal(got.len, strlen(rows[i][1]));
    }
}

static void
test_players(void **state)
{
    char dst[RTMP_URL_MAX];

    (void)state;
    url(dst, "rtmp://h/live", "a=1&Token=x&b", true);
    assert_string_equal(dst, "rtmp://h/live/room?a=1&Token=***&b");
    url(dst, "rtmp://h/live", "", true);
    assert_string_equal(dst, "rtmp://h/live/room");
}

static void
test_long_ones_are_cut(void **state)
{
    char dst[RTMP_URL_MAX], args[2000], host[2000] = "rtmp://";
    struct str got;

    (void)state;
    memset(args, 'a', sizeof(args));
    args[sizeof(args) - 1] = '\0';
    got = url(dst, "rtmp://h/live", args, true);
    assert_int_equal(got.len, RTMP_URL_MAX - 1);
    memset(host + 7, 'h', sizeof(host) - 8);
    got = url(dst, host, args, true);
    assert_int_equal(got.len, RTMP_URL_MAX - 1);
    assert_int_equal(strlen(dst), got.len);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_publishers),
        cmocka_unit_test(test_players),
        cmocka_unit_test(test_long_ones_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
