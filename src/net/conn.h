/*
 * A connection: a non-blocking stream socket on the loop, plain or (by other
 * conn_ops) behind TLS.
 *
 * Reading.  Bytes are read into a buffer shared by all connections of the
 * process and offered to on_data, which returns how many it ate.  The rest
 * stays in conn->in and is offered again with the next bytes.  So an idle
 * connection holds no read buffer.  The connection reads at most in_limit bytes
 * at once; when it keeps that many, it stops reading until conn_offer().
 *
 * Writing.  conn_write() sends at once what the socket takes and keeps the
 * rest in conn->out (bounded by out_limit); conn_writev() sends straight from
 * the caller's memory and keeps nothing.  After a short write the connection
 * does not try again before the socket is writable.
 *
 * Closing.  conn_close() may be called from any callback: on_close is called
 * once, at once; the struct is freed at the end of the turn.  A connection
 * that breaks while nothing is read or sent is closed as well.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "base/buf.h"
#include "event/loop.h"
#include "net/addr.h"
#include "net/exceptions.h"
#include "proc/tally.h"

#include <sys/uio.h>

struct conn;
struct tls; /* net/tls.h */

/* How bytes get in and out.  >= 0 bytes; CONN_AGAIN: would block; CONN_EOF;
 * CONN_ERROR: errno says why. */
enum { CONN_AGAIN = -1, CONN_EOF = -2, CONN_ERROR = -3 };

struct conn_ops {
    ssize_t (*recv)(struct conn *c, void *dst, size_t n);
    ssize_t (*writev)(struct conn *c, const struct iovec *iov, int count);
    /* Ends our side (shutdown); false: later, when the socket is writable. */
    bool (*finish)(struct conn *c);
    /* The rest is NULL where nothing lies between us and the socket. */
    int (*flush)(struct conn *c); /* sends held bytes: 0, or as recv */
    /* Calls conn_read() later if bytes can be read for which epoll does not
     * wake us. */
    void (*read_on)(struct conn *c);
    const char *(*reason)(const struct conn *c); /* of the last CONN_ERROR */
    void (*close)(struct conn *c); /* before the socket is closed */
};
extern const struct conn_ops conn_plain, conn_tls;

struct conn_handlers {
    /* Eats bytes; returns how many, or -1 after it closed the connection. */
    ssize_t (*on_data)(void *arg, const uint8_t *data, size_t n);
    /* Writable again after a short conn_writev(), once conn->out is empty. */
    void (*on_writable)(void *arg);
    /* The peer ended its side; without it the connection is closed. */
    void (*on_eof)(void *arg);
    /* The connection ended, by us or the peer; nothing may be sent any more.
     * reason is for the log, static or short lived. */
    void (*on_close)(void *arg, const char *reason);
    /* A peer that ended in good order while reading was paused is heard out:
     * its bytes and its end come when the owner reads on.  Without it the
     * connection is closed at once, as there is nobody to answer. */
    bool hears_out;
};

struct conn {
    struct io io;
    struct later destroy;
    struct loop *loop; /* borrowed */
    const struct conn_ops *ops;
    const struct conn_handlers *handlers;
    void *arg;       /* of the handlers */
    struct tls *tls; /* owned; NULL: plain */
    struct buf in;   /* offered, not eaten */
    struct buf out;  /* accepted by conn_write, not sent */
    struct addr peer, local;
    struct addr via;      /* the host that connected: peer or its proxy */
    int64_t opened_ms;    /* loop_now() */
    int64_t last_read_ms; /* bytes last came / last went */
    int64_t last_write_ms;
    uint64_t bytes_in, bytes_out; /* totals */
    bool secure;                  /* TLS, here or with a proxy */
    bool incomplete;              /* counted in the census as such */
    uint16_t listener;            /* as in its struct conn_socket */
    uint32_t meter_in, meter_out; /* metric cells that count these as well */
    uint32_t flush_ms;            /* conn_limits */
    uint64_t census;              /* proc/census.h: its client; 0: none */
    struct debug_mark debug;      /* conn_debugged() */
    bool closed;                  /* on_close was called */
    bool read_paused;
    bool want_write;      /* waits for the socket */
    bool held;            /* ops keep bytes that it did not take */
    bool read_waits;      /* ops cannot read before it is writable */
    bool notify_writable; /* a conn_writev() came up short */
    bool finishing;       /* conn_finish(): flush, end, linger */
    bool ended;           /* our side was ended */
    bool eof;             /* the peer's side ended */
    bool uncounted;       /* see conn_leave_gauge() */
    bool attached;        /* counted by conn_attached() */
    bool pumped;          /* the far end of a pump (net/tls_pump.h) */
    bool offering;        /* on_data runs */
    struct later offer;   /* conn_resume_reading() */
    struct timer linger;
    uint32_t linger_ms;       /* of conn_finish() */
    uint32_t linger_total_ms; /* conn_limits */
    int64_t linger_until_ms;  /* the end of it in any case */
    int64_t linger_size;      /* bytes it still may read */
    char *finish_reason;      /* owned */
};

struct conn_limits {
    size_t in_limit;  /* bytes kept unread by the handler */
    size_t out_limit; /* bytes kept unsent */
    /* How far conn_finish() reads on: ms in all, bytes; 0: one linger_ms, any
     * number. */
    int64_t linger_total_ms, linger_size;
    /* How long conn_finish() may take to send what is left, ms; 0: its
     * linger_ms. */
    int64_t flush_ms;
};

