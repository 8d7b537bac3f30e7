/*
 * Commands that tell of what goes on: streams, sessions, refusals, events.
 * Their answers may be long, so they are made in pieces.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <stdio.h>
#include <string.h>

#include "app/recent_log.h"
#include "base/clock.h"
#include "base/mem.h"
#include "live/live.h"
#include "net/access.h"
#include "proc/refused.h"

#define FOLLOW_MS 100 /* how often "show events -w" looks */
#define LOOKED 4096   /* records in one turn */

/* ---- streams ---- */

static const struct control_column stream_columns[] = {
    { "name", 24 },  { "state", 5 },   { "publisher", 21 }, { "uptime_s", 8 },
    { "video", 6 },  { "audio", 6 },   { "kbps", 7 },       { "players", 7 },
    { "frames", 9 }, { "dropped", 7 }, { "memory_kb", 0 },  { NULL, 0 },
};

struct streams {
    struct live_tally *tally; /* owned */
    uint32_t at;
};

static void
drop_streams(void *state)
{
    struct streams *s = state;

    live_tally_free(&s->tally);
}

static struct str
codec(uint8_t codec)
{
    return codec == CODEC_NONE
               ? STR_NONE
               : str_from(media_codec_name((enum media_codec)codec));
}

static void
show_stream(struct control_call *call, const struct live_stream_view *v)
{
    char peer[ADDR_TEXT] = "";
    int64_t ms = clock_ms() - v->started_ms;

    if (v->publisher.family != AF_UNSPEC) {
        addr_text(&v->publisher, peer);
    }
    control_cell(call, str_from(v->name));
    control_cell(call, v->live ? STR("live") : STR("hold"));
    control_cell(call, str_from(peer));
    control_cell_int(call, ms / 1000);
    control_cell(call, codec(v->video_codec));
    control_cell(call, codec(v->audio_codec));
    control_cell_int(call, ms > 0 ? (int64_t)(v->bytes * 8 / (uint64_t)ms) : 0);
    control_cell_int(call, v->players);
    control_cell_int(call, (int64_t)v->frames);
    control_cell_int(call, (int64_t)v->dropped);
    control_cell_int(call, v->memory / 1024);
}

static enum control_result
on_streams(struct control_call *call)
{
    struct streams *s = control_state(call, sizeof(*s), drop_streams);
    struct str name = control_word(call, 0);
    struct live_stream_view v;

    if (s->tally == NULL) {
        s->tally = live_tally_new();
    }
    control_table(call, stream_columns);
    while (live_next_stream(s->tally, &s->at, &v)) {
        if (name.len == 0 || str_eq(name, str_from(v.name))) {
            show_stream(call, &v);
        }
        if (control_full(call)) {
            return CONTROL_MORE;
        }
    }
    return CONTROL_DONE;
}

/* ---- sessions ---- */

static const struct control_column session_columns[] = {
    { "id", 10 },     { "kind", 9 },     { "protocol", 8 }, { "stream", 24 },
    { "peer", 21 },   { "uptime_s", 8 }, { "video_kb", 9 }, { "audio_kb", 9 },
    { "dropped", 7 }, { "pid", 7 },      { "url", 0 },      { NULL, 0 },
};

struct sessions {
    uint32_t at;
    struct str id, stream;
    const struct access_list *from; /* in pool */
    struct pool *pool;              /* owned */
    int64_t older;                  /* ms */
};

static void
drop_sessions(void *state)
{
    struct sessions *s = state;

    pool_free(&s->pool);
}

static int
read_from(struct sessions *s, struct str what, struct errmsg *err)
{
    struct str rule = pool_printf(s->pool, "allow %.*s", STR_ARGS(what));

    if (access_check_rule(rule, err) == -1) {
        return -1;
    }
    s->from = access_parse(s->pool, &rule, 1);
    return 0;
}

