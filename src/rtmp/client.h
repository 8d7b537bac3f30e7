/*
 * An RTMP session outwards: what the owner of a relay sees.
 *
 * The client takes over a connected socket (net/outgoing), speaks the
 * handshake, connects, makes one NetStream and publishes or plays on it.
 * Then it answers pings, acknowledges, notices a remote that is silent or
 * does not read, and hands on what comes.  It knows nothing of src/live and
 * of the names of hosts: the owner joins them.
 *
 *   rtmp_client_new()  ->  on_ready  ->  on_media ...  ->  on_close
 *                \______________________________________/
 *
 * on_close is called exactly once for every client that was returned by
 * rtmp_client_new(), never before that returns; after it the client must not
 * be used any more.  No handler is called from within rtmp_client_new().
 *
 * Publishing.  From on_ready on the owner sends media by live_play() with
 * rtmp_client_conn() and the NetStream's number; what the client itself has
 * to say then goes through the handler say.  The player has to be stopped
 * (live_stop_playing()) within on_close, at the latest: what is missing of a
 * frame that was begun, and the words of farewell, are sent behind it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_CLIENT_H
#define RTMP_CLIENT_H

#include "base/errmsg.h"
#include "base/str.h"
#include "media/media.h"
#include "net/conn.h"

struct rtmp_client;

struct rtmp_client_settings {
    uint32_t chunk_size;       /* of what a publisher says, bytes */
    uint32_t window_ack;       /* bytes, what we ask to acknowledge */
    int64_t handshake_timeout; /* ms: the handshake whole */
    int64_t connect_timeout;   /* ms: from the handshake to connect's answer */
    int64_t answer_timeout;    /* ms: from there to on_ready */
    int64_t idle;              /* ms without a byte of the remote, then it is
                                  pinged */
    int64_t ping_timeout;      /* ms for its answer */
    int64_t send_timeout;      /* ms without progress of one that is stuck */
    int64_t max_message;       /* bytes of one message, when playing */
    int64_t max_memory;        /* bytes of half-received messages */
};

/* A login under way.  Servers that want a user and a password (authmod=adobe,
 * authmod=llnw) refuse the connection with a challenge; the answer goes with
 * a new connection, two of them in most cases.  The owner keeps this for all
 * connections of a task, all zero at first, and passes it each time; when
 * on_close tells RTMP_CLIENT_AGAIN it connects again at once, with the same
 * wishes.  More than two answers in a row are not given.  With any other end
 * the client clears it. */
struct rtmp_login {
    uint8_t step;    /* how many answers were given in a row */
    char query[512]; /* what is said with the next connect, "": nothing */
};
void rtmp_login_clear(struct rtmp_login *login);

/* What is wanted of the remote.  The texts are copied; settings and login are
 * borrowed as long as the client lives (up to on_close). */
struct rtmp_wanted {
    const struct rtmp_client_settings *settings;
    bool publish;             /* else: play */
    struct str origin;        /* "rtmp://HOST:PORT", begins tcUrl */
    struct str app;           /* "live", "live/inst", "live?k=v" */
    struct str name;          /* "movie" */
    struct str args;          /* "token=x" behind the name, or empty */
    struct str user;          /* as they are, not percent-encoded; */
    struct str password;      /* both empty: there are none */
    struct rtmp_login *login; /* NULL: logins are refused */
    struct str flash_ver;     /* empty: our own; the next two: none */
    struct str page_url, swf_url;
    struct str node; /* who we are, member "weirNode" of connect, so that a
                        server of ours knows itself; empty: not told */
};

