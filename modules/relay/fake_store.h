/*
 * A store for tests: calls wait until the test answers them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_FAKE_STORE_H
#define MODULES_RELAY_FAKE_STORE_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/list.h"
#include "base/mem.h"
#include "store/store.h"

struct store_call {
    struct list link;
    char param[128]; /* the first */
    store_done *done;
    void *arg;
};

static struct list fake_calls = { &fake_calls, &fake_calls };
static store_heard *fake_heard;

struct store_call *
store_read(const struct store_statement *statement,
           const struct store_value *params, size_t count, store_done *done,
           void *arg)
{
    struct store_call *c = mem_zero(sizeof(*c));

    (void)statement;
    assert_int_equal(count, 1);
    str_copy(c->param, sizeof(c->param), params[0].s);
    c->done = done;
    c->arg = arg;
    list_append(&fake_calls, &c->link);
    return c;
}

void
store_cancel(struct store_call **call)
{
    list_remove(&(*call)->link);
    mem_free(call);
}

void
store_listen(const char *topic, store_heard *heard, void *arg)
{
    (void)topic;
    (void)arg;
    fake_heard = heard;
}

const char *
store_status_text(enum store_status status)
{
    return status == STORE_OK ? "done" : "the store is down";
}

static inline unsigned
fake_waiting(void)
{
    unsigned n = 0;

    LIST_EACH (node, &fake_calls) {
        n++;
    }
    return n;
}

/* Answers the oldest call: a row of room and key, or (room NULL) none. */
static inline void
fake_answer(enum store_status status, const char *room, const char *key)
{
    struct store_value cells[] = { store_text(str_from(room)),
                                   store_text(str_from(key)) };
    struct store_rows rows = { room != NULL, 2, cells, 0 };
    struct store_result r = { status, status == STORE_OK, &rows };
    struct store_call *c = LIST_ITEM(fake_calls.next, struct store_call, link);
    store_done *done = c->done;
    void *arg = c->arg;

    assert_false(list_empty(&fake_calls));
    store_cancel(&c);
    done(arg, &r);
}

#endif
