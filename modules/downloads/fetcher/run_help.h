/*
 * A fetcher of a test, whose engine is a shell script, and what a run of it
 * has told.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_RUN_HELP_H
#define MODULES_DOWNLOADS_FETCHER_RUN_HELP_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/task.h"
#include "fetcher/engine.h"
#include "fetcher/proxy_link.h"
#include "fetcher/queue.h"
#include "proc/starter.h"

#define PATIENCE 120000 /* ms; an idle machine needs a few */

/* Goes to the folder and becomes the engine. */
static const char supervisor[] =
    "#!/bin/sh\n"
    "while [ \"$1\" != -- ]; do\n"
    "  [ \"$1\" = --writes ] && cd /proc/self/fd/$2\n"
    "  shift\n"
    "done\n"
    "shift\n"
    "exec \"$@\"\n";

/* Does what the address says. */
static const char engine[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\")\n"
    "for word; do [ \"$word\" = --version ] && echo 1.2.3; done\n"
    "case $word in\n"
    "*/good) echo 'B|'; printf 12345 > media.mp4\n"
    "  echo 'P|{\"status\":\"downloading\",\"downloaded_bytes\":1,"
    "\"total_bytes\":4,\"filename\":\"media.mp4\"}'\n"
    "  echo 'W|'; echo \"F|$PWD/media.mp4\" ;;\n"
    "*/fail) printf 1 > media.mp4; echo \"ERROR: no, $PWD/.weir/7/x\" >&2\n"
    "  exit 1 ;;\n"
    "*/nothing) printf 1 > media.mp4.part; printf 1 > .hidden ;;\n"
    "*/image) printf 1 > media.jpg; printf 12 > media.mp4.part\n"
    "  printf 123 > media.txt ;;\n"
    "*/lies) mkdir media.mp4; echo 'F|media.mp4' ;;\n"
    "*/list) echo 'B|3'; while :; do sleep 0.1; done ;;\n"
    "*/killed) kill -9 $$ ;;\n"
    "*/wait) trap 'echo ERROR: interrupted >&2; exit 1' INT; echo 'B|'\n"
    "  while :; do sleep 0.1; done ;;\n"
    "*/environment) env > media.txt; echo \"$*\" >> media.txt\n"
    "  echo 'F|media.txt' ;;\n"
    "*/film) echo '{\"webpage_url\":\"http://h/film\",\"id\":\"f\"}' ;;\n"
    "*/long) cat \"$here/long.json\" ;;\n"
    "*/none) echo null; echo ERROR: none >&2; exit 1 ;;\n"
    "esac\n";

static struct {
    char folder[64];
    struct fetcher f;
    struct queue q;
    struct entry_facts facts;
    struct entry e;
    bool ended, progressed;
    bool gone, may_be_gone; /* the starter */
    struct run *run;
    struct run_result result;
    struct run_progress last;
    char msg[1200], file[256], name[256], statuses[256];
    const struct extracted *found;
    int blocked[2]; /* a pipe: its thread reads */
} t;

/* ---- a fetcher ---- */

static void
write_file(const char *name, const char *text, size_t len, mode_t mode)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", t.folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

static struct str
path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ & 3];

    snprintf(path, PATH_MAX, "%s/%s", t.folder, name);
    return str_from(path);
}

static void
on_gone(void *arg)
{
    (void)arg;
    t.gone = true;
}

static void
make_starter(void)
{
    static const struct sandbox none = { .kind = SANDBOX_PROGRAM };
    static const struct str root = { "/", 1 };
    struct str program = path_of("supervisor");
    struct starter_options o = { .programs = &program,
                                 .program_count = 1,
                                 .folders = &root,
                                 .folder_count = 1,
                                 .sandbox = &none };
    struct errmsg err;

    assert_int_equal(privilege_ids(STR_NONE, STR_NONE, &o.role, &err), 0);
    assert_int_equal(privilege_program(STR_NONE, &o.program, &err), 0);
    t.f.starter = starter_new(&o, &err);
    assert_non_null(t.f.starter);
    t.f.loop = loop_new(&err);
    assert_int_equal(starter_open(t.f.starter, t.f.loop, on_gone, NULL, &err),
                     0);
}

static int
begin(void **state)
{
    struct errmsg err = { "" };

    (void)state;
    memset(&t, 0, sizeof(t));
    str_copy(t.folder, sizeof(t.folder), STR("/tmp/weir-run-test-XXXXXX"));
    assert_non_null(mkdtemp(t.folder));
    assert_int_equal(chmod(t.folder, 0755), 0);
    write_file("supervisor", supervisor, sizeof(supervisor) - 1, 0755);
    write_file("engine", engine, sizeof(engine) - 1, 0755);
    make_starter();
    t.f.threads = task_threads_new(t.f.loop, 1, 16, &err);
    t.f.proxy = proxy_new(t.f.loop, &err);
    assert_non_null(t.f.proxy);
    t.q.fetcher = &t.f;
    t.q.plan.name = STR("main");
    t.q.plan.engine = STR("yt-dlp");
    t.q.plan.engine_path = path_of("engine");
    t.q.plan.ffmpeg_path = STR_NONE;
    t.q.place = place_new(t.f.loop, t.f.threads, path_of("downloads"), &err);
    assert_string_equal(err.text, "");
    t.e.queue = &t.q;
    t.e.number = 7;
    t.e.facts = &t.facts;
    t.facts.name = STR("My Feed/A name.");
    t.facts.format = STR("any");
    return 0;
}

static int
finish(void **state)
{
    char command[200];

    (void)state;
    assert_int_equal(t.gone, t.may_be_gone);
    fetch_engine_free(&t.q.engine);
    place_free(&t.q.place);
    proxy_free(&t.f.proxy);
    task_threads_free(&t.f.threads);
    starter_free(&t.f.starter);
    loop_free(&t.f.loop);
    assert_true(wait(NULL) > 0); /* the starter */
    assert_int_equal(wait(NULL), -1);
    snprintf(command, sizeof(command), "rm -rf %s", t.folder);
    return system(command);
}

#define WAIT_FOR(what)                        \
    do {                                      \
        int64_t end_ = clock_ms() + PATIENCE; \
                                              \
        while (!(what)) {                     \
            assert_true(clock_ms() < end_);   \
            loop_turn(t.f.loop, 20);          \
        }                                     \
    } while (0)

/* ---- downloads ---- */

static void
on_progress(void *arg, const struct run_progress *p)
{
    size_t n = strlen(t.statuses);

    assert_ptr_equal(arg, &t);
    assert_false(t.ended);
    t.progressed = true;
    t.last = *p;
    str_copy(t.name, sizeof(t.name), p->name);
    snprintf(t.statuses + n, sizeof(t.statuses) - n, "%s ",
             entry_status_name(p->status));
}

static void
on_end(void *arg, const struct run_result *r)
{
    assert_ptr_equal(arg, &t);
    assert_false(t.ended);
    t.ended = true;
    t.result = *r;
    str_copy(t.msg, sizeof(t.msg), r->msg);
    str_copy(t.file, sizeof(t.file), r->file);
}

static void
start(const char *url)
{
    static const struct run_handlers handlers = { on_progress, on_end };
    struct errmsg err = { "" };
    bool later;

    t.facts.url = t.facts.fetch = str_from(url);
    t.facts.quality = STR("best");
    t.run = run_start(&t.e, &handlers, &t, &later, &err);
    assert_string_equal(err.text, "");
}

static void
run_to_end(const char *url)
{
    start(url);
    WAIT_FOR(t.ended);
}

#endif
