/*
 * An endpoint in the channel, with its halls: what channel.c makes and the
 * files of Socket.IO fill.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_POINT_H
#define SIO_POINT_H

#include "base/list.h"
#include "sio/sio.h"

/* It lives from a description that has it to the first one that has it not; a
 * session's `endpoint` is one.  A reload that changes settings changes them in
 * place: sessions that are open go on with the new ones where they read them
 * anew. */
struct sio_point {
    struct list link;              /* channel.c's: all endpoints */
    struct loop *loop;             /* borrowed */
    struct engine *engine;         /* borrowed */
    const char *module;            /* name, static */
    const struct sio_module *what; /* static */
    struct sio_endpoint endpoint;  /* its texts, and `settings` below */
    struct sio_settings settings;  /* owned with their texts */
    struct engine_settings engine_settings; /* made of them */
    struct pool *pool;                      /* owned: texts */
    struct sio_halls *halls; /* namespace.c's; NULL: not started */
    bool described;          /* channel_configure(): it stays */
};

/* ---- given by the files of Socket.IO (client.c, namespace.c) ---- */

/* Protocol of the sessions at "socket.io/"; their endpoint is a struct
 * sio_point. */
extern const struct engine_protocol sio_protocol;

/* Makes p->halls, one for each namespace of p->what, and calls on_start of
 * each. */
void sio_halls_start(struct sio_point *p);
/* Tells modules of sockets that are over, calls on_stop of each and frees them:
 * sessions of p have ended before.  Emits to them meanwhile go nowhere. */
void sio_halls_stop(struct sio_point *p);
/* NULL: it has no such namespace. */
struct sio_hall *sio_halls_find(const struct sio_point *p, struct str name);
/* The snapshot of that event is stale in that namespace. */
void sio_halls_stale(struct sio_point *p, struct str name,
                     const char *snapshot);
/* Forgets all that p knows of its module's state: snapshots, and what is kept
 * for recovery.  All that have joined get snapshots that are made anew. */
void sio_halls_renew(struct sio_point *p);
/* A joined socket by its id; NULL: there is none. */
struct sio_socket *sio_hall_socket(struct sio_hall *h, struct str id);
/* To the socket of that id; one that was lost gets it if it comes back. */
void sio_hall_emit_to(struct sio_hall *h, struct str id,
                      const struct sio_message *m);
/* Appends the namespaces that a session of sio_protocol has joined, with
 * commas between them. */
void sio_session_namespaces(const struct session *s, struct buf *out);

/* Of what another process sends (emit.c); -1 with err. */

/* An event's name has 1 to SIO_NAME_MAX bytes of UTF-8, and is none of those
 * that clients keep for themselves ("connect", "disconnect"). */
int sio_check_event(struct str name, struct errmsg *err);
/* Arguments are JSON values with commas between them; placeholders name their
 * attachments, of which there are at most SIO_ATTACHMENTS. */
int sio_check_args(const struct sio_args *args, struct errmsg *err);

#endif
