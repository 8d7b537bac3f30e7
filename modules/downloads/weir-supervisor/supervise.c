/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/reach.h"

#define BY_SIGNAL 128 /* as shells have it */
#define REAPED 256    /* processes in a turn */

/* The descriptors that are waited for while the engine runs. */
enum { FOR_SIGNALS, FOR_CALLS, WAITS };

/* ---- the engine's process ---- */

static void
reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL); /* Python leaves SIGINT ignored if it is */
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void __attribute__((noreturn))
execute(const struct supervise *s, pid_t supervisor, unsigned flags, int end)
{
    if (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
        getppid() == supervisor && supervise_nest() == 0 &&
        supervise_filter(flags, supervisor, end) == 0) {
        reset_signals();
        reach_execute((struct reach){ s->beside, s->argv[0] }, s->argv,
                      environ);
    }
    fprintf(stderr, "weir-supervisor: cannot execute %s: %s\n", s->argv[0],
            strerror(errno));
    _exit(SUPERVISE_CANNOT);
}

/* ---- waiting ---- */

/* Whether the engine has ended; it is left as a zombie, so that its number
 * stays its group's.  Others, which have lost their parents, are reaped. */
static bool
has_ended(pid_t engine)
{
    for (int i = 0; i < REAPED; i++) {
        siginfo_t child = { .si_pid = 0 };

        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == -1 ||
            child.si_pid == 0) {
            return false;
        }
        if (child.si_pid == engine) {
            return true;
        }
        waitpid(child.si_pid, NULL, 0);
    }
    raise(SIGCHLD); /* for the others, when what else came is heard */
    return false;
}

/* Those that are blocked, as a descriptor; the engine does not have it. */
static int
open_signals(void)
{
    sigset_t awaited;

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, NULL);
    signal(SIGCHLD, SIG_DFL); /* ignored, there were no zombies */
    return signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* SIGINT is for the engine.  true: SIGTERM came, and all of it ends. */
static bool
hear(int signals, pid_t engine)
{
    struct signalfd_siginfo heard;

    while (read(signals, &heard, sizeof(heard)) == sizeof(heard)) {
        if (heard.ssi_signo == SIGTERM) {
            return true;
        }
        if (heard.ssi_signo == SIGINT) {
            kill(-engine, SIGINT);
        }
    }
    return false;
}

static bool
has_excess(const struct supervise *s)
{
    const char *excess = supervise_measure(s);

    if (excess != NULL) {
        supervise_tell("excess %s", excess);
    }
    return excess != NULL;
}

/* One call at a time: signals come between them. */
static void
wait_for(const struct supervise *s, pid_t engine, int signals, int listener)
{
    struct sandbox_told told = { .count = 0 };
    struct pollfd waits[WAITS] = {
        [FOR_SIGNALS] = { signals, POLLIN, 0 },
        [FOR_CALLS] = { listener, POLLIN, 0 },
    };

    while (!has_ended(engine)) {
        poll(waits, WAITS, supervise_measure_wait());
        if (hear(signals, engine) || has_excess(s)) {
            return;
        }
        if (waits[FOR_CALLS].revents & POLLIN) {
            supervise_hear(s, listener, &told);
        } else if (waits[FOR_CALLS].revents != 0) {
            waits[FOR_CALLS].fd = -1; /* nobody is left that calls */
        }
    }
}

/* ---- the end ---- */

/* Apart from all others, -1 is whatever the engine has started, wherever it
 * hides.  Else what has left its group falls to the starter, which kills it
 * then. */
static int
end_all(pid_t engine, bool apart)
{
    int status = 0;

    kill(apart ? -1 : -engine, SIGKILL);
    while (waitpid(engine, &status, 0) == -1 && errno == EINTR) {
    }
    while (waitpid(-1, NULL, apart ? 0 : WNOHANG) > 0) {
    }
    return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status)
                               : WEXITSTATUS(status);
}

static int
run(const struct supervise *s, bool apart)
{
    unsigned flags = supervise_asks(s);
    pid_t engine, supervisor = getpid();
    int signals = open_signals(), ends[2];

    if (signals == -1 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        perror("weir-supervisor: cannot hear the engine");
        return SUPERVISE_FAILED;
    }
    engine = fork();
    if (engine == 0) {
        execute(s, supervisor, flags, ends[1]);
    }
    close(ends[1]);
    if (engine == -1) {
        perror("weir-supervisor: cannot fork");
        return SUPERVISE_FAILED;
    }
    setpgid(engine, engine); /* before a signal is handed on */
    wait_for(s, engine, signals, supervise_listener(ends[0]));
    return end_all(engine, apart);
}

/* ---- all of it ---- */

/* The way to the folder may be closed to this user, but not the folder: the
 * engine knows no path but ".". */
static int
enter(const struct supervise *s, struct errmsg *err)
{
    umask(S_IWGRP | S_IWOTH);
    if (s->folder == -1) {
        return 0;
    }
    if (fchdir(s->folder) == -1 || supervise_measure_open(s->folder) == -1) {
        return errmsg_sys(err, "cannot enter the folder of the run");
    }
    return setenv("HOME", ".", 1) == -1 || setenv("TMPDIR", ".", 1) == -1
               ? errmsg_sys(err, "cannot set the environment")
               : 0;
}

int
supervise(const struct supervise *s)
{
    struct errmsg err;
    bool apart = false;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1) {
        errmsg_sys(&err, "cannot become a subreaper");
    } else if (s->tells != 0 && supervise_tell_open(s->tells) == -1) {
        errmsg_sys(&err, "cannot tell facts");
    } else if (enter(s, &err) == 0 && supervise_confine(s, &apart, &err) == 0) {
        if (s->folder != -1) {
            close(s->folder);
        }
        return run(s, apart);
    }
    fprintf(stderr, "weir-supervisor: %s\n", err.text);
    return SUPERVISE_FAILED;
}
