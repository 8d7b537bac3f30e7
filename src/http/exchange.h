/*
 * A connection and the request in progress on it, for the files of this folder.
 *
 * A connection is small and lives long.  All that a request needs hangs on its
 * exchange, which exists from the end of the head to the last byte of the
 * answer.  The connection's phase decides how bytes from the peer are read and
 * which time-out runs; connection.c and request.c alone change it.
 *
 * Nothing is freed while a handler may still run: http_settle(), called where
 * none is on the stack, notices ends; a later turn frees a closed connection.
 *
 *   connections.c  all of a process: idle, draining
 *   header.c       looking things up in it
 *   named.c        the server of a request
 *   find.c         its location
 *   explain.c      the same for a URL that nobody asks for
 *   added.c        headers that the settings add
 *   route.c        the walk through locations and layers
 *   layer_walk.c   layers within layers
 *   response.c     the answer
 *   answer_head.c  its status line and headers
 *   pieces.c       an answer whose bytes lie with the handler
 *   tries.c        servers that were asked for it
 *   page.c         the answer that is a page for people
 *   status.c       reason phrases
 *   error.c        bodies of errors
 *   upload.c       a body that its handler reads piece by piece
 *   feed.c         one that is looked into before, and how much at once
 *   slow_client.c  clients that send or read too slowly
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include "http/body.h"
#include "http/file/gzip.h"
#include "http/http.h"
#include "http/locate.h"
#include "http/metrics.h"
#include "http/parse.h"
#include "http/trace.h"
#include "net/unsent.h"

/* How long a body that is dropped before the answer may pause; after that the
 * connection ends with the answer. */
#define BODY_PAUSE_MS 200

enum http_phase {
    PHASE_IDLE,    /* between requests; nothing of the next one came */
    PHASE_HEAD,    /* a part of a head came */
    PHASE_BODY,    /* the handler's turn comes when the body is whole */
    PHASE_BUSY,    /* handler at work, or its answer on the way out */
    PHASE_SKIP,    /* answered; the rest of the body is read and dropped */
    PHASE_CLOSING, /* nothing more to say; conn_finish() was called */
    PHASE_TAKEN,   /* http_take_over(): not ours any more */
    PHASE_GONE,    /* closed; freed by the next deferred call */
};

struct http_connection {
    struct list link;  /* all of the process */
    struct conn *conn; /* owned, borrowed while taken, NULL when gone */
    struct loop *loop;
    const struct http_address *address;
    const struct http_server *server; /* of the request; between requests that
                                         of the handshake's name */
    struct exchange *x;               /* owned; NULL between requests */
    struct timer timer;               /* its meaning depends on the phase */
    struct later later;   /* work that must not run on a handler's stack */
    struct unsent unsent; /* memory of an answer that is not taken */
    struct http_scan scan;
    size_t offered;    /* bytes of on_data() behind what is taken now */
    uint32_t number;   /* among the connections of this process */
    uint32_t requests; /* begun, in all */
    uint16_t place;    /* of the server at the address */
    uint8_t phase;     /* enum http_phase */
    uint8_t burst;     /* requests handled in this turn */
    bool eof;          /* the peer ended its side */
    bool counted;      /* as open */
    uint8_t end;       /* enum http_end, why it will end */
    bool in_data;      /* on_data() is on the stack */
    bool not_tls;      /* plain, at an address for https: answered so */
    bool at_loopback;  /* its listener is at a loopback address */
    bool raised;       /* its socket takes more than CONN_UNSENT: file.c */
};

struct http_file;
struct http_upload;
struct auth_try; /* auth.c */
struct http_media;

/* Layers that the walk goes through: those of a location, or those that a layer
 * of layers has chosen. */
struct http_level {
    struct http_level *up; /* level whose layer `at` chose these; NULL: these
                              are a location's */
    const struct http_layer *layers;
    size_t count, at;
    struct str route_path; /* the request's path for them */
    struct str vendor, version, format, query;
    const struct http_api *api;
    struct http_wish wish; /* the wish for which they were chosen */
    struct str lines;      /* of the head, while the walk is here */
};

/* The choice of a layer of layers, which is layer `at` of its level. */
struct http_choosing {
    struct http_choosing *next;
    const struct http_level *level;
    struct http_choice choice;
    size_t allowed;        /* allow_count before any of its layers was asked */
    struct http_wish best; /* the best format that did not fit */
    struct http_level *unfit; /* the first without an acceptable format, and the
                                 place of the walk in it */
    size_t unfit_at;
};

