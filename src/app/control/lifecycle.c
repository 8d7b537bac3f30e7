/*
 * Commands about the life of weir and of the connection: help, ping, test,
 * reload, stop, waiting.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/master/reload.h"
#include "base/clock.h"
#include "base/mem.h"
#include "live/live.h"
#include "proc/slot.h"

#define LOOK_MS 20       /* how often "wait" looks */
#define PROGRESS_MS 1000 /* how often a stop says how far it is */
#define HELP_MAX 65536
#define WAIT_MAX_MS (INT64_C(24) * 3600 * 1000)

/* ---- help and the like ---- */

static enum control_result
on_help(struct control_call *call)
{
    struct buf text;
    char prefix[128];
    size_t len = 0;

    for (size_t i = 0; i < control_words(call); i++) {
        len = str_append(prefix, sizeof(prefix), len, control_word(call, i));
        len = str_append(prefix, sizeof(prefix), len, STR(" "));
    }
    buf_init(&text, HELP_MAX);
    if (control_help(&text, str_trim(str_of(prefix, len))) == 0) {
        buf_clear(&text);
        return control_fail(call, "unknown", "no command begins like that");
    }
    control_lines(call, buf_str(&text));
    buf_clear(&text);
    return CONTROL_DONE;
}

static enum control_result
on_ping(struct control_call *call)
{
    control_lines(call, STR("PONG"));
    return CONTROL_DONE;
}

/* Done by the connection itself; with words it is used wrongly. */
static enum control_result
on_prompt(struct control_call *call)
{
    return control_usage(call);
}

/* ---- test ---- */

static int
test_file(const char *file, char **text)
{
    struct generation *g;
    struct stat st;

    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode)) {
        *text = mem_dup("not a file", strlen("not a file"));
        return -1;
    }
    g = generation_load(0, file, text);
    if (g == NULL) {
        return -1;
    }
    generation_free(&g);
    *text = mem_dup("ok", strlen("ok"));
    return 0;
}

/* No path that anybody writes has that in it. */
static bool
is_url(struct str word)
{
    return str_starts(str_skip(word, str_find(word, ':', 0)), STR("://"));
}

static enum control_result
on_test(struct control_call *call)
{
    struct str file = control_word(call, 0);
    char *text = NULL;
    int result;

    if (is_url(file)) {
        return control_test_url(call, file);
    }
    if (file.len == 0) {
        result = reload_test(control_master(call), false, &text);
    } else if (!control_may(call, CONTROL_ADMIN)) {
        /* The reported mistakes quote lines of the file. */
        return control_fail(call, "denied",
                            "another file than the one in force needs level "
                            "admin");
    } else {
        char *path = mem_dup(file.ptr, file.len);

        result = test_file(path, &text);
        mem_free(&path);
    }
    if (result == -1) {
        control_fail(call, "failed", "%s", text != NULL ? text : "");
    } else {
        control_lines(call, text != NULL ? str_from(text) : STR("ok"));
    }
    mem_free(&text);
    return CONTROL_DONE;
}

/* ---- reload ---- */

/* A request lives until its answer, perhaps longer than the call. */
struct asked {
    struct control_call *call; /* NULL: nobody wants to know any more */
    bool told, ok;
    char *text; /* owned */
};

struct reload_call {
    struct asked *asked;
};

static void
free_asked(struct asked *a)
{
    mem_free(&a->text);
    mem_free(&a);
}

static void
drop_reload(void *state)
{
    struct reload_call *r = state;

    if (r->asked->told) {
        free_asked(r->asked);
    } else {
        r->asked->call = NULL;
    }
}

static void
on_reloaded(void *arg, bool ok, const char *text)
{
    struct asked *a = arg;

    if (a->call == NULL) {
        log_notice("control: nobody waits for the reload any more: %s", text);
        free_asked(a);
        return;
    }
    a->told = true;
    a->ok = ok;
    a->text = mem_dup(text, strlen(text));
    control_resume(a->call);
}

/* Describes the reload without doing it. */
static enum control_result
rehearse(struct control_call *call)
{
    char *text = NULL;

    if (!str_eq(control_word(call, 0), STR("--dry"))) {
        return control_usage(call);
    }
    if (reload_test(control_master(call), true, &text) == -1) {
        control_fail(call, "failed", "%s", text);
    } else {
        control_lines(call, str_from(text));
    }
    mem_free(&text);
    return CONTROL_DONE;
}

static enum control_result
on_reload(struct control_call *call)
{
    struct reload_call *r;

    if (control_words(call) > 0) {
        return rehearse(call);
    }
    r = control_state(call, sizeof(*r), drop_reload);
    if (r->asked == NULL) {
        r->asked = mem_zero(sizeof(*r->asked));
        r->asked->call = call;
        reload_ask(control_master(call), on_reloaded, r->asked);
        return CONTROL_LATER;
    }
    if (!r->asked->told) {
        return CONTROL_LATER;
    }
    if (!r->asked->ok) {
        return control_fail(call, "failed", "%s", r->asked->text);
    }
    control_lines(call, str_from(r->asked->text));
    return CONTROL_DONE;
}

/* ---- stop ---- */

/* "10s", or seconds as a number. */
static int
read_time(struct str s, int64_t *ms, struct errmsg *err)
{
    if (str_to_int(s, 0, WAIT_MAX_MS / 1000, ms)) {
        *ms *= 1000;
        return 0;
    }
    return conf_parse_time(s, ms, err);
}

static void
say_progress(struct control_call *call)
{
    const struct master *m = control_master(call);
    uint64_t connections = 0;

    for (uint32_t i = 1; i < slots_count(); i++) {
        connections += slot_connections(i);
    }
    control_progress(
        call, "stopping: %zu processes, %llu connections",
        children_running(&m->children, CHILD_WORKERS | CHILD_ROLES),
        (unsigned long long)connections);
}

