/*
 * Fuzz target: URLs.
 *
 * What was taken apart is in its usual form; what is shown of it is bounded,
 * and is a URL again with the same host and nothing of the password.
 *
 * covers: src/net/url.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
look_at(const struct url *u)
{
    if (u->host.len == 0 || u->port == 0 || u->path.ptr[0] != '/' ||
        u->host.ptr[u->host.len] != 0 || u->path.ptr[u->path.len] != 0 ||
        u->user.ptr[u->user.len] != 0 || u->query.ptr[u->query.len] != 0 ||
        (u->has_password && !u->has_user) ||
        (!u->has_query && u->query.len > 0)) {
        abort();
    }
    for (size_t i = 0; i < u->user.len; i++) {
        if ((unsigned char)u->user.ptr[i] < 0x20) {
            abort();
        }
    }
}

static void
look_at_masked(struct pool *pool, const struct url *u, enum url_show show)
{
    char *text = malloc(URL_MASKED_MAX), small[24];
    struct errmsg err;
    struct url again;

    url_masked(text, URL_MASKED_MAX, u, show);
    if (strlen(text) + 1 >= URL_MASKED_MAX) {
        abort();
    }
    url_masked(small, sizeof(small), u, show);
    if (strncmp(text, small, strlen(small)) != 0) {
        abort();
    }
    if (strlen(text) <= URL_MAX &&
        (url_parse(pool, str_from(text), &again, &err) == -1 ||
         !str_eq(again.host, u->host) || again.port != u->port ||
         !str_eq(again.user, u->user) ||
         (u->has_password && !str_eq(again.password, STR("***"))))) {
        abort();
    }
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pool *pool = pool_new(1024);
    struct errmsg err = { "" };
    struct url u;

    if (url_parse(pool, str_of(data, size), &u, &err) == 0) {
        look_at(&u);
        look_at_masked(pool, &u, URL_HIDE_SECRETS);
        look_at_masked(pool, &u, URL_HIDE_KEY);
    } else if (err.text[0] == 0) {
        abort();
    }
    pool_free(&pool);
    return 0;
}
