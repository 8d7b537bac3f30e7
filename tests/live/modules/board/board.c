/*
 * A board that all clients of Socket.IO see, for tests: its state is a role's,
 * 64 KB (large: 256 KB) that each joining socket is told first.
 *
 *     board     the snapshot: {"version":N,"pad":"..."}
 *     change    of a client: the state is version N + 1 ...
 *     changed   ... as all are told: {"version":N + 1}, then the arguments of
 *               "change"
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "app/module.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "proc/rpc.h"
#include "sio/sio.h"

#define BOARD_BYTES (64 * 1024)
#define LARGE_BYTES (256 * 1024)
#define CHANGE_MAX 4096 /* bytes of its arguments */
#define OPEN_MAX 256
#define CHANGE_MS 60000

extern const struct module board_module;

struct settings {
    bool large;
    struct sio_settings socket_io;
};

static const struct conf_key keys[] = {
    ROW(settings, large, CONF_BOOL, .preset = "false",
        .help = "More than the system takes for who reads nothing."),
    ROW(settings, socket_io, CONF_GROUP, .keys = sio_keys,
        .size = sizeof(struct sio_settings), .preset = "",
        .help = "Of its clients."),
    CONF_END,
};

enum { SNAPSHOT, CHANGE };
static struct rpc_method methods[] = {
    [SNAPSHOT] = { .name = "board.snapshot",
                   .role = "board",
                   .caller = BUS_ANYBODY,
                   .request_max = 1024,
                   .answer_max = LARGE_BYTES,
                   .open_max = OPEN_MAX },
    [CHANGE] = { .name = "board.change",
                 .role = "board",
                 .caller = BUS_ANYBODY,
                 .request_max = CHANGE_MAX,
                 .answer_max = 1,
                 .open_max = OPEN_MAX },
    { .name = NULL },
};

/* ---- the role ---- */

struct board {
    long long version;
    struct buf text; /* of a snapshot, or of an event */
};

static void
on_snapshot(void *arg, struct rpc_request *r)
{
    struct board *b = arg;
    struct str variant = { r->data, r->len };
    size_t size = str_ends(variant, STR("\nlarge")) ? LARGE_BYTES : BOARD_BYTES;

    buf_take(&b->text, buf_len(&b->text));
    buf_printf(&b->text, "{\"version\":%lld,\"pad\":\"", b->version);
    while (buf_len(&b->text) < size - 2) {
        buf_add(&b->text, "x", 1);
    }
    buf_add_str(&b->text, STR("\"}"));
    rpc_reply(&r, buf_data(&b->text), buf_len(&b->text), -1);
}

static void
on_change(void *arg, struct rpc_request *r)
{
    static const struct sio_target all = { .module = "board",
                                           .namespace_name = "/" };
    struct board *b = arg;
    struct sio_message m = { .event = "changed", .stales = "board" };
    struct errmsg err;

    b->version++;
    buf_take(&b->text, buf_len(&b->text));
    buf_printf(&b->text, "{\"version\":%lld}%s", b->version,
               r->len > 0 ? "," : "");
    buf_add(&b->text, r->data, r->len);
    m.args.json = buf_str(&b->text);
    if (sio_emit(&all, &m, &err) == -1) {
        log_alert("board: %s", err.text);
    }
    rpc_reply(&r, NULL, 0, -1);
}

static int
start_role(const struct role_process *p, void **state, struct errmsg *err)
{
    struct board *b = mem_zero(sizeof(*b));

    (void)p;
    (void)err;
    buf_init(&b->text, LARGE_BYTES);
    rpc_serve(&methods[SNAPSHOT], on_snapshot, b);
    rpc_serve(&methods[CHANGE], on_change, b);
    *state = b;
    return 0;
}

static void
stop_role(void *state)
{
    struct board *b = state;

    buf_clear(&b->text);
    mem_free(&b);
}

static const struct role roles[] = {
    { .name = "board", .count = 1, .start = start_role, .stop = stop_role },
    { .name = NULL },
};

/* ---- in the channel ---- */

static void
on_answer(void *arg, struct rpc_answer *a)
{
    (void)arg;
    if (a->status != RPC_OK) {
        log_notice("board: a change failed: %d", (int)a->status);
    }
}

static void
on_wish(struct sio_socket *s, struct str name, const struct sio_args *args,
        struct sio_ack *ack)
{
    const struct rpc_options o = { .timeout_ms = CHANGE_MS,
                                   .on_answer = on_answer };
    struct errmsg err;

    (void)s;
    (void)name;
    if (rpc_call(&methods[CHANGE], &o, args->json.ptr, args->json.len, -1,
                 &err) == NULL) {
        log_notice("board: %s", err.text);
    }
    if (ack != NULL) {
        sio_ack_send(&ack, NULL);
    }
}

static const struct sio_event events[] = {
    { .name = "change", .handler = on_wish },
    { .name = NULL },
};

static const struct sio_snapshot snapshots[] = {
    { .event = "board", .method = &methods[SNAPSHOT] },
    { .event = NULL },
};

static const struct sio_namespace namespaces[] = {
    { .name = "/", .events = events, .snapshots = snapshots },
    { .name = NULL },
};

static bool
find_endpoint(struct pool *p, const void *layer, struct sio_endpoint *out)
{
    const struct settings *s = layer;

    (void)p;
    *out = (struct sio_endpoint){ .name = STR("main"),
                                  .variant = s->large ? STR("large") : STR_NONE,
                                  .settings = &s->socket_io };
    return true;
}

static const struct sio_module sockets = { .endpoint = find_endpoint,
                                           .namespaces = namespaces };

static const struct http_route routes[] = {
    { .path = NULL },
};

const struct module board_module = {
    .name = "board",
    .about = "tells a state and its changes over Socket.IO, for tests",
    .keys = keys,
    .settings_size = sizeof(struct settings),
    .routes = routes,
    .roles = roles,
    .methods = methods,
    .sio = &sockets,
};