/* "[all | ID] [stream APP/NAME] [addr WHAT] [older TIME]" */
static int
read_sessions(struct control_call *call, struct sessions *s, struct errmsg *err)
{
    size_t count = control_words(call);
    size_t i = 0;

    s->pool = pool_new(256);
    if (count % 2 == 1) {
        s->id = control_word(call, i++);
    }
    for (; i < count; i += 2) {
        struct str key = control_word(call, i);
        struct str value = control_word(call, i + 1);
        int bad = 0;

        if (str_eq(key, STR("stream"))) {
            s->stream = value;
        } else if (str_eq(key, STR("addr"))) {
            bad = read_from(s, value, err);
        } else if (str_eq(key, STR("older"))) {
            bad = conf_parse_time(value, &s->older, err);
        } else {
            bad = errmsg_set(err, "use: show sess %s", call->verb->arguments);
        }
        if (bad == -1) {
            return -1;
        }
    }
    return 0;
}

static bool
wants_session(const struct sessions *s, const struct live_session_view *v,
              struct str id)
{
    bool one = s->id.len > 0 && !str_eq(s->id, STR("all"));

    return (!one || str_eq(s->id, id)) &&
           (s->stream.len == 0 || str_eq(s->stream, str_from(v->name))) &&
           (s->from == NULL || access_allows(s->from, &v->peer)) &&
           clock_ms() - v->started_ms >= s->older;
}

static void
show_session(struct control_call *call, const struct live_session_view *v,
             struct str id)
{
    const struct slot_card *card = slot_card(slot_owner_number(v->owner));
    char peer[ADDR_TEXT];

    control_cell(call, id);
    control_cell(call, v->publisher ? STR("publisher") : STR("player"));
    control_cell(call, str_from(live_kind_name(v->kind)));
    control_cell(call, str_from(v->name));
    control_cell(call, str_from(addr_text(&v->peer, peer)));
    control_cell_int(call, (clock_ms() - v->started_ms) / 1000);
    control_cell_int(call, (int64_t)(v->video_bytes / 1024));
    control_cell_int(call, (int64_t)(v->audio_bytes / 1024));
    control_cell_int(call, (int64_t)v->dropped);
    control_cell_int(call, card != NULL ? atomic_load(&card->pid) : 0);
    control_cell(call, str_from(v->url));
}

