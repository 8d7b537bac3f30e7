/*
 * Commands about clients of Socket.IO: the channel is asked, a page at a time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <stdio.h>

#include "app/channel_role.h"
#include "app/control/ask.h"
#include "sio/channel.h"
#include "sio/channel_wire.h"

#define WHERE_MAX 256 /* bytes of "MODULE:ENDPOINT" */

struct showing { /* the control_state() of `show sockets` */
    struct control_ask ask;
    uint64_t after; /* the last session that was shown */
    bool begun;     /* the table has its head */
};

static enum control_result
ask(struct control_call *command, struct control_ask *a, int method, uint64_t n)
{
    struct pack out = { 0 };
    enum control_result result;
    struct buf b;

    buf_init(&b, sizeof(int64_t));
    out.to = &b;
    channel_pack_number(&out, n);
    result = control_ask(command, a, &channel_methods[method], buf_data(&b),
                         buf_len(&b));
    buf_clear(&b);
    return result;
}

/* ---- show sockets ---- */

static const struct control_column columns[] = {
    { "id", 7 },          { "endpoint", 14 },    { "transport", 10 },
    { "client", 21 },     { "age", 7 },          { "queued", 8 },
    { "packets_in", 11 }, { "packets_out", 12 }, { "bytes_in", 10 },
    { "bytes_out", 11 },  { "user", 10 },        { "namespaces", 0 },
    { NULL, 0 },
};

static struct str
or_dash(struct str s)
{
    return s.len > 0 ? s : STR("-");
}

static void
show_row(struct control_call *command, const struct channel_row *r)
{
    char where[WHERE_MAX], client[ADDR_TEXT];
    int n = snprintf(where, sizeof(where), "%.*s:%.*s", STR_ARGS(r->module),
                     STR_ARGS(r->endpoint));

    control_cell_int(command, (int64_t)r->number);
    control_cell(command,
                 str_of(where, (size_t)n < sizeof(where) ? (size_t)n
                                                         : sizeof(where) - 1));
    control_cell(command, r->websocket ? STR("websocket") : STR("polling"));
    control_cell(command, str_from(addr_text(&r->client, client)));
    control_cell_int(command, r->age_ms / 1000);
    control_cell_int(command, (int64_t)r->queued);
    for (int i = METRIC_IN; i <= METRIC_OUT; i++) {
        control_cell_int(command, (int64_t)r->packets[i]);
    }
    for (int i = METRIC_IN; i <= METRIC_OUT; i++) {
        control_cell_int(command, (int64_t)r->bytes[i]);
    }
    control_cell(command, or_dash(r->user));
    control_cell(command,
                 r->plain ? STR("(engine.io)") : or_dash(r->namespaces));
}

/* The next page, of which some rows may be there: another process wrote it. */
static bool
show_page(struct control_call *command, struct showing *s)
{
    struct unpack in = { .rest = str_of(s->ask.data, s->ask.len) };
    struct channel_row row;
    bool any = false;

    while (channel_unpack_row(&in, &row) && row.number > s->after) {
        show_row(command, &row);
        s->after = row.number;
        any = true;
    }
    control_ask_clear(&s->ask);
    return any;
}

/* A table that is begun ends where no more can be had. */
static enum control_result
on_show(struct control_call *command)
{
    struct showing *s = control_state(command, sizeof(*s), control_ask_done);
    bool wanted = channel_role_wanted(control_settings(command));
    enum control_result result;

    if (!s->ask.asked && wanted) {
        return ask(command, &s->ask, CHANNEL_LIST, s->after);
    }
    if (s->begun && s->ask.failed) {
        return CONTROL_DONE;
    }
    if (wanted && !control_answered(command, &s->ask, 0, &result)) {
        return result;
    }
    if (!s->begun) {
        control_table(command, columns);
        s->begun = true;
    }
    return show_page(command, s) ? CONTROL_MORE : CONTROL_DONE;
}

/* ---- kick socket ---- */

static enum control_result
answer_kick(struct control_call *command, const struct control_ask *a)
{
    enum control_result result;
    uint64_t kicked;

    if (!control_answered(command, a, 0, &result)) {
        return result;
    }
    if (!channel_unpack_number(str_of(a->data, a->len), &kicked)) {
        return control_ask_senseless(command, a);
    }
    if (kicked == 0) {
        return control_fail(command, "missing", "there is no such socket");
    }
    control_pair_int(command, "kicked", (int64_t)kicked);
    return CONTROL_DONE;
}

static enum control_result
on_kick(struct control_call *command)
{
    struct control_ask *a =
        control_state(command, sizeof(*a), control_ask_done);
    struct str who = control_word(command, 0);
    int64_t number = 0;

    if (a->asked) {
        return answer_kick(command, a);
    }
    if (!str_eq(who, STR("all")) && !str_to_int(who, 1, INT64_MAX, &number)) {
        return control_usage(command);
    }
    if (!channel_role_wanted(control_settings(command))) {
        return control_fail(command, "missing", "there is no such socket");
    }
    return ask(command, a, CHANNEL_KICK, (uint64_t)number);
}

const struct control_verb control_socket_verbs[] = {
    { .words = "show sockets",
      .help = "Clients of Socket.IO, and of Engine.IO alone.",
      .level = CONTROL_OPERATOR,
      .run = on_show },
    { .words = "kick socket",
      .arguments = "ID|all",
      .help = "Closes the connection of a client of Socket.IO, or of all.",
      .level = CONTROL_OPERATOR,
      .most = 1,
      .run = on_kick },
    { .words = NULL },
};
