/*
 * Answers made over several turns of the loop.
 *
 * A piece is made in each turn and handed to the connection; when that takes
 * no more, the next one is made when there is room.  So a long answer neither
 * holds others up nor lies in memory as a whole.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "stat.h"

/* An answer made in so many steps has a length and goes out at once. */
#define FIRST_STEPS 2

struct answer { /* in the request's pool */
    struct http_request *request;
    struct timer timer; /* the next piece is due */
    struct walk walk;
    bool made; /* the walk is over */
};

static void
end(struct answer *a)
{
    timer_stop(a->request->loop, &a->timer);
    walk_end(&a->walk);
}

/* The client went before the answer was whole. */
static void
on_cancel(void *arg)
{
    end(arg);
}

static void
on_piece(struct timer *timer)
{
    struct answer *a = LIST_ITEM(timer, struct answer, timer);
    struct buf *out = &a->walk.out;

    if (!a->made && buf_len(out) == 0) {
        a->made = !walk_step(&a->walk);
    }
    if (http_send_more(a->request, buf_str(out)) != 0) {
        return; /* on_room() or on_cancel() will be called */
    }
    buf_take(out, buf_len(out));
    if (a->made) {
        end(a);
        http_end(a->request);
        return;
    }
    timer_set(a->request->loop, timer, 0);
}

static void
on_room(void *arg)
{
    struct answer *a = arg;

    timer_set(a->request->loop, &a->timer, 0);
}

enum http_result
answer_walk(struct http_request *r, enum walk_kind kind, struct str key)
{
    struct answer *a = pool_zero(r->pool, sizeof(*a));

    if (str_eq(r->method, STR("HEAD"))) {
        http_start(r, 200, STAT_JSON);
        return http_end(r);
    }
    a->request = r;
    timer_init(&a->timer, on_piece);
    walk_begin(&a->walk, kind, key, 0);
    for (int i = 0; i < FIRST_STEPS && !a->made; i++) {
        a->made = !walk_step(&a->walk);
    }
    if (a->made) {
        http_reply(r, 200, STAT_JSON, buf_str(&a->walk.out));
        walk_end(&a->walk);
        return HTTP_DONE;
    }
    http_start(r, 200, STAT_JSON);
    http_on_cancel(r, on_cancel, a);
    http_on_room(r, on_room, a);
    timer_set(r->loop, &a->timer, 0);
    return HTTP_DONE;
}
