/*
 * Passes are few, as runs are: they are looked through one after the other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/proxy.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/rand.h"
#include "fetcher/proxy_link.h"
#include "net/listen.h"
#include "net/sha256.h"

#define PASSWORD_BYTES 32

static const struct proxy_times usual_times = {
    .head = 30 * 1000,
    .connect = 30 * 1000,
    .idle = 120 * 1000,
};

/* ---- rules ---- */

static struct proxy_rules *
rules_new(const struct str *rules, size_t count)
{
    struct pool *pool = pool_new(1024);
    struct proxy_rules *r = pool_alloc(pool, sizeof(*r));
    struct str *texts = pool_alloc(pool, (count + 1) * sizeof(*texts));

    for (size_t i = 0; i < count; i++) {
        texts[i] = pool_str(pool, str_trim(rules[i]));
    }
    *r = (struct proxy_rules){ .pool = pool,
                               .egress = egress_parse(pool, texts, count),
                               .texts = texts,
                               .count = count,
                               .holders = 1 };
    return r;
}

void
proxy_rules_drop(struct proxy_rules **r)
{
    struct proxy_rules *rules = *r;

    *r = NULL;
    if (rules != NULL && --rules->holders == 0) {
        struct pool *pool = rules->pool;

        pool_free(&pool);
    }
}

void
proxy_set_egress(struct proxy *p, const struct str *rules, size_t count)
{
    proxy_rules_drop(&p->rules);
    p->rules = rules_new(rules, count);
}

/* ---- the listener ---- */

static void
on_accept(void *arg, const struct conn_socket *socket)
{
    proxy_link_begin(arg, socket);
}

static int
open_listener(struct proxy *p, struct errmsg *err)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    socklen_t len = sizeof(in);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    conn_prepare(p->fd, AF_INET);
    if (p->fd == -1 ||
        bind(p->fd, (const struct sockaddr *)&in, sizeof(in)) == -1 ||
        listen(p->fd, PROXY_LINKS) == -1 ||
        getsockname(p->fd, (struct sockaddr *)&in, &len) == -1) {
        return errmsg_sys(err, "the proxy of engines cannot listen on "
                               "127.0.0.1");
    }
    p->port = ntohs(in.sin_port);
    p->acceptor = acceptor_start(p->loop, p->fd, on_accept, p);
    return p->acceptor != NULL
               ? 0
               : errmsg_sys(err, "the proxy of engines cannot be watched");
}

struct proxy *
proxy_new_with(struct loop *l, const struct resolver_options *r,
               const struct proxy_times *times, struct errmsg *err)
{
    static const struct resolver_options usual = { 0 };
    struct proxy *p = mem_zero(sizeof(*p));

    p->loop = l;
    p->fd = -1;
    p->times = times != NULL ? *times : usual_times;
    p->rules = rules_new(NULL, 0);
    list_init(&p->strangers);
    list_init(&p->passes);
    p->resolver = resolver_new(l, r != NULL ? r : &usual, err);
    if (p->resolver == NULL || open_listener(p, err) == -1) {
        proxy_free(&p);
    }
    return p;
}

struct proxy *
proxy_new(struct loop *l, struct errmsg *err)
{
    return proxy_new_with(l, NULL, NULL, err);
}

void
proxy_free(struct proxy **p)
{
    if (*p == NULL) {
        return;
    }
    assert(list_empty(&(*p)->passes));
    LIST_EACH (node, &(*p)->strangers) {
        proxy_link_cut(node, "the proxy ends");
    }
    acceptor_stop(&(*p)->acceptor);
    if ((*p)->fd != -1) {
        close((*p)->fd);
    }
    resolver_free(&(*p)->resolver);
    proxy_rules_drop(&(*p)->rules);
    mem_free(p);
}

uint16_t
proxy_port(const struct proxy *p)
{
    return p->port;
}

size_t
proxy_links(const struct proxy *p)
{
    return p->links;
}

/* ---- passes ---- */

struct proxy_pass *
proxy_pass_new(struct proxy *p)
{
    struct proxy_pass *pass = mem_zero(sizeof(*pass));
    uint8_t bytes[PASSWORD_BYTES];
    char password[BASE64_ROOM(PASSWORD_BYTES)];

    rand_bytes(bytes, sizeof(bytes));
    base64_encode(BASE64_URL, bytes, sizeof(bytes), password);
    snprintf(pass->credentials, sizeof(pass->credentials), "run:%s", password);
    snprintf(pass->url, sizeof(pass->url), "http://%s@127.0.0.1:%u",
             pass->credentials, (unsigned)p->port);
    pass->proxy = p;
    list_init(&pass->links);
    list_append(&p->passes, &pass->link);
    return pass;
}

void
proxy_pass_free(struct proxy_pass **pass)
{
    if (*pass == NULL) {
        return;
    }
    LIST_EACH (node, &(*pass)->links) {
        proxy_link_cut(node, "the run is over");
    }
    list_remove(&(*pass)->link);
    mem_free(pass);
}

struct proxy_pass *
proxy_find_pass(const struct proxy *p, struct str credentials)
{
    struct proxy_pass *found = NULL;

    LIST_EACH (node, &p->passes) {
        struct proxy_pass *pass = LIST_ITEM(node, struct proxy_pass, link);

        if (credentials.len == strlen(pass->credentials) &&
            digest_equal(credentials.ptr, pass->credentials, credentials.len)) {
            found = pass;
        }
    }
    return found;
}

const char *
proxy_pass_url(const struct proxy_pass *pass)
{
    return pass->url;
}

const char *
proxy_pass_refusal(const struct proxy_pass *pass)
{
    return pass->refusal.text;
}

int64_t
proxy_pass_bytes(const struct proxy_pass *pass)
{
    return pass->bytes;
}
