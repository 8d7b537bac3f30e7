/*
 * HTTP/1.0 and 1.1 serving: what handlers and the application see.
 *
 * A server has locations; a location has filters and layers; a layer is a
 * module's routes with one set of settings.  A request walks: filters of the
 * longest matching location, its layers in order (HTTP_PASS: the next), then
 * the next shorter matching location, after all of them 404.  In place of
 * routes a layer may have layers of its own, of which it chooses some for a
 * request (http_selector).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/buf.h"
#include "base/line_format.h"
#include "base/list.h"
#include "base/pool.h"
#include "base/str.h"
#include "http/feed.h"
#include "net/access.h"
#include "net/conn.h"

struct http_request;
struct task_threads; /* event/task.h */
struct http_auth;    /* http/filter/auth.h */
struct http_cors;    /* http/filter/cors.h */
struct http_rate;    /* http/filter/rate.h */
struct http_format;  /* http/accept.h */
struct host_names;   /* net/host_names.h */

enum http_result {
    HTTP_DONE, /* answered, or taken over */
    HTTP_PASS, /* not mine: ask the next layer */
    HTTP_WAIT, /* later: http_resume() calls the handler again */
};

/* state is that of the layer (struct http_layer). */
typedef enum http_result http_handler(struct http_request *r, void *state);

/* A module's table; ends with path NULL.  method "*" takes all, "GET" takes
 * HEAD too; a path that matches under another method is 405 with Allow,
 * OPTIONS 204 with Allow.  Path templates: "/hello", "/x/:id" (one segment),
 * trailing "*" (the rest, may be empty). */
struct http_route {
    const char *method;
    const char *path;
    http_handler *handler;
    /* Read the body before the handler is called; NULL: not.  http_small_body
     * is for a handler that looks into r->body. */
    const struct http_feed *feed;
};

/* Writes the body of an error answer in the module's own form: appends it to
 * out and returns its content type.  NULL: the body is weir's usual one.  It
 * may set headers. message is for people. */
typedef const char *http_error_body(struct http_request *r, int status,
                                    struct str message, struct buf *out);

/* How closely a member of Accept names an offered type; struct http_wish adds
 * its quality in thousandths. */
enum http_closeness {
    HTTP_BY_ANY,     /* every type */
    HTTP_BY_MAJOR,   /* application, any subtype */
    HTTP_BY_TYPE,    /* application/json */
    HTTP_BY_VENDOR,  /* application/vnd.acme, +json */
    HTTP_BY_VERSION, /* application/vnd.acme-v2, +json */
};

struct http_wish {
    int quality; /* 0: not acceptable */
    enum http_closeness by;
};

/* The answer of a layer of layers when the walk comes to it. */
enum http_select {
    HTTP_CHOSEN,     /* walk through choice->layers */
    HTTP_NONE_LEFT,  /* the layer behind this one */
    HTTP_REFUSED,    /* choice->status is the answer */
    HTTP_NEEDS_BODY, /* ask again when r->body is there to be looked at */
};

/* Bytes of a body that a selector looks at, at most: the rest stays with the
 * client until the chosen layer reads it. */
#define HTTP_LOOK HTTP_PIECE

/* A version of an API, and how a request names it. */
enum http_api_by {
    HTTP_API_PATH,    /* /VERSION/... */
    HTTP_API_ACCEPT,  /* Accept: application/vnd.VENDOR-VERSION+FORMAT */
    HTTP_API_VERSION, /* Accept-Version: VERSION */
    HTTP_API_PARAM,   /* ?PARAMETER=VERSION, or in the body */
};

struct http_api {
    enum http_api_by by;
    struct str version;
    struct str vendor, parameter; /* where `by` needs them */
    int64_t deprecated, sunset;   /* s since 1970; -1: not said */
    const struct http_api *outer; /* API that a layer in front chose; NULL:
                                     none */
    struct str behind; /* the path behind the version, where the request's path
                          names it; else empty */
};

