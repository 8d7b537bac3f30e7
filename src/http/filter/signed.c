/*
 * Signed addresses: what stands in a folder may be asked for by whoever was
 * given an address in it, for a while.
 *
 * Playlists of locations whose auth takes tokens of the query name media with
 * such addresses: they are the same for all viewers, so caches keep one copy,
 * and have no token.  A signature is a keyed hash of the folder and the hour in
 * which it ends.  All processes of a master have the same key, which is drawn
 * when weir starts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/auth.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "http/http.h"

#define HOUR_MS INT64_C(3600000)
#define SIGNED "signed"
#define SIGNED_DIGITS 16u

/* Whether a token may stand in the query. */
static bool
takes_queries(const struct http_auth *auth)
{
    for (size_t i = 0; auth != NULL && i < auth->rule_count; i++) {
        if (auth->rules[i].query.len > 0) {
            return true;
        }
    }
    return false;
}

static uint64_t
signature_of(struct str folder, uint64_t hour)
{
    uint64_t inner = hash_str(folder);
    uint64_t words[] = { hash_str(STR("signed folder 1")),
                         hash_str(STR("signed folder 2")) };
    uint64_t text[] = { inner, hour };
    uint8_t key[sizeof(words)];

    memcpy(key, words, sizeof(key));
    return hash_keyed(key, str_of((const char *)text, sizeof(text)));
}

static uint64_t
hour_now(void)
{
    return (uint64_t)(clock_wall_ms() / HOUR_MS);
}

struct str
http_sign_folder(struct http_request *r, struct str folder)
{
    uint64_t hour = hour_now() + 2;

    if (!takes_queries(r->location->auth)) {
        return STR_NONE;
    }
    return pool_printf(r->pool, SIGNED "=%llu-%016llx",
                       (unsigned long long)hour,
                       (unsigned long long)signature_of(folder, hour));
}

/* "HOUR-SIGNATURE".  False: it is none, or over. */
static bool
read_signed(struct str text, uint64_t *hour, uint64_t *signature)
{
    struct str digits = text;
    int64_t number;

    if (!str_to_int(str_cut(&digits, '-'), 0, INT64_MAX / HOUR_MS, &number) ||
        digits.len != SIGNED_DIGITS) {
        return false;
    }
    *hour = (uint64_t)number;
    *signature = 0;
    for (size_t i = 0; i < digits.len; i++) {
        int digit = str_hex_digit(digits.ptr[i]);

        if (digit < 0) {
            return false;
        }
        *signature = *signature << 4 | (unsigned)digit;
    }
    return *hour > hour_now() && *hour <= hour_now() + 2;
}

bool
auth_is_signed(struct http_request *r)
{
    uint64_t hour, signature;
    struct str text, folder = r->path;

    bool reads =
        str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD"));

    if (!reads || !takes_queries(r->location->auth) ||
        http_query_count(r, SIGNED, &text) != 1 ||
        !read_signed(text, &hour, &signature)) {
        return false;
    }
    while (folder.len > 0 && folder.ptr[folder.len - 1] != '/') {
        folder.len--;
    }
    return (signature_of(folder, hour) ^ signature) == 0;
}

/* ---- tokens ---- */

bool
auth_query_token(struct http_request *r, const struct auth_rule *rule,
                 struct str *token)
{
    struct str raw;

    return rule->query.len > 0 &&
           http_query_count(r, rule->query.ptr, &raw) == 1 &&
           http_query(r, rule->query.ptr, token);
}

struct str
http_query_proof(struct http_request *r)
{
    const struct http_auth *auth = r->location->auth;
    struct str raw;

    if (!takes_queries(auth) || http_header(r, "Authorization") != NULL) {
        return STR_NONE;
    }
    for (size_t i = 0; i < auth->rule_count; i++) {
        struct str name = auth->rules[i].query;

        if (name.len > 0 && http_query_count(r, name.ptr, &raw) == 1) {
            return pool_printf(r->pool, "%.*s=%.*s", STR_ARGS(name),
                               STR_ARGS(raw));
        }
    }
    return STR_NONE;
}

bool
http_is_private(struct http_request *r)
{
    return r->location->auth != NULL && !auth_is_signed(r);
}
