/*
 * Commands that make exceptions for one client or one stream, for a time or
 * until they are taken back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <stdio.h>
#include <string.h>

#include "app/child_commands.h"
#include "base/clock.h"
#include "http/filter/rate.h"
#include "net/exceptions.h"

#define COUNT_MAX 1000000
#define SUBJECT_TEXT (EXCEPTION_STREAM + 8) /* "app/name", or a network */

/* ---- what a row says ---- */

static const char *
kind_name(const struct exception *e)
{
    static const char *const names[EXCEPTION_KINDS] = {
        [EXCEPTION_FREE] = "free",
        [EXCEPTION_DEBUG] = "debug",
        [EXCEPTION_CONNECTIONS] = "connections",
        [EXCEPTION_REQUESTS] = "requests",
        [EXCEPTION_PLAYERS] = "players",
        [EXCEPTION_RATE] = "rate",
    };

    return names[e->kind];
}

/* "app/name", "192.0.2.0/24", "192.0.2.1"; returns dst (SUBJECT_TEXT). */
static const char *
subject_text(const struct exception *e, char *dst)
{
    unsigned all = e->net.addr.family == AF_INET ? 32 : 128;
    char ip[ADDR_TEXT];

    if (e->stream[0] != '\0') {
        snprintf(dst, SUBJECT_TEXT, "%s", e->stream);
    } else if (e->net.bits == all) {
        addr_ip_text(&e->net.addr, dst);
    } else {
        snprintf(dst, SUBJECT_TEXT, "%s/%u", addr_ip_text(&e->net.addr, ip),
                 e->net.bits);
    }
    return dst;
}

/* ---- time ---- */

/* Until the next one ends. */
static void
set_timer(struct control *c)
{
    int64_t next = 0;

    for (size_t i = 0; i < EXCEPTIONS; i++) {
        int64_t until = exception_row(i)->until_ms;

        next = until > 0 && (next == 0 || until < next) ? until : next;
    }
    if (next == 0) {
        timer_stop(c->m->loop, &c->exceptions);
    } else {
        int64_t wait = next - clock_ms();

        timer_set(c->m->loop, &c->exceptions, wait > 1 ? wait : 1);
    }
}

void
control_exceptions_due(struct timer *t)
{
    struct control *c = LIST_ITEM(t, struct control, exceptions);
    int64_t now = clock_ms();
    bool some = false;

    for (size_t i = 0; i < EXCEPTIONS; i++) {
        struct exception e = *exception_row(i);
        char text[SUBJECT_TEXT];

        if (e.until_ms > 0 && e.until_ms <= now) {
            exceptions_remove(&e);
            log_notice("control: %s of %s has ended: its time is up",
                       kind_name(&e), subject_text(&e, text));
            some = true;
        }
    }
    if (some) {
        child_commands_exceptions();
    }
    set_timer(c);
}

/* ---- the words ---- */

/* For whom: -1 when the call has failed. */
static int
read_client(struct control_call *call, struct exception *e)
{
    struct str word = control_word(call, 0);

    *e = (struct exception){ .kind = EXCEPTION_FREE };
    if (word.len == 0) {
        control_usage(call);
        return -1;
    }
    if (access_parse_net(word, &e->net) == -1) {
        control_fail(call, "usage",
                     "\"%.*s\" must be an address or ADDRESS/BITS",
                     STR_ARGS(word));
        return -1;
    }
    return 0;
}

static int
read_stream(struct control_call *call, struct exception *e)
{
    struct str word = control_word(call, 0);
    size_t slash = str_find(word, '/', 0);

    *e = (struct exception){ .kind = EXCEPTION_FREE };
    if (word.len == 0) {
        control_usage(call);
        return -1;
    }
    if (slash == 0 || slash + 1 >= word.len || word.len >= sizeof(e->stream)) {
        control_fail(call, "usage",
                     "\"%.*s\" must be APP/NAME, less than %d bytes",
                     STR_ARGS(word), EXCEPTION_STREAM);
        return -1;
    }
    str_copy(e->stream, sizeof(e->stream), word);
    return 0;
}

