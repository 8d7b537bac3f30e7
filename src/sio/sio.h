/*
 * Socket.IO v5 for modules: namespaces, events, rooms (socket.io-protocol,
 * revision 5).
 *
 * Sessions live in one process, the role "channel", which outlives reloads.  A
 * module tells by tables what its namespaces do; its handlers run there.  They
 * must not block, and they ask the module's own role by a call (proc/rpc.h) for
 * anything that has state.  Any process of this weir sends events by
 * sio_emit().
 *
 *     client -- HTTP --> worker (front.h) -- call --> channel: engine/, then
 *        client.c      a session that speaks Socket.IO: its sockets, packets
 *        namespace.c   a namespace of an endpoint: its sockets, rooms
 *        snapshot.c    what a joining socket is told first, shared
 *        snapshot_send.c  the same for one that has fallen behind
 *        recovery.c    what a socket that comes back has missed
 *        emit.c        sio_emit() of other processes
 *
 * An endpoint is where clients connect: a layer of a location, named by its
 * module.  Layers that name the same endpoint, in any server, share its
 * sockets.
 *
 * Arguments of events are JSON values with commas between them, as they stand
 * in the array behind the event's name; an attachment is a
 * {"_placeholder":true,"num":N} there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_SIO_H
#define SIO_SIO_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "conf/conf.h"
#include "event/loop.h"
#include "sio/engine/engine.h"

struct rpc_method; /* proc/rpc.h */
struct sio_hall;   /* an endpoint's namespace with its sockets */
struct sio_socket; /* a client in a namespace */
struct sio_ack;    /* an acknowledgement that a client waits for */

#define SIO_ID 20          /* characters of a socket's id */
#define SIO_ATTACHMENTS 10 /* of a packet, at most */
#define SIO_NAME_MAX                                                          \
    128                  /* bytes of an event's, a namespace's, a room's name \
                          */
#define SIO_ROOMS_MAX 64 /* that a socket is in, at most */

/* ---- settings ---- */

#define SIO_PING_MAX 600000    /* ms of ping_interval and ping_timeout */
#define SIO_PAYLOAD (16 << 20) /* bytes of max_payload, at most */
#define SIO_QUEUE (16 << 20)   /* of max_queue */

/* Of an endpoint.  Times ms, sizes bytes. */
struct sio_settings {
    int64_t ping_interval, ping_timeout, upgrade_timeout, connect_timeout;
    int64_t max_payload; /* of what a client sends at once */
    int64_t max_queue;   /* of what waits for a client */
    struct conf_strings transports;
    struct str cookie; /* its name; "": none is set */
    bool deflate;
    int64_t recovery; /* how long a lost socket may be recovered; 0: off */
};
/* Rows of struct sio_settings, for a group in a module's own rows. */
extern const struct conf_key sio_keys[];
/* check_group of such a row: looks at a struct sio_settings. */
int sio_check(const void *settings, struct errmsg *err);
bool sio_allows(const struct sio_settings *s, struct str transport);

/* ---- what a module offers ---- */

struct sio_args {
    struct str json;               /* "1,{\"a\":2}"; empty: none */
    const struct str *attachments; /* bytes; borrowed */
    size_t attachment_count;
};

struct sio_event {
    const char *name; /* NULL ends a table; "*": any other name */
    /* args are borrowed for the call.  ack is NULL where the client wants none;
     * else the handler, or somebody later, ends it by sio_ack_send(). */
    void (*handler)(struct sio_socket *s, struct str name,
                    const struct sio_args *args, struct sio_ack *ack);
};

/* State that each joining socket of an endpoint is told by an event, in the
 * order of the table, before any other event: asked of the module's role once,
 * serialised once, shared by all that get it.  An emit that changes it (struct
 * sio_message) makes it stale; the next socket that joins has it asked again.
 * At most four versions of one are alive at once: a socket that would need a
 * fifth waits, and a socket that has not taken its own within connect_timeout
 * is closed.
 *
 * So a snapshot has all in it that the events which change it tell.  When the
 * queue of a client is full, such events are left out, and it gets the
 * snapshot anew when it has taken what waits; acks, events that change none and
 * those with attachments stay, in order.  A client that has not taken them
 * within connect_timeout is closed. */
struct sio_snapshot {
    const char *event; /* NULL ends a table */
    /* Request: the endpoint's name, a line feed, its variant.  The parts and
     * the answer together: the event's arguments.  An empty answer: there is no
     * such event now. */
    const struct rpc_method *method;
};

