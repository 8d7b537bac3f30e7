/*
 * An RTMP server session (Adobe RTMP 1.0, Enhanced RTMP), as the application
 * sees it.
 *
 * The session owns the protocol: handshake, chunks, commands, replies,
 * acknowledgements, pings.  It asks the application before it answers publish
 * or play, and hands it the media.  It includes nothing of src/live: the
 * application joins the two (app/service/rtmp_service.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_RTMP_H
#define RTMP_RTMP_H

#include "base/errmsg.h"
#include "media/media.h"
#include "net/conn.h"

#define RTMP_NAME_MAX 256 /* app, and stream name, bytes each */
#define RTMP_ARGS_MAX 1024
#define RTMP_STREAMS 8 /* NetStreams of one connection */

struct rtmp_session;

struct rtmp_settings {         /* of one server */
    uint32_t chunk_size;       /* towards publishers, bytes */
    int64_t handshake_timeout; /* ms: handshake whole */
    int64_t connect_timeout;   /* ms: until connect, then until play/publish */
    int64_t ping_interval;     /* ms of silence before a ping */
    int64_t ping_timeout;      /* ms for its answer */
    int64_t send_timeout;      /* ms without progress of a stuck peer */
    int64_t max_message;       /* bytes of one message */
    int64_t max_memory;        /* bytes of half-received messages */
    uint32_t window_ack;       /* bytes after which peers have to acknowledge */
};

/* A connect, publish or play, with the session's values for its NetStream.
 * Names are normalised (facts: queries split off app, tcUrl and name and merged
 * into args; "_definst_", leading, trailing and doubled slashes gone; first
 * segment = app, the rest joins the stream name; an empty name takes the last
 * app segment). */
struct rtmp_request {
    struct rtmp_session *session;
    uint32_t stream_id; /* NetStream, 1.. */
    struct str app;     /* "live" */
    struct str name;    /* "movie" or "a/b" */
    struct str args;    /* "token=x&a=b" */
    struct str tc_url;  /* as sent, without its query */
    struct str page_url, swf_url, flash_ver;
    struct str node;          /* name of the weir whose relay this is */
    const char *publish_type; /* "live", "record", "append"; play: NULL */
    uint32_t duration;        /* of a play, ms; 0: to the stream's end */
    /* Set by the application in its handler: the name may be a stream key, a
     * secret, and is not logged. */
    bool secret;
    void *context; /* the application's, one for a NetStream */
};

enum rtmp_result {
    RTMP_DONE,   /* go on: success is answered */
    RTMP_REFUSE, /* code and reason are answered, then the session closes */
    RTMP_WAIT,   /* until rtmp_session_decide(); nothing more is read from this
                    peer before */
};

/* The reason of a refusal, for the counter. */
enum rtmp_refused {
    RTMP_REFUSED_OTHER,
    RTMP_REFUSED_APP,    /* there is no such application */
    RTMP_REFUSED_ACCESS, /* the address */
    RTMP_REFUSED_NAME,   /* cannot be a name */
    RTMP_REFUSED_KEY,    /* not the key that the application demands */
    RTMP_REFUSED_HOOK,   /* a module said no */
    RTMP_REFUSED_LIVE,   /* src/live refused the stream (live/metrics.h) */
    RTMP_REFUSED_LATE,   /* no decision in time */
    RTMP_REFUSED_LOOP,   /* the stream would come back to itself */
    RTMP_REFUSED_COUNT
};

struct rtmp_refusal {
    const char *code; /* "NetStream.Publish.BadName", static */
    enum rtmp_refused why;
    struct errmsg reason;
};

/* The application's side.  All handlers are set. */
struct rtmp_handlers {
    /* connect: does the application exist, may this peer use it? */
    enum rtmp_result (*on_connect)(struct rtmp_request *r,
                                   struct rtmp_refusal *no);
    /* publish / play: before Publish.Start / Play.Start is answered. */
    enum rtmp_result (*on_publish)(struct rtmp_request *r,
                                   struct rtmp_refusal *no);
    enum rtmp_result (*on_play)(struct rtmp_request *r,
                                struct rtmp_refusal *no);
    /* One whole message of a publishing NetStream; AMF3 data (type 15) comes
     * as MEDIA_DATA without its first byte, aggregates come taken apart. */
    void (*on_media)(struct rtmp_request *r, enum media_type type,
                     uint32_t timestamp, const uint8_t *payload, size_t len);
    void (*on_pause)(struct rtmp_request *r, bool pause);
    void (*on_receive)(struct rtmp_request *r, enum media_type type, bool on);
    /* The socket takes bytes again. */
    void (*on_writable)(struct rtmp_session *s);
    /* A NetStream ends (closeStream, deleteStream, FCUnpublish, new publish
     * or play on it, refusal, connection closed): drop r->context.  When a
     * decision is awaited, it must not be given any more.  A connect (stream_id
     * 0) ends only if it was refused or never decided.  Never called from
     * within on_publish or on_play of the same NetStream: if the session ends
     * there, on_end follows their return. */
    void (*on_end)(struct rtmp_request *r, const char *reason);
    /* Sends the session's own messages while a NetStream plays: the application
     * keeps them in order with the media. 0 or -1 (close). */
    int (*say)(struct rtmp_session *s, const void *data, size_t n);
};

/* Takes over an accepted socket.  arg: the application's server.  NULL, with
 * it closed, when the system has no room to watch it. */
struct rtmp_session *rtmp_accept(struct loop *l,
                                 const struct rtmp_settings *settings,
                                 const struct rtmp_handlers *handlers,
                                 void *arg, const struct conn_socket *socket);
void *rtmp_session_arg(struct rtmp_session *s);
struct conn *rtmp_session_conn(struct rtmp_session *s);
/* "rtmp", or "rtmps" where the client's side is TLS, here or with a proxy. */
const char *rtmp_session_scheme(const struct rtmp_session *s);
/* The NetStreams in use: calls f for each. */
void rtmp_session_each(struct rtmp_session *s,
                       void (*f)(struct rtmp_request *r, void *arg), void *arg);

/* The answer to RTMP_WAIT; RTMP_DONE or RTMP_REFUSE. */
void rtmp_session_decide(struct rtmp_request *r, enum rtmp_result result,
                         const struct rtmp_refusal *no);

/* Messages of the application: */
/* sets the chunk size of the application's media from now on. */
int rtmp_session_chunk_size(struct rtmp_session *s, uint32_t size);
/* onStatus of level "status" or "error" on a NetStream. */
int rtmp_session_status(struct rtmp_request *r, const char *level,
                        const char *code, const char *description);
/* User control message of a NetStream (RTMP 1.0, 7.1.7). */
enum rtmp_event {
    RTMP_STREAM_BEGIN = 0,
    RTMP_STREAM_EOF = 1,
    RTMP_STREAM_DRY = 2,
};
int rtmp_session_control(struct rtmp_request *r, enum rtmp_event event);
/* Sends onStatus as the last message, then closes. */
void rtmp_session_finish(struct rtmp_request *r, const char *level,
                         const char *code, const char *description);
void rtmp_session_close(struct rtmp_session *s, const char *reason);

/* Sessions open in this process. */
size_t rtmp_sessions(void);
void rtmp_close_all(const char *reason);
/* The same, but sends the reason to each NetStream in use, and gives peers a
 * while to read it. */
void rtmp_finish_all(const char *reason);

#endif
