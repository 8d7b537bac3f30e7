/*
 * Tables of version layers from the text of their settings, and requests to
 * them, for the tests of this folder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VERSION_TABLE_HELP_H
#define MODULES_VERSION_TABLE_HELP_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/exchange.h"
#include "rank.h"

#define ECHO "layers = ( { module = \"echo\"; routes = [ \"GET /x\" ]; } );"
#define UNIT(versions) "{ versions = [ " versions " ]; " ECHO " }"
#define HEADER "strategy = \"header\"; vendor = \"acme\"; "
#define TWO "units = ( " UNIT("\"v2\"") ", " UNIT("\"v1\"") " );"

/* The settings of a file with that text; the mistakes are for mem_free(). */
static inline struct conf *
help_load(const char *text, char **mistakes)
{
    char path[] = "/tmp/version_test.XXXXXX";
    int fd = mkstemp(path);
    struct conf *c;

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    c = conf_load(path, version_keys, sizeof(struct version_settings),
                  mistakes);
    unlink(path);
    return c;
}

struct help {
    struct conf *conf;
    struct pool *pool;
    struct version_table *table;
};

static inline struct help
help_table(const char *text)
{
    struct help h = { .pool = pool_new(4096) };
    struct units *units = pool_zero(h.pool, sizeof(*units));
    struct errmsg err;
    char *mistakes = NULL;

    h.conf = help_load(text, &mistakes);
    if (h.conf == NULL) {
        fail_msg("%s", mistakes);
        abort();
    }
    assert_int_equal(units_check(conf_settings(h.conf), &err), 0);
    assert_int_equal(units_make(conf_settings(h.conf), h.pool, units, &err), 0);
    h.table = version_table_new(units, conf_settings(h.conf), h.pool);
    return h;
}

static inline void
help_free(struct help *h)
{
    pool_free(&h->pool);
    conf_free(&h->conf);
}

/* A request in a pool of its own, as far as a selector looks at it. */
static inline struct exchange *
help_request(const char *path, const struct http_header *headers, size_t count)
{
    struct pool *pool = pool_new(16384);
    struct exchange *x = pool_zero(pool, sizeof(*x));

    x->pub.pool = pool;
    x->pub.method = STR("GET");
    x->pub.route_path = str_from(path);
    x->pub.query = x->pub.body = STR_NONE;
    x->pub.headers = headers;
    x->pub.header_count = count;
    return x;
}

static inline void
help_request_free(struct exchange *x)
{
    struct pool *pool = x->pub.pool;

    pool_free(&pool);
}

#endif
