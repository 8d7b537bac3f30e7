/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "fetcher/fetcher.h"
#include "fetcher/room.h"
#include "proc/reach.h"
#include "proc/sandbox.h"
#include "proc/starter.h"

#define PIECE 16384    /* bytes that are read at once */
#define REST (1 << 20) /* bytes that are read behind its end, at most */
#define FOLDER_FD 3    /* of the run, in the program */
#define BESIDE_FD 4    /* of the engine's folder */
#define TELLS_FD 5     /* of the supervisor alone */
#define FILES 6
/* name --writes N --port N --beside N --tells N --max-files N
 * --max-bytes N -- PATH */
#define SUPERVISOR_WORDS 15

#define NICE 5     /* streams come first */
#define THREADS 16 /* of a process */

/* Pipes of a run: two of the engine, and one that it does not have. */
enum { FROM_ENGINE, ERRORS, FACTS, PIPES };

struct process_pipe {
    struct io io;
    struct fetch_process *process;
    int fd; /* owned; -1: closed */
};

struct fetch_process {
    struct fetch_process_options o; /* without what was borrowed */
    struct loop *loop;              /* borrowed */
    struct starter_run *run;
    struct process_pipe pipes[PIPES];
    struct line_reader facts;
    enum fetch_excess excess;
    struct sandbox_told told; /* calls of the engine */
    struct room room;
    struct timer grace;
    struct later destroy;
    bool interrupted;
};

/* ---- pipes ---- */

static void
close_pipe(struct process_pipe *p)
{
    if (p->fd != -1) {
        io_stop(p->process->loop, &p->io);
        close(p->fd);
        p->fd = -1;
    }
}

static void
on_fact(void *arg, struct str line)
{
    struct fetch_process *p = arg;
    struct str what = str_cut(&line, ' ');
    int64_t number, bytes;

    if (str_eq(what, STR("excess")) && p->excess == EXCESS_NONE) {
        p->excess = fetch_excess_of(line);
    } else if (str_eq(what, STR("call")) &&
               str_to_int(line, 0, INT32_MAX, &number) &&
               sandbox_tells(&p->told, (int)number)) {
        sandbox_note("an engine of downloads", (int)number);
    } else if (str_eq(what, STR("bytes")) &&
               str_to_int(line, 0, INT64_MAX, &bytes)) {
        p->room.bytes = bytes;
    }
}

static void
hand_on(struct process_pipe *pipe, struct str bytes)
{
    struct fetch_process *p = pipe->process;

    if (pipe == &p->pipes[FACTS]) {
        line_reader_take(&p->facts, bytes, on_fact, p);
    } else {
        p->o.on_output(p->o.arg, bytes, pipe == &p->pipes[ERRORS]);
    }
}

/* Bytes that were read; 0: there are none now, or never again. */
static size_t
read_piece(struct process_pipe *p)
{
    char piece[PIECE];
    ssize_t n = p->fd == -1 ? -1 : read(p->fd, piece, sizeof(piece));

    if (n == 0) {
        close_pipe(p);
    }
    if (n <= 0) {
        return 0;
    }
    hand_on(p, str_of(piece, (size_t)n));
    return (size_t)n;
}

static void
on_ready(struct io *io, unsigned ready)
{
    (void)ready;
    read_piece(LIST_ITEM(io, struct process_pipe, io));
}

/* Those that wrote are gone; somebody who left the run may still have a pipe:
 * that is why there is a bound. */
static void
read_rest(struct process_pipe *p)
{
    size_t sum = 0, n;

    while (sum < REST && (n = read_piece(p)) > 0) {
        sum += n;
    }
    close_pipe(p);
}

/* *theirs is the end for the program. */
static int
open_pipe(struct fetch_process *p, int i, int *theirs, struct errmsg *err)
{
    struct process_pipe *own = &p->pipes[i];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1) {
        return errmsg_sys(err, "cannot make a pipe for the engine");
    }
    own->fd = ends[0];
    *theirs = ends[1];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1 ||
        io_start(p->loop, &own->io, own->fd, IO_READ, on_ready) == -1) {
        return errmsg_sys(err, "cannot watch a pipe of the engine");
    }
    return 0;
}

/* ---- its end ---- */

static void
destroy(struct later *later)
{
    struct fetch_process *p = LIST_ITEM(later, struct fetch_process, destroy);

    mem_free(&p);
}

static void
discard(struct fetch_process *p)
{
    for (int i = 0; i < PIPES; i++) {
        close_pipe(&p->pipes[i]);
    }
    line_reader_clear(&p->facts);
    room_stop(&p->room);
    timer_stop(p->loop, &p->grace);
    loop_later(p->loop, &p->destroy);
}

