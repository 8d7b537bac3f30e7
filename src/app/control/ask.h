/*
 * A command that asks a role: the call, the wait, the answer or why there is
 * none.
 *
 *     struct control_ask *a = control_state(call, sizeof(*a),
 * control_ask_done);
 *
 *     if (!a->asked)
 *         return control_ask(call, a, &methods[SHOW], NULL, 0);
 *     if (!control_answered(call, a, 0, &result))
 *         return result;
 *     ... a->data, a->len
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CONTROL_ASK_H
#define APP_CONTROL_ASK_H

#include "app/control/verb.h"
#include "proc/rpc.h"

/* The control_state() of the command, or the first member of it. */
struct control_ask {
    struct control_call *command;
    const struct rpc_method *method;
    struct rpc_call *call; /* NULL: the answer is here, or nothing was asked */
    bool asked;
    bool failed; /* data is the reason */
    void *data;  /* owned */
    size_t len;
};

/* Asks.  The command returns the result, and is run again when the answer is
 * there. */
enum control_result control_ask(struct control_call *command,
                                struct control_ask *a,
                                const struct rpc_method *m, const void *data,
                                size_t len);
/* The same for an answer that may take longer than others: up to timeout_ms. */
enum control_result control_ask_within(struct control_call *command,
                                       struct control_ask *a,
                                       const struct rpc_method *m,
                                       struct str data, int64_t timeout_ms);
/* Whether the answer is there and has at least so many bytes; if not, the
 * command returns *result. */
bool control_answered(struct control_call *command, const struct control_ask *a,
                      size_t least, enum control_result *result);
/* The answer, which another process wrote, has turned out to be nonsense. */
enum control_result control_ask_senseless(struct control_call *command,
                                          const struct control_ask *a);
/* Wipes the answer, so that the role can be asked again. */
void control_ask_clear(struct control_ask *a);
/* For control_state(): no answer is wanted any more. */
void control_ask_done(void *ask);

#endif
