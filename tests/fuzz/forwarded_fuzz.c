/*
 * Fuzz target: X-Forwarded-For, Forwarded and what goes with them.
 *
 * The first byte says who is trusted and which header counts, the rest are
 * header lines.  Whoever is not trusted changes nothing; and once the walk has
 * found a client that is none of the proxies, nothing that stands further left
 * makes another one of it.
 *
 * covers: src/http/client_address.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "http/client_address.h"
#include "http/head_rules.h"

#define HEADERS 24

static struct http_request
request_of(struct pool *pool, const struct http_header *headers, size_t count)
{
    struct http_request r = { .pool = pool,
                              .headers = headers,
                              .header_count = count,
                              .host = STR("origin.example") };

    require(addr_parse_ip(STR("10.0.0.1"), &r.peer) == 0);
    return r;
}

static size_t
read_headers(struct str input, struct http_header headers[HEADERS])
{
    size_t count = 0;

    while (input.len > 0 && count < HEADERS) {
        struct str line = str_cut(&input, '\n');
        struct http_header *h = &headers[count];

        count += cut_field(line, &h->name, &h->value);
    }
    return count;
}

/* With a hop more in front of all others, where the header has hops. */
static void
try_forged(struct pool *pool, const struct http_request *was,
           const struct http_server *server)
{
    static const struct http_header hops[] = {
        { { "X-Forwarded-For", 15 }, { "198.51.100.66", 13 } },
        { { "Forwarded", 9 }, { "for=198.51.100.66", 17 } },
    };
    struct http_header headers[HEADERS + 1];

    for (size_t i = 0; i < 2; i++) {
        struct http_request r =
            request_of(pool, headers, was->header_count + 1);

        if (http_header(was, hops[i].name.ptr) == NULL) {
            continue;
        }
        headers[0] = hops[i];
        memcpy(headers + 1, was->headers,
               was->header_count * sizeof(headers[0]));
        http_client_begin(&r, server, &r.peer, false);
        require(addr_eq(&r.client, &was->client));
    }
}

static void
look_at(const struct http_request *r)
{
    require(r->client.family == AF_INET || r->client.family == AF_INET6);
    require(str_eq(r->scheme, STR("http")) || str_eq(r->scheme, STR("https")));
    require(http_is_authority(r->host));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str names[] = { { "10.0.0.0/8", 10 },
                                        { "2001:db8:1::/48", 15 } };
    struct http_header headers[HEADERS];
    struct str input = str_of(data, size);
    unsigned how = take_byte(&input);
    struct pool *pool = pool_new(1024);
    struct http_server server = { .forwarded_header = (int)(how & 3) };
    size_t count = read_headers(input, headers);
    struct http_request r = request_of(pool, headers, count);
    struct http_way way;

    if ((how & 4) == 0) {
        server.trusted = access_parse_names(pool, names, 2);
    }
    require(http_client_begin(&r, &server, &r.peer, (how & 8) != 0) ==
            ((how & 4) == 0));
    look_at(&r);
    http_client_way(&r, &server, &way);
    require(way.forwarded.len < 2 * size + 64 * HTTP_HOPS_MAX &&
            way.x_forwarded_for.len < 2 * size + 64 * HTTP_HOPS_MAX);
    if (server.trusted == NULL ||
        server.forwarded_header == HTTP_FORWARDED_OFF) {
        require(addr_eq(&r.client, &r.peer) &&
                str_eq(r.host, STR("origin.example")) &&
                str_eq(r.scheme, (how & 8) != 0 ? STR("https") : STR("http")));
    }
    if (!access_names(server.trusted, &r.client)) {
        try_forged(pool, &r, &server);
    }
    pool_free(&pool);
    return 0;
}
