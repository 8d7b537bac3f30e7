/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/ask.h"

#include <string.h>

#include "base/mem.h"

#define ANSWER_MS 10000

void
control_ask_clear(struct control_ask *a)
{
    if (a->data != NULL) {
        explicit_bzero(a->data, a->len); /* it may be a key */
    }
    mem_free(&a->data);
    a->len = 0;
    a->asked = false;
}

void
control_ask_done(void *ask)
{
    struct control_ask *a = ask;

    rpc_cancel(&a->call);
    control_ask_clear(a);
}

static void
on_answer(void *arg, struct rpc_answer *answer)
{
    struct control_ask *a = arg;

    a->call = NULL;
    a->failed = answer->status != RPC_OK;
    a->data = mem_dup(answer->data, answer->len);
    a->len = answer->len;
    control_resume(a->command);
}

enum control_result
control_ask_within(struct control_call *command, struct control_ask *a,
                   const struct rpc_method *m, struct str data,
                   int64_t timeout_ms)
{
    const struct rpc_options o = { .timeout_ms = timeout_ms,
                                   .on_answer = on_answer,
                                   .arg = a };
    struct errmsg err;

    a->command = command;
    a->method = m;
    a->asked = true;
    a->call = rpc_call(m, &o, data.ptr, data.len, -1, &err);
    return a->call != NULL ? CONTROL_LATER
                           : control_fail(command, "failed", "%s", err.text);
}

enum control_result
control_ask(struct control_call *command, struct control_ask *a,
            const struct rpc_method *m, const void *data, size_t len)
{
    return control_ask_within(command, a, m, str_of(data, len), ANSWER_MS);
}

enum control_result
control_ask_senseless(struct control_call *command, const struct control_ask *a)
{
    return control_fail(command, "failed", "the %s's answer makes no sense",
                        a->method->role);
}

bool
control_answered(struct control_call *command, const struct control_ask *a,
                 size_t least, enum control_result *result)
{
    if (a->call != NULL) {
        *result = CONTROL_LATER;
    } else if (a->failed) {
        *result = control_fail(command, "failed", "%.*s", (int)a->len,
                               (const char *)a->data);
    } else if (a->len < least) {
        *result = control_ask_senseless(command, a);
    } else {
        return true;
    }
    return false;
}
