/*
 * Inside Socket.IO: what its files share.
 *
 *   client.c     a session: its sockets, packets that come in
 *   socket.c     a client in a namespace: joining, leaving, acks
 *   namespace.c  halls: their sockets, rooms, events that go out
 *   room.c       who is in which room
 *   snapshot.c   what a joining socket is told first
 *   snapshot_send.c  ... and when it has fallen behind
 *   missed.c     events that go out while sockets wait for that
 *   recovery.c   sockets that were lost, and what they have missed
 *
 * A socket that is over leaves its hall at once and gets nothing more.  Its
 * module hears of it, and it is freed, at the end of the loop's turn: never
 * within a call that the module itself has made.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_SIO_IMPL_H
#define SIO_SIO_IMPL_H

#include "base/buf.h"
#include "base/list.h"
#include "sio/channel.h"
#include "sio/metrics.h"
#include "sio/names.h"
#include "sio/point.h"
#include "sio/sio_packet.h"

/* ---- sessions (client.c) ---- */

struct incoming; /* a packet whose attachments are still to come */

struct client {
    struct session *session;  /* NULL: it is over */
    struct sio_point *point;  /* borrowed */
    struct engine_client who; /* its user is owned: outlives the session */
    char *user;
    struct list sockets; /* struct sio_socket.in_client */
    struct list ending;  /* those that are over, until they are freed */
    size_t ending_count;
    struct timer timer;        /* until a namespace is joined, or for
                                  `incoming` */
    bool joined;               /* a namespace, once at least */
    struct incoming *incoming; /* owned; NULL: none */
};

/* Sends all of f; -1: the session is over. 1: there is no room, and the mark's
 * group can be told again; nothing was sent. */
int client_send(struct client *c, const struct sio_frames *f,
                const struct engine_mark *mark);
/* Sends and lets go of f; what could not be made ends the session. */
int client_send_once(struct client *c, struct sio_frames *f);
void client_close(struct client *c, enum session_end why);
/* A socket of it has joined. */
void client_joined(struct client *c);
/* s has left: it is no longer found, and waits to be freed. */
void client_socket_over(struct client *c, struct sio_socket *s);
/* s, which was over, is freed by its caller, and c with the last one of a
 * session that is over. */
void client_forget_socket(struct client *c, struct sio_socket *s);

/* ---- sockets (socket.c) ---- */

enum socket_state {
    SOCKET_ASKED,  /* the module has not decided yet */
    SOCKET_WAITS,  /* accepted, its snapshots are not there yet */
    SOCKET_JOINED, /* it has had its CONNECT */
    SOCKET_OVER,
};

struct sio_socket {
    struct list in_client; /* client.sockets or .ending */
    struct list in_hall;   /* sio_hall.sockets, .waiting or .ending */
    struct list behind;    /* snapshots.behind */
    struct name name;      /* sio_hall.by_id, by its id, while joined */
    struct client *client; /* borrowed; it outlives its sockets */
    struct sio_hall *hall; /* borrowed */
    struct list rooms;     /* struct membership.in_socket */
    struct list acks;      /* struct sio_ack that are open */
    size_t room_count, ack_count;
    void *user; /* the module's */
    enum socket_state state;
    bool recovered;
    bool known;         /* to the module, which hears of its end */
    const char *reason; /* OVER: static */
    char id[SIO_ID + 1];
    char pid[SIO_ID + 1]; /* "": cannot be recovered */
    uint64_t position;    /* of the last event that it needs not get again */
    char *auth;           /* owned until it has joined; JSON */
    size_t auth_len;
    struct timer timer; /* to join; then to take its snapshots */
    struct later ending;
    uint64_t last; /* number of the last snapshot that it was sent; 0: none */
    uint32_t outdated; /* bits of snapshots that it gets anew, as soon as it has
                          taken what waits; of events that change them it gets
                          none meanwhile */
    uint64_t proof;    /* the first offset that shows that it has them; 0: any
                          does */
};

/* Asks the module whether that client may join; auth is JSON. */
void socket_open(struct client *c, struct sio_hall *h, struct str auth);
/* Its snapshots are there, or it needs none: it joins. */
void socket_join(struct sio_socket *s);
/* It leaves; reason is static.  It can be recovered if the client comes
 * back. */
void socket_over(struct sio_socket *s, const char *reason, bool recoverable);
/* Tells the module and frees s, now. */
void socket_end(struct sio_socket *s);
void socket_event(struct sio_socket *s, const struct sio_packet *p,
                  const struct sio_args *args);

/* ---- halls (namespace.c) ---- */

struct sio_hall {
    struct sio_point *point;          /* borrowed */
    const struct sio_namespace *what; /* static */
    struct str name;                  /* of it */
    uint32_t number;                  /* 1, 2, ... of its point */
    void *state;                      /* the module's */
    struct list sockets;              /* joined, in that order */
    struct list undecided;            /* asked, not accepted yet */
    struct list ending;               /* over, the module does not know yet */
    size_t count;                     /* of those joined */
    struct names by_id;               /* of those joined */
    struct names rooms;               /* struct room */
    struct snapshots *snapshots;      /* owned; NULL: it has none */
    struct recovery *recovery;        /* owned; NULL: not on */
};

