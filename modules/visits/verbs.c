/*
 * The words of weirctl.  They run in the master, which has no store: the
 * counter is asked, and run() is called again when it has answered.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "visits.h"

#include <string.h>

#include "app/control/ask.h"
#include "base/pack.h"

static enum control_result
ask(struct control_call *command, struct control_ask *a, int method,
    struct str data)
{
    if (!visits_wanted(control_settings(command))) {
        return control_fail(command, "failed",
                            "no location of weir.conf has module visits");
    }
    return control_ask(command, a, &visits_methods[method], data.ptr, data.len);
}

/* ---- show visits ---- */

static const struct control_column columns[] = {
    { "rooms", 8 }, { "visits", 12 }, { "name", 0 }, { NULL, 0 }
};

/* Another process wrote the bytes: they are read twice, the first time to see
 * whether they are whole. */
static bool
read_rows(const struct control_ask *a, struct control_call *out)
{
    struct unpack in = { .rest = str_of(a->data, a->len) };
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
    struct control_ask *a =
        control_state(command, sizeof(*a), control_ask_done);
    enum control_result result;

    if (!a->asked) {
        return ask(command, a, VISITS_SHOW, STR_NONE);
    }
    if (!control_answered(command, a, 0, &result)) {
        return result;
    }
    if (!read_rows(a, NULL)) {
        return control_ask_senseless(command, a);
    }
    control_table(command, columns);
    read_rows(a, command);
    return CONTROL_DONE;
}

/* ---- visits reset ---- */

static enum control_result
answer_reset(struct control_call *command, const struct control_ask *a)
{
    struct str name = control_word(command, 0);
    struct visits_answer got;

    if (a->len != sizeof(got)) {
        return control_ask_senseless(command, a);
    }
    memcpy(&got, a->data, sizeof(got));
    if (got.visits == 0) {
        return control_fail(command, "missing",
                            "\"%.*s\" has counted no visits", STR_ARGS(name));
    }
    return control_ok(command, "rooms at 0 again: %lld", (long long)got.visits);
}

static enum control_result
on_reset(struct control_call *command)
{
    struct control_ask *a =
        control_state(command, sizeof(*a), control_ask_done);
    struct str name = control_word(command, 0);
    enum control_result result;

    if (a->asked) {
        return control_answered(command, a, 0, &result)
                   ? answer_reset(command, a)
                   : result;
    }
    if (control_words(command) != 1) {
        return control_usage(command);
    }
    if (!visits_is_name(name)) {
        return control_fail(command, "usage", "no name of visits");
    }
    return ask(command, a, VISITS_RESET, name);
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
