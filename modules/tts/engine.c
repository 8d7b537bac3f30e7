/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "proc/reach.h"
#include "proc/starter.h"
#include "request.h"

#define PROGRAM "weir-speaker"
#define NICE 10        /* media goes first */
#define START_MS 10000 /* until it is ready */
#define DIRECTORIES_MAX 16
#define FIRST_DIRECTORY 5 /* of those that are passed, its descriptor */
#define FILES (FIRST_DIRECTORY + DIRECTORIES_MAX)
#define ARGUMENTS (8 + DIRECTORIES_MAX)
#define NAME_BYTES 32 /* of "/proc/self/fd/N" */
#define KILLS 4096    /* orders that wait for the zygote */
#define KILL_MS 20    /* until they are tried again */
#define LEAVE_MS 1000 /* from a child's last word to its end */

struct engine {
    struct engine_options o;
    struct starter_run *run;
    int control, work; /* our ends; -1: closed */
    struct io io;      /* of control */
    struct timer late; /* it should be ready */
    pid_t pid;
    bool ready, closed;
    /* Of children that are to be killed, while the zygote takes no orders. */
    pid_t kills[KILLS];
    size_t kill_count;
    struct timer kill_again;
    struct list leaving;          /* struct leaving */
    char why[SPEECH_CONTROL_MAX]; /* it said "failed", or was aborted */
};

struct leaving { /* a child that has said its last word */
    struct list link;
    struct engine *engine;
    struct io io;
    struct timer late;
    pid_t child;
    int fd; /* owned: ends with the child */
};

/* ---- the program ---- */

struct str
engine_program(void)
{
    static char path[PATH_MAX];

    path_of_program(PROGRAM, path);
    return str_from(path);
}

int
engine_check_program(struct errmsg *err)
{
    struct str path = engine_program();
    struct reach way = reach_of(path.ptr);

    if (faccessat(way.at, way.path, X_OK, 0) == -1) {
        errmsg_sys(err,
                   "cannot execute %s: install " PROGRAM " there, or take "
                   "module tts out of weir.conf",
                   path.ptr);
        return -1;
    }
    return 0;
}

/* ---- orders ---- */

static int
send_order(const struct engine *e, const char *order)
{
    return send(e->control, order, strlen(order),
                MSG_DONTWAIT | MSG_NOSIGNAL) == -1
               ? -1
               : 0;
}

/* ---- its end ---- */

static void
free_leaving(struct leaving *c)
{
    io_stop(c->engine->o.loop, &c->io);
    timer_stop(c->engine->o.loop, &c->late);
    close(c->fd);
    list_remove(&c->link);
    mem_free(&c);
}

static void
close_sockets(struct engine *e)
{
    while (!list_empty(&e->leaving)) {
        free_leaving(LIST_ITEM(e->leaving.next, struct leaving, link));
    }
    io_stop(e->o.loop, &e->io);
    timer_stop(e->o.loop, &e->late);
    timer_stop(e->o.loop, &e->kill_again);
    if (e->control != -1) {
        close(e->control);
        close(e->work);
    }
    e->control = e->work = -1;
}

void
engine_discard(struct engine **engine)
{
    struct engine *e = *engine;

    if (e == NULL) {
        return;
    }
    *engine = NULL;
    close_sockets(e);
    if (e->run != NULL) {
        starter_forget(&e->run);
    }
    mem_free(&e);
}

static bool
take_failure(struct engine *e, struct str m)
{
    if (!str_starts(m, STR("failed "))) {
        return false;
    }
    str_escape(e->why, sizeof(e->why), str_skip(m, 7));
    return true;
}