struct http_choice {
    void *memory;   /* the selector's own; NULL at first */
    bool body_read; /* r->body is whole (there may be none), or ... */
    bool body_cut;  /* it is the first HTTP_LOOK bytes of a longer one */
    /* NULL, or the wish for the best format of the layers chosen last: they
     * have the resource, but no format that meets the wish for which they were
     * chosen. */
    const struct http_wish *unfit;
    /* HTTP_CHOSEN: layers that stand in for this one, borrowed as long as the
     * server lives, and the request's values for them. */
    const struct http_layer *layers;
    size_t layer_count;
    struct str route_path;
    struct str vendor, version, format, query; /* struct http_request */
    const struct http_api *api; /* borrowed, without outer and behind; NULL: any
                                   version */
    bool in_path; /* the path names the version; route_path is behind it */
    struct http_wish wish; /* for which they are chosen; quality 0: any format
                              of theirs will do */
    /* HTTP_REFUSED: the answer.  HTTP_NONE_LEFT: the answer when no layer
     * behind this one has one either (0: the usual one). reason is borrowed as
     * long as the server lives. */
    int status;
    const char *reason;
    /* Header lines ("A: b\r\n") for the answer of the chosen layers, or for the
     * refusal; borrowed as long as the server lives.  Of lines with one name
     * only the innermost layer's are sent, except Link: all of these are. */
    struct str lines;
};

/* Chooses among the layers of a layer.  The walk calls it when it comes to the
 * layer, and again each time the chosen layers have passed or have no fitting
 * format of the resource (struct http_layer).  When no chosen layer is left,
 * the first one without an acceptable format is asked after all and ends the
 * walk with its own answer (406).  A chosen layer that knows the path but not
 * the method ends it too: 405 with the methods of all that were chosen. */
typedef enum http_select http_selector(struct http_request *r, void *state,
                                       struct http_choice *choice);

struct http_layer {
    const char *module;              /* for logs */
    const struct http_route *routes; /* may be made at run time */
    http_selector *select;           /* instead of routes, or NULL */
    void *state;                     /* handed to the handlers; borrowed */
    unsigned place; /* of the module, in metrics: http_module_place() */
    /* The formats among which http_choose_format() of its routes chooses, so
     * that a layer of layers in front may look for a better one; NULL: none. */
    const struct http_format *formats;
    http_error_body *error_body; /* NULL: as everywhere else */
    /* Pages of any site may change data through this layer when its location
     * has neither cors nor auth and restricts no access. */
    bool open;
    bool console; /* it has the console's files: pages link to it */
    /* Of a layer of layers, for every answer of the location, also of filters:
     * names for Vary, and header lines of refusals.  Empty: none. */
    struct str vary, lines;
};

enum http_path_kind {
    HTTP_PATH_BEGIN,   /* "/x": it and all below it */
    HTTP_PATH_EXACT,   /* "= /x": this path alone */
    HTTP_PATH_PATTERN, /* "~ ^/x/([0-9]+)$", "~* ...": in any case */
};

/* Paths that end in a slash, other than "/". */
enum http_slash {
    HTTP_SLASH_OFF,      /* are what they are */
    HTTP_SLASH_ACCEPT,   /* mean the same without it */
    HTTP_SLASH_REDIRECT, /* are 308 to those without it */
};

struct regex;        /* base/regex.h */
struct http_text;    /* http/text.h */
struct http_rewrite; /* http/rewrite.h */

struct http_added { /* a header that answers get */
    const char *name;
    const struct http_text *value;
    bool always; /* errors, too */
};

struct http_rules { /* of a server or a location */
    const struct http_rewrite *rewrites;
    size_t rewrite_count;
    const struct http_added *added;
    size_t added_count;
};

struct http_location {
    struct str path; /* "/", "/speech": no trailing slash; not
                        of HTTP_PATH_BEGIN: "/" */
    struct str name; /* as in the file: "~ ^/x" */
    enum http_path_kind kind;
    struct str exact;      /* of HTTP_PATH_EXACT */
    struct regex *pattern; /* of HTTP_PATH_PATTERN */
    size_t order;          /* in the file */
    enum http_slash slash;
    struct http_rules rules;
    const struct access_list *access; /* NULL: everybody */
    int64_t client_max_body_size;     /* bytes */
    const struct http_layer *layers;
    size_t layer_count;
    const struct http_auth *auth; /* NULL: everybody */
    const struct http_cors *cors; /* NULL: no headers for origins */
    const struct http_rate *rates;
    size_t rate_count;
};

