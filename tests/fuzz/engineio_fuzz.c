/*
 * Fuzz target: Engine.IO sessions that are driven by operations.
 *
 * Each byte or two is an operation: of a client (opens, polls, posts, gives up
 * a poll, upgrades, answers, closes, takes more), of the server (sends, ends)
 * or of time.  Each client has a list of what it has to get, which the queue of
 * its session must equal at any moment: what it gets is the first of the list,
 * so no message is lost, doubled or out of order, whatever the transport.  When
 * a queue is full, a group of messages is dropped.  What a client says comes to
 * the protocol in the same way.  A poll is answered once at most, and none
 * waits while a message does.
 *
 * covers: src/sio/engine/session.c src/sio/engine/polling.c
 * covers: src/sio/engine/websocket.c src/sio/engine/queue.c
 * covers: src/sio/engine/engine.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../unit/sio/engine_help.h"
#include "base/base64.h"
#include "due.h"

#define CLIENTS 4
#define SESSIONS 3 /* one less: there may be too many */
#define POLLS 64   /* requests of a run that wait */
#define WEBSOCKETS 64
#define GROUPED 3 /* a key: of messages that may be dropped together */
#define GROUP 7
#define TURN_BYTES 2048 /* of an input: longer ones teach nothing new */

struct client {
    char id[ENGINE_ID + 1];
    struct session *session; /* NULL: over, or none yet */
    struct dues due;         /* what it has to get */
    bool lost;               /* it ended so that the rest is not due */
    unsigned said, heard;    /* numbers of its own messages */
    bool silent;             /* on_close was called */
    unsigned polling;        /* requests that wait */
};

struct poll {
    struct engine_exchange x;
    struct client *client;
    bool waits, answered;
};

static struct client clients[CLIENTS];
static struct client *now_asking;
static struct poll polls[POLLS];
static struct ws *sockets[WEBSOCKETS];
static unsigned poll_count, socket_count, next_number;

/* ---- what a client gets ---- */

static void
gets_message(struct client *c, struct str text)
{
    int64_t number;

    require(str_to_int(str_cut(&text, ':'), 0, UINT32_MAX, &number));
    due_take(&c->due, number);
}

static void
gets_base64(struct client *c, struct str text)
{
    struct pool *pool = pool_new(64);
    struct str bytes;

    require(base64_decode(pool, BASE64, text, &bytes));
    gets_message(c, bytes);
    pool_free(&pool);
}

static void
gets_text(struct client *c, struct str text)
{
    require(text.len > 0);
    switch (text.ptr[0]) {
    case '0':
    case '2':
    case '3':
    case '6':
        break;
    case '1':
        require(c->silent);
        require(c->lost || c->due.first == NULL);
        break;
    case '4':
        gets_message(c, str_skip(text, 1));
        break;
    case 'b':
        gets_base64(c, str_skip(text, 1));
        break;
    default:
        abort();
    }
}

static void
gets_frame(struct ws *w, const struct ws_frame *f)
{
    if (f->binary) {
        gets_message(w->client, ws_frame_str(f));
    } else {
        gets_text(w->client, ws_frame_str(f));
    }
}

static void
gets_answer(struct engine_exchange *x, int status, const char *type,
            struct str body)
{
    struct poll *p = (struct poll *)(void *)x;
    struct str packet;

    require(!p->answered && type != NULL);
    p->answered = true;
    p->waits = false;
    require(status == 200 || status == 400 || status == 413 || status == 503);
    if (status != 200 || str_eq(body, STR("ok"))) {
        return;
    }
    while (body.len > 0) {
        packet = str_cut(&body, '\x1e');
        gets_text(p->client, packet);
    }
}

/* ---- what the protocol hears ---- */

static void
drop_group(struct session *s)
{
    struct client *c = s->user;
    bool any = due_forget_key(&c->due, GROUPED);

    require(session_drop(s, GROUP) == (any ? 5 : 0));
    session_await_room(s);
}

static int
send_frame(struct session *s, struct ws_frame *f, uint64_t key)
{
    static const struct engine_mark mark = { .group = GROUP, .bits = 5 };

    return key == GROUPED ? session_offer(s, f, &mark)
                          : session_send(s, f, key);
}

static void
send_one(struct client *c, uint64_t key, bool binary, size_t pad)
{
    struct session *s = c->session;
    struct ws_frame *f;
    char text[600];
    int n, result;

    n = snprintf(text, sizeof(text), "%s%u:%0*d", binary ? "" : "4",
                 next_number, (int)pad, 0);
    f = binary ? frame_of_bytes(text, (size_t)n) : frame_of(text);
    if (key != 0 && key != GROUPED) {
        due_forget_key(&c->due, key);
    }
    due_add(&c->due, next_number++, key);
    result = send_frame(s, f, key);
    require(result != 1 || key == GROUPED);
    if (result == 1) {
        due_forget_last(&c->due);
        drop_group(s);
    } else if (result == -1) {
        c->lost = true; /* too slow: on_close follows */
        c->session = NULL;
        due_forget_all(&c->due);
    }
    ws_frame_let_go(&f);
}