/* ---- doing it ---- */

static enum control_result
set(struct control_call *call, struct exception *e, int64_t ms)
{
    char text[SUBJECT_TEXT];
    struct errmsg err;

    e->until_ms = ms > 0 ? clock_ms() + ms : 0;
    if (exceptions_set(e, &err) == -1) {
        return control_fail(call, "busy", "%s", err.text);
    }
    child_commands_exceptions();
    set_timer(call->client->control);
    return control_ok(call, "%s of %s%s%s", kind_name(e), subject_text(e, text),
                      e->limit[0] != '\0' ? ": " : "", e->limit);
}

static enum control_result
took_back(struct control_call *call, unsigned count)
{
    if (count == 0) {
        return control_fail(call, "missing",
                            "there is no such exception; show exceptions lists "
                            "them");
    }
    child_commands_exceptions();
    set_timer(call->client->control);
    return control_ok(call, "%s", "");
}

/* "SUBJECT [for TIME]" or "SUBJECT off". */
static enum control_result
debug(struct control_call *call, struct exception *e)
{
    int64_t ms;

    e->kind = EXCEPTION_DEBUG;
    if (control_words(call) == 2 && str_eq(control_word(call, 1), STR("off"))) {
        return took_back(call, exceptions_remove(e));
    }
    return control_read_for(call, 1, &ms) == -1 ? CONTROL_DONE
                                                : set(call, e, ms);
}

static enum control_result
on_debug_client(struct control_call *call)
{
    struct exception e;

    return read_client(call, &e) == -1 ? CONTROL_DONE : debug(call, &e);
}

static enum control_result
on_debug_stream(struct control_call *call)
{
    struct exception e;

    return read_stream(call, &e) == -1 ? CONTROL_DONE : debug(call, &e);
}

/* ---- limits ---- */

/* Something that can be limited, and the syntax of its limit. */
struct limit {
    const char *word; /* NULL ends a list */
    enum exception_kind kind;
    int (*read)(struct str s, struct exception *e, struct errmsg *err);
};

static int
read_count(struct str s, struct exception *e, struct errmsg *err)
{
    if (!str_to_int(s, 0, COUNT_MAX, &e->most)) {
        return errmsg_set(err, "\"%.*s\" must be a number from 0 to %d",
                          STR_ARGS(s), COUNT_MAX);
    }
    return 0;
}

/* After a pause as many at once as a second brings, at least one. */
static int
read_rate(struct str s, struct exception *e, struct errmsg *err)
{
    if (rate_parse(s, &e->interval_us, err) == -1) {
        return -1;
    }
    e->most = e->interval_us < 1000000 ? 1000000 / e->interval_us : 1;
    return 0;
}

static int
read_bits(struct str s, struct exception *e, struct errmsg *err)
{
    if (conf_parse_size(s, &e->most, err) == -1) {
        return -1;
    }
    if (e->most < 1 || s.len >= sizeof(e->limit)) {
        return errmsg_set(err,
                          "\"%.*s\" must be bits a second, from 1 on, "
                          "as \"6m\"",
                          STR_ARGS(s));
    }
    return 0;
}

static const struct limit client_limits[] = {
    { "connections", EXCEPTION_CONNECTIONS, read_count },
    { "requests", EXCEPTION_REQUESTS, read_rate },
    { .word = NULL },
};

static const struct limit stream_limits[] = {
    { "players", EXCEPTION_PLAYERS, read_count },
    { "rate", EXCEPTION_RATE, read_bits },
    { .word = NULL },
};

static enum control_result
take_back_all(struct control_call *call, struct exception *e,
              const struct limit *list)
{
    unsigned count = 0;

    for (; list->word != NULL; list++) {
        e->kind = (uint8_t)list->kind;
        count += exceptions_remove(e);
    }
    return took_back(call, count);
}