/* A connected socket with the addresses of both ends. */
struct conn_socket {
    int fd;
    struct addr peer, local;
    struct addr via;   /* AF_UNSPEC: peer itself; else the proxy that sent
                          peer's address (PROXY protocol) */
    bool prepared;     /* accepted: its listener went through conn_prepare() */
    bool secure;       /* peer's side is TLS with a proxy */
    struct tls *tls;   /* owned; NULL: plain */
    bool not_tls;      /* plain, but of an address that is for TLS */
    bool at_loopback;  /* its listener is bound to a loopback address */
    uint16_t place;    /* by whose rules its handshake went: of struct
                          tls_share; 0: the address's own */
    uint16_t listener; /* place of its listener in METRIC_LISTENERS */
    uint64_t census;   /* it is counted as incomplete under this key; 0: not */
};

/* The key under which the census counts the client of an address; 0: it does
 * not count it. */
uint64_t conn_census(const struct addr *peer);
/* Connections of this process by client (net/share.h), as long as the census
 * counts them: each call of the census has its call of these. */
extern struct tally_pool conn_pools[];
void conn_enter_pool(const struct addr *peer);
void conn_leave_pool(const struct addr *peer);

/* Closes a socket that no connection was made of. */
void conn_socket_close(const struct conn_socket *s);

/* Bytes the kernel takes beyond what the peer's window lets go: without it a
 * peer that stopped reading is fed megabytes before its socket is full. */
#define CONN_UNSENT (256 * 1024)

/* Sets what all our sockets have (non-blocking; no delay and CONN_UNSENT for
 * TCP).  Connections inherit it from the socket that accepts them. */
void conn_prepare(int fd, uint8_t family);
/* Takes over s->fd, which it prepares unless that is done, and s->tls.  NULL,
 * with them closed, when the system has no room to watch it. */
struct conn *conn_new(struct loop *l, const struct conn_socket *s,
                      const struct conn_handlers *handlers, void *arg,
                      const struct conn_limits *limits);
/* Of TCP: another number for CONN_UNSENT. */
void conn_limit_unsent(struct conn *c, int bytes);
/* Sets after how many ms the system gives up a TCP connection whose peer does
 * not acknowledge sent bytes. */
void conn_set_user_timeout(struct conn *c, int64_t ms);
/* Hands the connection to other code (HTTP gives it to FLV).  Within on_data:
 * the bytes that this call does not eat are offered to the new handlers. */
void conn_set_handlers(struct conn *c, const struct conn_handlers *handlers,
                       void *arg);

/* 0, or -1 when out_limit would be passed or the socket failed: the caller
 * closes. */
int conn_write(struct conn *c, const void *data, size_t n);
/* Bytes taken by the socket: less than asked means "later" (on_writable will
 * be called), CONN_ERROR that it failed.  conn->out must be empty. */
ssize_t conn_writev(struct conn *c, const struct iovec *iov, int count);
size_t conn_unsent(const struct conn *c); /* bytes in conn->out */
/* Whether the socket takes bytes, as far as we know; false: on_writable will be
 * called when it does. */
bool conn_has_room(struct conn *c);

/* conn_writev() in two halves, for a caller that makes many sends at once
 * (net/send_ring.h).  While conn_is_direct() is true, the caller may send bytes
 * to c->io.fd itself; it does nothing else with the connection before it calls
 * conn_sent(). */
bool conn_is_direct(const struct conn *c);
/* asked: bytes; result: how many the socket took, or -errno.  Returns what
 * conn_writev() would have. */
ssize_t conn_sent(struct conn *c, size_t asked, ssize_t result);
/* conn_writev() of head and of bytes of an open file, which are not copied,
 * while conn_is_direct() is true.  It waits for the disk for those that are not
 * in the page cache. */
ssize_t conn_send_file(struct conn *c, struct str head, int fd, int64_t offset,
                       size_t n);

void conn_pause_reading(struct conn *c);
void conn_resume_reading(struct conn *c); /* offers what is kept, later */
/* Calls on_data again with the bytes in conn->in (later, when called from
 * on_data itself). */
void conn_offer(struct conn *c);

/* Whether the operator wants all lines about its peer. */
static inline bool
conn_debugged(struct conn *c)
{
    return debug_wanted(&c->debug, &c->peer, STR_NONE);
}

/* Handles a readable socket; for conn_ops. */
void conn_read(struct conn *c);

void conn_close(struct conn *c, const char *reason);
/* The same, and the system drops all bytes that wait to be sent: the peer sees
 * a reset. */
void conn_reset(struct conn *c, const char *reason);
/* Sets whether the peer's request is still incomplete, which is only counted
 * for its client.  A new connection is incomplete. */
void conn_set_incomplete(struct conn *c, bool incomplete);
/* Sends what is in conn->out or held by the ops (for at most flush_ms of
 * conn_limits, whether or not the peer ends its side meanwhile), ends our side,
 * then reads and drops bytes until the peer pauses for linger_ms (so that it
 * gets our last bytes) or conn_limits end it, then closes. linger_ms 0: the
 * peer will send no more, so it closes without reading. on_close is the only
 * handler called from now on; reason is copied. */
void conn_finish(struct conn *c, int64_t linger_ms, const char *reason);
/* Ends our side alone; the connection goes on reading.  Everything was sent
 * (conn_has_room()).  False: again when on_writable is called. */
bool conn_end_sending(struct conn *c);
/* As conn_finish() behind these last bytes, and the owner is told nothing any
 * more, on whatever comes. */
void conn_part(struct conn *c, struct str last, int64_t linger_ms,
               const char *reason);

#endif
