/*
 * Giving a connection to another process: the packed bytes, and the checks of
 * them.
 *
 * Times are those of the monotonic clock, which all processes share.  A client
 * is counted in the census by the process that has its socket, under what the
 * address that was packed stands for.  On its way it is not counted: how many
 * are on their way is bounded by the open calls of the method that carries it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/conn_move.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/conn_impl.h"
#include "net/metrics.h"
#include "net/tls_pump.h"
#include "proc/census.h"

enum {
    SECURE = 1,
    INCOMPLETE = 2,
    COUNTED = 4, /* in the census */
    PUMPED = 8,  /* the descriptor is the far end of a pump */
    FLAGS = 15
};

static struct {
    size_t count; /* in this process, now */
    void (*changed)(size_t now);
} attached;

/* A connection as it travels. */
struct moved {
    struct addr peer, local, via;
    int64_t opened_ms, last_read_ms, last_write_ms;
    int64_t bytes_in, bytes_out;
    uint32_t listener;
    uint8_t flags;
    struct str unread, unsent; /* in the bytes */
};

/* ---- bytes ---- */

static unsigned
flags_of(const struct conn *c)
{
    bool pumped = c->tls != NULL || c->pumped; /* that has the client's place */

    return (c->secure ? SECURE : 0U) | (c->incomplete ? INCOMPLETE : 0U) |
           (pumped ? PUMPED : 0U) | (c->census != 0 && !pumped ? COUNTED : 0U);
}

static void
pack_conn(struct pack *out, const struct conn *c)
{
    addr_pack(out, &c->peer);
    addr_pack(out, &c->local);
    addr_pack(out, &c->via);
    pack_int(out, c->opened_ms);
    pack_int(out, c->last_read_ms);
    pack_int(out, c->last_write_ms);
    pack_int(out, (int64_t)c->bytes_in);
    pack_int(out, (int64_t)c->bytes_out);
    pack_u32(out, c->listener);
    pack_u8(out, (uint8_t)flags_of(c));
    pack_text(out, buf_str(&c->in));
    pack_text(out, c->tls != NULL ? STR_NONE : buf_str(&c->out));
}

static void
unpack_conn(struct unpack *in, struct moved *m)
{
    addr_unpack(in, &m->peer);
    addr_unpack(in, &m->local);
    addr_unpack(in, &m->via);
    m->opened_ms = unpack_int(in);
    m->last_read_ms = unpack_int(in);
    m->last_write_ms = unpack_int(in);
    m->bytes_in = unpack_int(in);
    m->bytes_out = unpack_int(in);
    m->listener = unpack_u32(in);
    m->flags = unpack_u8(in);
    m->unread = unpack_text(in);
    m->unsent = unpack_text(in);
    in->bad = in->bad || m->bytes_in < 0 || m->bytes_out < 0 ||
              m->listener >= METRIC_NAMES || (m->flags & ~FLAGS) != 0;
}

/* ---- going ---- */

/* All but the descriptor goes. */
static void
leave(struct conn *c)
{
    c->closed = true;
    io_stop(c->loop, &c->io);
    later_cancel(&c->offer);
    loop_later(c->loop, &c->destroy);
    conn_leave_counts(c);
}

int
conn_detach(struct conn *c, struct pack *out, int *fd, struct errmsg *err)
{
    assert(!c->offering);
    if (c->closed || c->finishing) {
        return errmsg_set(err, "the connection is being closed");
    }
    pack_conn(out, c);
    if (out->full) {
        return errmsg_set(err, "the connection holds more than %zu bytes",
                          out->to->limit);
    }
    if (c->tls == NULL) {
        *fd = c->io.fd;
        leave(c);
    } else if (tls_pump_start(c, fd, err) == -1) {
        return -1;
    }
    metric_add(&net_metrics[NET_MOVED], NET_MOVE_GIVEN, 1);
    return 0;
}

/* ---- coming ---- */

/* An option of the socket; -1: it has none, or is no socket. */
static int
option_of(int fd, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, name, &value, &len) == 0 ? value : -1;
}

/* Whether fd is a connected stream, and connects whom m says.  The far end of
 * a pump is one of a pair, whose ends have no names. */