/* The client's choice among the formats of a layer. */
struct http_liking {
    const struct http_format *formats; /* NULL: nothing was asked yet */
    const struct http_level *level;    /* whose version they were judged for */
    struct http_wish best;             /* of the best of them */
    int place;                         /* of the one it likes best; -1: none */
    int first;                         /* quality of the first of them */
};

struct http_field { /* of the answer */
    struct http_field *next;
    const char *name;
    struct str value;
    bool of_filter; /* removed when the walk leaves the location */
};

struct exchange {
    struct http_request pub;
    struct http_connection *c; /* borrowed */
    struct http_head head;
    struct http_body body;
    struct http_trace trace;
    struct addr via;            /* the host that connected: the peer or its
                                   proxy */
    uint64_t out_before;        /* conn->bytes_out when it began */
    int64_t began_us;           /* loop_now_us() */
    int64_t body_began_ms;      /* of waiting for the body */
    int64_t body_waited_ms;     /* in the waits before this one */
    uint64_t body_began_bytes;  /* the connection's bytes_in at the first */
    struct http_upload *upload; /* in the pool; NULL: the handler does not read
                                   the body itself */

    /* The feed, which looks into the body before the handler; feed.c. */
    const struct http_feed *feed; /* NULL: nothing */
    struct later feeding;         /* in turn */
    size_t fed;                   /* of the bytes kept */
    bool feed_ended;              /* it has the last one */
    int64_t handed_us;            /* loop_now_us() of the turn ... */
    size_t handed;                /* ... and bytes handed on in it */

    /* Routing: where the walk is. */
    size_t location;
    struct http_level outermost;    /* the location's own layers */
    struct http_level *level;       /* NULL: in no location yet */
    struct http_choosing *choosing; /* layers whose choices are under way */
    const struct http_route *route; /* route whose handler has its turn */
    struct str *allow;              /* methods of this location's layers */
    size_t allow_count;
    int reject; /* the walk ended: the status, or 405 for OPTIONS */
    const char *reject_text;   /* a filter's message; NULL: the usual one */
    struct str reject_lines;   /* of its head */
    struct str redirect;       /* Location of it; empty: none */
    struct http_groups groups; /* what patterns took of the path */
    uint8_t rewritten;         /* how often */
    bool begun;                /* rewrites of the server were tried */
    const struct http_choice *last_refusal; /* status, reason and lines for
                                     when no layer has an answer; NULL: none */
    size_t last_location;                   /* of that */
    bool api_says;                          /* the end is a selector's answer */
    bool needs_body;       /* a layer needs the body to choose */
    bool any_format;       /* no format fits: formats do not matter any more */
    bool selecting;        /* a selector is on the stack */
    bool entered;          /* the walk is in a location */
    bool in_filter;        /* a filter of it has its turn */
    bool is_test;          /* explain.c: no client has asked */
    bool trusted;          /* the host that connected */
    bool hidden;           /* the target is a secret */
    uint8_t filter;        /* the next one */
    struct auth_try *auth; /* of that filter */

    /* Accept; http/accept.h */
    const struct http_media *accept; /* its members, once they are read */
    bool accept_read;
    struct http_liking liking; /* what was judged last */

    /* The answer. */
    int status; /* 0: not begun */
    struct http_field *fields;
    struct http_field *trailers; /* behind it, if it is chunked */
    uint64_t to_come;            /* bytes of a body of known length */
    struct str prepared;    /* lines of the head as they are sent, with type and
                               length */
    struct buf out;         /* owned; bytes that the socket did not take */
    struct http_file *file; /* owned; being sent */
    const struct http_pieces *pieces; /* NULL: none are left to send */
    void *pieces_arg;
    uint64_t pieces_left;   /* bytes of the body */
    struct gzip *gzip;      /* owned; the body goes through it */
    uint64_t body_sent;     /* bytes handed to the connection */
    size_t memory;          /* bytes of a file in memory that it sends */
    int64_t stalled_ms;     /* since when out waits for the socket */
    int64_t stall_total_ms; /* of the waits that are over */
    uint64_t stall_bytes;   /* the connection's bytes_out at the first */
    bool chunked, no_body, close;
    bool has_length; /* to_come counts */
    bool as_is;      /* its body is not compressed */
    bool taken;      /* http_take_over() */
    bool ended;      /* the handler has given all of the answer */
    bool broken;     /* a write failed: close when nobody is on the stack */
    bool reset;      /* broken, and a close would look like the answer's end */