struct sio_namespace {
    const char *name; /* "/", "/custom"; NULL ends a table */
    /* Each endpoint's, when the channel starts or the endpoint is new, and when
     * it ends; for modules that emit by themselves (timers).  *state is
     * sio_hall_state().  Each may be NULL. */
    void (*on_start)(struct sio_hall *hall, void **state);
    void (*on_stop)(struct sio_hall *hall, void *state);
    /* A client asks to join; auth is a JSON object, "{}" if it sent none.  The
     * handler, or somebody later, says sio_accept() or sio_refuse().  NULL: all
     * are accepted. */
    void (*on_connect)(struct sio_socket *s, struct str auth);
    /* It was accepted, its snapshots are on their way: events may be sent. */
    void (*on_joined)(struct sio_socket *s, struct str auth);
    /* An accepted socket is over, or one that was not decided yet; s is freed
     * after the call. reason is static: "transport close". */
    void (*on_disconnect)(struct sio_socket *s, const char *reason);
    const struct sio_event *events;       /* NULL: all are ignored */
    const struct sio_snapshot *snapshots; /* NULL: none */
};

struct sio_endpoint {
    struct str name;    /* "main": letters, digits, '-', '_', '.', '/' */
    struct str variant; /* the module's own word for its handlers */
    const struct sio_settings *settings;
};

/* struct module has a pointer to this one. */
struct sio_module {
    /* The endpoint of a layer with these settings, which lives longer than p;
     * false: it has none. */
    bool (*endpoint)(struct pool *p, const void *layer_settings,
                     struct sio_endpoint *out);
    const struct sio_namespace *namespaces;
    /* Clients at "engine.io/" beside "socket.io/" speak Engine.IO alone, with
     * this; NULL: there is no such address. */
    const struct engine_protocol *plain;
};

/* ---- in the channel: sockets ---- */

void sio_accept(struct sio_socket *s);
/* message is for people; data is JSON, or empty. */
void sio_refuse(struct sio_socket *s, const char *message, struct str data);

struct str sio_socket_id(const struct sio_socket *s); /* not the session's */
const struct engine_client *sio_socket_client(const struct sio_socket *s);
struct sio_hall *sio_socket_hall(const struct sio_socket *s);
void *sio_socket_user(const struct sio_socket *s);
void sio_socket_set_user(struct sio_socket *s, void *user);
/* It was lost and has come back (sio_settings.recovery): the handlers of a
 * joining socket are called for it, but on_connect, and it gets what it has
 * missed in place of snapshots.  Its user starts as NULL again. */
bool sio_socket_recovered(const struct sio_socket *s);
/* -1: it is in SIO_ROOMS_MAX rooms, or the name is too long. */
int sio_join(struct sio_socket *s, struct str room);
void sio_leave(struct sio_socket *s, struct str room);
/* Leaves the namespace (packet 41); with `session`, the whole session ends. */
void sio_disconnect(struct sio_socket *s, bool session);

const struct sio_namespace *sio_hall_namespace(const struct sio_hall *h);
struct str sio_hall_endpoint(const struct sio_hall *h);
struct str sio_hall_variant(const struct sio_hall *h);
struct loop *sio_hall_loop(const struct sio_hall *h);
void *sio_hall_state(const struct sio_hall *h);
size_t sio_hall_sockets(const struct sio_hall *h); /* joined ones */

/* Answers; *ack is freed.  NULL args: []. Answering one whose client has gone
 * is fine. */
void sio_ack_send(struct sio_ack **ack, const struct sio_args *args);

/* ---- sending ---- */

struct sio_message {
    const char *event;
    struct sio_args args;
    /* The newest of one event and key replaces the one that still waits for a
     * client.  Empty: nothing is replaced. */
    struct str key;
    /* It is dropped for a client for which anything waits. */
    bool is_volatile;
    /* The event of the snapshot that this one changes, and that tells the same
     * when it is made anew; NULL: none. */
    const char *stales;
};

/* In the channel: to one socket, or to all in a room (empty: all in the
 * namespace) but `except` (NULL: nobody). */
void sio_socket_emit(struct sio_socket *s, const struct sio_message *m);
void sio_hall_emit(struct sio_hall *h, struct str room,
                   const struct sio_socket *except,
                   const struct sio_message *m);

/* The sockets that get an event of another process. */
struct sio_target {
    const char *module;
    struct str endpoint;        /* empty: all of the module */
    const char *namespace_name; /* "/" */
    struct str room;            /* empty: everybody */
    struct str socket;          /* an id: this one alone */
};

/* Any process: sends m to the channel, in order with what this process sends it
 * otherwise.  0: it is on its way; no channel runs: nobody is connected, 0.  -1
 * with err: the channel takes no more now, or m is too large (8 MB). */
int sio_emit(const struct sio_target *to, const struct sio_message *m,
             struct errmsg *err);
/* The same, without an event: the snapshot of that name is stale. */
int sio_stale(const struct sio_target *to, const char *snapshot,
              struct errmsg *err);
/* For a module that has lost an event: all sockets of the endpoint, in
 * namespaces that have snapshots, get those, made anew. */
int sio_renew(const struct sio_target *to, struct errmsg *err);

#endif
