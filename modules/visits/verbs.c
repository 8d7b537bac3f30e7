/*
 * The words of weirctl.  They run in the master, which has no store: the
 * counter is asked, and run() is called again when it has answered.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "visits.h"

#include <string.h>

#include "base/mem.h"
#include "base/pack.h"

#define TIMEOUT_MS 10000

struct wait { /* the control_state() of a command */
    struct control_call *command;
    struct rpc_call *call; /* NULL: the answer is here, or nothing was asked */
    bool asked, failed;
    void *data; /* owned; the answer, or why there is none */
    size_t len;
};

static void
on_end(void *arg)
{
    struct wait *w = arg;

    rpc_cancel(&w->call);
    mem_free(&w->data);
}

static void
on_answer(void *arg, struct rpc_answer *a)
{
    struct wait *w = arg;

    w->call = NULL;
    w->failed = a->status != RPC_OK;
    w->data = mem_dup(a->data, a->len);
    w->len = a->len;
    control_resume(w->command);
}

static enum control_result
ask(struct control_call *command, struct wait *w, int method, const void *data,
    size_t len)
{
    const struct rpc_options o = { .timeout_ms = TIMEOUT_MS,
                                   .on_answer = on_answer,
                                   .arg = w };
    struct errmsg err;

    if (!visits_wanted(control_settings(command))) {
        return control_fail(command, "failed",
                            "no location of weir.conf has module visits");
    }
    w->command = command;
    w->asked = true;
    w->call = rpc_call(&visits_methods[method], &o, data, len, -1, &err);
    return w->call != NULL ? CONTROL_LATER
                           : control_fail(command, "failed", "%s", err.text);
}

static enum control_result
fail(struct control_call *command, const struct wait *w)
{
    return control_fail(command, "failed", "%.*s", (int)w->len,
                        (const char *)w->data);
}

static enum control_result
fail_senseless(struct control_call *command)
{
    return control_fail(command, "failed",
                        "the counter's answer makes no "
                        "sense");
}

/* ---- show visits ---- */

static const struct control_column columns[] = {
    { "rooms", 8 }, { "visits", 12 }, { "name", 0 }, { NULL, 0 }
};

/* Another process wrote the bytes: they are read twice, the first time to see
 * whether they are whole. */
static bool
read_rows(const struct wait *w, struct control_call *out)
{
    struct unpack in = { .rest = str_of(w->data, w->len) };
    size_t count = unpack_count(&in, PACK_TEXT + 2 * sizeof(int64_t));

    for (size_t i = 0; i < count && !in.bad; i++) {
        struct str name = unpack_text(&in);
        int64_t rooms = unpack_int(&in), visits = unpack_int(&in);

        if (out != NULL) {
            control_cell_int(out, rooms);
            control_cell_int(out, visits);
            control_cell(out, name);
        }
    }
    return unpack_ends(&in);
}

static enum control_result
on_show(struct control_call *command)
{
    struct wait *w = control_state(command, sizeof(*w), on_end);

    if (!w->asked) {
        return ask(command, w, VISITS_SHOW, NULL, 0);
    }
    if (w->call != NULL) {
        return CONTROL_LATER;
    }
    if (w->failed) {
        return fail(command, w);
    }
    if (!read_rows(w, NULL)) {
        return fail_senseless(command);
    }
    control_table(command, columns);
    read_rows(w, command);
    return CONTROL_DONE;
}

/* ---- visits reset ---- */

static enum control_result
answer_reset(struct control_call *command, const struct wait *w)
{
    struct str name = control_word(command, 0);
    struct visits_answer a;

    if (w->len != sizeof(a)) {
        return fail_senseless(command);
    }
    memcpy(&a, w->data, sizeof(a));
    if (a.visits == 0) {
        return control_fail(command, "missing",
                            "\"%.*s\" has counted no visits", STR_ARGS(name));
    }
    return control_ok(command, "rooms at 0 again: %lld", (long long)a.visits);
}

static enum control_result
on_reset(struct control_call *command)
{
    struct wait *w = control_state(command, sizeof(*w), on_end);
    struct str name = control_word(command, 0);

    if (w->asked) {
        return w->call != NULL ? CONTROL_LATER
               : w->failed     ? fail(command, w)
                               : answer_reset(command, w);
    }
    if (control_words(command) != 1) {
        return control_usage(command);
    }
    if (!visits_is_name(name)) {
        return control_fail(command, "usage", "no name of visits");
    }
    return ask(command, w, VISITS_RESET, name.ptr, name.len);
}

const struct control_verb visits_verbs[] = {
    { .words = "show visits",
      .help = "Rooms and visits that are counted, by instance.",
      .level = CONTROL_USER,
      .run = on_show },
    { .words = "visits reset",
      .arguments = "NAME",
      .help = "The rooms of an instance begin at 0 again.",
      .level = CONTROL_OPERATOR,
      .most = 1,
      .run = on_reset },
    { .words = NULL },
};
