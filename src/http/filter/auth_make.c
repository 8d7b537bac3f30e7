/*
 * From lists and files to the rules of the auth filter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/rand.h"
#include "http/filter/auth.h"
#include "net/password.h"
#include "json/read.h"

/* ---- lines ---- */

/* The next line that says something; false at the end. */
static bool
next_line(struct str *rest, struct str *line, int *number)
{
    while (rest->len > 0) {
        *line = str_cut(rest, '\n');
        (*number)++;
        if (line->len > 0 && line->ptr[line->len - 1] == '\r') {
            line->len--;
        }
        *line = str_trim(*line);
        if (line->len > 0 && line->ptr[0] != '#') {
            return true;
        }
    }
    return false;
}

static size_t
count_lines(struct str file)
{
    struct str line;
    size_t n = 0;
    int number = 0;

    while (next_line(&file, &line, &number)) {
        n++;
    }
    return n;
}

/* ---- tokens ---- */

static int
compare_tokens(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct auth_token));
}

/* Sorting and searching show at most how the digests compare, and those are
 * useless without the key. */
static void
digest_of(const struct auth_rule *rule, struct str token,
          struct auth_token *out)
{
    digest_hmac_sha256(rule->key, sizeof(rule->key), token.ptr, token.len,
                       out->digest);
}

static int
add_token(struct auth_rule *rule, struct str token, struct errmsg *err)
{
    for (size_t i = 0; i < token.len; i++) {
        char c = token.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9');

        if (!letter && (c == '\0' || strchr("-._~+/=", c) == NULL)) {
            return errmsg_set(err, "a token has only letters, digits and any "
                                   "of -._~+/ (RFC 6750)");
        }
    }
    if (token.len < 16) {
        return errmsg_set(err, "a token must have at least 16 letters, not %zu",
                          token.len);
    }
    digest_of(rule, token, &rule->tokens[rule->token_count++]);
    return 0;
}

int
auth_make_bearer(struct pool *pool, const struct str *tokens, size_t count,
                 struct str file, struct auth_rule *out, struct errmsg *err)
{
    size_t lines = count_lines(file);
    struct str line;
    int number = 0;

    rand_bytes(out->key, sizeof(out->key));
    out->tokens = pool_alloc(pool, (count + lines + 1) * sizeof(*out->tokens));
    for (size_t i = 0; i < count; i++) {
        if (add_token(out, tokens[i], err) == -1) {
            return -1;
        }
    }
    while (next_line(&file, &line, &number)) {
        if (add_token(out, line, err) == -1) {
            return errmsg_prefix(err, "line %d: ", number);
        }
    }
    if (out->token_count == 0) {
        return errmsg_set(err, "there is no token in it");
    }
    qsort(out->tokens, out->token_count, sizeof(*out->tokens), compare_tokens);
    return 0;
}

bool
auth_knows_token(const struct auth_rule *rule, struct str token)
{
    struct auth_token wanted;

    digest_of(rule, token, &wanted);
    return bsearch(&wanted, rule->tokens, rule->token_count, sizeof(wanted),
                   compare_tokens) != NULL;
}

/* ---- users ---- */

static int
compare_users(const void *a, const void *b)
{
    const struct auth_user *x = a, *y = b;

    return str_compare(x->name, y->name);
}

static int
add_user(struct pool *pool, struct auth_rule *rule, struct str line,
         struct errmsg *err)
{
    struct str hash = line;
    struct str name = str_cut(&hash, ':');

    if (name.len == 0 || name.len == line.len) {
        return errmsg_set(err, "must be \"user:hash\"");
    }
    if (!password_hash_ok(hash)) {
        return errmsg_set(err,
                          "the hash of \"%.*s\" is none that is taken: $2y$ "
                          "(bcrypt), $5$, $6$ (SHA-2), $y$ (yescrypt)",
                          STR_ARGS(name));
    }
    rule->users[rule->user_count++] =
        (struct auth_user){ pool_str(pool, name), pool_str(pool, hash) };
    return 0;
}

int
auth_make_basic(struct pool *pool, struct str file, struct auth_rule *out,
                struct errmsg *err)
{
    struct str line;
    int number = 0;

