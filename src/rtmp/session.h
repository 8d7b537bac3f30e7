/*
 * The inside of an RTMP session, for the files of this folder.
 *
 * Bytes come in through session.c (handshake, then the chunk reader), whole
 * messages go to message.c, commands to command.c, and the life of a NetStream
 * is in netstream.c.  A session that is over stays in memory up to the end of
 * the loop's turn, so that callers further up the stack can ask session_over().
 *
 * While the application thinks (RTMP_WAIT), the session reads no further
 * message, so that messages keep their order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_SESSION_H
#define RTMP_SESSION_H

#include "base/list.h"
#include "rtmp/channel.h"
#include "rtmp/metrics.h"
#include "rtmp/rtmp.h"

enum session_phase {
    PHASE_ASK,     /* waits for C0 C1 */
    PHASE_C2,      /* waits for C2 */
    PHASE_CONNECT, /* waits for the connect command */
    PHASE_READY,   /* connected */
};

enum stream_state {
    STREAM_IDLE,    /* created, or its publish or play is over */
    STREAM_WAITING, /* the application was asked */
    STREAM_PUBLISHING,
    STREAM_PLAYING,
};

enum stream_wish { WISH_CONNECT, WISH_PUBLISH, WISH_PLAY };

/* A NetStream; also the connect request while it is being decided. */
struct net_stream {
    struct rtmp_request r;
    double tid; /* of a connect */
    char *text; /* owned: what r.app, r.name and r.args point into */
    uint8_t state;
    uint8_t wish;    /* what is or was asked for */
    uint8_t refused; /* enum rtmp_refused */
    bool reset;      /* play: Play.Reset is wanted */
    bool asking;     /* the application's on_publish or the like runs */
    bool ended;      /* while it did: on_end is still to be called */
};

struct rtmp_session {
    struct list link;  /* in the process's list of sessions */
    struct loop *loop; /* borrowed, as the next three */
    const struct rtmp_settings *settings;
    const struct rtmp_handlers *handlers;
    void *arg;
    struct channel ch;
    struct timer timer;
    struct later destroy;
    struct net_stream *connect; /* owned; NULL unless being decided */
    struct net_stream *streams[RTMP_STREAMS]; /* owned; id - 1 */
    char *text;             /* owned: what the six below point into */
    struct str app, tc_url; /* as sent */
    struct str page_url, swf_url, flash_ver, node;
    int64_t since_ms;    /* when the phase began, or nothing was left */
    int64_t asked_ms;    /* when the decision was asked for that is awaited */
    uint16_t c2_left;    /* bytes of C2 still to come */
    uint8_t phase;       /* enum session_phase */
    uint8_t waiting;     /* decisions awaited */
    uint8_t end;         /* enum rtmp_session_end: the first reason given */
    bool closed;         /* on_close was called */
    bool ending;         /* last words are on their way */
    bool enhanced;       /* the client knows Enhanced RTMP */
    bool bandwidth_done; /* onBWDone was said */
};

static inline bool
session_over(const struct rtmp_session *s)
{
    return s->closed || s->ending;
}

/* Why it is about to end, for the counter; the first reason counts. */
static inline struct rtmp_session *
session_ends(struct rtmp_session *s, enum rtmp_session_end why)
{
    if (s->end == END_PEER) {
        s->end = (uint8_t)why;
    }
    return s;
}

/* Sends (and clears) the words; closes the session when that fails. */
int session_say(struct rtmp_session *s, struct words *w);
/* Ends all NetStreams, sends what is left, closes. */
void session_finish(struct rtmp_session *s, const char *reason);
void session_set_phase(struct rtmp_session *s, enum session_phase phase);
void session_touch_timer(struct rtmp_session *s);
const char *session_peer(const struct rtmp_session *s); /* for the log */

#endif
