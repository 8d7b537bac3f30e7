/*
 * The words of weirctl.  They run in the master, which reads the cuts as the
 * workers do.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "verbs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "live/live.h"
#include "offer.h"

static const struct control_column columns[] = {
    { "name", 24 },   { "state", 12 },   { "word", 16 },  { "target_ms", 9 },
    { "part_ms", 7 }, { "segments", 8 }, { "first", 10 }, { "newest", 14 },
    { "age_ms", 9 },  { "list_ms", 0 },  { NULL, 0 },
};

struct showing {              /* the control_state() */
    struct live_tally *tally; /* owned */
    uint32_t at;
};

static void
drop(void *state)
{
    struct showing *s = state;

    live_tally_free(&s->tally);
}

static const char *
state_name(enum offer_state state, const struct live_cuts *c)
{
    static const char *const names[] = {
        [OFFER_GOOD] = "offered",
        [OFFER_EARLY] = "too_early",
        [OFFER_FAT] = "too_fat",
        [OFFER_LOOSE] = "strict_keys",
    };

    return state == OFFER_GOOD && c->over ? "over" : names[state];
}

static void show_numbers(struct control_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
show_numbers(struct control_call *call, const char *format, ...)
{
    char text[48];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    control_cell(call, str_from(text));
}

/* The list as it is given now. */
static void
show_list(struct control_call *call, const struct offer *o)
{
    int64_t age = clock_wall_ms() - o->cut.wall_ms;
    uint64_t ms = 0;

    for (size_t i = 0; i < o->count; i++) {
        ms += o->segments[i].duration;
    }
    control_cell_int(call, (int64_t)o->count);
    show_numbers(call, "%" PRIu64, o->count > 0 ? o->segments[0].number : 0);
    if (o->last_part >= 0 && o->open) {
        show_numbers(call, "%" PRIu64 ".%" PRId64, o->last, o->last_part);
    } else {
        show_numbers(call, "%" PRIu64, o->last);
    }
    control_cell_int(call, age > 0 ? age : 0);
    control_cell_int(call, (int64_t)ms);
}

static void
show_nothing(struct control_call *call)
{
    control_cell_int(call, 0);
    for (int i = 0; i < 3; i++) {
        control_cell(call, STR_NONE);
    }
    control_cell_int(call, 0);
}

static void
show_stream(struct control_call *call, struct str name)
{
    const struct offer_wish wish = { .parts = true, .type = MEDIA_DATA };
    enum offer_state state;
    struct live_cuts c;
    struct offer o;

    if (!live_cuts_find(name, &c)) {
        return;
    }
    state = c.target != 0 ? offer_make(&c, &wish, &o) : offer_state(&c);
    control_cell(call, name);
    control_cell(call, str_from(state_name(state, &c)));
    show_numbers(call, "%016" PRIx64, c.word);
    control_cell_int(call, c.target);
    control_cell_int(call, c.part_target);
    if (state == OFFER_GOOD) {
        show_list(call, &o);
    } else {
        show_nothing(call);
    }
}

static enum control_result
on_show(struct control_call *call)
{
    struct showing *s = control_state(call, sizeof(*s), drop);
    struct str name = control_word(call, 0);
    struct live_stream_view v;

    if (s->tally == NULL) {
        s->tally = live_tally_new();
    }
    control_table(call, columns);
    while (live_next_stream(s->tally, &s->at, &v)) {
        if (name.len == 0 || str_eq(name, str_from(v.name))) {
            show_stream(call, str_from(v.name));
        }
        if (control_full(call)) {
            return CONTROL_MORE;
        }
    }
    return CONTROL_DONE;
}

const struct control_verb hls_verbs[] = {
    { "show hls", "[APP/NAME]",
      "streams as playlists have them: state, segments, how old the newest is",
      CONTROL_USER, 1, on_show },
    { NULL, NULL, NULL, CONTROL_NONE, 0, NULL },
};