/* The starter may tell its end before its reason was read here. */
static void
take_last_words(struct engine *e)
{
    char bytes[SPEECH_CONTROL_MAX];
    ssize_t n;

    while ((n = recv(e->control, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        take_failure(e, str_of(bytes, (size_t)n));
    }
}

static void
describe_end(struct engine *e, const struct program_end *end)
{
    if (!end->started) {
        snprintf(e->why, sizeof(e->why), "%s", end->why);
    } else if (WIFSIGNALED(end->status)) {
        snprintf(e->why, sizeof(e->why), "it was ended by signal %d",
                 WTERMSIG(end->status));
    } else {
        snprintf(e->why, sizeof(e->why), "it ended with status %d",
                 WEXITSTATUS(end->status));
    }
}

static void
on_end(void *arg, const struct program_end *end)
{
    struct engine *e = arg;

    e->run = NULL;
    take_last_words(e);
    if (e->why[0] == '\0' && !e->closed) {
        describe_end(e, end);
    }
    close_sockets(e);
    e->o.on_end(e->o.arg, e->why);
    mem_free(&e);
}

void
engine_abort(struct engine *e, const char *why)
{
    if (e->why[0] == '\0') {
        str_copy(e->why, sizeof(e->why), str_from(why));
    }
    starter_signal(e->run, SIGKILL);
}

void
engine_close(struct engine *e)
{
    if (e->closed) {
        return;
    }
    e->closed = true;
    if (send_order(e, "end") == -1) {
        engine_abort(e, "it takes no orders");
    }
}

/* ---- what it says ---- */

static void
on_late(struct timer *t)
{
    engine_abort(LIST_ITEM(t, struct engine, late), "it was not ready in time");
}

static void
take_message(struct engine *e, struct str m)
{
    int64_t rate;

    if (str_starts(m, STR("ready ")) &&
        str_to_int(str_skip(m, 6), 1000, 192000, &rate)) {
        timer_stop(e->o.loop, &e->late);
        if (!e->ready) {
            e->ready = true;
            e->o.on_ready(e->o.arg, rate);
        }
    } else if (!take_failure(e, m)) {
        engine_abort(e, "it said what makes no sense");
    }
}

static void
on_control(struct io *io, unsigned ready)
{
    struct engine *e = LIST_ITEM(io, struct engine, io);
    char bytes[SPEECH_CONTROL_MAX];
    ssize_t n = recv(e->control, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)ready;
    if (n > 0) {
        take_message(e, str_of(bytes, (size_t)n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        io_stop(e->o.loop, &e->io); /* on_end() follows */
    }
}

/* ---- killing ---- */

static int
send_kill(const struct engine *e, pid_t child)
{
    char order[32];

    snprintf(order, sizeof(order), "kill %d", (int)child);
    return send_order(e, order);
}

static void
on_kill_again(struct timer *t)
{
    struct engine *e = LIST_ITEM(t, struct engine, kill_again);

    while (e->kill_count > 0 &&
           send_kill(e, e->kills[e->kill_count - 1]) == 0) {
        e->kill_count--;
    }
    if (e->kill_count > 0) {
        timer_set(e->o.loop, t, KILL_MS);
    }
}

/* Many may go in one turn: more orders than the socket holds.  A child whose
 * order has no place here, either, finds its status socket closed. */
void
engine_kill(struct engine *e, pid_t child)
{
    if (e->kill_count == 0 && send_kill(e, child) == 0) {
        return;
    }
    if (e->kill_count < KILLS) {
        e->kills[e->kill_count++] = child;
    }
    if (!timer_is_set(&e->kill_again)) {
        timer_set(e->o.loop, &e->kill_again, KILL_MS);
    }
}

/* ---- children that leave ---- */

/* It has ended, or has said more than its last word. */
static void
on_left(struct io *io, unsigned ready)
{
    struct leaving *c = LIST_ITEM(io, struct leaving, io);
    char byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT);

    (void)ready;
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n > 0) {
        engine_kill(c->engine, c->child);
    }
    free_leaving(c);
}

static void
on_stays(struct timer *t)
{
    struct leaving *c = LIST_ITEM(t, struct leaving, late);

    log_limited(LOG_ERROR,
                "speech: child %d of weir-speaker does not end and is killed",
                (int)c->child);
    engine_kill(c->engine, c->child);
    free_leaving(c);
}

void
engine_see_out(struct engine *e, pid_t child, int status)
{
    struct leaving *c = mem_zero(sizeof(*c));

    c->engine = e;
    c->child = child;
    c->fd = status;
    io_init(&c->io);
    timer_init(&c->late, on_stays);
    list_append(&e->leaving, &c->link);
    if (e->control == -1 ||
        io_start(e->o.loop, &c->io, status, IO_READ, on_left) == -1) {
        free_leaving(c); /* it finds its socket closed */
        return;
    }
    timer_set(e->o.loop, &c->late, LEAVE_MS);
}

/* ---- starting ---- */

static void
on_start(void *arg, pid_t pid)
{
    struct engine *e = arg;

    e->pid = pid;
}

/* One to which the program has no way is passed to it as a descriptor. */
static const char *
directory(const char *path, char name[static NAME_BYTES], int *files,
          size_t *count)
{
    struct reach way = reach_of(path);
    int fd = way.at == AT_FDCWD
                 ? -1
                 : openat(way.at, way.path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1) {
        return path;
    }
    snprintf(name, NAME_BYTES, "/proc/self/fd/%zu", *count);
    files[(*count)++] = fd;
    return name;
}

static int
run_program(struct engine *e, const int *theirs, struct errmsg *err)
{
    static const char *const environment[] = { "LC_ALL=C.UTF-8", NULL };
    int files[FILES] = { -1, -1, -1, theirs[0], theirs[1] };
    char names[DIRECTORIES_MAX][NAME_BYTES];
    const struct engine_options *o = &e->o;
    const char *arguments[ARGUMENTS] = { PROGRAM, "--memory", NULL,
                                         "--cpu", NULL,       "--pool" };
    char numbers[3][24];
    struct program p = { .arguments = arguments,
                         .environment = environment,
                         .files = files,
                         .file_count = FIRST_DIRECTORY,
                         .limits = { .nice = NICE },
                         .on_start = on_start,
                         .on_end = on_end,
                         .arg = e };

    snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)o->memory);
    snprintf(numbers[1], sizeof(numbers[1]), "%lld", (long long)o->cpu);
    snprintf(numbers[2], sizeof(numbers[2]), "%lld", (long long)o->pool);
    arguments[2] = numbers[0];
    arguments[4] = numbers[1];
    arguments[6] = numbers[2];
    for (size_t i = 0; i < o->directory_count && i < DIRECTORIES_MAX; i++) {
        arguments[7 + i] =
            directory(o->directories[i].ptr, names[i], files, &p.file_count);
    }
    e->run = starter_run(o->starter, &p, err);
    return e->run == NULL ? -1 : 0;
}