/* "SUBJECT off", "SUBJECT LIMIT off" or "SUBJECT LIMIT VALUE [for TIME]". */
static enum control_result
limit(struct control_call *call, struct exception *e, const struct limit *list)
{
    struct str value = control_word(call, 2);
    size_t words = control_words(call);
    struct errmsg err;
    int64_t ms;

    if (words == 2 && str_eq(control_word(call, 1), STR("off"))) {
        return take_back_all(call, e, list);
    }
    while (list->word != NULL &&
           !str_eq(control_word(call, 1), str_from(list->word))) {
        list++;
    }
    if (list->word == NULL || value.len == 0) {
        return control_usage(call);
    }
    e->kind = (uint8_t)list->kind;
    if (words == 3 && str_eq(value, STR("off"))) {
        return took_back(call, exceptions_remove(e));
    }
    if (list->read(value, e, &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    str_copy(e->limit, sizeof(e->limit), value);
    return control_read_for(call, 3, &ms) == -1 ? CONTROL_DONE
                                                : set(call, e, ms);
}

static enum control_result
on_limit_client(struct control_call *call)
{
    struct exception e;

    return read_client(call, &e) == -1 ? CONTROL_DONE
                                       : limit(call, &e, client_limits);
}

static enum control_result
on_limit_stream(struct control_call *call)
{
    struct exception e;

    return read_stream(call, &e) == -1 ? CONTROL_DONE
                                       : limit(call, &e, stream_limits);
}

/* ---- show ---- */

static const struct control_column columns[] = {
    { "what", 11 },  { "of", 6 },     { "name", 24 }, { "limit", 9 },
    { "left_s", 7 }, { "struck", 0 }, { NULL, 0 },
};

/* The row of an exception that has no end has 0 left. */
static enum control_result
on_show_exceptions(struct control_call *call)
{
    int64_t now = clock_ms();
    char text[SUBJECT_TEXT];

    control_table(call, columns);
    for (size_t i = 0; i < EXCEPTIONS; i++) {
        const struct exception *e = exception_row(i);
        int64_t left = e->until_ms - now;

        if (e->kind == EXCEPTION_FREE) {
            continue;
        }
        control_cell(call, str_from(kind_name(e)));
        control_cell(call,
                     e->stream[0] != '\0' ? STR("stream") : STR("client"));
        control_cell(call, str_from(subject_text(e, text)));
        control_cell(call, str_from(e->limit));
        control_cell_int(call, left > 0 ? (left + 999) / 1000 : 0);
        control_cell_int(call, (int64_t)exception_struck(i));
    }
    return CONTROL_DONE;
}

const struct control_verb control_except_verbs[] = {
    { "show exceptions", NULL,
      "What debug and limit have made, what is left of its time, and how "
      "often it struck.",
      CONTROL_OPERATOR, 0, on_show_exceptions },
    { "debug client", "ADDRESS[/BITS] [for TIME] | ADDRESS[/BITS] off",
      "All log lines about these clients, whatever the log level.",
      CONTROL_OPERATOR, 3, on_debug_client },
    { "debug stream", "APP/NAME [for TIME] | APP/NAME off",
      "All log lines about this stream, whatever the log level.",
      CONTROL_OPERATOR, 3, on_debug_stream },
    { "limit client",
      "ADDRESS[/BITS] connections N | requests N/s|m|h [for TIME] | off",
      "What each of these addresses may have, whatever the settings say.",
      CONTROL_OPERATOR, 5, on_limit_client },
    { "limit stream", "APP/NAME players N | rate SIZE [for TIME] | off",
      "How many players a stream may have, and bits a second its publisher may "
      "send.",
      CONTROL_OPERATOR, 5, on_limit_stream },
    { .words = NULL },
};
