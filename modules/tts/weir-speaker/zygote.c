/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "child.h"
#include "data_files.h"
#include "proc/descriptors.h"
#include "request.h"
#include "synth.h"

#define RETRY_MS 10        /* after the first child that ended at once */
#define RETRY_MOST_MS 1000 /* after many of them */

struct offspring {
    pid_t pid;
    bool busy;  /* it has a request */
    bool ended; /* and was waited for */
};

struct zygote {
    const struct zygote_options *options;
    unsigned rate; /* Hz of the library's samples */
    int signals;   /* signalfd: a child has ended */
    int taken[2];  /* pipe: children write their numbers */
    bool drains;   /* no more children */
    bool deaf;     /* the control socket is closed */
    struct offspring children[ZYGOTE_CHILDREN];
    size_t count;
    unsigned wasted;    /* children that ended without a request, since the last
                           request */
    int64_t not_before; /* clock_ms(): fork no child earlier; 0: at any time */
};

static struct zygote zygote;

/* ---- children ---- */

static struct offspring *
find(struct zygote *z, int64_t pid)
{
    for (size_t i = 0; i < z->count; i++) {
        if (z->children[i].pid == pid && !z->children[i].ended) {
            return &z->children[i];
        }
    }
    return NULL;
}

static size_t
idle_count(const struct zygote *z)
{
    size_t n = 0;

    for (size_t i = 0; i < z->count; i++) {
        n += !z->children[i].busy;
    }
    return n;
}

/* In the child: what it has of the zygote's and does not need is closed. */
static void __attribute__((noreturn)) become_child(struct zygote *z, pid_t self)
{
    struct child_options o = {
        .zygote = self,
        .taken = z->taken[1],
        .rate = z->rate,
        .memory = z->options->memory,
        .cpu = z->options->cpu,
    };

    close(SPEECH_CONTROL);
    close(z->signals);
    close(z->taken[0]);
    child_run(&o);
}

static void
wait_before_next(struct zygote *z)
{
    unsigned steps = z->wasted < 8 ? z->wasted : 8;
    int64_t wait = (int64_t)RETRY_MS << steps;

    z->not_before = clock_ms() + (wait < RETRY_MOST_MS ? wait : RETRY_MOST_MS);
}

static void
fork_child(struct zygote *z)
{
    pid_t self = getpid(), pid = fork();

    if (pid == 0) {
        become_child(z, self);
    }
    if (pid == -1) {
        z->wasted++;
        wait_before_next(z);
        return;
    }
    z->children[z->count++] = (struct offspring){ .pid = pid };
}

