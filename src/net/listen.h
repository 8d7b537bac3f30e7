/*
 * Listening sockets: for each address one SO_REUSEPORT socket a worker,
 * opened by the master and kept over generations.
 *
 *   listen.c    opening them
 *   acceptor.c  accepting on one
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_LISTEN_H
#define NET_LISTEN_H

#include "event/loop.h"
#include "net/addr.h"
#include "net/conn.h"

#include <sys/types.h>

enum listen_ip6only { IP6ONLY_AUTO, IP6ONLY_ON, IP6ONLY_OFF };

struct listen_options {
    int backlog;      /* 0: 4096; the system caps it (net.core.somaxconn) */
    unsigned sockets; /* how many: one a worker; unix sockets have one, that
                         all workers share */
    bool later;       /* bind only: listener_start() is still to come */
    bool beside;      /* one of our own listens on a part of this address */
    int ip6only;      /* enum listen_ip6only; AUTO: "[ADDRESS]:PORT" is for
                         IPv6 alone, "PORT" for both */
    bool freebind; /* an address that this host need not have (IP_FREEBIND) */
    /* Inherited by the connections of a TCP listener: */
    bool keep_alive; /* probes after 60 s, every 15 s, dead after four */
    int64_t user_timeout_ms; /* TCP_USER_TIMEOUT, 0: the system's */
    int64_t rcvbuf, sndbuf;  /* bytes, 0: the system's */
    bool deferred;           /* TCP_DEFER_ACCEPT: comes with its first byte */
};

/* How long workers still accept on a retired listener before it is closed: for
 * handshakes that are under way.  A client that needs longer is reset. */
#define LISTENER_RETIRES_MS 250

/* A listening address with its sockets; the master's. */
struct listener {
    struct list link;
    char name[128];    /* as configured: "127.0.0.1:0" */
    const char *proto; /* "rtmp", as in force: static text */
    struct addr addr;  /* as bound: with the real port */
    char path[108];    /* unix */
    bool any;          /* every address of this machine, IPv4 and IPv6 */
    bool only6;        /* bound to IPv6 alone */
    struct listen_options options; /* of its sockets */
    int *fds;                      /* owned; count of them */
    unsigned count;
    unsigned started; /* how many of them listen */
    unsigned kept;    /* those in force: see listener_keep() */
    bool retired;     /* see listener_retire() */
    bool disabled;    /* see listener_disable() */
    pid_t owner;      /* process that opened it; only it removes path */
};

/* Opens, binds and listens; NULL with err ("cannot listen on NAME: Address
 * already in use").  An address on which any process listens already, also
 * another weir of the same user, is refused.  Port 0 binds the first socket to
 * a free port and the others to the same.  A stale unix socket is replaced, a
 * live one refused. */
struct listener *listener_open(const struct addr_listen *where,
                               const char *name, const char *proto,
                               const struct listen_options *o,
                               struct errmsg *err);
/* Whether listener_open() could: binds and closes again, except a unix socket,
 * which it does not make. -1 with err and errno; EADDRINUSE: some process
 * listens there, perhaps this weir. */
int listener_try(const struct addr_listen *where, const char *name,
                 const struct listen_options *o, struct errmsg *err);
/* More sockets, up to count.  They are bound, but do not listen yet: no client
 * comes to them that would be lost if they were closed again. -1 with err, and
 * there are as many as before. */
int listener_grow(struct listener *l, unsigned count, struct errmsg *err);
/* Puts the sockets that there are in force / closes those that came since. */
void listener_keep(struct listener *l);
void listener_shrink(struct listener *l);
/* All sockets listen from now on, also those of a retired listener; -1 with
 * err. */
int listener_start(struct listener *l, struct errmsg *err);
/* Whether l listens there already: by its text, or by the address to which it
 * is bound. */
bool listener_is_at(const struct listener *l, const struct addr_listen *where,
                    struct str name);
/* Whether both cannot be bound without sharing. */
bool listener_overlaps(const struct listener *l,
                       const struct addr_listen *where);
/* The listener is about to be closed: no new client comes to it (a unix path is
 * removed at once), while workers accept the connections that wait there or are
 * on their way.  A TCP listener can be started again. */
void listener_retire(struct listener *l);
/* TCP: does not answer new clients (which, as TCP does, ask again for a while)
 * until it is enabled or started; connections stay. -1 with err: the system
 * cannot. */
int listener_disable(struct listener *l, struct errmsg *err);
void listener_enable(struct listener *l);
/* Worker: whether the listener that fd is a socket of was retired. */
bool listener_retires(int fd);
void listener_close(struct listener **l); /* unix: removes the path */
/* All workers share the sockets, and a worker that an attacker controls can end
 * a socket's listening for all (shutdown(), connect() to nowhere).  Makes
 * sockets that should listen, but do not, listen again; returns how many. */
unsigned listener_revive(struct listener *l);
/* Puts other options in force on an open listener (not sockets, ip6only); open
 * connections keep theirs. */
void listener_tune(struct listener *l, const struct listen_options *o);

/* Worker: accepts on one socket until stopped.  One connection a turn and, once
 * a millisecond, all that wait, up to 64; without free descriptors it rests for
 * 100 ms instead of spinning and logs that once a minute. */
struct acceptor;
/* fd is the handler's now: non-blocking, close-on-exec. */
typedef void accept_handler(void *arg, const struct conn_socket *socket);
/* fd stays the caller's; conn_prepare() was called for it before listen(2).
 * NULL when the system has no room to watch it. */
struct acceptor *acceptor_start(struct loop *l, int fd, accept_handler *handler,
                                void *arg);
/* Accepts the connections that wait now (a bounded number), as when fd is ready
 * to read. */
void acceptor_empty(struct acceptor *a);
void acceptor_pause(struct acceptor *a, bool pause); /* at the limit */
void acceptor_stop(struct acceptor **a);

#endif
