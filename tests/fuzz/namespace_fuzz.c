/*
 * Fuzz target: sessions of Socket.IO driven by clients, a module, its role and
 * the loop in any order.
 *
 * The input is a list of deeds, each a byte for what, a byte for whom, and for
 * some a text up to the next line feed.  Whatever happens: a module hears of
 * each socket that joined, or waited, that it is over, once; a session is sent
 * nothing of a namespace before its CONNECT; nothing is left at the end.
 *
 * covers: src/sio/client.c src/sio/socket.c src/sio/namespace.c
 * covers: src/sio/room.c src/sio/names.c src/sio/snapshot.c src/sio/missed.c
 * covers: src/sio/snapshot_send.c src/sio/recovery.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../unit/sio/fake_session.h"

#include "base/buf.h"
#include "base/log.h"
#include "fuzz.h"
#include "proc/rpc.h"

#define SESSIONS 4
#define SOCKETS 64

static struct loop *loop;
static struct sio_point point;
static struct fake *sessions[SESSIONS];
static bool connected[SESSIONS][2]; /* as the client has read: "/", "/s" */
static struct sio_socket *sockets[SOCKETS]; /* of which the module knows */
static struct sio_ack *held[8];
static char pid[SIO_ID + 1]; /* of a socket that was there */

/* ---- the role ---- */

struct rpc_call {
    struct rpc_options options;
};

static struct rpc_method methods[] = { { .name = "a" }, { .name = "b" } };
static struct rpc_call *calls[2];

struct rpc_call *
rpc_call(const struct rpc_method *m, const struct rpc_options *o,
         const void *data, size_t len, int fd, struct errmsg *err)
{
    struct rpc_call **c = &calls[m - methods];

    (void)data;
    (void)err;
    require(*c == NULL && fd == -1 && len == strlen("main\nplain"));
    *c = mem_zero(sizeof(**c));
    (*c)->options = *o;
    return *c;
}

void
rpc_grant(struct rpc_call *c, unsigned n)
{
    require((c == calls[0] || c == calls[1]) && n == 1);
}

void
rpc_cancel(struct rpc_call **c)
{
    for (int i = 0; i < 2; i++) {
        if (*c != NULL && calls[i] == *c) {
            calls[i] = NULL;
        }
    }
    mem_free(c);
}

static void
role_answers(unsigned which, unsigned status, struct str text)
{
    struct rpc_call *c = calls[which % 2];
    struct rpc_answer a = { status % (RPC_BROKEN + 1), text.ptr, text.len, -1 };

    if (c == NULL) {
        return;
    }
    if (a.status != RPC_MORE) {
        calls[which % 2] = NULL;
    }
    c->options.on_answer(c->options.arg, &a);
    if (a.status != RPC_MORE) {
        mem_free(&c);
    }
}

/* ---- the module ---- */

static struct sio_socket **
place_of(const struct sio_socket *s)
{
    size_t i = 0;

    while (i < SOCKETS && sockets[i] != s) {
        i++;
    }
    return i < SOCKETS ? &sockets[i] : NULL;
}

static void
know(struct sio_socket *s)
{
    struct sio_socket **place = place_of(s);

    if (place == NULL) {
        place = place_of(NULL);
        require(place != NULL);
        *place = s;
    }
}

static void
on_connect(struct sio_socket *s, struct str auth)
{
    require(place_of(s) == NULL && auth.len >= 2);
    know(s);
    if (auth.len % 3 == 0) {
        sio_accept(s);
    }
}

static void
on_joined(struct sio_socket *s, struct str auth)
{
    struct sio_message m = { .event = "joined", .args = { .json = STR("1") } };

    require(auth.len >= 2);
    require(sio_socket_recovered(s) == (place_of(s) == NULL));
    know(s);
    sio_join(s, STR("all"));
    sio_socket_emit(s, &m);
}

static void
on_disconnect(struct sio_socket *s, const char *reason)
{
    struct sio_socket **place = place_of(s);

    require(place != NULL && reason != NULL);
    require(sio_socket_client(s)->user.len == 4);
    *place = NULL;
}

static void
on_any(struct sio_socket *s, struct str name, const struct sio_args *args,
       struct sio_ack *ack)
{
    struct sio_message m = { .event = "any", .args = *args };

    require(place_of(s) != NULL && name.len <= SIO_NAME_MAX);
    sio_hall_emit(sio_socket_hall(s), STR("all"), s, &m);
    sio_socket_emit(s, &m);
    if (name.len % 2 == 0) {
        sio_ack_send(&ack, args);
    }
    for (int i = 0; ack != NULL && i < 8; i++) {
        if (held[i] == NULL) {
            held[i] = ack;
            ack = NULL;
        }
    }
    sio_ack_send(&ack, NULL);
}

static void
on_leave(struct sio_socket *s, struct str name, const struct sio_args *args,
         struct sio_ack *ack)
{
    (void)name;
    sio_ack_send(&ack, args);
    sio_disconnect(s, args->json.len > 0);
    sio_join(s, STR("over"));
}

static const struct sio_event events[] = { { "leave", on_leave },
                                           { "*", on_any },
                                           { .name = NULL } };
static const struct sio_snapshot snapshots[] = { { "a", &methods[0] },
                                                 { "b", &methods[1] },
                                                 { .event = NULL } };
static const struct sio_namespace namespaces[] = {
    { "/", NULL, NULL, on_connect, on_joined, on_disconnect, events, NULL },
    { "/s", NULL, NULL, on_connect, on_joined, on_disconnect, events,
      snapshots },
    { .name = NULL },
};
static const struct sio_module module = { .namespaces = namespaces };

/* ---- deeds ---- */

