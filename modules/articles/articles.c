/*
 * Articles with their authors, kept in the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"
#include "format.h"

static const struct http_route routes[] = {
    { .path = NULL },
};

const struct module articles_module = {
    .name = "articles",
    .about = "articles with their authors: GET, POST, DELETE /articles",
    .routes = routes,
};
