/*
 * The path and the query of an address that may be signed, split at the first
 * NUL.
 *
 * Nobody knows the key, so no signature is good but the one that is given; and
 * that one opens its own folder alone.
 *
 * covers: src/http/filter/signed.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "http/filter/auth.h"
#include "http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct auth_rule rule = { .kind = AUTH_BEARER, .query = { "token", 5 } };
static const struct http_auth auth = { .rules = &rule, .rule_count = 1 };
static const struct http_location location = { .auth = &auth };

/* A token of the query stands in it, and goes on as it was sent. */
static void
try_token(struct http_request *r)
{
    struct str token = STR_NONE, proof = http_query_proof(r);
    bool has = auth_query_token(r, &rule, &token);

    if (has != (proof.len > 0) || token.len > r->query.len) {
        abort();
    }
}

static void
try_signature(struct http_request *r, struct str path)
{
    struct str query, folder = path;

    while (folder.len > 0 && folder.ptr[folder.len - 1] != '/') {
        folder.len--;
    }
    query = http_sign_folder(r, folder);
    r->query = query;
    if (!auth_is_signed(r)) {
        abort();
    }
    r->query =
        http_sign_folder(r, pool_printf(r->pool, "%.*sx/", STR_ARGS(folder)));
    if (auth_is_signed(r)) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pool *pool = pool_new(1024);
    struct str query = str_of(data, size), path = str_cut(&query, '\0');
    struct http_request r = {
        .pool = pool,
        .method = STR("GET"),
        .path = path,
        .query = query,
        .location = &location,
    };

    hash_init();
    if (auth_is_signed(&r)) {
        abort();
    }
    try_token(&r);
    try_signature(&r, path);
    pool_free(&pool);
    return 0;
}
