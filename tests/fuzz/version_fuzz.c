/*
 * Accept headers, queries and bodies through version selection.
 *
 * Whatever comes: ranks are in their bounds and each unit is asked at most
 * once; an Accept cut into two headers at a comma of the list, or with empty
 * members put in, says the same.  The first byte of the input chooses the
 * strategy and where to cut.
 *
 * covers: modules/version/accept.c modules/version/multipart.c
 * covers: modules/version/param.c modules/version/rank.c src/http/accept.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../modules/version/rank.h"
#include "base/mem.h"
#include "http/accept.h"
#include "http/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNIT "layers = ( { module = \"hello\"; } ); }"
#define UNITS                                                 \
    "units = ( { versions = [ \"v2\", \"public-v2\" ]; " UNIT \
    ", { prefix = \"api\"; versions = \"v1\"; " UNIT          \
    ", { versions = \"v1\"; vendor = \"acme-x\"; " UNIT ", { " UNIT " );"

static const char *const texts[] = {
    "strategy = \"header\"; vendor = \"acme\"; " UNITS,
    "strategy = \"header\"; vendor = \"acme\"; strict = true; " UNITS,
    "strategy = \"header\"; vendor = \"acme\"; default_version = "
    "\"v1\"; " UNITS,
    "strategy = \"accept_version_header\"; " UNITS,
    "strategy = \"param\"; " UNITS,
    "strategy = \"path\"; " UNITS,
};
#define TABLES (sizeof(texts) / sizeof(texts[0]))

static const char *const bodies[] = {
    "application/x-www-form-urlencoded",
    "application/json",
    "multipart/form-data; boundary=b",
    "text/plain",
};
#define BODIES (sizeof(bodies) / sizeof(bodies[0]))

static struct version_table *
make_table(const char *text)
{
    char path[] = "/tmp/version_fuzz.XXXXXX";
    struct pool *pool = pool_new(4096); /* lives as long as the process */
    struct units *units = pool_zero(pool, sizeof(*units));
    struct errmsg err;
    char *mistakes = NULL;
    int fd = mkstemp(path);
    struct conf *c;

    if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        abort();
    }
    close(fd);
    c = conf_load(path, version_keys, sizeof(struct version_settings),
                  &mistakes);
    unlink(path);
    if (c == NULL || units_make(conf_settings(c), pool, units, &err) == -1) {
        fprintf(stderr, "%s\n", mistakes != NULL ? mistakes : err.text);
        abort();
    }
    return version_table_new(units, conf_settings(c), pool);
}

static struct exchange *
make_request(struct str text, const struct http_header *headers, size_t count)
{
    struct pool *pool = pool_new(4096);
    struct exchange *x = pool_zero(pool, sizeof(*x));

    x->pub.pool = pool;
    x->pub.method = STR("POST");
    x->pub.route_path = STR("/api/v1/x");
    x->pub.query = x->pub.body = text;
    x->pub.headers = headers;
    x->pub.header_count = count;
    return x;
}

static void
free_request(struct exchange *x)
{
    struct pool *pool = x->pub.pool;

    pool_free(&pool);
}

/* All units, in the order they are asked in: four bits each.  cut: the body is
 * the beginning of a longer one. */
static uint64_t
walk(const struct version_table *t, struct str text, bool cut,
     const struct http_header *headers, size_t count)
{
    struct exchange *x = make_request(text, headers, count);
    struct http_choice choice = { .body_read = true, .body_cut = cut };
    uint64_t order = 1;
    size_t turns = 0;

    while (version_select(&x->pub, (void *)(uintptr_t)t, &choice) ==
           HTTP_CHOSEN) {
        const struct plan *plan = choice.memory;

        if (++turns > t->unit_count || choice.route_path.len == 0 ||
            choice.route_path.ptr[0] != '/') {
            abort();
        }
        order = order << 4 | (plan->tried[0] & 15);
    }
    if (choice.status < 400 || choice.reason == NULL) {
        abort();
    }
    free_request(x);
    return order;
}

/* A comma of the list near at, else 0. */
static size_t
cut_of(struct str list, size_t at)
{
    struct http_media m;
    struct str rest = list;
    size_t cut = 0;

    while (http_media_next(&rest, &m)) {
        if (m.quality < 0 || m.quality > 1000 || m.name.ptr < list.ptr ||
            m.name.ptr + m.name.len > list.ptr + list.len) {
            abort();
        }
        if (rest.len > 0 && list.len - rest.len <= at) {
            cut = list.len - rest.len; /* behind the comma */
        }
    }
    return cut;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct version_table *tables[TABLES];
    struct http_header headers[4] = {
        { STR("Content-Type"), STR_NONE },
    };
    struct http_header coding;
    char padded[4096];

    for (size_t i = 0; i < TABLES && tables[TABLES - 1] == NULL; i++) {
        tables[i] = make_table(texts[i]);
    }
    if (size < 2 || size > sizeof(padded) / 2) {
        return 0;
    }
    const struct version_table *t = tables[data[0] % TABLES];
    struct str text = str_of(data + 1, size - 1);
    size_t cut = cut_of(text, data[0] * size / 256);

    headers[1] = (struct http_header){ STR("Accept-Version"), text };
    headers[2] = (struct http_header){ STR("Accept"), text };
    headers[0].value = str_from(bodies[data[0] / TABLES % BODIES]);
    coding = (struct http_header){ STR("Accept-Encoding"), text };
    http_accepts_gzip(
        &(struct http_request){ .headers = &coding, .header_count = 1 });
    uint64_t once = walk(t, text, false, headers, 3);

    walk(t, text, true, headers, 3);
    headers[2].value = str_first(text, cut);
    headers[3] = (struct http_header){ STR("accept"), str_skip(text, cut) };
    if (walk(t, text, false, headers, 4) != once) {
        abort();
    }
    int n = snprintf(padded, sizeof(padded), " , ,%.*s,,%.*s", (int)cut,
                     text.ptr, (int)(text.len - cut), text.ptr + cut);

    if (memchr(text.ptr, '\0', text.len) == NULL) {
        headers[2].value = str_of(padded, (size_t)n);
        if (walk(t, text, false, headers, 3) != once) {
            abort();
        }
    }
    return 0;
}
