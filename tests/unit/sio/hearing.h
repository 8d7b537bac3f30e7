/*
 * A module that writes down what it hears, at an endpoint of fake sessions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_SIO_HEARING_H
#define TESTS_UNIT_SIO_HEARING_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "fake_session.h"

static struct loop *loop;
static struct sio_point point;

/* ---- a module that writes down what it hears ---- */

static char heard[4096];
static struct sio_socket *last; /* that asked or spoke */
static struct sio_ack *held;    /* an ack that waits */
static bool decide_later;

static void
note(const char *what, struct str text)
{
    size_t n = strlen(heard);

    n = str_append(heard, sizeof(heard), n, str_from(what));
    n = str_append(heard, sizeof(heard), n, text);
    str_append(heard, sizeof(heard), n, STR(";"));
}

/* What was heard since the last call. */
static const char *
take_heard(void)
{
    static char text[sizeof(heard)];

    fake_turns(loop, 0);
    memcpy(text, heard, sizeof(text));
    heard[0] = '\0';
    return text;
}

static void
emit(struct sio_socket *s, const char *event, const char *json)
{
    struct sio_message m = { .event = event,
                             .args = { .json = str_from(json) } };

    sio_socket_emit(s, &m);
}

static void
on_start(struct sio_hall *h, void **state)
{
    *state = h;
    note("start ", sio_hall_endpoint(h));
}

static void
on_stop(struct sio_hall *h, void *state)
{
    assert_ptr_equal(h, state);
    note("stop ", sio_hall_variant(h));
}

static void
on_connect(struct sio_socket *s, struct str auth)
{
    last = s;
    note("connect ", auth);
    if (str_eq(auth, STR("{\"no\":1}"))) {
        sio_refuse(s, "no", STR("[1]"));
    } else if (!decide_later) {
        sio_accept(s);
    }
}

static void
on_joined(struct sio_socket *s, struct str auth)
{
    note("joined ", auth);
    emit(s, "auth", "{}");
}

static void
on_disconnect(struct sio_socket *s, const char *reason)
{
    assert_true(str_eq(sio_socket_client(s)->user, STR("mary")));
    assert_int_equal(sio_socket_id(s).len, SIO_ID);
    note("gone ", str_from(reason));
}

static void
on_echo(struct sio_socket *s, struct str name, const struct sio_args *args,
        struct sio_ack *ack)
{
    struct sio_message m = { .event = "back", .args = *args };

    note("", name);
    last = s;
    if (ack != NULL) {
        sio_ack_send(&ack, args);
        assert_null(ack);
    } else {
        sio_socket_emit(s, &m);
    }
}

static void
on_hold(struct sio_socket *s, struct str name, const struct sio_args *args,
        struct sio_ack *ack)
{
    (void)name;
    (void)args;
    last = s;
    held = ack;
}

static void
on_leave(struct sio_socket *s, struct str name, const struct sio_args *args,
         struct sio_ack *ack)
{
    (void)name;
    (void)ack;
    sio_disconnect(s, args->json.len > 0);
    emit(s, "late", "");
    assert_int_equal(sio_join(s, STR("late")), 0);
    note("left", STR_NONE);
}

static const struct sio_event events[] = {
    { "message", on_echo },
    { "hold", on_hold },
    { "leave", on_leave },
    { .name = NULL },
};

static const struct sio_event any[] = {
    { "*", on_echo },
    { .name = NULL },
};

static const struct sio_namespace namespaces[] = {
    { "/", on_start, on_stop, on_connect, on_joined, on_disconnect, events,
      NULL },
    { "/any", .on_disconnect = on_disconnect, .events = any },
    { .name = NULL },
};

static const struct sio_module module = { .namespaces = namespaces };

static inline int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    loop = loop_new(&err);
    fake_point(&point, loop, &module);
    assert_string_equal(take_heard(), "start main;");
    decide_later = false;
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    take_heard();
    sio_halls_stop(&point);
    assert_string_equal(take_heard(), "stop plain;");
    loop_free(&loop);
    assert_int_equal(fake_frames, 0);
    return 0;
}

/* A session that has joined "/". */
static inline struct fake *
join(void)
{
    struct fake *f = fake_open(&point);

    fake_say(f, "0");
    fake_forget(f);
    take_heard();
    return f;
}

static inline struct sio_hall *
hall(const char *name)
{
    return sio_halls_find(&point, str_from(name));
}

#endif
