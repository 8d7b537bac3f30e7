/*
 * The files that auth rules name, read while the configuration is: the master
 * may, the workers may not, and "weir -t" finds what is wrong in them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/filters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/filter/auth.h"

/* ---- files ---- */

/* Everything in it; it must be of a size that such a file has. */
static int
read_all(struct pool *pool, int fd, const struct stat *st, struct str *out)
{
    size_t size = (size_t)st->st_size, have = 0;
    char *text = pool_alloc(pool, size + 1);

    while (have < size) {
        ssize_t n = read(fd, text + have, size - have);

        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        have += (size_t)n;
    }
    *out = str_of(text, have);
    return 0;
}

static int
check_file(const char *path, const struct stat *st, bool secret,
           struct errmsg *err)
{
    if (!S_ISREG(st->st_mode)) {
        return errmsg_set(err, "%s is not a file", path);
    }
    if ((size_t)st->st_size > AUTH_FILE_MAX) {
        return errmsg_set(err, "%s is larger than %zu bytes", path,
                          AUTH_FILE_MAX);
    }
    if (secret && (st->st_mode & (S_IROTH | S_IWOTH)) != 0) {
        return errmsg_set(err,
                          "%s can be read or written by everybody: chmod o= "
                          "it",
                          path);
    }
    return 0;
}

/* The settings' strings have a NUL behind them. */
static int
read_file(struct pool *pool, struct str path, bool secret, struct str *out,
          struct errmsg *err)
{
    struct stat st;
    int fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result = -1;

    *out = STR_NONE;
    if (fd == -1 || fstat(fd, &st) == -1) {
        errmsg_sys(err, "cannot read %s", path.ptr);
    } else if (check_file(path.ptr, &st, secret, err) == 0) {
        result = read_all(pool, fd, &st, out);
    }
    if (fd != -1) {
        close(fd);
    }
    return result;
}

/* The content of the file is not needed any more. */
static void
wipe(struct str text)
{
    if (text.len > 0) {
        explicit_bzero((char *)(uintptr_t)text.ptr, text.len);
    }
}

/* ---- a rule of each type ---- */

static int
make_bearer(struct pool *pool, const struct auth_settings *s,
            struct auth_rule *rule, struct errmsg *err)
{
    struct str file = STR_NONE;
    int result;

    rule->kind = AUTH_BEARER;
    if (s->tokens_file.len > 0 &&
        read_file(pool, s->tokens_file, true, &file, err) == -1) {
        return -1;
    }
    result = auth_make_bearer(pool, s->tokens.items, s->tokens.count, file,
                              rule, err);
    if (result == -1 && file.len > 0) {
        errmsg_prefix(err, "%s: ", s->tokens_file.ptr);
    }
    wipe(file);
    return result;
}

static int
make_basic(struct pool *pool, const struct auth_settings *s,
           struct auth_rule *rule, struct errmsg *err)
{
    struct str file;

    rule->kind = AUTH_BASIC;
    if (read_file(pool, s->users_file, true, &file, err) == -1) {
        return -1;
    }
    if (auth_make_basic(pool, file, rule, err) == -1) {
        return errmsg_prefix(err, "%s: ", s->users_file.ptr);
    }
    return 0;
}

static bool
wants(const struct auth_settings *s, const char *algorithm)
{
    for (size_t i = 0; i < s->algorithms.count; i++) {
        if (str_eq(s->algorithms.items[i], str_from(algorithm))) {
            return true;
        }
    }
    return false;
}

static const char *const names[] = { "HS256", "RS256", "ES256" };
#define KINDS (sizeof(names) / sizeof(names[0]))

static int
add_secret(struct pool *pool, const struct auth_settings *s,
           struct auth_rule *rule, struct errmsg *err)
{
    struct signature_key *key;
    struct str file = STR_NONE, secret = s->secret;

    if (s->secret_file.len == 0 && secret.len == 0) {
        return 0;
    }
    if (!wants(s, "HS256")) {
        return errmsg_set(err, "a secret goes with algorithm \"HS256\" only");
    }
    if (s->secret_file.len > 0) {
        if (read_file(pool, s->secret_file, true, &file, err) == -1) {
            return -1;
        }
        secret = file;
        if (secret.len > 0 && secret.ptr[secret.len - 1] == '\n') {
            secret.len--;
        }
    }
    key = signature_secret(secret, err);
    wipe(file);
    return auth_add_key(pool, key, STR_NONE, rule, err);
}

/* The file says which kind of key it is. */
static int
add_public(struct pool *pool, const struct auth_settings *s, struct str path,
           struct auth_rule *rule, struct errmsg *err)
{
    struct signature_key *key = NULL;
    struct str pem;

