/*
 * Upstreams are shown from shared memory, and set there: it takes effect with
 * the next choice of a worker.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proxy_verbs.h"

#include <string.h>

#include "base/clock.h"
#include "proc/slot.h"
#include "servers.h"
#include "upstream_settings.h"

/* ---- show upstreams ---- */

static const struct control_column columns[] = {
    { "name", 16 },     { "server", 24 },    { "state", 8 },
    { "weight", 6 },    { "open", 6 },       { "waiting", 7 },
    { "requests", 10 }, { "fails", 8 },      { "retries", 8 },
    { "check", 9 },     { "checked_s", 10 }, { "checked_by", 12 },
    { "why", 0 },       { NULL, 0 },
};

struct showing {
    struct control_call *call;
    size_t done; /* rows of earlier calls */
    size_t row;
    bool full;
};

static int64_t
sum(int place, unsigned first, unsigned count)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < count; i++) {
        n += (uint64_t)servers_counted(place, first + i);
    }
    return (int64_t)n;
}

static bool
is_checked_down(const struct upstream_settings *u, int place)
{
    return u->health.count > 0 &&
           servers_check(place, clock_ms()) == SERVER_CHECKED_DOWN;
}

static const char *
state_of(const struct upstream_settings *u,
         const struct upstream_server_settings *s, int place, int64_t now)
{
    if (servers_is_drained(place)) {
        return "drain";
    }
    if (is_checked_down(u, place) || servers_gate(place, now) != SERVER_OPEN) {
        return "down";
    }
    return s->backup ? "backup" : "up";
}

static const char *
check_of(const struct upstream_settings *u, int place)
{
    static const char *const names[] = { "unknown", "good", "bad" };

    return u->health.count == 0 ? "-" : names[servers_check(place, clock_ms())];
}

/* Its process, as long as that is known. */
static struct str
checker_of(const struct server_story *story, char *text, size_t size)
{
    const struct slot_card *card = slot_card(slot_owner_number(story->checker));

    if (story->checked_ms == 0 || card == NULL ||
        !slot_owner_alive(story->checker)) {
        return STR("-");
    }
    str_escape(text, size,
               str_of(card->name, strnlen(card->name, sizeof(card->name))));
    return str_from(text);
}

static void
show_checks(struct control_call *call, const struct upstream_settings *u,
            int place)
{
    struct server_story story;
    int64_t now = clock_ms();
    char checker[2 * SLOT_NAME_MAX];

    servers_story(place, now, &story);
    control_cell(call, str_from(check_of(u, place)));
    control_cell_int(call, u->health.count > 0 && story.checked_ms > 0
                               ? (now - story.checked_ms) / 1000
                               : -1);
    control_cell(call, checker_of(&story, checker, sizeof(checker)));
    control_cell_words(call,
                       story.why[0] != '\0' ? str_from(story.why) : STR("-"));
}

static void
show_server(struct control_call *call, const struct upstream_settings *u,
            size_t i)
{
    const struct upstream_server_settings *s = upstream_server_at(u, i);
    int place = servers_find(u->name, s->address);
    const char *state = state_of(u, s, place, clock_ms());
    int64_t weight = servers_weight(place);

    control_cell(call, u->name);
    control_cell(call, s->address);
    control_cell(call, str_from(state));
    control_cell_int(call, weight > 0 ? weight : s->weight);
    control_cell_int(call, servers_opened(place));
    control_cell_int(call, servers_gauged(place, SERVER_WAITING));
    control_cell_int(call, sum(place, SERVER_ANSWERS, 6));
    control_cell_int(call, sum(place, SERVER_FAILS, SERVER_FAILURES));
    control_cell_int(call, servers_counted(place, SERVER_RETRIES));
    show_checks(call, u, place);
}

static void
show_upstream(void *arg, const struct upstream_settings *u)
{
    struct showing *s = arg;

    for (size_t i = 0; i < u->servers.count && !s->full; i++) {
        if (s->row++ < s->done) {
            continue;
        }
        show_server(s->call, u, i);
        s->done++;
        s->full = control_full(s->call);
    }
}

static enum control_result
on_show(struct control_call *call)
{
    size_t *done = control_state(call, sizeof(*done), NULL);
    struct showing s = { .call = call, .done = *done };
    struct pool *pool = pool_new(4096);

    control_table(call, columns);
    upstream_each(control_settings(call), pool, show_upstream, &s);
    pool_free(&pool);
    *done = s.done;
    return s.full ? CONTROL_MORE : CONTROL_DONE;
}

/* ---- set upstream ---- */

struct looking { /* for NAME/SERVER */
    struct str wanted;
    int place;
};

static void
look(void *arg, const struct upstream_settings *u)
{
    struct looking *l = arg;
    struct str rest = str_skip(l->wanted, u->name.len);

    if (!str_starts(l->wanted, u->name) || !str_starts(rest, STR("/"))) {
        return;
    }
    for (size_t i = 0; i < u->servers.count; i++) {
        struct str address = upstream_server_at(u, i)->address;

        if (str_eq(str_skip(rest, 1), address)) {
            l->place = servers_find(u->name, address);
        }
    }
}

static int
find_place(struct control_call *call, struct str wanted)
{
    struct looking l = { .wanted = wanted, .place = -1 };
    struct pool *pool = pool_new(4096);

    upstream_each(control_settings(call), pool, look, &l);
    pool_free(&pool);
    return l.place;
}

static enum control_result
set_weight(struct control_call *call, int place)
{
    struct str text = control_word(call, 2);
    int64_t weight = 0;

    if (!str_eq(text, STR("file")) &&
        !str_to_int(text, 1, SERVERS_WEIGHT_MAX, &weight)) {
        return control_fail(call, "usage",
                            "a weight is 1 to %d, or \"file\" for that of "
                            "weir.conf",
                            SERVERS_WEIGHT_MAX);
    }
    servers_set_weight(place, weight);
    return control_ok(call, "%s", "");
}

static enum control_result
on_set(struct control_call *call)
{
    struct str wanted = control_word(call, 0), what = control_word(call, 1);
    size_t words = control_words(call);
    int place;

    if (words != (str_eq(what, STR("weight")) ? 3u : 2u)) {
        return control_usage(call);
    }
    place = find_place(call, wanted);
    if (place == -1) {
        return control_fail(call, "missing",
                            "no layer has a server \"%.*s\": \"weirctl show "
                            "upstreams\" lists them as NAME and SERVER",
                            STR_ARGS(wanted));
    }
    if (words == 3) {
        return set_weight(call, place);
    }
    if (!str_eq(what, STR("drain")) && !str_eq(what, STR("ready"))) {
        return control_usage(call);
    }
    servers_set_drained(place, str_eq(what, STR("drain")), clock_ms());
    return control_ok(call, "%s", "");
}

const struct control_verb proxy_verbs[] = {
    { "show upstreams", NULL, "Servers of upstreams, and how they are.",
      CONTROL_USER, 0, on_show },
    { "set upstream", "NAME/SERVER drain|ready|weight N|file",
      "Takes a server out, lets it in again, or sets its weight.",
      CONTROL_OPERATOR, 3, on_set },
    { .words = NULL },
};