static bool
is_its_socket(int fd, const struct moved *m)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    int family = option_of(fd, SO_DOMAIN);
    struct addr at;

    memset(&ss, 0, sizeof(ss));
    if (option_of(fd, SO_TYPE) != SOCK_STREAM ||
        getpeername(fd, (struct sockaddr *)&ss, &len) == -1) {
        return false;
    }
    if ((m->flags & PUMPED) != 0) {
        return family == AF_UNIX && len == sizeof(sa_family_t);
    }
    if (m->via.family == AF_UNIX || family == AF_UNIX) {
        return m->via.family == family;
    }
    addr_from_socket(&at, &ss);
    return option_of(fd, SO_PROTOCOL) == IPPROTO_TCP && addr_eq(&at, &m->via);
}

static int
check(int fd, const struct unpack *in, const struct moved *m,
      const struct conn_limits *limits, struct errmsg *err)
{
    if (in->bad) {
        return errmsg_set(err, "these are not the bytes of a connection");
    }
    if (!is_its_socket(fd, m)) {
        return errmsg_set(err, "the descriptor is not the one that was packed, "
                               "or its peer is gone");
    }
    if (m->unread.len > limits->in_limit || m->unsent.len > limits->out_limit) {
        return errmsg_set(err,
                          "%zu bytes unread and %zu unsent are more than %zu "
                          "and %zu",
                          m->unread.len, m->unsent.len, limits->in_limit,
                          limits->out_limit);
    }
    return 0;
}

static int64_t
not_later(int64_t ms, int64_t now)
{
    return ms < 0 ? 0 : ms < now ? ms : now;
}

/* -1: memory is out. */
static int
restore(struct conn *c, const struct moved *m)
{
    int64_t now = loop_now(c->loop);

    c->opened_ms = not_later(m->opened_ms, now);
    c->last_read_ms = not_later(m->last_read_ms, now);
    c->last_write_ms = not_later(m->last_write_ms, now);
    c->bytes_in = (uint64_t)m->bytes_in;
    c->bytes_out = (uint64_t)m->bytes_out;
    c->pumped = (m->flags & PUMPED) != 0;
    conn_set_incomplete(c, (m->flags & INCOMPLETE) != 0);
    if (buf_add_str(&c->in, m->unread) == -1 ||
        buf_add_str(&c->out, m->unsent) == -1) {
        return -1;
    }
    if (m->unread.len > 0) {
        loop_later(c->loop, &c->offer);
    }
    c->want_write = m->unsent.len > 0;
    conn_watch(c);
    return 0;
}

/* ---- how many there are ---- */

static void
set_count(size_t now)
{
    attached.count = now;
    if (attached.changed != NULL) {
        attached.changed(now);
    }
}

static void
count(struct conn *c)
{
    c->attached = true;
    metric_add(&net_metrics[NET_MOVED], NET_MOVE_TAKEN, 1);
    set_count(attached.count + 1);
}

void
conn_leave_attached(struct conn *c)
{
    if (c->attached) {
        c->attached = false;
        set_count(attached.count - 1);
    }
}

size_t
conn_attached(void)
{
    return attached.count;
}

void
conn_on_attached(void (*changed)(size_t now))
{
    attached.changed = changed;
}

/* ---- coming, all of it ---- */

struct conn *
conn_attach(struct loop *l, int fd, struct unpack *in,
            const struct conn_limits *limits, struct errmsg *err)
{
    static const struct conn_handlers nobody;
    struct conn_socket s = { .fd = fd };
    struct moved m;
    struct conn *c;

    unpack_conn(in, &m);
    if (check(fd, in, &m, limits, err) == -1) {
        close(fd);
        return NULL;
    }
    s.peer = m.peer;
    s.local = m.local;
    s.via = m.via;
    s.secure = (m.flags & SECURE) != 0;
    s.listener = (uint16_t)m.listener;
    s.census = (m.flags & COUNTED) != 0 ? conn_census(&m.peer) : 0;
    if (s.census != 0 && !census_enter(s.census)) {
        s.census = 0;
    }
    if (s.census != 0) {
        conn_enter_pool(&s.peer);
    }
    c = conn_new(l, &s, &nobody, NULL, limits);
    if (c == NULL) {
        errmsg_set(err, "%s", strerror(errno));
        return NULL;
    }
    if (restore(c, &m) == -1) {
        conn_close(c, "out of memory");
        errmsg_set(err, "out of memory");
        return NULL;
    }
    count(c);
    return c;
}
