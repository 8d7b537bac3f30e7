/*
 * An attempt goes through three steps, each of which has one of its members:
 * the name (query), the addresses (tries), the handshake (handshake).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/outgoing.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/metrics.h"

#define TEXT_MAX (ADDR_TEXT + ADDR_PATH_MAX)

/* How much a failure tells. */
enum { TELLS_NOTHING, TELLS_EGRESS, TELLS_ROUTE, TELLS_SILENCE, TELLS_ANSWER };

/* One address that is being connected to. */
struct
try {
    struct io io;
    struct outgoing *attempt; /* borrowed */
    struct addr addr;
    int fd; /* owned; -1: not begun, or over */
};

struct outgoing {
    struct loop *loop; /* borrowed */
    struct outgoing_target target;
    char *host, *path, *tls_name; /* owned; those of target */
    struct resolve *query;
    struct try tries[RESOLVE_ADDRESSES];
    size_t count, begun; /* of tries */
    size_t open;
    struct tls_handshake *handshake;
    struct timer deadline;
    struct timer next; /* the head start of the last is over */
    struct later destroy;
    struct later begin; /* addresses that need no look-up */
    struct outgoing_failure failure;
    int tells; /* how much that does */
    outgoing_handler *handler;
    void *arg;
};

/* ---- the end ---- */

static void
destroy(struct later *later)
{
    struct outgoing *o = LIST_ITEM(later, struct outgoing, destroy);

    mem_free(&o->host);
    mem_free(&o->path);
    mem_free(&o->tls_name);
    mem_free(&o);
}

static void
stop_try(struct try *t)
{
    io_stop(t->attempt->loop, &t->io);
    t->fd = -1;
    t->attempt->open--;
}

static void
close_tries(struct outgoing *o)
{
    for (size_t i = 0; i < o->begun; i++) {
        int fd = o->tries[i].fd;

        if (fd != -1) {
            stop_try(&o->tries[i]);
            close(fd);
        }
    }
}

static void
leave(struct outgoing *o)
{
    resolve_cancel(&o->query);
    close_tries(o);
    tls_client_cancel(&o->handshake);
    timer_stop(o->loop, &o->deadline);
    timer_stop(o->loop, &o->next);
    later_cancel(&o->begin);
    loop_later(o->loop, &o->destroy);
}

static enum net_outgoing
result_of(enum outgoing_cause cause)
{
    static const enum net_outgoing results[OUTGOING_CAUSES] = {
        [OUTGOING_NAME] = NET_OUTGOING_NAME,
        [OUTGOING_EGRESS] = NET_OUTGOING_EGRESS,
        [OUTGOING_CONNECT] = NET_OUTGOING_FAILED,
        [OUTGOING_TLS] = NET_OUTGOING_TLS,
        [OUTGOING_TIMED_OUT] = NET_OUTGOING_TIMED_OUT,
    };

    return results[cause];
}

static void
fail(struct outgoing *o)
{
    leave(o);
    metric_add(&net_metrics[NET_OUTGOING], result_of(o->failure.cause), 1);
    o->handler(o->arg, NULL, &o->failure);
}

static void
succeed(struct outgoing *o, const struct conn_socket *socket)
{
    leave(o);
    metric_add(&net_metrics[NET_OUTGOING], NET_OUTGOING_CONNECTED, 1);
    o->handler(o->arg, socket, NULL);
}

void
outgoing_cancel(struct outgoing **o)
{
    if (*o != NULL) {
        leave(*o);
        metric_add(&net_metrics[NET_OUTGOING], NET_OUTGOING_CANCELLED, 1);
        *o = NULL;
    }
}

/* ---- failures ---- */

/* Whether this failure tells more than the one that is kept. */
static bool
tells_more(struct outgoing *o, int tells, enum outgoing_cause cause)
{
    if (tells <= o->tells) {
        return false;
    }
    o->tells = tells;
    o->failure.cause = cause;
    return true;
}

static int
tells_of(int why)
{
    switch (why) {
    case ENETUNREACH:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL: /* IPv6 link-local, without a zone */
        return TELLS_ROUTE;
    case ETIMEDOUT:
        return TELLS_SILENCE;
    default:
        return TELLS_ANSWER;
    }
}

/* "192.0.2.1:1935", "unix:/run/x.sock". */
static const char *
text_of(const struct outgoing *o, const struct addr *to, char dst[TEXT_MAX])
{
    char text[ADDR_TEXT];
    size_t n = str_copy(dst, TEXT_MAX, str_from(addr_text(to, text)));

    str_append(dst, TEXT_MAX, n, o->target.path);
    return dst;
}

