/*
 * The auth filter of a location: it decides which requests may pass.
 *
 * A request carries its proof in Authorization: a token that is on a list
 * (RFC 6750), a user's name and password (RFC 7617), or a signed token
 * (jwt.h).  A location has rules for any of these, and a request passes that
 * meets one.  Where a rule says so, its token may stand in the query instead,
 * for players that send no headers.  The master makes the rules, because
 * workers cannot read the files; nobody changes them later.  They hold no
 * secret in the clear except the keys of jwt.h: tokens are kept as digests
 * under a random key, passwords as the hashes of the file.
 *
 * Hashing a password takes long on purpose: the task threads do it, a bounded
 * number at a time, of which an address has a share (net/share.h).  A password
 * that was right is remembered for a minute.
 *
 *   auth.c       deciding
 *   auth_make.c  the rules, of lists and files
 *   signed.c     addresses that were given to who had a right
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_AUTH_H
#define HTTP_FILTER_AUTH_H

#include "http/filter/jwt.h"
#include "net/sha256.h"
#include "proc/tally.h"

#define AUTH_REALM_MAX 100 /* bytes */
#define AUTH_FILE_MAX ((size_t)4 << 20)

struct http_request;

enum auth_kind { AUTH_BEARER, AUTH_BASIC, AUTH_JWT };

struct auth_token {
    uint8_t digest[DIGEST_SHA256];
};

struct auth_user {
    struct str name, hash;
};

struct auth_rule {
    enum auth_kind kind;
    struct str realm;
    struct str query; /* the argument that may have the token, with a NUL
                         behind it; empty: none */
    uint8_t key[DIGEST_SHA256]; /* of the tokens' digests */
    struct auth_token *tokens;  /* BEARER: sorted */
    size_t token_count;
    struct auth_user *users; /* BASIC: sorted by name */
    size_t user_count;
    struct jwt_rules jwt; /* JWT */
};

struct http_auth {
    struct auth_rule *rules;
    size_t rule_count;
};

/* ---- making rules, which live in the pool ---- */

/* Takes the tokens of a list and of the lines of a file (STR_NONE: no file),
 * without comments ("#") and empty lines.  At least one of the two must have
 * tokens. 0, or -1 with err ("line 3: ..."). */
int auth_make_bearer(struct pool *pool, const struct str *tokens, size_t count,
                     struct str file, struct auth_rule *out,
                     struct errmsg *err);
/* A file of lines "user:hash" (htpasswd's). */
int auth_make_basic(struct pool *pool, struct str file, struct auth_rule *out,
                    struct errmsg *err);
/* Keys go one after the other into out->jwt, freed with the pool: a key, or
 * those of a JWK Set (RFC 7517, 5) that are for one of the kinds in bit mask
 * kinds (1 << enum signature_kind). */
int auth_add_key(struct pool *pool, struct signature_key *key, struct str id,
                 struct auth_rule *out, struct errmsg *err);
int auth_add_jwks(struct pool *pool, struct str file, unsigned kinds,
                  struct auth_rule *out, struct errmsg *err);

/* The token in the query that is for the rule; false: there is none, or more
 * than one. */
bool auth_query_token(struct http_request *r, const struct auth_rule *rule,
                      struct str *token);
/* Whether the address has a signature of http_sign_folder(). */
bool auth_is_signed(struct http_request *r);

extern struct tally_pool auth_pools[]; /* for the master to register */

/* Whether the token is on the rule's list. */
bool auth_knows_token(const struct auth_rule *rule, struct str token);
/* NULL if there is none of that name. */
const struct auth_user *auth_find_user(const struct auth_rule *rule,
                                       struct str name);

#endif