/* Of a zygote that drains: a request that was sent before. */
static bool
request_waits(void)
{
    char byte;

    return recv(SPEECH_WORK, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static bool
needs_child(const struct zygote *z)
{
    size_t idle = idle_count(z);

    return z->drains ? idle == 0 && request_waits()
                     : idle < (size_t)z->options->pool;
}

static void
refill(struct zygote *z)
{
    if (z->not_before != 0 && clock_ms() < z->not_before) {
        return;
    }
    z->not_before = 0;
    while (z->not_before == 0 && z->count < ZYGOTE_CHILDREN && needs_child(z)) {
        fork_child(z);
    }
}

/* Children that have ended.  Their numbers are free from now on, but nothing
 * is forked before forget_ended(). */
static void
reap(struct zygote *z)
{
    struct signalfd_siginfo info;
    pid_t pid;

    while (read(z->signals, &info, sizeof(info)) > 0) {
    }
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        struct offspring *c = find(z, pid);

        if (c != NULL) {
            c->ended = true;
        }
    }
}

/* A child writes before it ends, so that an ended one is found here, too. */
static void
read_taken(struct zygote *z)
{
    int32_t pids[256];
    ssize_t n = read(z->taken[0], pids, sizeof(pids));

    for (ssize_t i = 0; i < n / (ssize_t)sizeof(pids[0]); i++) {
        for (size_t k = 0; k < z->count; k++) {
            z->children[k].busy |= z->children[k].pid == pids[i];
        }
        z->wasted = 0;
        z->not_before = 0;
    }
}

static void
forget_ended(struct zygote *z)
{
    size_t kept = 0;
    unsigned wasted = 0;

    for (size_t i = 0; i < z->count; i++) {
        if (!z->children[i].ended) {
            z->children[kept++] = z->children[i];
        } else if (!z->children[i].busy) {
            wasted++;
        }
    }
    z->count = kept;
    z->wasted += wasted;
    if (wasted > 0 && z->wasted > 2 * (unsigned)z->options->pool) {
        wait_before_next(z);
    }
}

/* ---- the control socket ---- */

static void
say(const char *word, const char *rest)
{
    char text[SPEECH_CONTROL_MAX];
    int n = snprintf(text, sizeof(text), "%s %s", word, rest);

    n = n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
    send(SPEECH_CONTROL, text, (size_t)n, MSG_NOSIGNAL);
}

static void
kill_child(struct zygote *z, struct str number)
{
    int64_t pid;

    if (str_to_int(number, 1, INT32_MAX, &pid) && find(z, pid) != NULL) {
        kill((pid_t)pid, SIGKILL);
    }
}

static void
drain(struct zygote *z)
{
    if (!z->drains) {
        z->drains = true;
        /* Children that wait find it out; requests that were sent are taken. */
        shutdown(SPEECH_WORK, SHUT_RD);
    }
}

static void
obey(struct zygote *z, struct str order)
{
    struct str word = str_cut(&order, ' ');

    if (str_eq(word, STR("kill"))) {
        kill_child(z, order);
    } else if (str_eq(word, STR("voice")) && order.len > 0 &&
               order.len <= SPEECH_FILE_MAX) {
        synth_warm(order);
    } else if (str_eq(word, STR("end"))) {
        drain(z);
    }
}

static void
read_control(struct zygote *z)
{
    char text[SPEECH_CONTROL_MAX];
    ssize_t n = recv(SPEECH_CONTROL, text, sizeof(text), MSG_DONTWAIT);

    if (n > 0) {
        obey(z, str_of(text, (size_t)n));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        z->deaf = true;
        drain(z);
    }
}

/* ---- its life ---- */

static int
until_refill(const struct zygote *z)
{
    int64_t wait = z->not_before - clock_ms();

    if (z->not_before == 0) {
        return -1;
    }
    return wait > 0 ? (int)wait : 0;
}

static void
turn(struct zygote *z)
{
    struct pollfd wait[] = {
        { .fd = z->deaf ? -1 : SPEECH_CONTROL, .events = POLLIN },
        { .fd = z->drains ? -1 : SPEECH_WORK, .events = POLLRDHUP },
        { .fd = z->taken[0], .events = POLLIN },
        { .fd = z->signals, .events = POLLIN },
    };

    if (poll(wait, sizeof(wait) / sizeof(wait[0]), until_refill(z)) == -1) {
        return;
    }
    if (wait[3].revents != 0) {
        reap(z);
    }
    if (wait[2].revents != 0 || wait[3].revents != 0) {
        read_taken(z);
    }
    forget_ended(z);
    if (wait[1].revents != 0) {
        drain(z);
    }
    if (wait[0].revents != 0) {
        read_control(z);
    }
    refill(z);
}

static void
make_inert(void)
{
    clearenv();
    setenv("HOME", "/nonexistent", 1);
}

static int
open_all(struct zygote *z, struct errmsg *err)
{
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    /* The thread that the library starts gets no signals either. */
    sigprocmask(SIG_BLOCK, &child, NULL);
    signal(SIGPIPE, SIG_IGN);
    z->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (z->signals == -1 || pipe2(z->taken, O_CLOEXEC | O_NONBLOCK) == -1) {
        return errmsg_sys(err, "cannot watch children");
    }
    return 0;
}

static int
start(struct zygote *z, struct errmsg *err)
{
    const struct zygote_options *o = z->options;

    /* A directory may be one that was passed, "/proc/self/fd/5". */
    if (data_files_open(o->directories, o->count, err) == -1) {
        return -1;
    }
    descriptors_close_range(SPEECH_WORK + 1, DATA_FIRST - 1);
    descriptors_close_from(DATA_FIRST + (unsigned)o->count);
    make_inert();
    if (open_all(z, err) == -1) {
        return -1;
    }
    return synth_init(err);
}

int
zygote_run(const struct zygote_options *o)
{
    struct zygote *z = &zygote;
    struct errmsg err = { "" };
    char rate[16];
    int hz;

    z->options = o;
    hz = start(z, &err);
    if (hz == -1) {
        say("failed", err.text);
        fprintf(stderr, "weir-speaker: %s\n", err.text);
        return EXIT_FAILURE;
    }
    z->rate = (unsigned)hz;
    refill(z);
    snprintf(rate, sizeof(rate), "%d", hz);
    say("ready", rate);
    while (!z->drains || z->count > 0) {
        turn(z);
    }
    return EXIT_SUCCESS;
}
