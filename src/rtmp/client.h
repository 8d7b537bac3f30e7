/*
 * An outgoing RTMP session, as the owner of a relay sees it.
 *
 * The client takes over a connected socket (net/outgoing), speaks the
 * handshake, connects, makes one NetStream and publishes or plays on it.
 * Then it answers pings, acknowledges, notices a remote that is silent or does
 * not read, and hands on its media.  It knows nothing of src/live and of the
 * names of hosts: the owner joins them.
 *
 *   rtmp_client_new()  ->  on_ready  ->  on_media ...  ->  on_close
 *                \______________________________________/
 *
 * on_close is called exactly once for every client that was returned by
 * rtmp_client_new(), never before that returns; after it the client must not
 * be used any more.  No handler is called from within rtmp_client_new().
 *
 * Publishing.  From on_ready on the owner sends media by live_play() with
 * rtmp_client_conn() and the NetStream's number; the client's own messages then
 * go through the handler say.  The owner stops the player (live_stop_playing())
 * within on_close at the latest: the rest of an unfinished frame and the
 * farewell are sent after that.
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
    uint32_t chunk_size;       /* of messages to a remote that we publish to,
                                  bytes */
    uint32_t window_ack;       /* bytes after which the remote has to
                                  acknowledge */
    int64_t handshake_timeout; /* ms: the handshake whole */
    int64_t connect_timeout;   /* ms: from the handshake to connect's answer */
    int64_t answer_timeout;    /* ms: from there to on_ready */
    int64_t idle;              /* ms without a byte of the remote until we
                                  ping */
    int64_t ping_timeout;      /* ms for its answer */
    int64_t send_timeout;      /* ms without progress of a stuck remote */
    int64_t max_message;       /* bytes of one message, when playing */
    int64_t max_memory;        /* bytes of half-received messages */
};

/* A login under way.  Servers that want a user and a password (authmod=adobe,
 * authmod=llnw) refuse the connection with a challenge; the answer goes with
 * a new connection, two of them in most cases.  The owner keeps this for all
 * connections of a task, all zero at first, and passes it each time; when
 * on_close gets RTMP_CLIENT_AGAIN it connects again at once, with the same
 * struct rtmp_wanted.  The client gives at most two answers in a row.  With any
 * other end the client clears it. */
struct rtmp_login {
    uint8_t step;    /* answers given in a row */
    char query[512]; /* query of the next connect, "": none */
};
void rtmp_login_clear(struct rtmp_login *login);

/* The stream to publish or play at the remote.  The texts are copied; settings
 * and login are borrowed as long as the client lives (up to on_close). */
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
    struct str node; /* the name of this node, member "weirNode" of connect, by
                        which a weir notices a relay to itself; empty: not
                        sent */
};

/* Why a client came to its end. */
enum rtmp_client_fate {
    RTMP_CLIENT_AGAIN,    /* a step of a login: connect again at once */
    RTMP_CLIENT_OWNER,    /* rtmp_client_close() */
    RTMP_CLIENT_LOST,     /* the connection broke or the remote closed it */
    RTMP_CLIENT_SILENT,   /* no answer, no byte, in time */
    RTMP_CLIENT_STUCK,    /* it takes no bytes */
    RTMP_CLIENT_PROTOCOL, /* its bytes are no RTMP, or too many */
    RTMP_CLIENT_LOGIN,    /* wrong password, or none was given */
    RTMP_CLIENT_REFUSED,  /* connect, createStream, publish or play */
    RTMP_CLIENT_ENDED,    /* refused later: it ended what it had accepted */
    RTMP_CLIENT_FATES
};
/* One word, for statistics: "refused". */
const char *rtmp_client_fate_name(enum rtmp_client_fate fate);

/* Events of the remote after on_ready. */
enum rtmp_client_event {
    /* The stream that is played has lost its publisher (UnpublishNotify,
     * Play.Stop, Play.Complete, StreamEOF).  The connection stays open: the
     * stream may come back, and the owner closes when it does not want to
     * wait. */
    RTMP_CLIENT_STOPPED,
    /* It is back (PublishNotify, Play.Start, StreamBegin). */
    RTMP_CLIENT_STARTED,
    /* Anything else, for the log. */
    RTMP_CLIENT_TOLD,
};

/* All of them are set.  Each may close the client. */
struct rtmp_client_handlers {
    /* publish or play was accepted; stream_id: the NetStream of media sent from
     * now on (a player has no use for it). */
    void (*on_ready)(struct rtmp_client *c, uint32_t stream_id);
    /* Playing: one whole message.  AMF3 data (type 15) comes as MEDIA_DATA
     * without its first byte, aggregates come taken apart.  Data messages are
     * those of the stream (onMetaData ...), not the remote's own to its players
     * (onStatus, |RtmpSampleAccess). */
    void (*on_media)(struct rtmp_client *c, enum media_type type,
                     uint32_t timestamp, const uint8_t *payload, size_t len);
    /* words: "NetStream.Play.UnpublishNotify: ...", without control characters,
     * and without the secrets of a publisher's URL. */
    void (*on_status)(struct rtmp_client *c, enum rtmp_client_event event,
                      const char *words);
    /* Publishing: the socket takes bytes again. */
    void (*on_writable)(struct rtmp_client *c);
    /* Publishing, after on_ready: sends the client's own messages, which the
     * owner keeps in order with the media (live_player_say(), or conn_write()
     * while there is no player). 0 or -1 (close). */
    int (*say)(struct rtmp_client *c, const void *data, size_t n);
    /* The end.  reason is short lived, one line, in words for an operator:
     * "publish was refused: NetStream.Publish.BadName: in use". */
    void (*on_close)(struct rtmp_client *c, enum rtmp_client_fate fate,
                     const char *reason);
};

/* Takes over a connected socket and begins the handshake.  NULL with err, and
 * the socket closed: no room to watch it, it takes no bytes, or the texts of
 * wanted are too long (4096 bytes in all). */
struct rtmp_client *rtmp_client_new(struct loop *l,
                                    const struct rtmp_wanted *wanted,
                                    const struct rtmp_client_handlers *handlers,
                                    void *arg, const struct conn_socket *socket,
                                    struct errmsg *err);
void *rtmp_client_arg(struct rtmp_client *c);
/* Up to on_close, and within it. */
struct conn *rtmp_client_conn(struct rtmp_client *c);

/* Publishing, after on_ready: sets the chunk size of the owner's media from now
 * on; sends nothing if it is that already. 0; -1: the client is over (on_close
 * was called). */
int rtmp_client_chunk_size(struct rtmp_client *c, uint32_t size);

/* Ends it: on_close (RTMP_CLIENT_OWNER) is called before this returns, and
 * FCUnpublish and deleteStream go to the remote.  The connection closes when
 * they are sent, after two seconds at the latest. */
void rtmp_client_close(struct rtmp_client *c, const char *reason);

/* Clients of this process whose connection is not closed yet, also those that
 * still send their farewell. */
size_t rtmp_clients(void);
/* Closes all clients at once, without farewell; calls on_close for those that
 * are not over. */
void rtmp_client_close_all(const char *reason);

#endif