    /* The handler. */
    bool running, waiting;
    bool endless;        /* http_set_endless() */
    bool with_client;    /* http_end_with_client() */
    bool long_body;      /* whole: the handler has its turn before long */
    struct later resume; /* in turn */
    void (*on_room)(void *arg);
    void *on_room_arg;
    void (*on_cancel)(void *arg);
    void *on_cancel_arg;
    struct str note;        /* for the log */
    struct http_try *tries; /* servers that were asked, for the log */
};

static inline struct exchange *
exchange_of(const struct http_request *r)
{
    return (struct exchange *)((uintptr_t)r - offsetof(struct exchange, pub));
}

/* connection.c */
/* Acts on the state of the request: sends on, ends it, closes.  Not while a
 * handler is on the stack; http_settle_later() may be called anywhere. */
void http_settle(struct http_connection *c);
void http_settle_later(struct http_connection *c);
/* The deadline of a stalled answer begins. */
void http_answer_stalls(struct http_connection *c);
/* Watches the socket and waits for the first head.  -1: the system has no room
 * for it, the socket is closed. */
int http_connection_begin(struct http_connection *c,
                          const struct conn_socket *socket);
/* Closes at once; the struct is freed later. */
void http_connection_end(struct http_connection *c, enum http_end why,
                         const char *reason);

/* connections.c */
/* It waits for its next request from now on: its idle time begins. */
void http_idle(struct http_connection *c);
/* A request of it is under way. */
void http_not_idle(struct http_connection *c);
/* It is not open any more / it is about to be freed. */
void http_connection_closed(struct http_connection *c);
void http_connection_gone(struct http_connection *c);
/* Whether the answer is the last one: the process drains or leaves, and this
 * client has sent nothing more. */
bool http_ends_with(const struct http_connection *c);

/* slow_client.c: milliseconds until the transfer under way is too slow on
 * average. */
int64_t http_slow_left(const struct http_connection *c);
/* The same of a body that is read piece by piece, or until it has paused for
 * too long. */
int64_t http_body_left(const struct exchange *x);

/* upload.c */
/* Offers bytes to the handler; returns how many were eaten.  x is perhaps
 * answered then. */
size_t http_upload_take(struct exchange *x, const uint8_t *data, size_t n);
/* Offers what is in memory, and the end.  Not while a handler is on the
 * stack. */
void http_upload_pump(struct exchange *x);
/* Whether the handler waits for bytes of the body. */
bool http_upload_wants(const struct exchange *x);
/* Whether it waits, and nothing is left that could be offered. */
bool http_upload_is_cut(const struct exchange *x);
/* The handler is offered no more. */
void http_upload_drop(struct exchange *x);

/* feed.c */
/* Bytes of the body that may be handed on in this turn; then they are. */
size_t http_piece_room(struct exchange *x);
struct str http_hand_piece(struct exchange *x, struct str piece);
void http_feed_init(struct exchange *x);
/* Whether all of the body went through the feed of the route; if not, goes on
 * with it, and the walk goes on later. */
bool http_feed(struct exchange *x, const struct http_feed *feed);
/* More of the body is kept. */
void http_feed_more(struct exchange *x);
/* The feed gets no more. */
void http_feed_drop(struct exchange *x);
/* The body is too long: tells the feed of the route. */
void http_feed_too_long(struct exchange *x);
/* Bytes that a body may have for the location, and a feed (or NULL) in it. */
uint64_t http_feed_limit(const struct exchange *x,
                         const struct http_feed *feed);

/* request.c */
/* A head of n bytes is whole. */
void http_request_begin(struct http_connection *c, const uint8_t *data,
                        size_t n);
/* A head will not get whole; data is what there is of it. */
void http_request_refused(struct http_connection *c, const uint8_t *data,
                          size_t n, enum http_refusal why);
void http_request_free(struct exchange *x);
/* Counts, answers, closes. */
void http_refuse(struct exchange *x, enum http_refusal why);
void http_wait_for_body(struct exchange *x);
/* The body is whole. */
void http_body_came(struct exchange *x);

/* named.c: finds the server that the request names, for an address with
 * several; REFUSE_NONE, or why it may not have it. */
enum http_refusal http_choose_server(struct exchange *x);

/* find.c */
enum http_sought {
    HTTP_SOUGHT_LOCATION, /* x->pub.location: the walk has entered it */
    HTTP_SOUGHT_PATH,     /* a rewrite has set another path: search on */
    HTTP_SOUGHT_ANSWER,   /* x->reject is set */
    HTTP_SOUGHT_NOTHING,  /* no location is left */
};
/* The next step of the search for the location whose turn it is, from number
 * x->location on.  x->pub.location is the one that took it, or NULL. */