/* Answers when weir is about to end: the last thing it does. */
static enum control_result
wait_for_end(struct control_call *call)
{
    if (call->client->ending) {
        return control_ok(call, "stopped");
    }
    say_progress(call);
    control_again(call, PROGRESS_MS);
    return CONTROL_LATER;
}

static enum control_result
end_weir(struct control_call *call, bool graceful)
{
    bool *begun = control_state(call, sizeof(*begun), NULL);
    struct master *m = control_master(call);
    int64_t limit = m->generation->settings->stop_drain;
    struct str time = control_word(call, 0);
    struct errmsg err;

    if (*begun) {
        return wait_for_end(call);
    }
    if (time.len > 0 && read_time(time, &limit, &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    *begun = true;
    if (graceful || time.len > 0) {
        master_drain(m, limit);
    } else {
        master_stop(m);
    }
    return wait_for_end(call);
}

static enum control_result
on_stop(struct control_call *call)
{
    return end_weir(call, false);
}

static enum control_result
on_quit(struct control_call *call)
{
    return end_weir(call, true);
}

/* ---- wait ---- */

struct waiting {
    int64_t deadline; /* clock_ms(); 0: not begun */
    enum { WAIT_TIME, WAIT_DRAINED, WAIT_STREAM, WAIT_GENERATION } what;
    struct str stream;
    int64_t generation;
};

/* "DELAY [drained | stream APP/NAME up | gen N gone]" */
static int
read_wait(struct control_call *call, struct waiting *w, struct errmsg *err)
{
    struct str what = control_word(call, 1);
    struct str last = control_word(call, 3);
    size_t count = control_words(call);
    int64_t delay;

    if (count == 0) {
        return errmsg_set(err, "use: wait %s", call->verb->arguments);
    }
    if (read_time(control_word(call, 0), &delay, err) == -1) {
        return -1;
    }
    if (delay > WAIT_MAX_MS) {
        return errmsg_set(err, "at most 24h");
    }
    w->deadline = clock_ms() + delay;
    if (count == 1) {
        return 0;
    }
    if (count == 2 && str_eq(what, STR("drained"))) {
        w->what = WAIT_DRAINED;
        return 0;
    }
    if (count == 4 && str_eq(what, STR("stream")) && str_eq(last, STR("up"))) {
        w->what = WAIT_STREAM;
        w->stream = control_word(call, 2);
        return 0;
    }
    if (count == 4 && str_eq(what, STR("gen")) && str_eq(last, STR("gone")) &&
        str_to_int(control_word(call, 2), 0, UINT32_MAX, &w->generation)) {
        w->what = WAIT_GENERATION;
        return 0;
    }
    return errmsg_set(err, "use: wait %s", call->verb->arguments);
}

/* No worker of that generation runs; of any but the one in force, if it is
 * -1. */
static bool
is_gone(const struct master *m, int64_t generation)
{
    for (uint32_t i = 1; i < slots_count(); i++) {
        const struct slot_card *s = slot_card(i);
        uint32_t its = atomic_load(&s->generation);

        if (atomic_load(&s->kind) != SLOT_WORKER) {
            continue;
        }
        if (generation == -1 ? its != m->generation->number
                             : its == generation) {
            return false;
        }
    }
    return true;
}

static bool
has_come(const struct master *m, const struct waiting *w)
{
    switch (w->what) {
    case WAIT_TIME:
        return clock_ms() >= w->deadline;
    case WAIT_DRAINED:
        return is_gone(m, -1);
    case WAIT_STREAM:
        return live_is_live(w->stream);
    case WAIT_GENERATION:
        return is_gone(m, w->generation);
    }
    return true;
}

static enum control_result
on_wait(struct control_call *call)
{
    struct waiting *w = control_state(call, sizeof(*w), NULL);
    struct errmsg err;
    int64_t left;

    if (w->deadline == 0 && read_wait(call, w, &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    if (has_come(control_master(call), w)) {
        return control_ok(call, "%s", "");
    }
    left = w->deadline - clock_ms();
    if (left <= 0) {
        return control_fail(call, "timeout", "it did not come in time");
    }
    control_again(call,
                  w->what != WAIT_TIME && left > LOOK_MS ? LOOK_MS : left);
    return CONTROL_LATER;
}

const struct control_verb control_life_verbs[] = {
    { "help", "[PREFIX]", "Commands, those that begin with PREFIX.",
      CONTROL_USER, 8, on_help },
    { "ping", NULL, "Answers PONG.", CONTROL_USER, 0, on_ping },
    { "prompt", NULL, "Switches a prompt behind each answer on or off.",
      CONTROL_USER, 0, on_prompt },
    { "wait", "DELAY [drained | stream APP/NAME up | gen N gone]",
      "Until that comes, DELAY at most; or just DELAY.", CONTROL_USER, 4,
      on_wait },
    { "test", "[FILE | URL]",
      "Checks the configuration as reload would; another FILE needs admin. Or: "
      "which server and location a URL comes to, and why.",
      CONTROL_OPERATOR, 1, on_test },
    { "reload", "[--dry]",
      "Reads the configuration again; answers when it is in force, or why "
      "not. --dry tells what it would do.",
      CONTROL_ADMIN, 1, on_reload },
    { "stop", "[TIME]", "Stops fast; with TIME: gracefully, that long at most.",
      CONTROL_ADMIN, 1, on_stop },
    { "quit", "[TIME]", "Stops gracefully; TIME instead of stop_drain.",
      CONTROL_ADMIN, 1, on_quit },
    { .words = NULL },
};