struct http_settings { /* of one server; all times ms, all sizes bytes */
    int64_t client_header_timeout; /* whole head */
    int64_t client_body_timeout;   /* between two reads */
    int64_t client_body_min_rate;  /* bytes a second on the whole, 0: any */
    int64_t send_timeout;          /* between two writes */
    int64_t send_min_rate;         /* bytes a second while it waits, 0: any */
    int64_t lingering_time;        /* of reading on at the end, in all */
    int64_t lingering_timeout;     /* between two reads of it */
    int64_t lingering_size;        /* bytes of it */
    int64_t keepalive_timeout;
    int64_t keepalive_requests;
    int64_t keepalive_time;
    int64_t client_max_head_size; /* request line and headers */
    int64_t client_max_uri_size;
    int64_t client_max_header_size; /* one line */
    int64_t client_max_headers;     /* lines */
    struct str hsts;                /* Strict-Transport-Security of answers over
                                       https; empty: none */
    int access_log;                 /* log ring file, -1: none */
    const struct line_format *access_format; /* borrowed; NULL: none */
    struct line_mask mask;        /* arguments whose values are not logged */
    bool gzip;                    /* answers may be compressed */
    int64_t gzip_level;           /* 1 .. 9 */
    int64_t gzip_min_length;      /* a shorter one is not */
    const struct str *gzip_types; /* borrowed; "text/html" */
    size_t gzip_type_count;
};

enum http_forwarded_header {
    HTTP_FORWARDED_AUTO, /* X-Forwarded-For, else Forwarded */
    HTTP_FORWARDED_X,
    HTTP_FORWARDED_RFC7239,
    HTTP_FORWARDED_OFF,
};

struct http_server {
    struct http_settings settings;
    struct str name;                /* the first of its names; may be empty */
    struct str known_as;            /* the first that a host can have, or
                                       own_name */
    const struct host_names *names; /* net/host_names.h; NULL: none */
    struct task_threads *threads; /* borrowed; they read cold files.  NULL: the
                                     loop reads files (tests) */
    const struct access_list *trusted; /* proxies; NULL: nobody */
    int forwarded_header;              /* enum http_forwarded_header */
    const struct str *hosts; /* names beside own_name (http/filter/host.h) */
    size_t host_count;
    struct str own_name;     /* this host's; may be empty */
    struct http_rules rules; /* rewrites come before a location is sought */
    const struct http_location *locations; /* in the order of
                                              http_location_order() */
    size_t location_count;
};

/* A server at an address that it may share with others. */
struct http_named {
    const struct http_server *server;
    uint16_t tls; /* place of the server whose tls group it has */
    bool guarded; /* one of its locations asks for a proof (auth) */
};

/* An address and its servers, which requests choose by Host. */
struct http_address {
    const struct http_named *servers; /* place 0: takes what names none */
    size_t count;
    const struct host_names *names; /* to places; NULL: there is one server */
};

/* Takes over an accepted socket; a outlives it. */
void http_accept(struct loop *l, const struct http_address *a,
                 const struct conn_socket *socket);
/* From now on answers say "Connection: close", except those whose client has
 * sent more requests already.  A connection that waits for a request is closed
 * only when it has been idle for grace ms: a request may be on its way. */
void http_drain(int64_t grace);
/* Whether answers end their connections from now on: a balancer's pool of
 * them should empty before this process goes. */
void http_leave(bool leave);
/* Closes every connection now, those taken over too. */
void http_stop(void);
size_t http_connections(void); /* open now in this process */
/* Closes up to count connections that wait for their next request: of the
 * client that has most connections, then others, those that have waited longest
 * first. */
void http_shed(size_t count);
/* One such of a client (net/share.h); false: it has none. */
struct tally_holder;
bool http_shed_of(const struct tally_holder *client);

/* ---- reading a request ---- */

struct http_header {
    struct str name, value;
};

struct http_param { /* of the route's template, of the query */
    struct str name, value;
};

