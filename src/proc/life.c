/*
 * Forking with a slot, noticing the master's death, becoming a daemon.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/life.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/crash_dump.h"
#include "proc/descriptors.h"
#include "proc/metric.h"
#include "proc/shared.h"
#include "proc/slot.h"

static struct {
    int read_end, write_end; /* -1: closed */
    pid_t master;
    struct loop *loop; /* borrowed; of life_watch() */
    struct io io;
    struct later gone;
    void (*on_master_gone)(void *arg);
    void *arg;
} life = { .read_end = -1, .write_end = -1 };

static void
close_end(int *fd)
{
    if (*fd != -1) {
        descriptors_close(*fd);
        *fd = -1;
    }
}

int
life_create(struct errmsg *err)
{
    int ends[2];

    assert(life.read_end == -1);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) {
        return errmsg_sys(err, "cannot make the life pipe");
    }
    life.read_end = ends[0];
    descriptors_keep(life.read_end);
    life.write_end = ends[1];
    life.master = getpid();
    io_init(&life.io);
    return 0;
}

void
life_destroy(void)
{
    if (life.loop != NULL) {
        io_stop(life.loop, &life.io);
        later_cancel(&life.gone);
        life.loop = NULL;
    }
    close_end(&life.read_end);
    close_end(&life.write_end);
}

int
life_descriptor(void)
{
    return life.read_end;
}

static void
tell(struct later *later)
{
    (void)later;
    io_stop(life.loop, &life.io);
    life.on_master_gone(life.arg);
}

static void
on_ready(struct io *io, unsigned ready)
{
    (void)ready;
    io_stop(life.loop, io); /* it stays readable for ever */
    loop_later(life.loop, &life.gone);
}

int
life_watch(struct loop *l, void (*on_master_gone)(void *arg), void *arg,
           struct errmsg *err)
{
    assert(life.read_end != -1 && life.loop == NULL);
    life.on_master_gone = on_master_gone;
    life.arg = arg;
    later_init(&life.gone, tell);
    if (io_start(l, &life.io, life.read_end, IO_READ, on_ready) == -1) {
        return errmsg_sys(err, "cannot watch the life pipe");
    }
    life.loop = l;
    /* The second line, for a pipe that somebody else holds open. */
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != life.master) {
        loop_later(l, &life.gone);
    }
    return 0;
}

static void
reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++) {
        if (number != SIGPIPE) { /* stays ignored, see loop_new() */
            signal(number, SIG_DFL);
        }
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
become(uint32_t slot, const int *own, size_t count)
{
    struct errmsg err;

    slot_set_self(slot);
    metrics_set_self();
    if (shared_enter_child(&err) == -1) {
        log_alert("%s", err.text);
        _exit(EXIT_FAILURE);
    }
    descriptors_close_others(slot, own, count);
    life.write_end = -1;
    setpgid(0, 0);
    reset_signals();
    crash_dump_listen(slot);
}

pid_t
life_fork(uint32_t slot, const int *own, size_t count)
{
    sigset_t all, old;
    pid_t pid;

    fflush(NULL); /* or parent and child write it */
    /* The child must not run a handler of its parent's. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    pid = fork();
    if (pid == 0) {
        become(slot, own, count);
        return 0;
    }
    if (pid > 0) {
        slot_set_pid(slot, pid);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return pid;
}

/* Standard input, output and error become /dev/null. */
static int
lose_stdio(struct errmsg *err)
{
    int fd = open("/dev/null", O_RDWR);

    if (fd == -1) {
        return errmsg_sys(err, "cannot open /dev/null");
    }
    for (int i = 0; i <= STDERR_FILENO; i++) {
        if (dup2(fd, i) == -1) {
            return errmsg_sys(err, "cannot turn descriptor %d to /dev/null", i);
        }
    }
    if (fd > STDERR_FILENO) {
        close(fd);
    }
    return 0;
}

int
daemonise(struct errmsg *err)
{
    fflush(NULL);
    pid_t pid = fork();

    if (pid == -1) {
        return errmsg_sys(err, "cannot become a daemon");
    }
    if (pid > 0) {
        _exit(0);
    }
    if (setsid() == -1 || chdir("/") == -1) {
        return errmsg_sys(err, "cannot become a daemon");
    }
    return lose_stdio(err);
}