struct sio_halls {
    struct sio_hall *halls; /* owned */
    size_t count;
    size_t incoming;       /* bytes of packets whose attachments are to come */
    struct list incomings; /* struct incoming.link: those packets */
    bool stopping;         /* nothing is sent, or kept, any more */
};

/* Of one event: whom it is for. */
struct aim {
    struct str room;   /* empty: everybody */
    struct str except; /* an id; empty: nobody */
    struct str only;   /* an id; empty: not one alone */
};

/* How an event goes to a socket. */
struct delivery {
    uint64_t key;     /* engine_mark.key */
    bool is_volatile; /* it is dropped for one that is busy */
    /* The bit of the snapshot that has it in it when it is made anew, or that
     * it is; 0: there is none.  It is dropped for one that gets that. */
    uint32_t changes;
};

/* Sends an event that was made to a joined socket. */
void hall_deliver(struct sio_socket *s, const struct sio_frames *f,
                  const struct delivery *how);
/* Whether s is one that a is for, by its rooms. */
bool aim_includes(const struct aim *a, const struct sio_socket *s);
/* A copy whose texts lie in `texts`, of aim_size() bytes. */
size_t aim_size(const struct aim *a);
void aim_copy(struct aim *to, char *texts, const struct aim *a);

/* ---- rooms (room.c) ---- */

struct room {
    struct name name;    /* sio_hall.rooms; its text is owned */
    struct list members; /* struct membership.in_room */
    unsigned walks;      /* that go on: it is not freed while they do */
};

struct membership {
    struct list in_room, in_socket;
    struct room *room;
    struct sio_socket *socket;
};

struct room *room_find(const struct sio_hall *h, struct str name);
bool room_has(const struct sio_socket *s, struct str name);
void room_leave_all(struct sio_socket *s);
void room_hold(struct room *r);
void room_let_go(struct sio_hall *h, struct room *r); /* frees an empty one */

/* ---- snapshots (snapshot.c) ---- */

#define SNAPSHOT_MAX ((size_t)16 << 20) /* bytes of one */
#define SNAPSHOTS_MAX 31                /* of a namespace: each has a bit */
#define SNAPSHOT_VERSIONS 4             /* of one that are alive at once */

/* NULL: the namespace has none. */
struct snapshots *snapshots_new(struct sio_hall *h);
void snapshots_free(struct snapshots **s);
/* s was accepted: socket_join() follows, now or when they are there. */
void snapshots_wait(struct sio_socket *s);
/* An event goes out: snapshots may become stale, and sockets that wait may
 * need it. */
void snapshots_note(struct snapshots *all, const struct sio_message *m,
                    const struct aim *a, const struct sio_frames *f);
/* That of this event is stale, but no event tells it. */
void snapshots_stale(struct snapshots *all, const char *event);
/* Sends them to s, and what was said since they were made. */
void snapshots_send(struct sio_socket *s);
/* Whether s was sent a snapshot, or is to be sent one, that it has not taken.
 */
bool snapshots_owed(const struct sio_socket *s);
/* The queue of s's session is full: what waits there of events that change
 * snapshots is dropped, and s gets these snapshots anew, and those of `more`,
 * when it has taken the rest.  It is closed when it does not do so within
 * connect_timeout. */
void snapshots_outdate(struct sio_socket *s, uint32_t more);
/* It has taken the rest: it waits for them. */
void snapshots_catch_up(struct sio_socket *s);
/* The bit of that of this event; 0: there is none. */
uint32_t snapshots_bit(const struct sio_hall *h, const char *event);
/* All of them, anew, for each socket that has joined. */
void snapshots_renew(struct snapshots *all);

/* ---- recovery (recovery.c) ---- */

#define RECOVERY_OFFSET 24 /* characters, with NUL */

/* That of h; NULL: it is off. */
struct recovery *recovery_of(struct sio_hall *h);
void recovery_free(struct recovery **r);
/* The place of the last event that was kept; 0 for NULL. */
uint64_t recovery_position(const struct recovery *r);
/* The text of that place; empty for NULL. */
struct str recovery_offset(const struct recovery *r, uint64_t position,
                           char out[RECOVERY_OFFSET]);
/* Keeps an event under the next position, which it carries. */
void recovery_keep(struct recovery *r, const struct aim *a,
                   const struct sio_frames *f, uint32_t changes);
/* Forgets all events and lost sockets; positions go on. */
void recovery_forget(struct recovery *r);
/* s, which had joined, was lost. */
void recovery_lose(struct recovery *r, const struct sio_socket *s);
/* Whether auth names a lost socket of the same user: s gets its id, pid and
 * rooms, and the position behind the last event that the client has. */
bool recovery_restore(struct recovery *r, struct str auth,
                      struct sio_socket *s);
/* Sends s the events behind position that were for it. */
void recovery_replay(struct recovery *r, struct sio_socket *s,
                     uint64_t position);

#endif
