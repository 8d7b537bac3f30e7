/*
 * The words of weirctl.  They run in the master: the speaker is asked, and
 * run() is called again when it has answered.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "speaker.h"

#include "app/control/ask.h"
#include "base/clock.h"

#define ISO_SIZE 25 /* of a time as text */

/* ---- reading ---- */

/* Called for each instance; out is NULL when the bytes are only looked at. */
typedef void read_desk(struct unpack *in, struct control_call *out);

static struct str
iso(int64_t wall_ms, char text[ISO_SIZE])
{
    clock_iso8601(text, ISO_SIZE, wall_ms);
    return str_from(text);
}

enum { STATE_NUMBERS = 9 };

static struct str
read_state(struct unpack *in, struct control_call *out)
{
    struct str name = unpack_text(in), state = unpack_text(in);

    if (out != NULL) {
        control_cell(out, name);
        control_cell(out, state);
    }
    for (int i = 0; i < STATE_NUMBERS; i++) {
        int64_t n = unpack_int(in);

        if (out != NULL) {
            control_cell_int(out, n);
        }
    }
    return name;
}

static void
read_errors(struct unpack *in, struct str name, struct control_call *out)
{
    char time[ISO_SIZE];

    for (int i = 0; i < DESK_ERRORS; i++) {
        int64_t wall_ms = unpack_int(in);
        struct str text = unpack_text(in);

        if (out != NULL && wall_ms > 0) {
            control_cell(out, iso(wall_ms, time));
            control_cell(out, name);
            control_cell_words(out, text);
        }
    }
}

static void
read_slowest(struct unpack *in, struct str name, struct control_call *out)
{
    char time[ISO_SIZE];

    for (int i = 0; i < DESK_SLOWEST; i++) {
        int64_t wall_ms = unpack_int(in), ms = unpack_int(in);
        int64_t bytes = unpack_int(in);
        struct str voice = unpack_text(in);

        if (out != NULL && wall_ms > 0) {
            control_cell(out, iso(wall_ms, time));
            control_cell(out, name);
            control_cell_int(out, ms);
            control_cell_int(out, bytes);
            control_cell(out, voice);
        }
    }
}

static void
read_for_state(struct unpack *in, struct control_call *out)
{
    struct str name = read_state(in, out);

    read_errors(in, name, NULL);
    read_slowest(in, name, NULL);
}

static void
read_for_errors(struct unpack *in, struct control_call *out)
{
    struct str name = read_state(in, NULL);

    read_errors(in, name, out);
    read_slowest(in, name, NULL);
}

static void
read_for_slowest(struct unpack *in, struct control_call *out)
{
    struct str name = read_state(in, NULL);

    read_errors(in, name, NULL);
    read_slowest(in, name, out);
}

/* Another process wrote the bytes: they are read twice, the first time to see
 * whether they are whole. */
static bool
read_all(const struct control_ask *a, read_desk *read, struct control_call *out)
{
    struct unpack in = { .rest = str_of(a->data, a->len) };

    while (in.rest.len > 0 && !in.bad) {
        read(&in, out);
    }
    return unpack_ends(&in);
}

/* ---- show speech ---- */

static const struct control_column state_columns[] = {
    { "instance", 12 },      { "state", 9 },       { "pid", 8 },
    { "running", 8 },        { "paused", 7 },      { "resuming", 9 },
    { "queue", 6 },          { "made", 10 },       { "cache_hits", 11 },
    { "cache_entries", 14 }, { "cache_bytes", 0 }, { NULL, 0 }
};
static const struct control_column error_columns[] = {
    { "time", 25 }, { "instance", 12 }, { "error", 0 }, { NULL, 0 }
};
static const struct control_column slow_columns[] = {
    { "time", 25 },       { "instance", 12 }, { "ms", 8 },
    { "text_bytes", 11 }, { "voice", 0 },     { NULL, 0 }
};

struct kind {
    struct str word;
    const struct control_column *columns;
    read_desk *read;
};

static const struct kind kinds[] = {
    { { "", 0 }, state_columns, read_for_state },
    { { "errors", 6 }, error_columns, read_for_errors },
    { { "slowest", 7 }, slow_columns, read_for_slowest },
};

static const struct kind *
kind_of(const struct control_call *command)
{
    struct str word = control_word(command, 0);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eq(word, kinds[i].word)) {
            return &kinds[i];
        }
    }
    return NULL;
}

static enum control_result
on_show(struct control_call *command)
{
    struct control_ask *a =
        control_state(command, sizeof(*a), control_ask_done);
    const struct kind *kind = kind_of(command);
    enum control_result result;

    if (kind == NULL) {
        return control_usage(command);
    }
    if (!a->asked) {
        return tts_wanted(control_settings(command))
                   ? control_ask(command, a, &tts_methods[TTS_SHOW], NULL, 0)
                   : control_fail(command, "failed",
                                  "no location of weir.conf has module tts");
    }
    if (!control_answered(command, a, 0, &result)) {
        return result;
    }
    if (!read_all(a, kind->read, NULL)) {
        return control_ask_senseless(command, a);
    }
    control_table(command, kind->columns);
    read_all(a, kind->read, command);
    return CONTROL_DONE;
}

const struct control_verb tts_verbs[] = {
    { .words = "show speech",
      .arguments = "[errors|slowest]",
      .help = "Speech: children and cache of each instance, its last errors, "
              "its slowest requests.",
      .level = CONTROL_USER,
      .most = 1,
      .run = on_show },
    { .words = NULL },
};
