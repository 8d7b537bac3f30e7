/*
 * For tests of snapshots: a module, and its role that the test plays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_SIO_SNAPSHOT_HELP_H
#define TESTS_UNIT_SIO_SNAPSHOT_HELP_H

#include "fake_session.h"
#include "proc/rpc.h"

/* ---- the role ---- */

struct rpc_call {
    struct rpc_options options;
    char request[100];
    unsigned granted;
};

static struct rpc_method methods[] = { { .name = "mine.all" },
                                       { .name = "mine.dirs" } };
static struct rpc_call *calls[2]; /* that are open, by method */
static unsigned asked[2];
static bool away;

struct rpc_call *
rpc_call(const struct rpc_method *m, const struct rpc_options *o,
         const void *data, size_t len, int fd, struct errmsg *err)
{
    struct rpc_call *c;

    assert_int_equal(fd, -1);
    assert_null(calls[m - methods]);
    if (away) {
        errmsg_set(err, "it does not run");
        return NULL;
    }
    c = mem_zero(sizeof(*c));
    c->options = *o;
    str_copy(c->request, sizeof(c->request), str_of(data, len));
    calls[m - methods] = c;
    asked[m - methods]++;
    return c;
}

void
rpc_grant(struct rpc_call *c, unsigned n)
{
    c->granted += n;
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
answer(int method, enum rpc_status status, const char *text)
{
    struct rpc_answer a = { status, text, strlen(text), -1 };
    struct rpc_call *c = calls[method];

    assert_non_null(c);
    if (status == RPC_MORE) {
        c->options.on_answer(c->options.arg, &a);
        return;
    }
    calls[method] = NULL;
    c->options.on_answer(c->options.arg, &a);
    mem_free(&c);
}

/* ---- the module ---- */

static struct loop *loop;
static struct sio_point point;
static unsigned joined, gone;
static struct sio_socket *last;

static void
on_connect(struct sio_socket *s, struct str auth)
{
    (void)auth;
    last = s;
    assert_int_equal(sio_join(s, STR("mine")), 0);
    sio_accept(s);
}

static void
on_joined(struct sio_socket *s, struct str auth)
{
    struct sio_message m = { .event = "hello" };

    (void)auth;
    joined++;
    sio_socket_emit(s, &m);
}

static void
on_disconnect(struct sio_socket *s, const char *reason)
{
    (void)s;
    (void)reason;
    gone++;
}

static const struct sio_snapshot one[] = { { "all", &methods[0] },
                                           { .event = NULL } };
static const struct sio_snapshot two[] = { { "all", &methods[0] },
                                           { "dirs", &methods[1] },
                                           { .event = NULL } };
static const struct sio_namespace namespaces[] = {
    { "/", NULL, NULL, on_connect, on_joined, on_disconnect, NULL, one },
    { "/two", NULL, NULL, on_connect, on_joined, on_disconnect, NULL, two },
    { .name = NULL },
};
static const struct sio_module module = { .namespaces = namespaces };

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    loop = loop_new(&err);
    fake_point(&point, loop, &module);
    joined = gone = asked[0] = asked[1] = 0;
    away = false;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fake_turns(loop, 0);
    sio_halls_stop(&point);
    loop_free(&loop);
    assert_null(calls[0]);
    assert_null(calls[1]);
    assert_int_equal(fake_frames, 0);
    return 0;
}

static struct fake *
ask_for(const char *connect)
{
    struct fake *f = fake_open(&point);

    fake_say(f, connect);
    return f;
}

static void
tell(const char *name, const char *event, const char *json, const char *stales)
{
    struct sio_message m = { .event = event, .stales = stales };

    m.args.json = str_from(json);
    sio_hall_emit(sio_halls_find(&point, str_from(name)), STR_NONE, NULL, &m);
}

static void
assert_next(struct fake *f, const char *text)
{
    assert_string_equal(fake_next(f), text);
}

static void
assert_connected(struct fake *f)
{
    assert_int_equal(strncmp(fake_next(f), "40", 2), 0);
}

#endif