static enum fetch_excess
excess_of_program(enum program_excess excess)
{
    switch (excess) {
    case PROGRAM_MEMORY:
        return EXCESS_MEMORY;
    case PROGRAM_PROCESSES:
        return EXCESS_PROCESSES;
    case PROGRAM_CPU:
        return EXCESS_CPU;
    case PROGRAM_IN_BOUNDS:
    case PROGRAM_EXCESSES:
        break;
    }
    return EXCESS_NONE;
}

static void
on_run_end(void *arg, const struct program_end *end)
{
    struct fetch_process *p = arg;
    struct fetch_process_end told = { .started = end->started,
                                      .status =
                                          WIFSIGNALED(end->status)
                                              ? 128 + WTERMSIG(end->status)
                                              : WEXITSTATUS(end->status),
                                      .why = end->why,
                                      .lost = end->lost };

    p->run = NULL;
    for (int i = 0; i < PIPES; i++) {
        read_rest(&p->pipes[i]);
    }
    told.excess =
        p->excess != EXCESS_NONE ? p->excess : excess_of_program(end->excess);
    discard(p);
    p->o.on_end(p->o.arg, &told);
}

static void
on_grace_over(struct timer *t)
{
    fetch_process_kill(LIST_ITEM(t, struct fetch_process, grace));
}

void
fetch_process_interrupt(struct fetch_process *p)
{
    if (!p->interrupted && p->run != NULL) {
        p->interrupted = true;
        starter_signal(p->run, SIGINT);
        timer_set(p->loop, &p->grace, RUN_GRACE_MS);
    }
}

void
fetch_process_kill(struct fetch_process *p)
{
    if (p->run != NULL) {
        starter_signal(p->run, SIGKILL);
    }
}

void
fetch_process_forget(struct fetch_process **process)
{
    struct fetch_process *p = *process;

    *process = NULL;
    if (p != NULL) {
        starter_forget(&p->run);
        discard(p);
    }
}

static void
on_full(struct room *room)
{
    struct fetch_process *p = LIST_ITEM(room, struct fetch_process, room);

    p->excess = p->excess == EXCESS_NONE ? EXCESS_MIN_FREE : p->excess;
    fetch_process_kill(p);
}

/* ---- its beginning ---- */

static size_t
add_word(const char **words, size_t n, const char *word)
{
    words[n] = word;
    return n + 1;
}

struct numbers { /* as arguments */
    char port[16], files[24], bytes[24];
};

static void
write_numbers(const struct fetch_process_options *o, struct numbers *to)
{
    snprintf(to->port, sizeof(to->port), "%u",
             o->pass != NULL ? (unsigned)proxy_port(o->fetcher->proxy) : 0);
    snprintf(to->files, sizeof(to->files), "%lld",
             (long long)o->plan->max_files);
    snprintf(to->bytes, sizeof(to->bytes), "%lld",
             (long long)o->plan->max_bytes);
}

static size_t
add_bound(const char **words, size_t n, const char *name, const char *value)
{
    if (strcmp(value, "0") != 0) {
        n = add_word(words, n, name);
        n = add_word(words, n, value);
    }
    return n;
}

static void
fill_arguments(const struct fetch_process_options *o,
               const struct numbers *numbers, const struct reach *program,
               const char **words)
{
    size_t n = add_word(words, 0, "weir-supervisor");

    if (o->folder != -1) {
        n = add_word(words, n, "--writes");
        n = add_word(words, n, "3"); /* FOLDER_FD */
    }
    if (o->pass != NULL) {
        n = add_word(words, n, "--port");
        n = add_word(words, n, numbers->port);
    }
    if (program->at != AT_FDCWD) {
        n = add_word(words, n, "--beside");
        n = add_word(words, n, "4"); /* BESIDE_FD */
    }
    n = add_word(words, n, "--tells");
    n = add_word(words, n, "5"); /* TELLS_FD */
    n = add_bound(words, n, "--max-files", numbers->files);
    n = add_bound(words, n, "--max-bytes", numbers->bytes);
    n = add_word(words, n, "--");
    n = add_word(words, n, program->path);
    for (size_t i = 0; i < o->line->count; i++) {
        n = add_word(words, n, o->line->argv[i]);
    }
    words[n] = NULL;
}