struct http_request {
    struct pool *pool; /* lives as long as the request */
    struct loop *loop;
    struct str method;     /* "GET" */
    struct str target;     /* as sent */
    struct str path;       /* decoded, dot segments removed, starts '/' */
    struct str route_path; /* path behind the location, starts '/' */
    struct str query;      /* behind '?', not decoded */
    struct str host;       /* as the client wrote it, also to a trusted proxy */
    int version;           /* 10 or 11 */
    const struct http_header *headers;
    size_t header_count;
    const struct http_param *params; /* of the matched template */
    size_t param_count;
    struct str body; /* whole, when the feed of the route says so */
    void *fed;       /* what the feed of the route has begun with */
    /* Behind a chunked body, once it is read whole. */
    const struct http_header *trailers;
    size_t trailer_count;
    struct addr peer; /* of the connection */
    /* The client, the scheme and the ids of the request: from the headers of
     * trusted proxies, else from the connection. */
    struct addr client;    /* access rules and logs go by it */
    struct str scheme;     /* "http", "https" */
    struct str request_id; /* at most 128 of [A-Za-z0-9._-] */
    struct str trace_id;   /* W3C trace context: 32 lower-case hex digits */
    struct str user; /* authenticated by the auth filter; empty: it has not
                        asked */
    /* The choice of a layer of versions in front; each may be empty. */
    struct str api_version; /* "v2" */
    struct str api_vendor;  /* whose media types ("vnd.VENDOR-v2") name it */
    struct str api_format;  /* "json": named with it ("+json") */
    struct str api_query;   /* "apiver=v2": part of the query in a link to the
                               same version */
    const struct http_api *api; /* the version; NULL: none was chosen */
    const struct http_location *location;
    void *context; /* the handler's own, kept over HTTP_WAIT */
};

/* Whether the host that connected is one of trusted_proxies, so that its word
 * about the client counts. */
bool http_is_trusted(const struct http_request *r);
/* Whether a rewrite has changed its path. */
bool http_is_rewritten(const struct http_request *r);
/* Where "/a" is "/a/", or the other way round: a relative address, because a
 * proxy may give it another path, unless the client did not write it so. */
struct str http_slash_location(struct http_request *r);
/* The path as the client wrote it, also of an absolute target. */
struct str http_written_path(const struct http_request *r);
/* The way to us, as trusted proxies have told it, in both kinds of headers: one
 * of them counts (http.servers.forwarded_header), and the other is made of it.
 * Each may be empty. */
struct http_way {
    struct str x_forwarded_for, forwarded;
};
void http_way_to_us(struct http_request *r, struct http_way *out);
/* First header of that name (any case), NULL if there is none. */
const struct str *http_header(const struct http_request *r, const char *name);
/* The values of all headers of that name, with commas between them; in the
 * pool. */
struct str http_header_list(struct pool *pool, const struct http_header *all,
                            size_t count, struct str name);
/* Whether a list of words with commas between them has that one, in any
 * case. */
bool http_has_word(struct str list, struct str word);
/* Adds "name: value"; -1: memory is out. */
int http_add_line(struct buf *b, struct str name, struct str value);
struct str http_param(const struct http_request *r, const char *name);
/* First query parameter of that name, decoded into the pool; false: none. */
bool http_query(struct http_request *r, const char *name, struct str *value);
/* How often a query parameter of that name is given, the name being decoded;
 * *raw is the value of the last, as sent (http/path.h decodes it). */
size_t http_query_count(struct http_request *r, const char *name,
                        struct str *raw);

/* Links to what needs the same right as this request, for clients that send no
 * headers: the part of the query that proved it, as it was sent ("token=..."),
 * for links that are this client's alone; empty: a header did, or none was
 * needed. */
struct str http_query_proof(struct http_request *r);
/* The same for links that are the same for all: a part of the query that opens
 * a folder (a decoded path, with its slash at the end) for an hour at least;
 * empty: the location takes no proof in the query. */
struct str http_sign_folder(struct http_request *r, struct str folder);
/* Whether the answer is for this client alone, because it proved a right with
 * something else than a signed address: no cache may share it. */
bool http_is_private(struct http_request *r);

/* Headers of requests that a module makes to others on behalf of this one:
 * its trace with a new span, and the tracestate that came with it (empty: leave
 * it out). */
struct str http_traceparent(struct http_request *r);
struct str http_tracestate(struct http_request *r);
/* "https://host/path" as the client sees this server; path alone when the
 * client sent no host. */
struct str http_absolute(struct http_request *r, struct str path);

/* The URL of the request, absolute and with its query, fit to be shown: values
 * of mask_args are "***".  In the pool. */
struct str http_shown_url(struct http_request *r);
/* The path holds a secret: "***" stands for the target in the access log. */
void http_hide_target(struct http_request *r);