static int
make_pair(int *ours, int *theirs, struct errmsg *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        return errmsg_sys(err, "cannot make a socket for " PROGRAM);
    }
    *ours = ends[0];
    *theirs = ends[1];
    return 0;
}

static int
make_sockets(struct engine *e, int *theirs, struct errmsg *err)
{
    if (make_pair(&e->control, &theirs[0], err) == -1) {
        return -1;
    }
    if (make_pair(&e->work, &theirs[1], err) == -1) {
        close(theirs[0]);
        close(e->control);
        e->control = -1;
        return -1;
    }
    return 0;
}

struct engine *
engine_start(const struct engine_options *o, struct errmsg *err)
{
    struct engine *e = mem_zero(sizeof(*e));
    int theirs[2] = { -1, -1 };

    e->o = *o;
    e->control = e->work = -1;
    list_init(&e->leaving);
    io_init(&e->io);
    timer_init(&e->late, on_late);
    timer_init(&e->kill_again, on_kill_again);
    if (make_sockets(e, theirs, err) == -1 ||
        run_program(e, theirs, err) == -1) {
        engine_discard(&e);
        return NULL;
    }
    if (io_start(o->loop, &e->io, e->control, IO_READ, on_control) == -1) {
        errmsg_sys(err, "cannot watch " PROGRAM);
        engine_discard(&e);
        return NULL;
    }
    timer_set(o->loop, &e->late, START_MS);
    if (o->warm.len > 0) {
        char order[SPEECH_CONTROL_MAX];

        snprintf(order, sizeof(order), "voice %.*s", STR_ARGS(o->warm));
        send_order(e, order);
    }
    return e;
}

/* ---- requests ---- */

bool
engine_is_ready(const struct engine *e)
{
    return e->ready && !e->closed && e->why[0] == '\0';
}

pid_t
engine_pid(const struct engine *e)
{
    return e->pid;
}

int
engine_send(struct engine *e, struct str packet, const int *fds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(SPEECH_FDS * sizeof(int))];
    struct iovec part = { (void *)(uintptr_t)packet.ptr, packet.len };
    struct msghdr m = { .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
    struct cmsghdr *c = (void *)control;

    memset(control, 0, sizeof(control));
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(SPEECH_FDS * sizeof(int));
    memcpy(CMSG_DATA(c), fds, SPEECH_FDS * sizeof(int));
    return sendmsg(e->work, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == -1 ? -1 : 0;
}