/* Nothing of weir's own environment. */
static void
fill_environment(struct pool *pool, const struct proxy_pass *pass,
                 const char **words)
{
    static const char *const fixed[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "HOME=.",
        "TMPDIR=.",
        "LANG=C.UTF-8",
        "LC_ALL=C.UTF-8",
        "PYTHONDONTWRITEBYTECODE=1",
        "no_proxy=",
        "NO_PROXY=",
    };
    static const char *const proxies[] = {
        "http_proxy", "https_proxy", "ftp_proxy", "all_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY",
    };
    size_t n = 0;

    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        n = add_word(words, n, fixed[i]);
    }
    for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]) && pass != NULL;
         i++) {
        struct str word =
            pool_printf(pool, "%s=%s", proxies[i], proxy_pass_url(pass));

        n = add_word(words, n, word.ptr);
    }
    words[n] = NULL;
}

/* All of them; starter_run() takes them when it is reached. */
static void
close_files(const int *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (files[i] != -1) {
            close(files[i]);
        }
    }
}

/* The folder of a program that its user reaches by a descriptor alone. */
static int
hold_beside(const struct reach *way, int *files, struct errmsg *err)
{
    if (way->at == AT_FDCWD) {
        return 0;
    }
    files[BESIDE_FD] = fcntl(way->at, F_DUPFD_CLOEXEC, 0);
    return files[BESIDE_FD] == -1
               ? errmsg_sys(err, "cannot open the folder of the engine")
               : 0;
}

/* Threads that the user of programs may have, whatever runs: a bound of last
 * resort. */
static int64_t
threads_of_all(const struct downloads_instance *plan)
{
    return (plan->max_concurrent + 2 * plan->max_extractions) *
           plan->max_processes * THREADS;
}

/* The supervisor is a process of the run, too. */
static int64_t
processes_of_one(const struct downloads_instance *plan)
{
    return plan->max_processes > 0 ? plan->max_processes + 1 : 0;
}

static int
run_program(struct fetch_process *p, const struct fetch_process_options *o,
            int *files, struct errmsg *err)
{
    const char *words[SUPERVISOR_WORDS + PROGRAM_ARGUMENTS + 1];
    const char *environment[24];
    struct pool *pool = pool_new(1024);
    struct reach way = reach_of(pool_cstr(pool, o->program));
    struct program program = {
        .number = PROGRAM_SUPERVISOR,
        .arguments = words,
        .environment = environment,
        .files = files,
        .file_count = FILES,
        .limits = { .file_size = o->plan->max_file_size,
                    .processes = threads_of_all(o->plan),
                    .nice = NICE },
        .bounds = { .memory = o->plan->max_memory,
                    .processes = processes_of_one(o->plan),
                    .cpu_ms = o->plan->max_cpu },
        .on_end = on_run_end,
        .arg = p,
    };
    struct numbers numbers;

    write_numbers(o, &numbers);
    fill_arguments(o, &numbers, &way, words);
    fill_environment(pool, o->pass, environment);
    if (hold_beside(&way, files, err) == -1) {
        close_files(files, FILES);
    } else {
        p->run = starter_run(o->fetcher->starter, &program, err);
    }
    pool_free(&pool);
    return p->run == NULL ? -1 : 0;
}

static struct fetch_process *
process_new(const struct fetch_process_options *o)
{
    struct fetch_process *p = mem_zero(sizeof(*p));

    p->o = *o;
    p->loop = o->fetcher->loop;
    timer_init(&p->grace, on_grace_over);
    later_init(&p->destroy, destroy);
    line_reader_init(&p->facts);
    for (int i = 0; i < PIPES; i++) {
        io_init(&p->pipes[i].io);
        p->pipes[i].process = p;
        p->pipes[i].fd = -1;
    }
    return p;
}

struct fetch_process *
fetch_process_start(const struct fetch_process_options *o, struct errmsg *err)
{
    struct fetch_process *p = process_new(o);
    int files[FILES] = { -1, -1, -1, o->folder, -1, -1 };

    if (o->line->full) {
        errmsg_set(err, "the engine has more than %d arguments",
                   PROGRAM_ARGUMENTS);
    } else if (open_pipe(p, FROM_ENGINE, &files[1], err) == 0 &&
               open_pipe(p, ERRORS, &files[2], err) == 0 &&
               open_pipe(p, FACTS, &files[TELLS_FD], err) == 0) {
        if (run_program(p, o, files, err) == 0) {
            if (o->place != NULL) {
                room_start(&p->room, p->loop, o->place, o->plan->min_free,
                           on_full);
            }
            return p;
        }
        discard(p);
        return NULL;
    }
    close_files(files, FILES);
    discard(p);
    return NULL;
}