/* Why a client came to its end. */
enum rtmp_client_fate {
    RTMP_CLIENT_AGAIN,    /* a step of a login: connect again at once */
    RTMP_CLIENT_OWNER,    /* rtmp_client_close() */
    RTMP_CLIENT_LOST,     /* the connection broke or the remote closed it */
    RTMP_CLIENT_SILENT,   /* no answer, no byte, in time */
    RTMP_CLIENT_STUCK,    /* it takes no bytes */
    RTMP_CLIENT_PROTOCOL, /* what it says is no RTMP, or too much */
    RTMP_CLIENT_LOGIN,    /* wrong password, or none was given */
    RTMP_CLIENT_REFUSED,  /* connect, createStream, publish or play */
    RTMP_CLIENT_ENDED,    /* refused later: it ended what it had accepted */
    RTMP_CLIENT_FATES
};
/* One word, for statistics: "refused". */
const char *rtmp_client_fate_name(enum rtmp_client_fate fate);

/* What the remote tells after on_ready. */
enum rtmp_client_event {
    /* Nobody publishes any more what is played (UnpublishNotify, Play.Stop,
     * Play.Complete, StreamEOF).  The connection stays open: the stream may
     * come back, and the owner closes when it does not want to wait. */
    RTMP_CLIENT_STOPPED,
    /* It is back (PublishNotify, Play.Start, StreamBegin). */
    RTMP_CLIENT_STARTED,
    /* Anything else, for the log. */
    RTMP_CLIENT_TOLD,
};

/* All of them are set.  Each may close the client. */
struct rtmp_client_handlers {
    /* publish or play was accepted; stream_id: of what is sent from now on
     * (a player has no use for it). */
    void (*on_ready)(struct rtmp_client *c, uint32_t stream_id);
    /* Playing: one whole message.  AMF3 data (type 15) comes as MEDIA_DATA
     * without its first byte, aggregates come taken apart; data messages are
     * those of the stream (onMetaData ...), not the remote's words to its
     * players (onStatus, |RtmpSampleAccess). */
    void (*on_media)(struct rtmp_client *c, enum media_type type,
                     uint32_t timestamp, const uint8_t *payload, size_t len);
    /* words: "NetStream.Play.UnpublishNotify: ...", without control
     * characters, and without what is a secret in a publisher's URL. */
    void (*on_status)(struct rtmp_client *c, enum rtmp_client_event event,
                      const char *words);
    /* Publishing: the socket takes bytes again. */
    void (*on_writable)(struct rtmp_client *c);
    /* Publishing, after on_ready: where the client's own words go, so that
     * the owner keeps them in order with the media (live_player_say(), or
     * conn_write() while there is no player). 0 or -1 (close). */
    int (*say)(struct rtmp_client *c, const void *data, size_t n);
    /* The end.  reason is short lived, one line, in words for an operator:
     * "publish was refused: NetStream.Publish.BadName: in use". */
    void (*on_close)(struct rtmp_client *c, enum rtmp_client_fate fate,
                     const char *reason);
};

/* Takes over a connected socket and says hello.  NULL with err, and the
 * socket closed: no room to watch it, it takes nothing, or what is wanted is
 * too long (4096 bytes in all). */
struct rtmp_client *rtmp_client_new(struct loop *l,
                                    const struct rtmp_wanted *wanted,
                                    const struct rtmp_client_handlers *handlers,
                                    void *arg, const struct conn_socket *socket,
                                    struct errmsg *err);
void *rtmp_client_arg(struct rtmp_client *c);
/* Up to on_close, and within it. */
struct conn *rtmp_client_conn(struct rtmp_client *c);

/* Publishing, after on_ready: the chunk size of what the owner sends from
 * now on; nothing is said if it is that already.  0; -1: the client is over
 * (on_close was called). */
int rtmp_client_chunk_size(struct rtmp_client *c, uint32_t size);

/* Ends it: on_close (RTMP_CLIENT_OWNER) is called before this returns, the
 * remote is told (FCUnpublish, deleteStream), the connection closes when that
 * was sent, after two seconds at the latest. */
void rtmp_client_close(struct rtmp_client *c, const char *reason);

/* Clients of this process whose connection is not closed yet, those that say
 * farewell among them. */
size_t rtmp_clients(void);
/* Closes all there are at once, without farewell; on_close is called for those
 * that are not over. */
void rtmp_client_close_all(const char *reason);

#endif