/* For handlers whose GET changes something, or answers what pages of other
 * sites may not make a browser ask.  False when the request comes from a page
 * of another site; it is then answered with 403.  For methods other than GET,
 * HEAD and OPTIONS the walk checks this before it calls the handler. */
bool http_check_site(struct http_request *r);
/* For handlers that allow clients by address, as the location's access does.
 * False when the request comes from a nearby address under a name that is none
 * of the server's; it is then answered with 421. */
bool http_check_host(struct http_request *r);

/* Reads the body piece by piece, of a route without a feed.  The client is
 * told to go on when it has asked (100-continue). */
struct http_reader {
    /* At most HTTP_PIECE bytes in a turn.  Returns how many it took.  When it
     * took less than all of them, it is offered the rest, and the client's next
     * bytes are read, after http_want_body(). */
    size_t (*on_piece)(void *arg, struct str piece);
    /* The body is whole, r->trailers too.  Called once, also when there is no
     * body. */
    void (*on_end)(void *arg);
};
/* reader is called from the loop, never from here, and lives as long as the
 * request.  A body that does not become whole, because it is malformed, too
 * long, or comes too slowly, is answered by weir (if the answer was begun, it
 * breaks off), and on_cancel is called first: the request is over for the
 * handler.  It may answer before the end, and is offered no more then. */
void http_read_body(struct http_request *r, const struct http_reader *reader,
                    void *arg);
void http_want_body(struct http_request *r);
/* Bytes of the body, before any of it is read; -1: not known (chunked). */
int64_t http_body_length(const struct http_request *r);

/* ---- answering ---- */

/* Adds a header to the answer, beside those of that name; call before the
 * answer is started.  name lives as long as the request. */
void http_set_header(struct http_request *r, const char *name,
                     struct str value);
/* Adds a trailer; call before http_end().  It is sent behind a chunked answer
 * to a client that takes trailers ("TE: trailers"), or when the answer's header
 * Trailer has announced it. */
void http_set_trailer(struct http_request *r, const char *name,
                      struct str value);
/* The body is not compressed: it goes out as the handler gives it. */
void http_send_as_is(struct http_request *r);
/* Sends an interim answer (100 to 199, but not 101) at once, before the answer
 * is started; to a client of HTTP/1.0 nothing. */
void http_send_info(struct http_request *r, int status,
                    const struct http_header *headers, size_t count);
/* The connection ends with the answer: what follows the request is not taken
 * for a request. */
void http_set_close(struct http_request *r);
/* Adds a name to the answer's Vary, once. */
void http_vary(struct http_request *r, struct str name);
/* A whole answer in one go; both return HTTP_DONE.  HEAD sends no body.  The
 * body is compressed as the server's settings say, unless the handler set a
 * Content-Encoding. */
enum http_result http_reply(struct http_request *r, int status,
                            const char *content_type, struct str body);
/* The same of a body that many clients get: *gzip keeps it compressed for the
 * next one.  The caller clears it with the body. */
enum http_result http_reply_shared(struct http_request *r, int status,
                                   const char *content_type, struct str body,
                                   struct buf *gzip);
/* 304 with the ETag and Vary that the 200 would have, with a body of that type
 * and length. */
enum http_result http_not_modified(struct http_request *r, const char *type,
                                   size_t length);
/* An error body: JSON {"message":"...","type":"about:blank","title":"Not
 * Found", "status":404,"detail":"..."} (RFC 9457 with a message; its media type
 * is sent to clients that name it), HTML or text, as Accept prefers. error_body
 * of the layer, or else of the location's first layer that has one, replaces
 * it; of those that return NULL the next one is asked.
 * A path or method that no layer takes is answered as in the longest
 * location. */
