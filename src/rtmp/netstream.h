/*
 * The life of a NetStream: asked for, decided, publishing or playing, over.
 *
 *   IDLE -> WAITING -> PUBLISHING | PLAYING -> IDLE
 *
 * The session asks the application before it promises anything to the client,
 * and calls its on_end exactly once for every NetStream that left IDLE.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_NETSTREAM_H
#define RTMP_NETSTREAM_H

#include "rtmp/name.h"
#include "rtmp/session.h"

/* NULL when there is no such stream. */
struct net_stream *net_stream_find(struct rtmp_session *s, uint32_t id);
/* The stream a message is for: clients that never created one, or write 0,
 * mean the first one.  Makes it when it does not exist; NULL when id is above
 * RTMP_STREAMS. */
struct net_stream *net_stream_for(struct rtmp_session *s, uint32_t id);
/* With the lowest free id; NULL when all are taken. */
struct net_stream *net_stream_create(struct rtmp_session *s);
/* The publishing stream that media with this id belongs to, or NULL. */
struct net_stream *net_stream_publishing(struct rtmp_session *s, uint32_t id);
bool session_playing(const struct rtmp_session *s);
bool session_idle(const struct rtmp_session *s);

/* A stream for the connect request: id 0, owned by s->connect. */
struct net_stream *net_stream_for_connect(struct rtmp_session *s);
void net_stream_set_names(struct net_stream *ns, const struct rtmp_name *name);

/* Asks the application and, unless it wants to think, acts on the answer. */
void net_stream_ask(struct net_stream *ns, enum stream_wish wish);
/* Answers with the reason, then closes the session. */
void net_stream_refuse(struct net_stream *ns, const char *code,
                       const char *reason);
/* Refuses whatever waits for a decision. */
void net_stream_refuse_waiting(struct rtmp_session *s, const char *reason);
/* Its publish or play is over, if there was one. */
void net_stream_end(struct net_stream *ns, const char *reason);
void net_stream_end_all(struct rtmp_session *s, const char *reason);
/* Ends it and forgets it. */
void net_stream_delete(struct rtmp_session *s, uint32_t id, const char *reason);
void net_stream_free(struct net_stream **ns);

/* onStatus of level "status"; -1 when the session was closed. */
int net_stream_status(struct net_stream *ns, const char *code,
                      const char *description);

#endif