static void
note(struct outgoing *o, const struct addr *to, int why)
{
    char text[TEXT_MAX];

    log_debug("connect to %s: %s", text_of(o, to, text), strerror(why));
    if (tells_more(o, tells_of(why), OUTGOING_CONNECT)) {
        errmsg_set(&o->failure.why, "connect to %s: %s", text_of(o, to, text),
                   strerror(why));
    }
}

/* ---- the handshake ---- */

static void
on_handshake(void *arg, const struct conn_socket *socket, const char *why)
{
    struct outgoing *o = arg;

    o->handshake = NULL;
    if (socket != NULL) {
        succeed(o, socket);
        return;
    }
    o->failure.cause = OUTGOING_TLS;
    errmsg_set(&o->failure.why, "TLS with %s: %.300s", o->host, why);
    fail(o);
}

static void
secure(struct outgoing *o, const struct conn_socket *socket)
{
    o->handshake = tls_client_begin(o->loop, o->target.tls, socket,
                                    o->target.tls_name, on_handshake, o);
    if (o->handshake == NULL) {
        o->failure.cause = OUTGOING_TLS;
        errmsg_sys(&o->failure.why, "TLS with %s", o->host);
        fail(o);
    }
}

/* ---- addresses ---- */

static void begin_next(struct outgoing *o);

/* A port nobody listens on, out of those that connections get: it may connect
 * to itself. */
static bool
is_connected_to_itself(const struct conn_socket *s)
{
    return s->peer.family != AF_UNIX && addr_eq(&s->peer, &s->local);
}

static int
ask_names(struct conn_socket *s)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    if (getpeername(s->fd, (struct sockaddr *)&ss, &len) == -1) {
        return errno;
    }
    addr_from_socket(&s->peer, &ss);
    len = sizeof(ss);
    if (getsockname(s->fd, (struct sockaddr *)&ss, &len) == -1) {
        return errno;
    }
    addr_from_socket(&s->local, &ss);
    return is_connected_to_itself(s) ? ECONNREFUSED : 0;
}

static void
win(struct try *t)
{
    struct outgoing *o = t->attempt;
    struct conn_socket socket = { .fd = t->fd };
    int why = ask_names(&socket);

    stop_try(t);
    if (why != 0) {
        close(socket.fd);
        note(o, &t->addr, why);
        begin_next(o);
        return;
    }
    close_tries(o);
    timer_stop(o->loop, &o->next);
    if (o->target.tls != NULL) {
        secure(o, &socket);
    } else {
        succeed(o, &socket);
    }
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct try *t = LIST_ITEM(io, struct try, io);
    int why = 0, fd = t->fd;
    socklen_t len = sizeof(why);

    (void)ready;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == -1) {
        why = errno;
    }
    if (why == 0) {
        win(t);
        return;
    }
    stop_try(t);
    close(fd);
    note(t->attempt, &t->addr, why);
    begin_next(t->attempt);
}

static socklen_t
path_to_socket(struct str path, struct sockaddr_storage *ss)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)ss;

    memset(ss, 0, sizeof(*ss));
    un->sun_family = AF_UNIX;
    str_copy(un->sun_path, sizeof(un->sun_path), path);
    return sizeof(*un);
}

/* 0, or an errno. */
static int
begin_try(struct try *t)
{
    struct outgoing *o = t->attempt;
    struct sockaddr_storage ss;
    socklen_t len = t->addr.family == AF_UNIX
                        ? path_to_socket(o->target.path, &ss)
                        : addr_to_socket(&t->addr, &ss);
    int fd =
        socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd == -1) {
        return errno;
    }
    /* One that is connected at once is writable at once. */
    if ((connect(fd, (struct sockaddr *)&ss, len) == -1 &&
         errno != EINPROGRESS) ||
        io_start(o->loop, &t->io, fd, IO_WRITE, on_ready) == -1) {
        int why = errno;

        close(fd);
        return why;
    }
    t->fd = fd;
    o->open++;
    return 0;
}

static bool
is_allowed(struct outgoing *o, const struct addr *to)
{
    struct errmsg why;

    if (to->family == AF_UNIX ||
        egress_check(o->target.egress, to, &why) == 0) {
        return true;
    }
    metric_add(&net_metrics[NET_EGRESS_REFUSED], 0, 1);
    log_debug("connect to %s: %s", o->host, why.text);
    if (tells_more(o, TELLS_EGRESS, OUTGOING_EGRESS)) {
        o->failure.why = why;
        o->failure.refused = *to;
    }
    return false;
}

/* The next address that can be begun; without one and with none under way it
 * has failed. */