enum http_result http_error(struct http_request *r, int status,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An answer of unknown length: chunked towards 1.1, until close towards 1.0.
 * http_send_more: 0; -1 when the connection went or may not take more now
 * (out of room): wait for on_room. */
void http_start(struct http_request *r, int status, const char *content_type);
/* The same of an answer with length bytes, which are sent as they are.  When
 * http_end() comes before all of them, the answer breaks off. */
void http_start_length(struct http_request *r, int status,
                       const char *content_type, uint64_t length);
int http_send_more(struct http_request *r, struct str data);
void http_on_room(struct http_request *r, void (*on_room)(void *arg),
                  void *arg);
enum http_result http_end(struct http_request *r);
/* The started answer cannot become whole: the connection ends without the last
 * chunk, towards HTTP/1.0 with a reset.  on_cancel is called later. */
void http_break(struct http_request *r);
/* Whether the system took all bytes so far; false: on_room is called when it
 * has.  A head that waits for the first bytes behind it counts as taken. */
bool http_is_sent(const struct http_request *r);
/* From now on the system takes no more while it has so many bytes that it did
 * not send yet: for slow streams of which there may be thousands.  Bytes on
 * their way do not count, so that a fast client is as fast as before. */
void http_limit_unsent(struct http_request *r, int bytes);

/* Sends len bytes of an open file from offset; owns fd from now on.  The task
 * threads read the file when it is cold. */
enum http_result http_send_file(struct http_request *r, int status,
                                const char *content_type, int fd,
                                int64_t offset, int64_t len);

/* The same of a file in memory (memfd): until the answer is over, its bytes
 * count as kept for the client (http.max_unsent). */
enum http_result http_send_memory(struct http_request *r, int status,
                                  const char *content_type, int fd, size_t len);

/* A body that lies in memory of the handler and is sent from there. */
struct http_pieces {
    /* Its bytes from `from` on, as ranges that are good until it is called
     * again, or the turn ends.  Returns how many ranges, at most `most`; -1:
     * they are gone, and the connection breaks. */
    int (*at)(void *arg, uint64_t from, struct iovec *ranges, int most);
    /* The client did not take all that at() gave, or not all was asked for:
     * bytes from `from` on are asked for in a later turn.  -1: they cannot be
     * kept. */
    int (*keep)(void *arg, uint64_t from);
    /* The answer is over, or the connection: called once, perhaps before
     * http_send_pieces() returns. */
    void (*done)(void *arg);
};
/* An answer with len bytes in one call of the system, with its head, as far as
 * the socket takes them; it copies no byte of the body. */
enum http_result http_send_pieces(struct http_request *r, int status,
                                  const char *content_type, uint64_t len,
                                  const struct http_pieces *p, void *arg);

/* After HTTP_WAIT: runs the handler again in a later turn.  on_cancel is
 * called instead when the connection goes first. */
void http_on_cancel(struct http_request *r, void (*on_cancel)(void *arg),
                    void *arg);
void http_resume(struct http_request *r);
/* The same at once, for a callback of the loop whose caller looks at the time
 * between two of them (results of the store), never within a handler: r and its
 * pool may be gone afterwards. */
void http_resume_now(struct http_request *r);
/* The answer goes on for as long as the client listens.  Other answers go on
 * when a client ends only its side; here its connection is closed then, because
 * this is how the client leaves. http_end() of an answer that was started
 * closes it too: the client should go on with another server. */
void http_set_endless(struct http_request *r);
/* Until the answer begins, a client that ends its side has left: its connection
 * is closed, and on_cancel called. */
void http_end_with_client(struct http_request *r);

/* Gives the connection away (FLV): the request ends and is logged when the
 * taker says http_taken_done(); r stays valid until then.  The taker is offered
 * all bytes that came behind the request, and a body that was not read;
 * keep-alive ends.  The taker writes the answer's head itself with
 * http_head(). */
struct conn *http_take_over(struct http_request *r,
                            const struct conn_handlers *h, void *arg);
/* Status line and headers with "Connection: close" and no length. */
struct str http_head(struct http_request *r, int status,
                     const char *content_type);
/* Of a taken-over request: the connection is somebody else's from now on; r
 * stays valid until http_taken_done(), for which an answer may be waited. */
void http_taken_away(struct http_request *r);
/* Ends a taken-over request for the access log; call in on_close, or when
 * conn_detach() has given the connection to another process. */
void http_taken_done(struct http_request *r, uint64_t body_bytes);

/* Adds a note on the request's outcome to its log line. */
void http_note(struct http_request *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *http_status_text(int status);
/* By the name's ending; "application/octet-stream" if unknown. */
const char *http_mime_type(struct str path);
/* Of a name's ending ("html"), or NULL. */
const char *http_mime_known(struct str ending);
struct str http_name_ending(struct str path); /* empty: it has none */

#endif
