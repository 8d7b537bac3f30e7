/*
 * Handlers of clients of Socket.IO and Engine.IO; they run in the channel.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "echo_socket.h"

#include <string.h>

#include "base/mem.h"

/* ---- Socket.IO ---- */

/* The event "auth" comes a little behind the answer to CONNECT: test suites
 * begin to listen for it only when they have that. */
#define GREETING_MS 25

struct greeting {
    struct timer timer;
    struct sio_socket *socket; /* borrowed; its user is this */
    struct str auth;           /* owned */
};

static void
drop_greeting(struct sio_socket *s)
{
    struct greeting *g = sio_socket_user(s);

    if (g != NULL) {
        sio_socket_set_user(s, NULL);
        timer_stop(sio_hall_loop(sio_socket_hall(s)), &g->timer);
        mem_free_raw((void *)(uintptr_t)g->auth.ptr);
        mem_free(&g);
    }
}

/* Now, if it is still to come. */
static void
greet(struct sio_socket *s)
{
    const struct greeting *g = sio_socket_user(s);

    if (g != NULL) {
        const struct sio_message m = { .event = "auth",
                                       .args = { .json = g->auth } };

        sio_socket_emit(s, &m);
        drop_greeting(s);
    }
}

static void
on_greeting(struct timer *t)
{
    greet(LIST_ITEM(t, struct greeting, timer)->socket);
}

static void
on_joined(struct sio_socket *s, struct str auth)
{
    struct greeting *g = mem_zero(sizeof(*g));

    g->socket = s;
    g->auth = str_of(mem_dup(auth.ptr, auth.len), auth.len);
    timer_init(&g->timer, on_greeting);
    sio_socket_set_user(s, g);
    timer_set(sio_hall_loop(sio_socket_hall(s)), &g->timer, GREETING_MS);
}

static void
on_disconnect(struct sio_socket *s, const char *reason)
{
    (void)reason;
    drop_greeting(s);
}

static void
on_message(struct sio_socket *s, struct str name, const struct sio_args *args,
           struct sio_ack *ack)
{
    const struct sio_message m = { .event = "message-back", .args = *args };

    (void)name;
    greet(s);
    sio_socket_emit(s, &m);
    if (ack != NULL) {
        sio_ack_send(&ack, NULL);
    }
}

static void
on_message_with_ack(struct sio_socket *s, struct str name,
                    const struct sio_args *args, struct sio_ack *ack)
{
    (void)name;
    greet(s);
    if (ack != NULL) {
        sio_ack_send(&ack, args);
    }
}

/* To all of the namespace. */
static void
on_broadcast(struct sio_socket *s, struct str name, const struct sio_args *args,
             struct sio_ack *ack)
{
    const struct sio_message m = { .event = "broadcast-back", .args = *args };

    (void)name;
    sio_hall_emit(sio_socket_hall(s), STR_NONE, NULL, &m);
    if (ack != NULL) {
        sio_ack_send(&ack, NULL);
    }
}

static const struct sio_event events[] = {
    { .name = "broadcast", .handler = on_broadcast },
    { .name = "message", .handler = on_message },
    { .name = "message-with-ack", .handler = on_message_with_ack },
    { .name = NULL },
};

const struct sio_namespace echo_namespaces[] = {
    { .name = "/",
      .on_joined = on_joined,
      .on_disconnect = on_disconnect,
      .events = events },
    { .name = "/custom",
      .on_joined = on_joined,
      .on_disconnect = on_disconnect,
      .events = events },
    { .name = NULL },
};

/* ---- Engine.IO ---- */

static void
on_open(struct session *s)
{
    (void)s;
}

/* A text message begins with its type. */
static void
on_plain(struct session *s, struct str data, bool binary)
{
    size_t type = binary ? 0 : 1;
    struct ws_frame *f = ws_frame_new(type + data.len, binary);

    if (f == NULL) {
        session_close(s, SESSION_SERVER_CLOSED);
        return;
    }
    if (!binary) {
        f->data[0] = '4';
    }
    if (data.len > 0) {
        memcpy(f->data + type, data.ptr, data.len);
    }
    session_send(s, f, 0);
    ws_frame_let_go(&f);
}

static void
on_close(struct session *s, enum session_end why)
{
    (void)s;
    (void)why;
}

const struct engine_protocol echo_plain = { .on_open = on_open,
                                            .on_message = on_plain,
                                            .on_close = on_close };
