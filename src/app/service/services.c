/*
 * The table of services.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/services.h"

#include "app/service/http_service.h"
#include "app/service/module_service.h"
#include "app/service/rtmp_service.h"
#include "app/worker.h"
#include "http/http.h"
#include "rtmp/rtmp.h"

struct services {
    struct worker *worker;          /* borrowed */
    struct http_service *http;      /* owned */
    struct module_service *modules; /* owned */
    size_t started;                 /* rows of the table */
};

/* Functions of one row; those that are NULL have nothing to do. */
struct service {
    int (*start)(struct services *s, struct errmsg *err);
    void (*accept)(struct services *s, const struct server_settings *server,
                   const struct conn_socket *socket);
    size_t (*connections)(const struct services *s);
    void (*drain)(struct services *s);
    void (*finish)(struct services *s, const char *reason);
    void (*close)(struct services *s);
    void (*stop)(struct services *s);
};

/* ---- http ---- */

static int
start_http(struct services *s, struct errmsg *err)
{
    s->http = http_service_start(s->worker, err);
    return s->http == NULL ? -1 : 0;
}

static void
accept_http(struct services *s, const struct server_settings *server,
            const struct conn_socket *socket)
{
    http_accept(s->worker->loop, http_service_address(s->http, server->place),
                socket);
}

static size_t
count_http(const struct services *s)
{
    (void)s;
    return http_connections();
}

static void
drain_http(struct services *s)
{
    http_service_drain(s->http);
}

static void
finish_http(struct services *s, const char *reason)
{
    (void)s;
    (void)reason;
    http_stop();
}

static void
close_http(struct services *s)
{
    (void)s;
    http_stop();
}

static void
stop_http(struct services *s)
{
    http_service_stop(&s->http);
}

/* ---- rtmp ---- */

static int
start_rtmp(struct services *s, struct errmsg *err)
{
    (void)err;
    rtmp_service_start(s->worker);
    return 0;
}

static void
accept_rtmp(struct services *s, const struct server_settings *server,
            const struct conn_socket *socket)
{
    (void)s;
    rtmp_service_accept(server->number, socket);
}

static size_t
count_rtmp(const struct services *s)
{
    (void)s;
    return rtmp_sessions();
}

static void
finish_rtmp(struct services *s, const char *reason)
{
    (void)s;
    rtmp_service_finish(reason);
}

static void
close_rtmp(struct services *s)
{
    (void)s;
    rtmp_service_stop();
}

/* ---- modules ---- */

static int
start_modules(struct services *s, struct errmsg *err)
{
    return module_service_start(s->worker, &s->modules, err);
}

static void
accept_modules(struct services *s, const struct server_settings *server,
               const struct conn_socket *socket)
{
    module_service_accept(s->modules, server, socket);
}

static size_t
count_modules(const struct services *s)
{
    return module_service_connections(s->modules);
}

static void
drain_modules(struct services *s)
{
    module_service_drain(s->modules);
}

static void
finish_modules(struct services *s, const char *reason)
{
    module_service_finish(s->modules, reason);
}

static void
close_modules(struct services *s)
{
    module_service_stop(s->modules);
}

/* ---- all ---- */

/* In the order of starting; they end in the reverse one. */
static const struct {
    enum server_kind kind;
    struct service is;
} table[SERVER_KINDS] = {
    { SERVER_HTTP,
      { start_http, accept_http, count_http, drain_http, finish_http,
        close_http, stop_http } },
    { SERVER_RTMP,
      { start_rtmp, accept_rtmp, count_rtmp, NULL, finish_rtmp, close_rtmp,
        NULL } },
    { SERVER_MODULE,
      { start_modules, accept_modules, count_modules, drain_modules,
        finish_modules, close_modules, NULL } },
};

int
services_start(struct worker *w, struct errmsg *err)
{
    struct services *s = pool_zero(w->pool, sizeof(*s));

    s->worker = w;
    w->services = s;
    for (; s->started < SERVER_KINDS; s->started++) {
        if (table[s->started].is.start(s, err) == -1) {
            return -1;
        }
    }
    return 0;
}

void
services_accept(struct services *s, const struct server_settings *server,
                const struct conn_socket *socket)
{
    for (size_t i = 0; i < SERVER_KINDS; i++) {
        if (table[i].kind == server->kind) {
            table[i].is.accept(s, server, socket);
            return;
        }
    }
}

size_t
services_connections(const struct services *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->started; i++) {
        n += table[i].is.connections(s);
    }
    return n;
}

void
services_drain(struct services *s)
{
    for (size_t i = 0; i < s->started; i++) {
        if (table[i].is.drain != NULL) {
            table[i].is.drain(s);
        }
    }
}

void
services_finish(struct services *s, const char *reason)
{
    for (size_t i = 0; i < s->started; i++) {
        table[i].is.finish(s, reason);
    }
}

void
services_close(struct services *s)
{
    for (size_t i = s->started; i-- > 0;) {
        table[i].is.close(s);
    }
}

void
services_stop(struct services *s)
{
    for (size_t i = s->started; i-- > 0;) {
        if (table[i].is.stop != NULL) {
            table[i].is.stop(s);
        }
    }
}
