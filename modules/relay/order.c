/*
 * Sending orders to the relayer, and waiting for its answers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "order.h"

#include <string.h>

#include "base/mem.h"
#include "control.h"
#include "key_verbs.h"

#define ANSWER_MS 10000
#define ORDERS 64 /* as many as the control socket has clients */

struct rpc_method order_methods[] = {
    [ORDER_TASK] = { .name = "relay.task",
                     .role = "relayer",
                     .caller = BUS_MASTER,
                     .request_max = RELAY_VERBS_ORDER_MAX,
                     .open_max = ORDERS },
    [ORDER_KEY] = { .name = "relay.key",
                    .role = "relayer",
                    .caller = BUS_MASTER,
                    .request_max = KEY_VERBS_ORDER_MAX,
                    .answer_max = KEY_VERBS_ANSWER_MAX,
                    .open_max = ORDERS },
    { .name = NULL },
};

void
order_clear(struct order_wait *w)
{
    if (w->answer != NULL) {
        explicit_bzero(w->answer, w->len); /* it may be a key */
    }
    mem_free(&w->answer);
    w->len = 0;
    w->asked = false;
}

void
order_done(void *wait)
{
    struct order_wait *w = wait;

    rpc_cancel(&w->call);
    order_clear(w);
}

static void
on_answer(void *arg, struct rpc_answer *a)
{
    struct order_wait *w = arg;

    w->call = NULL;
    w->failed = a->status != RPC_OK;
    w->answer = mem_dup(a->data, a->len);
    w->len = a->len;
    control_resume(w->command);
}

enum control_result
order_send(struct control_call *command, struct order_wait *w, int method,
           const void *order, size_t len)
{
    struct rpc_options o = { .timeout_ms = ANSWER_MS,
                             .on_answer = on_answer,
                             .arg = w };
    struct errmsg err;

    w->command = command;
    w->asked = true;
    w->call = rpc_call(&order_methods[method], &o, order, len, -1, &err);
    return w->call != NULL ? CONTROL_LATER
                           : control_fail(command, "failed", "%s", err.text);
}

bool
order_answered(struct control_call *command, const struct order_wait *w,
               size_t size, enum control_result *result)
{
    if (w->call != NULL) {
        *result = CONTROL_LATER;
        return false;
    }
    if (w->failed) {
        *result = control_fail(command, "failed", "%.*s", (int)w->len,
                               (const char *)w->answer);
        return false;
    }
    if (w->len < size) {
        *result = control_fail(command, "failed",
                               "the relayer's answer makes "
                               "no sense");
        return false;
    }
    return true;
}