enum http_sought http_find(struct exchange *x);
/* Sets the first location that fits, for an answer that no layer gives: it has
 * the form of the longest location's modules, as a file server below "/" has
 * no better word. */
void http_find_longest(struct exchange *x);
/* Goes back to the location of the selector whose refusal is the answer. */
void http_find_refused(struct exchange *x);

/* route.c: goes on with the walk until it is answered or waits. */
void http_route(struct exchange *x);
/* Whether as much of the body is kept as a selector looks at. */
bool http_body_looked(const struct exchange *x);
/* The head is refused: answers in the way of the location to which the path
 * leads. path: of the target, as sent, perhaps cut. */
void http_route_refused(struct exchange *x, struct str path);
/* Gives the answer that x->reject stands for. */
void http_reject(struct exchange *x);
/* Sets Allow to all methods that the server serves, for a request that no
 * location answers. */
void http_allow_all(struct exchange *x);

/* added.c: the answer has begun with that status; sets the headers that server
 * and location add to it. */
void http_set_status(struct exchange *x, int status);

/* layer_walk.c */
/* The answer comes before the layers were asked: adds the header lines that
 * they have for every answer. */
void http_walk_refuse(struct exchange *x);
/* Into a location's layers. */
void http_walk_enter(struct exchange *x, const struct http_location *l);
/* Goes to the next layer with routes, through layers of layers and out of them.
 * NULL when no layer is left, or when x->reject or x->needs_body is set. */
const struct http_layer *http_walk_next(struct exchange *x);
/* Whether the layer has the format that its level was chosen for; if not, the
 * walk has left the level. */
bool http_walk_fits(struct exchange *x, const struct http_layer *layer);
/* No layer has an answer: the end of the walk is x->last_refusal, else 404. */
void http_walk_end(struct exchange *x);
/* The layer whose turn it is; NULL: none. */
const struct http_layer *http_layer_now(const struct exchange *x);

/* answer_head.c */
/* Adds status line and headers; length -1: not known.  Returns 0, or not 0
 * when memory is out. */
int http_add_head(struct buf *b, const struct exchange *x, const char *type,
                  int64_t length);
/* The same of an interim answer, and of the trailers that the client takes. */
int http_add_info(struct buf *b, int status, const struct http_header *headers,
                  size_t count);
int http_add_trailers(struct buf *b, const struct exchange *x);

/* response.c */
/* Sends the bytes in out; false while some of them are left, a file waits for
 * room, or a write failed. */
bool http_flush(struct exchange *x);
/* Status line and headers into out; length -1: not known. */
void http_begin_answer(struct exchange *x, int status, const char *type,
                       int64_t length);
/* A whole answer as it stands (http_reply() may compress it first). */
enum http_result http_answer(struct exchange *x, int status, const char *type,
                             struct str body);
/* Sends the next bytes of an answer without length, through x->gzip if it is
 * set, and its end. */
void http_send_piece(struct exchange *x, struct str data,
                     enum gzip_flush flush);
void http_send_end(struct exchange *x);
/* Sends behind the bytes in out, and keeps those that the socket does not
 * take. */
void http_send_bytes(struct exchange *x, const struct iovec *iov, int count);
/* For a file: sends as many bytes as the socket takes behind those in out, and
 * keeps none; returns how many.  The caller then asks http_has_room(). */
size_t http_send_unkept(struct exchange *x, struct str data);
/* The same of bytes of an open file, where conn_is_direct(). */
size_t http_send_from_file(struct exchange *x, int fd, int64_t offset,
                           size_t n);
/* Whether the socket took all so far; false: http_settle() is called when it
 * has, and the time of a stalled answer runs. */
bool http_has_room(struct exchange *x);

/* file.c */
void http_file_pump(struct exchange *x); /* the socket has room: goes on */
void http_file_drop(struct exchange *x); /* the exchange ends */
/* Before bytes that are of no file, or that others send: the socket keeps no
 * more of these than CONN_UNSENT. */
void http_file_other_bytes(struct exchange *x);

/* pieces.c */
void http_pieces_pump(struct exchange *x); /* out is empty: goes on */
void http_pieces_drop(struct exchange *x); /* the exchange ends */

/* access_log.c */
void http_log_access(const struct exchange *x);
/* The request line as it may be shown: values of secrets masked. */
void http_log_request(const struct exchange *x, struct line_value *v);
/* The status for logs and metrics: 499 when the client went before an
 * answer. */
int http_status_told(const struct exchange *x);

#endif
