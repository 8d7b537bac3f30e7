/*
 * A NetStream joined to a live stream, from the moment its session asks until
 * it ends.  The rules are in rtmp_service.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_RTMP_LIVE_H
#define APP_SERVICE_RTMP_LIVE_H

#include "app/service/rtmp_service.h"
#include "base/line_format.h"

/* The publisher or player of a NetStream. */
struct stream_session {
    struct loop *loop;            /* borrowed */
    struct rtmp_request *request; /* borrowed: lives as long as this */
    const struct rtmp_application *application;
    struct live_publisher *publisher; /* owned */
    struct live_player *player;       /* owned */
    bool publishing;                  /* publish was asked for; else play */
    bool renamed;  /* name is the public one, not the one that was asked for */
    bool claiming; /* the name is not ours yet, the session waits */
    const struct line_mask *mask;   /* borrowed: secrets in its arguments */
    uint32_t chunk_size;            /* of a stream made new */
    size_t hook;                    /* the module whose hook is asked */
    int64_t asked_ms;               /* when it was asked for */
    uint64_t in_before, out_before; /* bytes of the connection then */
    int64_t last_ms;                /* a message of the publisher came */
    struct timer idle;              /* publishers: idle_timeout */
    struct debug_mark debug;        /* rtmp_live_debugged() */
    uint16_t name_len;
    char name[LIVE_NAME_MAX]; /* "app/name" */
};

/* Makes it and sets r->context to it; rtmp_live_free() frees it. */
struct stream_session *rtmp_live_new(struct rtmp_request *r,
                                     const struct rtmp_application *a,
                                     bool publishing);
void rtmp_live_free(struct rtmp_request *r);
/* Sets "app/name" from the application and name; -1: too long. */
int rtmp_live_name(struct stream_session *n, struct str name);
/* "app/name" for logs; the application alone while the name may be a key. */
struct str rtmp_live_shown(const struct stream_session *n);
/* Whether the operator wants all lines about its client or its stream. */
bool rtmp_live_debugged(struct stream_session *n);

/* RTMP_WAIT: the session gets the decision when the name is ours, or is
 * refused. */
enum rtmp_result rtmp_live_publish(struct stream_session *n,
                                   struct rtmp_refusal *no);
enum rtmp_result rtmp_live_play(struct stream_session *n,
                                struct rtmp_refusal *no);
/* One of the session's players, any; NULL: it has none. */
struct live_player *rtmp_live_player(struct rtmp_session *s);

#endif
