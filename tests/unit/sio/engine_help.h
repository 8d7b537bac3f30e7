/*
 * What tests of Engine.IO share: a clock that stands still until it is told, a
 * WebSocket that remembers what it was sent, and a client that polls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_SIO_ENGINE_HELP_H
#define TESTS_UNIT_SIO_ENGINE_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/metric.h"
#include "sio/engine/engine.h"

/* ---- the clock ---- */

static int64_t fake_now = 1000000;

int64_t
clock_ms(void)
{
    return fake_now;
}

int64_t
clock_us(void)
{
    return fake_now * 1000;
}

int64_t
clock_wall_ms(void)
{
    return fake_now;
}

void
clock_iso8601(char *dst, size_t size, int64_t wall_ms)
{
    (void)wall_ms;
    str_copy(dst, size, STR_NONE);
}

void
clock_http_date(char *dst, size_t size, int64_t wall_ms)
{
    (void)wall_ms;
    str_copy(dst, size, STR_NONE);
}

void
clock_log_date(char *dst, size_t size, int64_t wall_ms)
{
    (void)wall_ms;
    str_copy(dst, size, STR_NONE);
}

/* ---- frames ---- */

static size_t frames_alive, frames_made;
static bool no_frames; /* memory is out */

struct ws_frame *
ws_frame_new(size_t len, bool binary)
{
    struct ws_frame *f = no_frames ? NULL : mem_zero(sizeof(*f));

    if (f == NULL) {
        return NULL;
    }
    f->holders = 1;
    f->binary = binary;
    f->len = len;
    f->data = mem_zero(len + 1);
    frames_alive++;
    frames_made++;
    return f;
}

struct ws_frame *
ws_frame_hold(struct ws_frame *f)
{
    f->holders++;
    return f;
}

void
ws_frame_let_go(struct ws_frame **f)
{
    if (*f != NULL && --(*f)->holders == 0) {
        mem_free(&(*f)->data);
        mem_free(f);
        frames_alive--;
    }
    *f = NULL;
}

static inline struct ws_frame *
frame_of(const char *text)
{
    struct ws_frame *f = ws_frame_new(strlen(text), false);

    memcpy(f->data, text, f->len);
    return f;
}

static inline struct ws_frame *
frame_of_bytes(const void *bytes, size_t n)
{
    struct ws_frame *f = ws_frame_new(n, true);

    memcpy(f->data, bytes, n);
    return f;
}

/* ---- WebSockets ---- */

#define FAKE_SENT 4096 /* bytes that one remembers */

/* Messages are remembered with '|' between them, binary ones as "<bytes>". */
struct ws {
    const struct ws_handlers *handlers;
    void *arg;
    char sent[FAKE_SENT];
    size_t len;
    unsigned room;               /* messages that it takes before it is full */
    bool refused;                /* it owes on_room */
    const struct ws_frame *part; /* the test's: of this a part is sent */
    unsigned code;               /* of the close; 0: open */
    void *client;                /* the test's */
    const char *coming[2];       /* messages that the loop has not seen */
    size_t message_max;
    bool deflate;
};

static struct ws *adopted; /* the last one */
/* Set: it takes the messages instead. */
static void (*on_ws_sent)(struct ws *w, const struct ws_frame *f);
static bool adopt_fails, host_is_full;
static unsigned next_room = 1000000;

bool
ws_host_is_full(const struct ws_host *host)
{
    (void)host;
    return host_is_full;
}

struct ws *
ws_adopt(struct ws_host *host, struct conn *c, const struct ws_handshake *h,
         const struct ws_handlers *handlers, void *arg, struct errmsg *err)
{
    (void)host;
    (void)c;
    if (adopt_fails) {
        errmsg_set(err, "full");
        return NULL;
    }
    adopted = mem_zero(sizeof(*adopted));
    adopted->handlers = handlers;
    adopted->arg = arg;
    adopted->room = next_room;
    adopted->message_max = h->message_max;
    adopted->deflate = h->deflate;
    return adopted;
}

void
ws_set_handlers(struct ws *w, const struct ws_handlers *handlers, void *arg)
{
    w->handlers = handlers;
    w->arg = arg;
}

bool
ws_send(struct ws *w, struct ws_frame *f)
{
    if (w->code != 0) {
        abort();
    }
    if (w->room == 0) {
        w->refused = true;
        return false;
    }
    w->room--;
    if (on_ws_sent != NULL) {
        on_ws_sent(w, f);
        return true;
    }
    w->len += (size_t)snprintf(
        w->sent + w->len, FAKE_SENT - w->len, f->binary ? "%s<%.*s>" : "%s%.*s",
        w->len == 0 ? "" : "|", (int)f->len, (const char *)f->data);
    if (w->len >= FAKE_SENT) {
        abort();
    }
    return true;
}

bool
ws_has_room(struct ws *w)
{
    w->refused = w->refused || w->room == 0 || w->part != NULL;
    return !w->refused;
}

bool
ws_is_sending(const struct ws *w, const struct ws_frame *f)
{
    return w->part == f;
}

bool
ws_is_busy(const struct ws *w)
{
    return w->part != NULL;
}

void
ws_look(struct ws *w)
{
    for (size_t i = 0; i < 2; i++) {
        const char *text = w->coming[i];

        w->coming[i] = NULL;
        if (text != NULL) {
            w->handlers->on_message(w->arg, str_from(text), false);
        }
    }
}

void
ws_close(struct ws *w, unsigned code, const char *reason)
{
    (void)reason;
    w->code = w->code == 0 ? code : w->code;
}

/* What it was sent since the last time. */
static inline const char *
ws_sent(struct ws *w)
{
    static char text[FAKE_SENT];

    memcpy(text, w->sent, w->len);
    text[w->len] = '\0';
    w->len = 0;
    return text;
}

