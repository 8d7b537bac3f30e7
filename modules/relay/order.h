/*
 * Orders of weirctl to the relayer, which has the store: a command waits for
 * the relayer's answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_ORDER_H
#define MODULES_RELAY_ORDER_H

#include "app/control/verb.h"
#include "proc/rpc.h"

enum { ORDER_TASK, ORDER_KEY }; /* places in order_methods */

extern struct rpc_method order_methods[];

/* A command that waits: its control_state(), or the first member of that. */
struct order_wait {
    struct rpc_call *call; /* NULL: nothing was sent, or the answer is here */
    struct control_call *command;
    bool asked;
    bool failed;  /* answer is the reason */
    void *answer; /* owned */
    size_t len;
};

/* Sends an order.  Returns the command's result: the command is run again when
 * the answer is here. */
enum control_result order_send(struct control_call *command,
                               struct order_wait *w, int method,
                               const void *order, size_t len);
/* The command's control_state() ends: no answer is wanted any more. */
void order_done(void *wait);
/* Whether the answer has at least size bytes; if not, the command returns
 * *result. */
bool order_answered(struct control_call *command, const struct order_wait *w,
                    size_t size, enum control_result *result);
/* Wipes the answer, so that another order can be sent. */
void order_clear(struct order_wait *w);

#endif