static void
hears_open(struct session *s)
{
    s->user = now_asking;
    now_asking->session = s;
    str_copy(now_asking->id, sizeof(now_asking->id), str_from(s->id));
}

static void
hears_message(struct session *s, struct str data, bool binary)
{
    struct client *c = s->user;
    int64_t number;
    struct str what = data;

    (void)binary;
    require(!c->silent && c->session == s);
    require(str_to_int(str_cut(&what, ':'), 0, UINT32_MAX, &number));
    require(number == c->heard);
    c->heard++;
    if (str_eq(what, STR("echo"))) {
        send_one(c, 0, false, 1);
    } else if (str_eq(what, STR("end"))) {
        session_close(s, SESSION_SERVER_CLOSED);
    }
}

/* Of one that has taken everything. */
static void
hears_of_room(struct session *s)
{
    struct client *c = s->user;

    require(c->due.first == NULL && session_queued(s) == 0);
    send_one(c, 0, false, 1);
}

static void
hears_close(struct session *s, enum session_end why)
{
    struct client *c = s->user;

    require(!c->silent);
    c->silent = true;
    c->session = NULL;
    if (why < SESSION_NOT_JOINED || why == SESSION_REFUSED) {
        c->lost = true; /* what waits is dropped */
    }
    if (c->lost) {
        due_forget_all(&c->due);
    }
}

static const struct engine_protocol listening = {
    .on_open = hears_open,
    .on_message = hears_message,
    .on_close = hears_close,
    .on_full = drop_group,
    .on_room = hears_of_room,
};

/* ---- operations ---- */

static struct engine_request
request(struct client *c, const char *method, const char *transport)
{
    struct engine_request r = request_of(method, c->id);

    r.query.transport = str_from(transport);
    r.protocol = &listening;
    return r;
}

static void
http(struct client *c, const struct engine_request *r)
{
    struct poll *p = &polls[poll_count];

    if (poll_count == POLLS) {
        return;
    }
    poll_count++;
    memset(p, 0, sizeof(*p));
    p->x.answer = gets_answer;
    p->client = now_asking = c;
    engine_poll(e, r, &p->x);
    p->waits = !p->answered;
    require(p->waits == (p->x.session != NULL && !p->x.opened));
}

/* Opens a session if it has none. */
static void
get(struct client *c)
{
    struct engine_request r = request(c, "GET", "polling");

    http(c, &r);
}

/* A message of its own: "N:what". */
static size_t
say(struct client *c, char *out, size_t size, const char *type, unsigned how)
{
    static const char *const what[] = { "", "echo", "end", "" };

    return (size_t)snprintf(out, size, "%s%u:%s", type, c->said++,
                            what[how % 4]);
}

static void
post_some(struct client *c, unsigned how)
{
    static const char *const others[] = {
        "3", "6", "1", "2", "x", "b*", "", "5"
    };
    struct engine_request r = request(c, "POST", "polling");
    char body[400];
    size_t n = 0;

    if (c->id[0] == '\0') {
        return;
    }
    for (unsigned i = 0; i < how % 4; i++) {
        n += say(c, body + n, sizeof(body) - n, "4", how >> 4);
        body[n++] = '\x1e';
    }
    if (how & 8) {
        n += say(c, body + n, sizeof(body) - n, "4", 0);
    } else {
        n += (size_t)snprintf(body + n, sizeof(body) - n, "%s",
                              others[how >> 5 & 7]);
    }
    r.body = str_of(body, n);
    http(c, &r);
    c->said = c->heard; /* those that came too late are forgotten */
}

static void
cancel(struct client *c)
{
    for (unsigned i = 0; i < poll_count; i++) {
        if (polls[i].waits && polls[i].client == c) {
            polls[i].waits = false;
            polls[i].answered = true;
            engine_poll_gone(e, &polls[i].x);
            return;
        }
    }
}

static void
connect_websocket(struct client *c, unsigned how)
{
    static const struct ws_handshake h = { .deflate = true };
    struct engine_request r = request(c, "GET", "websocket");

    if (socket_count == WEBSOCKETS) {
        return;
    }
    r.query.base64 = (how & 1) != 0;
    next_room = how & 2 ? 1 + (how >> 4) : 1000000;
    adopt_fails = (how & 12) == 12;
    adopted = NULL;
    now_asking = NULL;
    if (c->id[0] == '\0') {
        now_asking = c;
    }
    /* The open packet comes before the socket has a client. */
    on_ws_sent = c->id[0] == '\0' ? NULL : gets_frame;
    engine_upgrade(e, &r, NULL, &h);
    on_ws_sent = gets_frame;
    if (adopted != NULL) {
        adopted->client = c;
        sockets[socket_count++] = adopted;
    }
}

static struct ws *
socket_of(struct client *c, unsigned which)
{
    for (unsigned i = 0; i < socket_count; i++) {
        struct ws *w = sockets[(i + which) % socket_count];

        if (w != NULL && w->client == c) {
            return w;
        }
    }
    return NULL;
}

static void
end_socket(struct ws *w, unsigned code)
{
    for (unsigned i = 0; i < socket_count; i++) {
        if (sockets[i] == w) {
            sockets[i] = NULL;
        }
    }
    ws_ends(&w, code);
}

