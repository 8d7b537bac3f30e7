/*
 * Logins of publishers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/login.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/rand.h"
#include "net/sha256.h"

#define STEPS 2       /* answers to one server in a row */
#define TEXT_MAX 2048 /* of what is hashed */
#define COUNT "00000001"

enum { NONCE_SIZE = 9, HEX_SIZE = 2 * DIGEST_MD5 + 1 };

/* A server's challenge. */
struct challenge {
    bool adobe; /* else llnw */
    struct str user, salt, challenge, opaque, nonce;
};

void
rtmp_login_clear(struct rtmp_login *login)
{
    explicit_bzero(login, sizeof(*login));
}

/* ---- hashes ---- */

static int __attribute__((format(printf, 2, 3)))
hash(uint8_t out[DIGEST_MD5], const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    int result = n < 0 || (size_t)n >= sizeof(text)
                     ? -1
                     : digest_md5(text, (size_t)n, out);

    explicit_bzero(text, sizeof(text));
    return result;
}

static void
to_hex(const uint8_t bytes[DIGEST_MD5], char out[HEX_SIZE])
{
    for (int i = 0; i < DIGEST_MD5; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

static void
make_nonce(char out[NONCE_SIZE])
{
    uint8_t bytes[4];

    rand_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* ---- the query ---- */

static int __attribute__((format(printf, 2, 3)))
add(struct rtmp_login *login, const char *format, ...)
{
    size_t len = strlen(login->query);
    va_list args;

    va_start(args, format);
    int n =
        vsnprintf(login->query + len, sizeof(login->query) - len, format, args);
    va_end(args);
    return n >= 0 && (size_t)n < sizeof(login->query) - len ? 0 : -1;
}

/* Bytes that would end a value in a query are percent-encoded. */
static int
add_user(struct rtmp_login *login, struct str user)
{
    int result = add(login, "&user=");

    for (size_t i = 0; i < user.len && result == 0; i++) {
        unsigned char c = (unsigned char)user.ptr[i];
        bool plain = c > ' ' && c < 0x7f && strchr("&=?#%+", c) == NULL;

        result = plain ? add(login, "%c", c) : add(login, "%%%02X", c);
    }
    return result;
}

static int
begin(struct rtmp_login *login, const struct login_who *who, bool adobe)
{
    login->query[0] = '\0';
    return add(login, "authmod=%s", adobe ? "adobe" : "llnw") == -1 ||
                   add_user(login, who->user) == -1
               ? -1
               : 0;
}

static int
answer_adobe(struct rtmp_login *login, const struct login_who *who,
             const struct challenge *c)
{
    uint8_t sum[DIGEST_MD5];
    char text[BASE64_ROOM(DIGEST_MD5)], ours[NONCE_SIZE];
    struct str theirs = c->opaque.len > 0 ? c->opaque : c->challenge;

    make_nonce(ours);
    if (hash(sum, "%.*s%.*s%.*s", STR_ARGS(c->user), STR_ARGS(c->salt),
             STR_ARGS(who->password)) == -1) {
        return -1;
    }
    base64_encode(BASE64, sum, sizeof(sum), text);
    if (hash(sum, "%s%.*s%s", text, STR_ARGS(theirs), ours) == -1) {
        return -1;
    }
    base64_encode(BASE64, sum, sizeof(sum), text);
    if (begin(login, who, true) == -1 ||
        add(login, "&challenge=%s&response=%s", ours, text) == -1) {
        return -1;
    }
    return c->opaque.len > 0 ? add(login, "&opaque=%.*s", STR_ARGS(c->opaque))
                             : 0;
}

/* HTTP's digest (RFC 2617) with fixed realm, method and count. */
static int
answer_llnw(struct rtmp_login *login, const struct login_who *who,
            const struct challenge *c)
{
    uint8_t sum[DIGEST_MD5];
    char secret[HEX_SIZE], what[HEX_SIZE], response[HEX_SIZE];
    char ours[NONCE_SIZE];
    bool instance = str_find(who->app, '/', 0) < who->app.len;

    make_nonce(ours);
    if (hash(sum, "%.*s:live:%.*s", STR_ARGS(c->user),
             STR_ARGS(who->password)) == -1) {
        return -1;
    }
    to_hex(sum, secret);
    if (hash(sum, "publish:/%.*s%s", STR_ARGS(who->app),
             instance ? "" : "/_definst_") == -1) {
        return -1;
    }
    to_hex(sum, what);
    if (hash(sum, "%s:%.*s:" COUNT ":%s:auth:%s", secret, STR_ARGS(c->nonce),
             ours, what) == -1) {
        return -1;
    }
    to_hex(sum, response);
    return begin(login, who, false) == -1
               ? -1
               : add(login, "&nonce=%.*s&cnonce=%s&nc=" COUNT "&response=%s",
                     STR_ARGS(c->nonce), ours, response);
}

/* ---- what the server wants ---- */

/* Finds the rest of text behind word; false when word is not there. */
static bool
find(struct str text, const char *word, struct str *rest)
{
    const char *at =
        text.len == 0 ? NULL : memmem(text.ptr, text.len, word, strlen(word));

    if (at == NULL) {
        return false;
    }
    *rest = str_skip(text, (size_t)(at - text.ptr) + strlen(word));
    return true;
}

static void
read_challenge(struct challenge *c, struct str query, struct str user)
{
    struct {
        struct str name;
        struct str *to;
    } values[] = {
        { STR("user"), &c->user },           { STR("salt"), &c->salt },
        { STR("challenge"), &c->challenge }, { STR("opaque"), &c->opaque },
        { STR("nonce"), &c->nonce },
    };

    c->salt = c->challenge = c->opaque = c->nonce = STR_NONE;
    c->user = STR_NONE;
    query = str_trim(query);
    while (query.len > 0) {
        struct str value = str_cut(&query, '&');
        struct str name = str_cut(&value, '=');

        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            if (str_eq(name, values[i].name)) {
                *values[i].to = value;
            }
        }
    }
    c->user = c->user.len > 0 ? c->user : user;
}

static enum login_result
refused(struct errmsg *err, const char *why)
{
    errmsg_set(err, "%s", why);
    return LOGIN_REFUSED;
}

/* The second answer: the one with the password. */
static enum login_result
answer_challenge(struct rtmp_login *login, const struct login_who *who,
                 struct challenge *c, struct str query, struct errmsg *err)
{
    read_challenge(c, query, who->user);
    if ((c->adobe ? answer_adobe(login, who, c) : answer_llnw(login, who, c)) ==
        -1) {
        rtmp_login_clear(login);
        return refused(err, "the challenge of the login cannot be answered");
    }
    return LOGIN_AGAIN;
}

enum login_result
login_answer(struct rtmp_login *login, const struct login_who *who,
             struct str description, struct errmsg *err)
{
    struct challenge c = { .adobe = false };
    struct str rest;

    if (!find(description, "authmod=", &rest)) {
        return LOGIN_NONE;
    }
    c.adobe = str_starts(rest, STR("adobe"));
    if (!c.adobe && !str_starts(rest, STR("llnw"))) {
        return refused(err, "the remote wants a login of an unknown kind");
    }
    if (find(description, "?reason=authfail", &rest)) {
        return refused(err, "the remote refused the password");
    }
    if (find(description, "?reason=nosuchuser", &rest)) {
        return refused(err, "the remote does not know the user");
    }
    if (login == NULL || who->user.len == 0 || who->password.len == 0) {
        return refused(err, "the remote wants a user and a password");
    }
    if (login->step >= STEPS) {
        return refused(err, "the remote goes on asking for a login");
    }
    login->step++;
    if (find(description, "?reason=needauth", &rest)) {
        login->step = STEPS;
        return answer_challenge(login, who, &c, rest, err);
    }
    if (!find(description, "code=403 need auth", &rest) || login->step > 1 ||
        begin(login, who, c.adobe) == -1) {
        return refused(err, "the remote refused the login");
    }
    return LOGIN_AGAIN;
}