static enum control_result
on_sessions(struct control_call *call)
{
    struct sessions *s = control_state(call, sizeof(*s), drop_sessions);
    struct live_session_view v;
    struct errmsg err;

    if (s->pool == NULL && read_sessions(call, s, &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    control_table(call, session_columns);
    for (int i = 0; live_next_session(&s->at, &v); i++) {
        char id[32];
        int len =
            snprintf(id, sizeof(id), "%u:%llu", slot_owner_number(v.owner),
                     (unsigned long long)v.id);

        if (wants_session(s, &v, str_of(id, (size_t)len))) {
            show_session(call, &v, str_of(id, (size_t)len));
        }
        if (control_full(call) || i == LOOKED) {
            return CONTROL_MORE;
        }
    }
    return CONTROL_DONE;
}

/* ---- refusals ---- */

static const struct control_column error_columns[] = {
    { "time", 24 },  { "proto", 5 },  { "peer", 21 },  { "pid", 7 },
    { "offset", 6 }, { "bytes", 32 }, { "reason", 0 }, { NULL, 0 },
};

static void
show_error(struct control_call *call, const struct recent_record *r)
{
    struct refused_view v;
    char date[32];

    if (!refused_parse(r, &v)) {
        return;
    }
    clock_iso8601(date, sizeof(date), r->wall_ms);
    control_cell(call, str_from(date));
    control_cell(call, v.proto);
    control_cell(call, v.peer);
    control_cell_int(call, r->pid);
    control_cell_int(call, (int64_t)v.offset);
    control_cell_words(call, v.bytes);
    control_cell_words(call, v.reason);
}

static enum control_result
on_errors(struct control_call *call)
{
    uint64_t *after = control_state(call, sizeof(*after), NULL);
    struct recent_record r;
    int64_t most = 0;

    if (control_words(call) > 0 &&
        !str_to_int(control_word(call, 0), 1, 1000, &most)) {
        return control_usage(call);
    }
    if (*after == 0 && most > 0 &&
        recent_last(refused_list()) > (uint64_t)most) {
        *after = recent_last(refused_list()) - (uint64_t)most;
    }
    control_table(call, error_columns);
    while (recent_next(refused_list(), *after, &r)) {
        *after = r.number;
        show_error(call, &r);
        if (control_full(call)) {
            return CONTROL_MORE;
        }
    }
    return CONTROL_DONE;
}

/* ---- events ---- */

static const struct control_column event_columns[] = {
    { "time", 24 }, { "level", 6 }, { "pid", 7 }, { "message", 0 }, { NULL, 0 },
};

struct events {
    bool read; /* the words were */
    uint64_t after;
    bool follow;
    int level; /* enum log_level: this and what is worse */
    struct str match;
};

static int
read_level(struct str word, int *level)
{
    for (int i = LOG_ALERT; i <= LOG_DEBUG; i++) {
        if (str_eq(word, str_from(log_level_name((enum log_level)i)))) {
            *level = i;
            return 0;
        }
    }
    return -1;
}

/* "[-w] [LEVEL] [match TEXT]" */
static int
read_events(struct control_call *call, struct events *e)
{
    e->read = true;
    e->level = LOG_NOTICE;
    for (size_t i = 0; i < control_words(call); i++) {
        struct str word = control_word(call, i);

        if (str_eq(word, STR("-w"))) {
            e->follow = true;
        } else if (str_eq(word, STR("match")) && i + 1 < control_words(call)) {
            e->match = control_word(call, ++i);
        } else if (read_level(word, &e->level) == -1) {
            return -1;
        }
    }
    return 0;
}

static bool
wants_event(const struct events *e, const struct recent_record *r)
{
    return (int)r->tag <= e->level && (int)r->tag >= LOG_ALERT &&
           (e->match.len == 0 ||
            memmem(r->text, r->len, e->match.ptr, e->match.len) != NULL);
}

/* Followed events have no end, so each is a JSON document of its own. */
static void
say_event_json(struct control_call *call, const struct recent_record *r,
               const char *date)
{
    struct json_out o;

    json_begin(&o, &call->client->out, false);
    json_open(&o);
    json_put_str(&o, "time", str_from(date));
    json_put_str(&o, "level", str_from(log_level_name((enum log_level)r->tag)));
    json_put_int(&o, "pid", r->pid);
    json_put_str(&o, "message", str_of(r->text, r->len));
    json_close(&o);
    json_end(&o);
    buf_add(&call->client->out, "\n", 1);
}

static void
show_event(struct control_call *call, const struct events *e,
           const struct recent_record *r)
{
    char date[32];

    clock_iso8601(date, sizeof(date), r->wall_ms);
    if (e->follow && call->json) {
        say_event_json(call, r, date);
        return;
    }
    control_cell(call, str_from(date));
    control_cell(call, str_from(log_level_name((enum log_level)r->tag)));
    control_cell_int(call, r->pid);
    control_cell_words(call, str_of(r->text, r->len));
}

static enum control_result
on_events(struct control_call *call)
{
    struct events *e = control_state(call, sizeof(*e), NULL);
    struct recent_record r;

    if (!e->read && read_events(call, e) == -1) {
        return control_usage(call);
    }
    if (!e->follow || !call->json) {
        control_table(call, event_columns);
    }
    while (recent_next(recent_log_list(), e->after, &r)) {
        e->after = r.number;
        if (wants_event(e, &r)) {
            show_event(call, e, &r);
        }
        if (control_full(call)) {
            return CONTROL_MORE;
        }
    }
    if (!e->follow) {
        return CONTROL_DONE;
    }
    control_again(call, FOLLOW_MS);
    return CONTROL_LATER;
}

const struct control_verb control_live_verbs[] = {
    { "show streams", "[APP/NAME]", "Live streams.", CONTROL_USER, 1,
      on_streams },
    { "show sess", "[all | ID] [stream APP/NAME] [addr WHAT] [older TIME]",
      "Publishers and players of all processes.", CONTROL_OPERATOR, 7,
      on_sessions },
    { "show errors", "[N]", "The last requests that were refused, and why.",
      CONTROL_OPERATOR, 1, on_errors },
    { "show events", "[-w] [LEVEL] [match TEXT]",
      "What the log said lately; -w goes on as it is said.", CONTROL_OPERATOR,
      4, on_events },
    { .words = NULL },
};
