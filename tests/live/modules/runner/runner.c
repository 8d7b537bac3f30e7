/*
 * A role that runs a script by a shell, for tests: its output goes to the log,
 * and the role kills it when it asks for that.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "app/module.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "proc/rights.h"
#include "proc/starter.h"

#define PATH_ROOM 512

extern const struct module runner_module;

struct runner_settings {
    struct str script, folder;
    struct str python; /* "": none */
};

struct root {
    struct runner_settings runner;
};

static const struct conf_key runner_keys[] = {
    ROW(runner_settings, script, CONF_STRING, .preset = "",
        .help = "A file; empty: the role has no programs."),
    ROW(runner_settings, folder, CONF_STRING, .preset = "",
        .help = "It may write there."),
    ROW(runner_settings, python, CONF_STRING, .preset = "", .help = "A path."),
    CONF_END,
};

static const struct conf_key root_keys[] = {
    ROW_AS("runner", root, runner, CONF_GROUP, .keys = runner_keys,
           .size = sizeof(struct runner_settings), .preset = "",
           .help = "Runs a script, for tests."),
    CONF_END,
};

struct runner {
    const struct runner_settings *settings;
    struct starter *starter;
    struct starter_run *run; /* NULL: it is over */
    struct loop *loop;
    struct timer soon; /* start() is over by then */
    struct io io;
    int output;
    char text[4096]; /* the line that is not whole yet */
    size_t len;
};

/* ---- a run ---- */

static void
take_lines(struct runner *r)
{
    char *end;

    while ((end = memchr(r->text, '\n', r->len)) != NULL) {
        *end = '\0';
        log_notice("runner: %s", r->text);
        if (strcmp(r->text, "kill me") == 0 && r->run != NULL) {
            starter_signal(r->run, SIGKILL);
        }
        r->len -= (size_t)(end + 1 - r->text);
        memmove(r->text, end + 1, r->len);
    }
}

static void
on_output(struct io *io, unsigned ready)
{
    struct runner *r = LIST_ITEM(io, struct runner, io);
    ssize_t n = read(r->output, r->text + r->len, sizeof(r->text) - r->len);

    (void)ready;
    if (n > 0) {
        r->len += (size_t)n;
        take_lines(r);
    } else if (n == 0 || errno != EAGAIN) {
        io_stop(r->loop, io);
    }
}

static void
on_end(void *arg, const struct program_end *end)
{
    struct runner *r = arg;

    r->run = NULL;
    log_notice("runner: ended with %d %s", end->status, end->why);
}

static void
on_soon(struct timer *t)
{
    struct runner *r = LIST_ITEM(t, struct runner, soon);
    static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    char script[PATH_ROOM], python[PATH_ROOM], folder[PATH_ROOM];
    const char *const arguments[] = { "sh", script, python, folder, NULL };
    struct errmsg err;
    int ends[2];

    str_copy(script, sizeof(script), r->settings->script);
    str_copy(python, sizeof(python), r->settings->python);
    str_copy(folder, sizeof(folder), r->settings->folder);
    if (pipe2(ends, O_CLOEXEC) == -1 ||
        fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1) {
        log_alert("runner: no pipe");
        return;
    }
    const int files[] = { -1, ends[1], -1 };
    const struct program p = { .folder = 1,
                               .arguments = arguments,
                               .environment = environment,
                               .files = files,
                               .file_count = 3,
                               .on_end = on_end,
                               .arg = r };

    r->output = ends[0];
    io_start(r->loop, &r->io, ends[0], IO_READ, on_output);
    r->run = starter_run(r->starter, &p, &err);
    if (r->run == NULL) {
        log_alert("runner: %s", err.text);
    }
}

/* ---- the role ---- */

static const struct runner_settings *
settings(const void *root)
{
    return &((const struct root *)root)->runner;
}

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    struct runner *r = mem_zero(sizeof(*r));

    (void)err;
    r->settings = settings(p->settings);
    r->starter = p->starter;
    r->loop = p->loop;
    r->output = -1;
    io_init(&r->io);
    timer_init(&r->soon, on_soon);
    if (r->starter != NULL) {
        timer_set(p->loop, &r->soon, 1);
    } else {
        log_notice("runner: no starter");
    }
    *state = r;
    return 0;
}

static void
stop(void *state)
{
    struct runner *r = state;

    starter_forget(&r->run);
    timer_stop(r->loop, &r->soon);
    io_stop(r->loop, &r->io);
    if (r->output != -1) {
        close(r->output);
    }
    mem_free(&r);
}

static void
may(const void *root, struct rights *r)
{
    const struct runner_settings *s = settings(root);

    if (s->script.len == 0) {
        return;
    }
    rights_execute(r, STR("/bin/sh"));
    rights_execute(r, STR("/usr/bin/sleep"));
    rights_execute(r, STR("/usr/bin/setsid"));
    rights_execute(r, STR("/usr/bin/id"));
    rights_execute(r, STR("/usr/bin/cat"));
    if (s->python.len > 0) {
        rights_execute(r, s->python);
    }
    rights_read(r, s->script);
    rights_read(r, STR("/etc/passwd"));
    rights_write(r, s->folder);
}

static const struct role roles[] = {
    { .name = "runner", .count = 1, .start = start, .stop = stop, .may = may },
    { .name = NULL },
};

const struct module runner_module = {
    .name = "runner",
    .about = "runs a script, for tests",
    .root = { .keys = root_keys, .size = sizeof(struct root) },
    .roles = roles,
};