static inline void
ws_says(struct ws *w, const char *text)
{
    w->handlers->on_message(w->arg, str_from(text), false);
}

/* It takes so many messages more. */
static inline void
ws_gets_room(struct ws *w, unsigned n)
{
    w->room = n;
    if (w->refused) {
        w->refused = false;
        w->handlers->on_room(w->arg);
    }
}

/* The connection is over. */
static inline void
ws_ends(struct ws **w, unsigned code)
{
    (*w)->handlers->on_close((*w)->arg, code, STR_NONE);
    mem_free(w);
}

/* ---- a protocol that writes down what happens ---- */

static char events[8192]; /* "open 4:text <bytes> close:ping timeout" */

static inline void
note(const char *what, struct str data, const char *end)
{
    size_t n = strlen(events);

    if (n > sizeof(events) / 2) {
        return;
    }
    snprintf(events + n, sizeof(events) - n, "%s%s%.*s%s", n == 0 ? "" : " ",
             what, STR_ARGS(data), end);
}

static inline const char *
noted(void)
{
    static char text[sizeof(events)];

    memcpy(text, events, sizeof(events));
    events[0] = '\0';
    return text;
}

static struct session *last; /* the session that opened last */

static inline void
note_open(struct session *s)
{
    last = s;
    note("open", STR_NONE, "");
}

static inline void
note_message(struct session *s, struct str data, bool binary)
{
    (void)s;
    note(binary ? "<" : "4:", data, binary ? ">" : "");
}

static inline void
note_close(struct session *s, enum session_end why)
{
    (void)s;
    note("close:", str_from(session_end_text(why)), "");
}

static const struct engine_protocol noting = {
    .on_open = note_open,
    .on_message = note_message,
    .on_close = note_close,
};

static const struct engine_protocol *spoken = &noting; /* by sessions */

/* ---- requests ---- */

static struct engine_settings settings;
static struct loop *l;
static struct engine *e;

struct client_request {
    struct engine_exchange x;
    int status; /* 0: it waits */
    const char *type;
    char body[4096];
    size_t len;
};

static inline void
on_answer(struct engine_exchange *x, int status, const char *type,
          struct str body)
{
    struct client_request *q = (struct client_request *)(void *)x;

    if (q->status != 0) {
        abort(); /* twice */
    }
    q->status = status;
    q->type = type;
    q->len = body.len;
    str_copy(q->body, sizeof(q->body), body);
}

static inline struct engine_request
request_of(const char *method, const char *sid)
{
    return (struct engine_request){
        .method = str_from(method),
        .query = { .eio = STR("4"),
                   .transport = STR("polling"),
                   .sid = str_from(sid) },
        .settings = &settings,
        .protocol = spoken,
    };
}

static inline void
ask(struct client_request *q, const struct engine_request *r)
{
    memset(q, 0, sizeof(*q));
    q->x.answer = on_answer;
    engine_poll(e, r, &q->x);
}

/* A poll; "" waits. */
static inline const char *
poll(struct client_request *q, const char *sid)
{
    struct engine_request r = request_of("GET", sid);

    ask(q, &r);
    return q->body;
}

static inline int
post_bytes(const char *sid, struct str body)
{
    static struct client_request q;
    struct engine_request r = request_of("POST", sid);

    r.body = body;
    r.content_type = STR("text/plain;charset=UTF-8");
    ask(&q, &r);
    return q.status;
}

static inline int
post(const char *sid, const char *body)
{
    return post_bytes(sid, str_from(body));
}

/* Queues a message, which belongs to the session alone. */
static inline int
send_text(struct session *s, const char *text, uint64_t key)
{
    struct ws_frame *f = frame_of(text);
    int result = session_send(s, f, key);

    ws_frame_let_go(&f);
    return result;
}

static inline int
send_bytes(struct session *s, const void *bytes, size_t n)
{
    struct ws_frame *f = frame_of_bytes(bytes, n);
    int result = session_send(s, f, 0);

    ws_frame_let_go(&f);
    return result;
}

static inline enum engine_error
upgrade(const char *sid)
{
    static const struct ws_handshake h = { .deflate = true };
    struct engine_request r = request_of("GET", sid);

    r.query.transport = STR("websocket");
    return engine_upgrade(e, &r, NULL, &h);
}

static inline void
wait_ms(int64_t ms)
{
    fake_now += ms;
    loop_turn(l, 0);
}

/* A session over polling; its id, which outlives it. */
static inline const char *
open_polling(void)
{
    static char id[ENGINE_ID + 1];
    static struct client_request q;

    poll(&q, "");
    noted();
    str_copy(id, sizeof(id), str_from(last->id));
    return id;
}

/* The same with a WebSocket, `adopted`. */
static inline const char *
open_websocket(void)
{
    static char id[ENGINE_ID + 1];

    if (upgrade("") != ENGINE_OK) {
        abort();
    }
    noted();
    ws_sent(adopted);
    str_copy(id, sizeof(id), str_from(last->id));
    return id;
}

/* ---- set-up ---- */

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    settings = (struct engine_settings){
        .ping_interval = 25000,
        .ping_timeout = 20000,
        .upgrade_timeout = 10000,
        .max_payload = 1000,
        .max_queue = 2000,
        .polling = true,
        .websocket = true,
    };
    events[0] = '\0';
    adopt_fails = host_is_full = no_frames = false;
    next_room = 1000000;
    l = loop_new(&err);
    e = engine_new(l, NULL, "node7", 100);
    return l == NULL ? -1 : 0;
}

static inline int
tear_down(void **state)
{
    (void)state;
    engine_free(&e, SESSION_STOPPING);
    loop_free(&l);
    return frames_alive == 0 ? 0 : -1;
}

#endif