static void
forget_socket(unsigned whom)
{
    struct sio_socket *s = sockets[whom % SOCKETS];

    if (s != NULL) {
        if (whom & 0x80) {
            sio_accept(s);
        } else if (s->state == SOCKET_ASKED) {
            sockets[whom % SOCKETS] = NULL; /* it hears no more of it */
            sio_refuse(s, "no", STR("{}"));
        }
    }
}

static void
emit(unsigned whom, struct str text)
{
    static const char *const names[] = { "one", "a", "b", "connect" };
    struct sio_hall *h =
        sio_halls_find(&point, whom & 1 ? STR("/s") : STR("/"));
    struct sio_message m = { .event = names[whom >> 1 & 3], .key = text };

    if (sio_check_args(&(struct sio_args){ .json = text },
                       &(struct errmsg){ "" }) == 0) {
        m.args.json = text;
    }
    m.is_volatile = (whom & 8) != 0;
    m.stales = whom & 16 ? m.event : NULL;
    if (whom & 32) {
        sio_hall_emit(h, STR("all"), sockets[whom % 8], &m);
    } else if (whom & 64) {
        sio_hall_emit_to(h, str_first(text, SIO_ID), &m);
    } else {
        sio_hall_emit(h, STR_NONE, NULL, &m);
    }
}

/* The namespaces that the list of sessions shows. */
static void
tell_namespaces(const struct fake *f)
{
    struct buf told;

    buf_init(&told, 64);
    sio_session_namespaces(&f->session, &told);
    require(buf_str(&told).len <= strlen("/,/s"));
    buf_clear(&told);
}

/* The client reads all that there is. */
static void
read_all(unsigned whom)
{
    struct fake *f = sessions[whom];

    tell_namespaces(f);
    while (f->count > 0) {
        const char *text = fake_next(f);
        const char *slash = strchr(text, '/');
        bool other =
            slash != NULL && strncmp(slash, "/s,", 3) == 0 && slash < text + 6;

        require(text[0] == 'b' || (text[0] == '4' && text[1] >= '0'));
        if (text[0] == '4' && text[1] <= '1') {
            connected[whom][other] = text[1] == '0';
        } else if (text[0] == '4' && text[1] != '4') {
            require(connected[whom][other]);
        }
    }
    fake_take_more(f, f->room);
}

static void
come_back(struct fake *f, unsigned whom)
{
    const struct sio_socket *s = sockets[whom % 8];
    char text[100];

    if ((whom & 0x80) && s != NULL) {
        memcpy(pid, s->pid, sizeof(pid)); /* to be used later */
    } else {
        snprintf(text, sizeof(text), "0{\"pid\":\"%s\",\"offset\":\"%u\"}", pid,
                 whom % 8);
        fake_say(f, text);
    }
}

static void
session_deed(unsigned what, unsigned whom, struct str text)
{
    struct fake **f = &sessions[whom % SESSIONS];
    char *copy;

    if (*f == NULL || (what == 1 && !(*f)->open)) {
        if (*f != NULL) {
            fake_free(f);
        }
        *f = fake_open(&point);
        memset(connected[whom % SESSIONS], 0, sizeof(connected[0]));
    }
    copy = mem_dup(text.ptr, text.len);
    switch (what) {
    case 0:
        fake_say(*f, copy);
        break;
    case 1:
        fake_say_bytes(*f, copy);
        break;
    case 2:
        session_close(&(*f)->session, whom / SESSIONS % SESSION_ENDS);
        break;
    case 3:
        (*f)->room = (whom & 0x7f) / SESSIONS;
        (*f)->holds = (whom & 0x80) != 0;
        break;
    case 4:
        read_all(whom % SESSIONS);
        break;
    default:
        come_back(*f, whom);
    }
    mem_free(&copy);
}

static void
do_deed(unsigned what, unsigned whom, struct str text)
{
    switch (what % 16) {
    case 8:
        forget_socket(whom);
        break;
    case 9:
        emit(whom, text);
        break;
    case 10:
        role_answers(whom, whom >> 1, text);
        break;
    case 11:
        loop_turn(loop, 0);
        break;
    case 12:
        sio_ack_send(&held[whom % 8], NULL);
        if (whom & 0x80) {
            sio_halls_renew(&point); /* an event was lost */
        }
        break;
    case 13:
        if (sockets[whom % SOCKETS] != NULL) {
            sio_disconnect(sockets[whom % SOCKETS], (whom & 0x80) != 0);
        }
        break;
    case 14:
        point.settings.recovery = whom * 1000;
        point.settings.connect_timeout = whom & 0x80 ? 0 : 60000;
        break;
    case 15:
        if (sockets[whom % SOCKETS] != NULL) {
            sio_join(sockets[whom % SOCKETS], text);
        }
        break;
    default:
        session_deed(what % 8, whom, text);
    }
}

static void
end_all(void)
{
    for (int i = 0; i < SESSIONS; i++) {
        if (sessions[i] != NULL) {
            fake_free(&sessions[i]);
        }
    }
    sio_halls_stop(&point);
    for (int i = 0; i < 8; i++) {
        sio_ack_send(&held[i], NULL);
    }
    for (int i = 0; i < SOCKETS; i++) {
        require(sockets[i] == NULL);
    }
    require(calls[0] == NULL && calls[1] == NULL && fake_frames == 0);
}

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
start(void)
{
    struct errmsg err;

    if (loop == NULL) {
        loop = loop_new(&err);
        require(loop != NULL);
        log_set_sink(drop_line, NULL);
    }
    fake_point(&point, loop, &module);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);

    start();
    for (int i = 0; input.len > 0 && i < 60; i++) {
        unsigned what = take_byte(&input), whom = take_byte(&input);

        do_deed(what, whom, str_cut(&input, '\n'));
    }
    end_all();
    return 0;
}