    out->users =
        pool_alloc(pool, (count_lines(file) + 1) * sizeof(*out->users));
    while (next_line(&file, &line, &number)) {
        if (add_user(pool, out, line, err) == -1) {
            return errmsg_prefix(err, "line %d: ", number);
        }
    }
    if (out->user_count == 0) {
        return errmsg_set(err, "there is no user in it");
    }
    qsort(out->users, out->user_count, sizeof(*out->users), compare_users);
    for (size_t i = 1; i < out->user_count; i++) {
        if (str_eq(out->users[i].name, out->users[i - 1].name)) {
            return errmsg_set(err, "user \"%.*s\" stands twice",
                              STR_ARGS(out->users[i].name));
        }
    }
    return 0;
}

const struct auth_user *
auth_find_user(const struct auth_rule *rule, struct str name)
{
    struct auth_user wanted = { name, STR_NONE };

    return bsearch(&wanted, rule->users, rule->user_count, sizeof(wanted),
                   compare_users);
}

/* ---- keys ---- */

static void
free_key(void *arg)
{
    struct signature_key *k = arg;

    signature_free(&k);
}

int
auth_add_key(struct pool *pool, struct signature_key *key, struct str id,
             struct auth_rule *out, struct errmsg *err)
{
    if (key == NULL) {
        return -1;
    }
    pool_on_free(pool, free_key, key);
    if (out->jwt.key_count == JWT_KEYS_MAX) {
        return errmsg_set(err, "more than %d keys", JWT_KEYS_MAX);
    }
    out->jwt.keys[out->jwt.key_count++] =
        (struct jwt_key){ pool_str(pool, id), key };
    return 0;
}

/* Which kind a JWK is for; false: none of ours, or not for signatures. */
static bool
kind_of(const struct json_value *jwk, enum signature_kind *kind)
{
    struct str type = json_member_str(jwk, "kty");
    struct str alg = json_member_str(jwk, "alg");
    struct str use = json_member_str(jwk, "use");
    static const char *const names[] = { "HS256", "RS256", "ES256" };

    if (str_eq(type, STR("oct"))) {
        *kind = SIGNATURE_HS256;
    } else if (str_eq(type, STR("RSA"))) {
        *kind = SIGNATURE_RS256;
    } else if (str_eq(type, STR("EC")) &&
               str_eq(json_member_str(jwk, "crv"), STR("P-256"))) {
        *kind = SIGNATURE_ES256;
    } else {
        return false;
    }
    return (alg.len == 0 || str_eq(alg, str_from(names[*kind]))) &&
           (use.len == 0 || str_eq(use, STR("sig")));
}

static struct signature_key *
key_of(struct pool *pool, const struct json_value *jwk,
       enum signature_kind kind, struct errmsg *err)
{
    static const char *const members[][2] = {
        [SIGNATURE_HS256] = { "k", "k" },
        [SIGNATURE_RS256] = { "n", "e" },
        [SIGNATURE_ES256] = { "x", "y" },
    };
    struct str a, b;

    if (!base64_decode(pool, BASE64_URL, json_member_str(jwk, members[kind][0]),
                       &a) ||
        !base64_decode(pool, BASE64_URL, json_member_str(jwk, members[kind][1]),
                       &b)) {
        errmsg_set(err, "\"%s\" or \"%s\" is not base64url", members[kind][0],
                   members[kind][1]);
        return NULL;
    }
    if (kind == SIGNATURE_HS256) {
        return signature_secret(a, err);
    }
    return kind == SIGNATURE_RS256 ? signature_rsa(a, b, err)
                                   : signature_p256(a, b, err);
}

int
auth_add_jwks(struct pool *pool, struct str file, unsigned kinds,
              struct auth_rule *out, struct errmsg *err)
{
    const struct json_value *set = json_read(pool, file, err);
    const struct json_value *keys = json_member(set, "keys");
    enum signature_kind kind;
    int number = 0;

    if (set == NULL) {
        return -1;
    }
    if (keys == NULL || keys->kind != JSON_ARRAY) {
        return errmsg_set(err, "it has no array \"keys\"");
    }
    for (const struct json_value *k = keys->first; k != NULL; k = k->next) {
        number++;
        if (!kind_of(k, &kind) || (kinds & 1U << kind) == 0) {
            continue; /* for somebody else (RFC 7517, 5) */
        }
        if (auth_add_key(pool, key_of(pool, k, kind, err),
                         json_member_str(k, "kid"), out, err) == -1) {
            return errmsg_prefix(err, "key %d: ", number);
        }
    }
    return 0;
}