    if (read_file(pool, path, false, &pem, err) == -1) {
        return -1;
    }
    errmsg_set(err, "algorithms has neither \"RS256\" nor \"ES256\"");
    if (wants(s, "RS256")) {
        key = signature_pem(SIGNATURE_RS256, pem, err);
    }
    if (key == NULL && wants(s, "ES256")) {
        key = signature_pem(SIGNATURE_ES256, pem, err);
    }
    if (auth_add_key(pool, key, STR_NONE, rule, err) == -1) {
        return errmsg_prefix(err, "%s: ", path.ptr);
    }
    return 0;
}

static int
add_jwks(struct pool *pool, const struct auth_settings *s,
         struct auth_rule *rule, struct errmsg *err)
{
    struct str file;
    unsigned kinds = 0;

    for (size_t i = 0; i < KINDS; i++) {
        kinds |= wants(s, names[i]) ? 1U << i : 0;
    }
    if (read_file(pool, s->jwks_file, wants(s, "HS256"), &file, err) == -1) {
        return -1;
    }
    if (auth_add_jwks(pool, file, kinds, rule, err) == -1) {
        return errmsg_prefix(err, "%s: ", s->jwks_file.ptr);
    }
    return 0;
}

static int
add_keys(struct pool *pool, const struct auth_settings *s,
         struct auth_rule *rule, struct errmsg *err)
{
    if (add_secret(pool, s, rule, err) == -1) {
        return -1;
    }
    for (size_t i = 0; i < s->public_key_files.count; i++) {
        if (add_public(pool, s, s->public_key_files.items[i], rule, err) ==
            -1) {
            return -1;
        }
    }
    if (s->jwks_file.len > 0 && add_jwks(pool, s, rule, err) == -1) {
        return -1;
    }
    return 0;
}

static bool
has_key(const struct auth_rule *rule, enum signature_kind kind)
{
    for (size_t i = 0; i < rule->jwt.key_count; i++) {
        if (signature_kind(rule->jwt.keys[i].key) == kind) {
            return true;
        }
    }
    return false;
}

static const struct jwt_claim *
make_claims(struct pool *pool, const struct conf_strings *list)
{
    struct jwt_claim *claims =
        pool_zero(pool, (list->count + 1) * sizeof(*claims));

    for (size_t i = 0; i < list->count; i++) {
        struct str value = list->items[i];

        claims[i].name = pool_str(pool, str_cut(&value, '='));
        claims[i].value = value;
    }
    return claims;
}

static int
make_jwt(struct pool *pool, const struct auth_settings *s,
         struct auth_rule *rule, struct errmsg *err)
{
    rule->kind = AUTH_JWT;
    if (add_keys(pool, s, rule, err) == -1) {
        return -1;
    }
    for (size_t i = 0; i < KINDS; i++) {
        if (wants(s, names[i]) && !has_key(rule, (enum signature_kind)i)) {
            return errmsg_set(err, "there is no key for algorithm \"%s\"",
                              names[i]);
        }
    }
    rule->jwt.issuer = s->issuer;
    rule->jwt.audiences = s->audience.items;
    rule->jwt.audience_count = s->audience.count;
    rule->jwt.required = make_claims(pool, &s->required);
    rule->jwt.required_count = s->required.count;
    rule->jwt.leeway = s->leeway / 1000;
    return 0;
}

static int
make_rule(struct pool *pool, const struct auth_settings *s,
          struct auth_rule *rule, struct errmsg *err)
{
    rule->realm = s->realm;
    rule->query = s->query;
    switch ((enum auth_type)s->type) {
    case AUTH_TYPE_BEARER:
        return make_bearer(pool, s, rule, err);
    case AUTH_TYPE_BASIC:
        return make_basic(pool, s, rule, err);
    case AUTH_TYPE_JWT:
        return make_jwt(pool, s, rule, err);
    }
    return 0;
}

/* ---- all of them ---- */

static void
make_location(struct pool *pool, struct http_location_settings *l, FILE *out)
{
    const struct auth_settings *all = l->auth.items;
    struct http_auth *auth = pool_zero(pool, sizeof(*auth));
    struct errmsg err;

    auth->rule_count = l->auth.count;
    auth->rules = pool_zero(pool, (l->auth.count + 1) * sizeof(*auth->rules));
    for (size_t i = 0; i < l->auth.count; i++) {
        if (make_rule(pool, &all[i], &auth->rules[i], &err) == -1) {
            fprintf(out, "%s:%d: http.servers.locations.auth: %s\n",
                    all[i].where.file, all[i].where.line, err.text);
        }
    }
    l->made_auth = l->auth.count > 0 ? auth : NULL;
}

void
settings_make_auth(struct pool *pool, const struct settings *s, FILE *out)
{
    for (size_t i = 0; i < s->http.servers.count; i++) {
        const struct http_server_settings *h =
            settings_http_server(&s->http, i);
        struct http_location_settings *all = h->locations.items;

        for (size_t k = 0; k < h->locations.count; k++) {
            make_location(pool, &all[k], out);
        }
    }
}
