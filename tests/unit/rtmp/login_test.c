/*
 * A client whose remote wants a login.
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

#include "base/base64.h"
#include "net/sha256.h"
#include "remote.h"

#define REJECTED "[ AccessManager.Reject ] : "
#define NEED(mod) REJECTED "[ code=403 need auth; authmod=" mod " ] : "

static void
need_login(const char *description)
{
    tell("_error", 1, "error", "NetConnection.Connect.Rejected", description);
    assert_true(wait_over());
}

static void
with_credentials(const char *user)
{
    owner.wanted.user = str_from(user);
    owner.wanted.password = STR("pw");
    assert_int_equal(connect_again(), 0);
    get_to_connect();
}

static void
again(void)
{
    assert_int_equal(owner.fate, RTMP_CLIENT_AGAIN);
    assert_int_equal(connect_again(), 0);
    shake_hands();
}

/* The value of a member of the query that was said last. */
static struct str
said(const char *name)
{
    const char *at = strstr(peer.heard.at, name);
    assert_non_null(at);
    at += strlen(name);
    return str_of(at, strcspn(at, "& "));
}

static void
md5(const char *text, uint8_t out[DIGEST_MD5])
{
    assert_int_equal(digest_md5(text, strlen(text), out), 0);
}

static void
login_adobe(void **state)
{
    char text[200], first[BASE64_ROOM(16)], want[BASE64_ROOM(16)];
    uint8_t sum[DIGEST_MD5];
    (void)state;
    with_credentials("u&x");
    need_login(NEED("adobe"));
    again();
    assert_non_null(
        strstr(peer.heard.at, "app live?authmod=adobe&user=u%26x type"));
    assert_non_null(strstr(peer.heard.at,
                           "rtmp://h:1935/live?authmod=adobe&user=u%26x fpad"));
    need_login(REJECTED "[ authmod=adobe ] : ?reason=needauth&user=who"
                        "&salt=s=lt&challenge=ch=l&opaque=op=que==");
    again();
    md5("whos=ltpw", sum);
    base64_encode(BASE64, sum, 16, first);
    struct str ours = said("&challenge=");
    snprintf(text, sizeof(text), "%sop=que==%.*s", first, STR_ARGS(ours));
    md5(text, sum);
    base64_encode(BASE64, sum, 16, want);
    struct str response = said("&response=");
    assert_int_equal(response.len, strlen(want));
    assert_memory_equal(response.ptr, want, response.len);
    assert_true(str_eq(said("&opaque="), STR("op=que==")));
    assert_int_equal(ours.len, 8);
    accept_connect();
    assert_non_null(strstr(peer.heard.at, "createStream"));
    rtmp_client_close(owner.client, "enough");
    assert_string_equal(owner.login.query, "");
    assert_int_equal(owner.login.step, 0);
}

static void
hex_md5(const char *text, char out[33])
{
    uint8_t sum[DIGEST_MD5];
    md5(text, sum);
    for (int i = 0; i < DIGEST_MD5; i++) {
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
    }
}

static void
llnw(const char *app_name, const char *path)
{
    char secret[33], what[33], want[33], text[200];
    owner.wanted.app = str_from(app_name);
    with_credentials("joe");
    need_login(NEED("llnw"));
    again();
    need_login(REJECTED "[ authmod=llnw ] : ?reason=needauth&nonce=n0nce");
    again();
    hex_md5("joe:live:pw", secret);
    hex_md5(path, what);
    struct str ours = said("&cnonce=");
    snprintf(text, sizeof(text), "%s:n0nce:00000001:%.*s:auth:%s", secret,
             STR_ARGS(ours), what);
    hex_md5(text, want);
    assert_true(str_eq(said("&response="), str_from(want)));
    assert_true(str_eq(said("&nonce="), STR("n0nce")));
    assert_true(str_eq(said("&nc="), STR("00000001")));
    assert_non_null(strstr(peer.heard.at, "authmod=llnw&user=joe&nonce="));
}

static void
login_llnw(void **state)
{
    (void)state;
    llnw("live", "publish:/live/_definst_");
    assert_non_null(strstr(peer.heard.at, "app live?authmod=llnw"));
    llnw("live/inst?k=v", "publish:/live/inst");
    assert_non_null(strstr(peer.heard.at, "app live/inst?k=v&authmod=llnw"));
}

static void
logins_that_fail(void **state)
{
    static const struct {
        const char *user, *description, *reason;
    } rows[] = {
        { "", NEED("adobe"), "the remote wants a user and a password" },
        { "u", NEED("other"), "the remote wants a login of an unknown kind" },
        { "u", REJECTED "[ authmod=adobe ] : ?reason=authfailed&opaque=x",
          "the remote refused the password" },
        { "u", REJECTED "[ authmod=llnw ] : ?reason=nosuchuser",
          "the remote does not know the user" },
        { "u", REJECTED "[ authmod=adobe ] : something else",
          "the remote refused the login" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        with_credentials(rows[i].user);
        need_login(rows[i].description);
        assert_over(RTMP_CLIENT_LOGIN, rows[i].reason);
        assert_int_equal(owner.login.step, 0);
    }
}

static void
a_login_does_not_go_on_for_ever(void **state)
{
    static const char challenge[] =
        REJECTED "[ authmod=adobe ] : ?reason=needauth&user=u&salt=s";
    (void)state;
    with_credentials("u");
    need_login(NEED("adobe"));
    again();
    need_login(NEED("adobe"));
    assert_int_equal(owner.fate, RTMP_CLIENT_LOGIN);
    with_credentials("u");
    need_login(challenge);
    again();
    need_login(challenge);
    assert_int_equal(owner.fate, RTMP_CLIENT_LOGIN);
    assert_string_equal(owner.reason, "the remote goes on asking for a login");
}

static void
a_challenge_that_is_too_long(void **state)
{
    char description[900];
    (void)state;
    with_credentials("u");
    int n = snprintf(description, sizeof(description),
                     REJECTED "[ authmod=adobe ] : ?reason=needauth&opaque=");
    memset(description + n, 'x', sizeof(description) - 1 - (size_t)n);
    description[sizeof(description) - 1] = '\0';
    need_login(description);
    assert_over(RTMP_CLIENT_LOGIN,
                "the challenge of the login cannot be answered");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PUBLISH(login_adobe),
        PUBLISH(login_llnw),
        PUBLISH(logins_that_fail),
        PUBLISH(a_login_does_not_go_on_for_ever),
        PUBLISH(a_challenge_that_is_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