static void
begin_next(struct outgoing *o)
{
    timer_stop(o->loop, &o->next);
    while (o->begun < o->count) {
        struct try *t = &o->tries[o->begun++];

        if (!is_allowed(o, &t->addr)) {
            continue;
        }
        int why = begin_try(t);

        if (why == 0) {
            if (o->begun < o->count) {
                timer_set(o->loop, &o->next, OUTGOING_HEAD_START_MS);
            }
            return;
        }
        note(o, &t->addr, why);
    }
    if (o->open == 0) {
        fail(o);
    }
}

static void
on_next(struct timer *t)
{
    begin_next(LIST_ITEM(t, struct outgoing, next));
}

static void
take_addresses(struct outgoing *o, const struct resolved *found)
{
    o->count = found->count;
    for (size_t i = 0; i < found->count; i++) {
        o->tries[i].addr = found->addrs[i];
        o->tries[i].addr.port = o->target.port;
    }
}

static void
on_begin(struct later *later)
{
    begin_next(LIST_ITEM(later, struct outgoing, begin));
}

static void
on_resolved(void *arg, const struct resolved *found, const struct errmsg *why)
{
    struct outgoing *o = arg;

    o->query = NULL;
    if (found == NULL) {
        o->failure =
            (struct outgoing_failure){ .cause = OUTGOING_NAME, .why = *why };
        fail(o);
        return;
    }
    take_addresses(o, found);
    begin_next(o);
}

/* ---- all of it ---- */

/* Whom it still waits for. */
static void
name_silent(const struct outgoing *o, char dst[TEXT_MAX])
{
    for (size_t i = 0; i < o->begun; i++) {
        if (o->tries[i].fd != -1) {
            text_of(o, &o->tries[i].addr, dst);
            return;
        }
    }
}

static void
on_deadline(struct timer *t)
{
    struct outgoing *o = LIST_ITEM(t, struct outgoing, deadline);
    long long ms = o->target.timeout_ms;
    char text[TEXT_MAX] = "";

    if (o->handshake != NULL) {
        o->failure.cause = OUTGOING_TLS;
        errmsg_set(&o->failure.why,
                   "TLS with %s: the handshake was not over within %lld ms",
                   o->host, ms);
    } else if (o->query != NULL) {
        o->failure.cause = OUTGOING_NAME;
        errmsg_set(&o->failure.why,
                   "cannot resolve \"%s\": no answer within %lld ms", o->host,
                   ms);
    } else if (tells_more(o, TELLS_SILENCE, OUTGOING_TIMED_OUT)) {
        name_silent(o, text);
        errmsg_set(&o->failure.why, "connect to %s: no answer within %lld ms",
                   text, ms);
    }
    fail(o);
}

static void
copy_target(struct outgoing *o, const struct outgoing_target *t)
{
    struct str tls_name = t->tls_name.len > 0 ? t->tls_name : t->host;

    o->target = *t;
    o->host = mem_dup(t->host.ptr, t->host.len);
    o->path = mem_dup(t->path.len > 0 ? t->path.ptr : "", t->path.len);
    o->tls_name = mem_dup(tls_name.ptr, tls_name.len);
    o->target.host.ptr = o->host;
    o->target.path.ptr = o->path;
    o->target.tls_name = str_of(o->tls_name, tls_name.len);
}

static struct outgoing *
make(struct loop *l, const struct outgoing_target *t)
{
    struct outgoing *o = mem_zero(sizeof(*o));

    o->loop = l;
    copy_target(o, t);
    timer_init(&o->deadline, on_deadline);
    timer_init(&o->next, on_next);
    later_init(&o->destroy, destroy);
    later_init(&o->begin, on_begin);
    for (size_t i = 0; i < RESOLVE_ADDRESSES; i++) {
        io_init(&o->tries[i].io);
        o->tries[i].fd = -1;
        o->tries[i].attempt = o;
    }
    return o;
}

struct outgoing *
outgoing_start(struct loop *l, const struct outgoing_target *t,
               outgoing_handler *handler, void *arg)
{
    static const struct resolved path = { .addrs = { { .family = AF_UNIX } },
                                          .count = 1 };
    const struct resolved *known = t->path.len > 0 ? &path : t->known;
    struct outgoing *o = make(l, t);

    assert(t->egress != NULL);
    o->handler = handler;
    o->arg = arg;
    timer_set(l, &o->deadline, t->timeout_ms);
    if (known != NULL) {
        take_addresses(o, known);
        loop_later(l, &o->begin);
        return o;
    }
    /* Its own time is longer, so that one timer ends all. */
    o->query = resolve_start(t->resolver, o->target.host, t->timeout_ms + 1000,
                             on_resolved, o);
    return o;
}