static void
websocket_says(struct client *c, struct ws *w, unsigned how)
{
    static const char *const others[] = {
        "3", "2", "1", "", "x", "b*", "6", "0"
    };
    char text[100];

    if (how % 4 == 0) {
        ws_says(w, "2probe");
    } else if (how % 4 == 1) {
        ws_says(w, "5");
    } else if (how % 4 == 2) {
        say(c, text, sizeof(text), how & 4 ? "4" : "", how >> 3);
        w->handlers->on_message(w->arg, str_from(text), (how & 4) == 0);
    } else {
        ws_says(w, others[how >> 2 & 7]);
    }
    c->said = c->heard;
}

static void
on_socket(struct client *c, unsigned op, unsigned how)
{
    static const unsigned codes[] = { WS_NONE, WS_ABNORMAL, WS_TOO_BIG,
                                      WS_GOING_AWAY };
    struct ws *w = socket_of(c, how >> 6);

    if (w == NULL) {
        return;
    }
    if (op == 0) {
        websocket_says(c, w, how);
    } else if (op == 1) {
        ws_gets_room(w, how);
    } else {
        end_socket(w, codes[how % 4]);
    }
}

/* Another client in its place. */
static void
replace(struct client *c)
{
    if (c->silent || c->id[0] == '\0') {
        for (unsigned i = 0; i < poll_count; i++) {
            require(polls[i].client != c || polls[i].answered);
        }
        for (unsigned i = 0; i < socket_count; i++) {
            if (sockets[i] != NULL && sockets[i]->client == c) {
                return; /* it still has something to say */
            }
        }
        due_forget_all(&c->due);
        memset(c, 0, sizeof(*c));
    }
}

static void
operate(struct client *c, unsigned op, unsigned how)
{
    static const int64_t times[] = {
        0, 1, 100, 9999, 10000, 20000, 25000, 30000
    };

    switch (op) {
    case 0:
    case 1:
        get(c);
        break;
    case 2:
        post_some(c, how);
        break;
    case 3:
        cancel(c);
        break;
    case 4:
        connect_websocket(c, how);
        break;
    case 5:
    case 6:
    case 7:
        on_socket(c, op - 5, how);
        break;
    case 8:
    case 9:
        if (c->session != NULL) {
            send_one(c, how & 3, (how & 4) != 0, (how & 0xf8) * 2 + 1);
        }
        break;
    case 10:
        wait_ms(times[how % 8]);
        break;
    case 11:
        if (c->session != NULL) {
            session_close(c->session, how % SESSION_ENDS);
        }
        break;
    default:
        replace(c);
        break;
    }
}

/* ---- what is true at any moment ---- */

static void
check(const struct client *c)
{
    size_t due = 0;

    for (const struct due *d = c->due.first; d != NULL; d = d->next) {
        due++;
    }
    if (c->session == NULL) {
        return;
    }
    require(engine_find(e, str_from(c->id)) == c->session);
    require(session_queued(c->session) >= due * 64);
    require(session_queued(c->session) <= settings.max_queue + 2 * 200);
}

static void
count_one(void *arg, struct session *s)
{
    require(((struct client *)s->user)->session == s);
    (*(size_t *)arg)++;
}

/* At the end of a turn no message waits beside a poll that waits. */
static void
check_polls(void)
{
    unsigned waiting[CLIENTS] = { 0 };
    size_t open = 0;

    engine_each(e, count_one, &open);
    require(open == engine_sessions(e));
    for (unsigned i = 0; i < poll_count; i++) {
        const struct poll *p = &polls[i];

        if (p->waits) {
            require(p->client->due.first == NULL);
            require(p->client->session != NULL);
            require(waiting[p->client - clients]++ == 0);
        }
    }
}

static void
begin(void)
{
    set_up(NULL);
    engine_free(&e, SESSION_STOPPING);
    e = engine_new(l, NULL, "f", SESSIONS);
    settings.max_queue = 3000;
    settings.max_payload = 300;
    settings.deflate = true;
    memset(clients, 0, sizeof(clients));
    poll_count = socket_count = next_number = 0;
    on_ws_sent = gets_frame;
}

static void
end(void)
{
    engine_free(&e, SESSION_STOPPING);
    for (unsigned i = 0; i < poll_count; i++) {
        require(polls[i].answered);
    }
    for (unsigned i = 0; i < socket_count; i++) {
        if (sockets[i] != NULL) {
            ws_ends(&sockets[i], WS_ABNORMAL);
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        require(clients[i].id[0] == '\0' || clients[i].silent);
        due_forget_all(&clients[i].due);
    }
    loop_free(&l);
    require(frames_alive == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_first(str_of(data, size), TURN_BYTES);

    begin();
    while (input.len > 0) {
        unsigned op = take_byte(&input), how = take_byte(&input);

        operate(&clients[op >> 4 & 3], op & 15, how);
        if (op & 0x40) {
            wait_ms(0);
            check_polls();
        }
        for (unsigned i = 0; i < CLIENTS; i++) {
            check(&clients[i]);
        }
    }
    end();
    return 0;
}
