/*
 * The starter's process.
 *
 * It waits for its role, for the master's end and for children.  The kernel
 * says nothing of a process that falls to it, so while anything runs it looks
 * twice a second.  A run is over when its program has ended and nothing else
 * is left that could be its; until then the program stays a zombie, so that
 * the number of its session is not used again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/starter_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pool.h"
#include "proc/ancestry.h"
#include "proc/descriptors.h"
#include "proc/offspring.h"
#include "proc/reach.h"

#define LOOK_MS 500
#define SOON_MS 5
#define LEFT_MS 1000 /* what cannot be killed so long is not waited for */
#define LOOKED_AT 256
#define END_MS 1500
#define EXCESS_MS 300 /* from SIGTERM to SIGKILL */
#define CGROUP_MS 300
#define CAPABILITIES \
    (1U << PRIVILEGE_SETUID | 1U << PRIVILEGE_SETGID | 1U << PRIVILEGE_KILL)

enum {
    TO_ROLE,
    TO_MASTER,
    TO_CHILDREN,
    FIXED,
    CALLS = FIXED + STARTER_RUNS,
    WAITS = CALLS + STARTER_RUNS
};
#define FIRST_FD (STDERR_FILENO + 1)
#define CGROUP_FD (FIRST_FD + FIXED)

struct run {
    pid_t pid;       /* 0: not in use */
    int report;      /* our end; -1: it was heard, or has ended */
    bool started;    /* it was heard that it executes the program */
    bool over;       /* the program has ended */
    bool reaped;     /* end is to be told, then the run is free */
    bool tell_start; /* is to be told */
    unsigned cgroup; /* its number; 0: it has none */
    int64_t over_ms; /* when that was seen */
    struct starter_bounds bounds;
    int64_t excess_ms; /* when it was told to end; 0: it was not */
    struct program_end end;
    char why[PROGRAM_WHY + 1];
    struct starter_calls calls;
};
#define NO_RUN                                   \
    {                                            \
        .report = -1, .calls = {.listener = -1 } \
    }

static struct {
    const struct starter_options *options;
    struct cgroup cgroup;
    struct run runs[STARTER_RUNS];
    bool strays; /* the last look met some */
    bool master; /* there is one to look at: else this is a test */
} self;

static void __attribute__((noreturn)) fail(void)
{
    _exit(EXIT_FAILURE);
}

/* ---- becoming it ---- */

static void
keep_descriptors(int socket)
{
    int role = fcntl(socket, F_DUPFD_CLOEXEC, 16);
    int master = fcntl(life_descriptor(), F_DUPFD_CLOEXEC, 16);
    int cgroup = fcntl(self.cgroup.folder, F_DUPFD_CLOEXEC, 16);

    if (role == -1 || dup2(role, FIRST_FD + TO_ROLE) == -1 ||
        (master != -1 && dup2(master, FIRST_FD + TO_MASTER) == -1) ||
        (cgroup != -1 && dup2(cgroup, CGROUP_FD) == -1)) {
        fail();
    }
    self.master = master != -1;
    self.cgroup.folder = cgroup == -1 ? -1 : CGROUP_FD;
    close(FIRST_FD + TO_CHILDREN);
    descriptors_close_from(CGROUP_FD + (cgroup == -1 ? 0 : 1));
}

static void
hear_of_children(void)
{
    sigset_t all, child;
    int fd;

    for (int number = 1; number < NSIG; number++) {
        signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL);
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd == -1 || (fd != FIRST_FD + TO_CHILDREN &&
                     dup2(fd, FIRST_FD + TO_CHILDREN) == -1)) {
        fail();
    }
}

/* Its capabilities are those that it kept. */
static int
enter_sandbox(const struct sandbox *programs, const struct rights *rights,
              struct errmsg *err)
{
    struct sandbox own = *programs;

    own.kind = SANDBOX_STARTER;
    own.capabilities = false;
    own.rights = rights;
    return sandbox_enter(&own, err);
}

/* The starter looks for what it and its programs need while it may look
 * everywhere. */
static int
drop_privileges(const struct starter_options *o, struct errmsg *err)
{
    const struct privilege_ids users[] = { o->role, o->program };
    struct rights rights = { .fork = true };
    struct pool *pool = pool_new(1024);
    int rc = -1;

    starter_rights(&rights, o->sandbox->rights, &self.cgroup, pool);
    reach_hold(&rights, users, sizeof(users) / sizeof(users[0]));
    if (privilege_keep(&o->role, CAPABILITIES, err) == 0) {
        rc = enter_sandbox(o->sandbox, &rights, err);
    }
    rights_clear(&rights);
    pool_free(&pool);
    return rc;
}

static void
discard(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
become_starter(const struct starter_options *o, const struct cgroup *cgroup,
               int socket)
{
    struct errmsg err;

    log_set_sink(discard, NULL); /* the log's ring is the role's */
    if (o->name != NULL) {
        title_set("weir starter: %s", o->name);
    }
    self.cgroup = *cgroup;
    keep_descriptors(socket);
    hear_of_children();
    starter_oom_open();
    if (ancestry_adopt(&err) == -1 || drop_privileges(o, &err) == -1 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1) {
        fail();
    }
    self.options = o;
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        self.runs[i] = (struct run)NO_RUN;
    }
}

/* ---- telling ---- */

static bool
send_report(enum starter_tells tells, uint32_t number, struct run *run)
{
    struct starter_report report = { tells, number, run->end };
    struct buf out;
    bool sent;

    buf_init(&out, STARTER_REPORT);
    report.end.why = run->why;
    if (tells == STARTER_STARTED) {
        report.end.status = (int)run->pid;
    } else if (tells == STARTER_CALLED) {
        report.end.status = run->calls.told.numbers[run->calls.said];
    }
    starter_report_write(&report, &out);
    sent = send(FIRST_FD + TO_ROLE, buf_data(&out), buf_len(&out),
                MSG_DONTWAIT | MSG_NOSIGNAL) != -1;
    buf_clear(&out);
    return sent;
}

/* A message that the role has no room for is sent later. */
static void
tell(uint32_t number)
{
    struct run *run = &self.runs[number];

    if (run->tell_start) {
        if (!send_report(STARTER_STARTED, number, run)) {
            return;
        }
        run->tell_start = false;
    }
    for (; run->calls.said < run->calls.told.count; run->calls.said++) {
        if (!send_report(STARTER_CALLED, number, run)) {
            return;
        }
    }
    if (run->reaped &&
        send_report(run->started ? STARTER_ENDED : STARTER_FAILED, number,
                    run)) {
        *run = (struct run)NO_RUN;
    }
}

/* ---- starting ---- */

static void
fork_program(struct run *run, const struct starter_request *r, const int *fds)
{
    const struct cgroup_limits limits = starter_bounds_cgroup(r);
    int ends[2], join;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        fail();
    }
    *run = (struct run)NO_RUN;
    run->report = ends[0];
    run->bounds.most = r->bounds;
    run->cgroup = cgroup_begin(&self.cgroup, &limits, &join);
    starter_oom_first(true);
    run->pid = fork();
    if (run->pid == 0) {
        cgroup_join(&self.cgroup, join);
        starter_execute(self.options, r, fds, ends[1]);
    }
    starter_oom_first(false);
    if (run->pid == -1) {
        struct errmsg err;

        errmsg_sys(&err, "cannot fork");
        str_copy(run->why, sizeof(run->why), str_from(err.text));
        close(ends[0]);
        run->report = -1;
        run->reaped = true;
        cgroup_remove(&self.cgroup, run->cgroup);
    }
    if (join != -1) {
        close(join);
    }
    close(ends[1]);
}

/* The end of a process that has not executed its program comes with words. */
static void
hear_report(struct run *run)
{
    ssize_t n = starter_calls_report(run->report, &run->calls, run->why,
                                     sizeof(run->why) - 1);

    if (n == -1 && errno == EAGAIN) {
        return;
    }
    run->why[n > 0 ? n : 0] = '\0';
    run->started = run->tell_start = n == 0;
    close(run->report);
    run->report = -1;
}

static void
signal_run(const struct run *run, int number)
{
    if (run->pid > 0 && !run->reaped && kill(-run->pid, number) == -1) {
        kill(run->pid, number); /* it has no session yet */
    }
}

static void
act_on(const struct starter_request *r, const int *fds)
{
    struct run *run = &self.runs[r->run];

    if (r->asks == STARTER_SIGNAL) {
        signal_run(run, r->number);
    } else if (run->pid == 0) {
        fork_program(run, r, fds);
    } else {
        fail(); /* the role has lost its mind: all ends */
    }
}

/* false: there is none, or the role is gone. */
static bool
take_request(bool *gone)
{
    static char bytes[STARTER_MESSAGE];
    static struct starter_request r;
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(PROGRAM_FILES * sizeof(int))];
    struct iovec part = { bytes, sizeof(bytes) };
    struct msghdr m = { .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
    int fds[PROGRAM_FILES];
    ssize_t n =
        recvmsg(FIRST_FD + TO_ROLE, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n <= 0) {
        *gone = n == 0 || (errno != EAGAIN && errno != EINTR);
        return false;
    }
    size_t count = starter_descriptors(&m, fds);

    if ((m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
        !starter_wire_read(&r, str_of(bytes, (size_t)n), self.options, count)) {
        fail();
    }
    act_on(&r, fds);
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
    return true;
}

/* ---- ending ---- */

static struct run *
run_of(pid_t pid)
{
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        if (self.runs[i].pid == pid && !self.runs[i].reaped) {
            return &self.runs[i];
        }
    }
    return NULL;
}

static void
see_end(struct run *run)
{
    siginfo_t info = { .si_pid = 0 };

    if (run->pid <= 0 || run->over || run->reaped ||
        waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
            -1 ||
        info.si_pid == 0) {
        return;
    }
    run->over = true;
    run->over_ms = clock_ms();
    if (run->end.excess == PROGRAM_IN_BOUNDS &&
        cgroup_ran_out(&self.cgroup, run->cgroup)) {
        run->end.excess = PROGRAM_MEMORY;
    }
    kill(-run->pid, SIGKILL);
    cgroup_kill(&self.cgroup, run->cgroup);
}

/* The program may know how to end all that it has started at once. */
static void
see_excess(struct run *run)
{
    int64_t now = clock_ms();

    if (run->pid <= 0 || run->over || run->reaped) {
        return;
    }
    if (run->excess_ms != 0) {
        if (now - run->excess_ms >= EXCESS_MS) {
            signal_run(run, SIGKILL);
        }
        return;
    }
    run->end.excess =
        starter_bounds_look(&run->bounds, run->pid, &self.options->program);
    if (run->end.excess != PROGRAM_IN_BOUNDS) {
        run->excess_ms = now;
        kill(run->pid, SIGTERM);
        cgroup_kill(&self.cgroup, run->cgroup);
    }
}

/* A child that is no program.  In the session of one that runs it may stay.
 * false: nobody is there who has to go. */
static bool
end_stray(pid_t pid)
{
    const struct run *owner = run_of(getsid(pid));

    if (owner == NULL || owner->over) {
        kill(pid, SIGKILL);
    }
    return waitpid(pid, NULL, WNOHANG) == pid || owner == NULL || owner->over;
}

static void
end_strays(void)
{
    pid_t pids[LOOKED_AT];
    size_t count = offspring_list(pids, LOOKED_AT);

    self.strays = count == LOOKED_AT;
    for (size_t i = 0; i < count; i++) {
        if (run_of(pids[i]) == NULL && end_stray(pids[i])) {
            self.strays = true;
        }
    }
}

/* Nothing is left of the run but the zombie. */
static void
reap(struct run *run)
{
    struct rusage usage;

    if (run->report != -1) {
        hear_report(run);
    }
    if (run->report != -1) { /* another fork has its other end, yet */
        close(run->report);
        run->report = -1;
        run->started = true;
    }
    starter_calls_close(&run->calls);
    if (wait4(run->pid, &run->end.status, 0, &usage) == -1) {
        fail();
    }
    starter_bounds_end(&run->end, &usage);
    run->reaped = true;
}

/* Or it is not waited for: the cgroup of a process that cannot be killed stays
 * until the starter ends. */
static bool
nothing_is_left(const struct run *run)
{
    if (!self.strays && cgroup_remove(&self.cgroup, run->cgroup)) {
        return true;
    }
    cgroup_kill(&self.cgroup, run->cgroup);
    return clock_ms() - run->over_ms >= LEFT_MS;
}

static void
look(void)
{
    for (uint32_t i = 0; i < STARTER_RUNS; i++) {
        see_end(&self.runs[i]);
        see_excess(&self.runs[i]);
    }
    end_strays();
    for (uint32_t i = 0; i < STARTER_RUNS; i++) {
        struct run *run = &self.runs[i];

        if (run->over && !run->reaped && nothing_is_left(run)) {
            reap(run);
        }
        tell(i);
    }
}

/* The role or the master is gone. */
static void __attribute__((noreturn)) end_all(void)
{
    int64_t until = clock_ms() + END_MS;
    bool left = true;

    while (left && clock_ms() < until) {
        pid_t pids[LOOKED_AT];
        size_t count = offspring_list(pids, LOOKED_AT);

        for (uint32_t i = 0; i < STARTER_RUNS; i++) {
            signal_run(&self.runs[i], SIGKILL);
        }
        for (size_t i = 0; i < count; i++) {
            kill(pids[i], SIGKILL);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        left = waitpid(-1, NULL, WNOHANG) == 0;
        poll(NULL, 0, left ? SOON_MS : 0);
    }
    cgroup_end(&self.cgroup, CGROUP_MS);
    _exit(EXIT_SUCCESS);
}

/* ---- waiting ---- */

static int
how_long(void)
{
    bool runs = false, ends = self.strays;

    for (size_t i = 0; i < STARTER_RUNS; i++) {
        const struct run *run = &self.runs[i];

        runs |= run->pid > 0;
        ends |= (run->over || run->excess_ms != 0) && !run->reaped;
    }
    if (ends) {
        return SOON_MS;
    }
    return runs ? LOOK_MS : -1;
}

/* Returns how much is waited for.  Reports have the places from FIXED on, one a
 * run, and listeners those behind them; poll() passes over those of -1. */
static nfds_t
fill(struct pollfd *p)
{
    bool unsaid = false;

    for (size_t i = 0; i < STARTER_RUNS; i++) {
        const struct run *run = &self.runs[i];

        unsaid |= run->tell_start || run->reaped ||
                  run->calls.said < run->calls.told.count;
        p[FIXED + i] = (struct pollfd){ run->report, POLLIN, 0 };
        p[CALLS + i] =
            (struct pollfd){ starter_calls_wait(&run->calls), POLLIN, 0 };
    }
    for (int i = 0; i < FIXED; i++) {
        p[i] = (struct pollfd){ FIRST_FD + i, POLLIN, 0 };
    }
    p[TO_ROLE].events |= unsaid ? POLLOUT : 0;
    p[TO_MASTER].fd = self.master ? p[TO_MASTER].fd : -1;
    return WAITS;
}

static void
hear(const struct pollfd *p)
{
    struct signalfd_siginfo ignored;
    bool gone = false;

    while (p[TO_CHILDREN].revents != 0 &&
           read(FIRST_FD + TO_CHILDREN, &ignored, sizeof(ignored)) > 0) {
    }
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        if (p[FIXED + i].revents != 0 && self.runs[i].report != -1) {
            hear_report(&self.runs[i]);
        }
        if (p[CALLS + i].revents != 0 && self.runs[i].calls.listener != -1) {
            starter_calls_hear(&self.runs[i].calls, self.runs[i].pid,
                               p[CALLS + i].revents);
        }
    }
    for (int i = 0; i < STARTER_RUNS && take_request(&gone); i++) {
    }
    if (gone || (p[TO_MASTER].revents & POLLHUP) != 0) {
        end_all();
    }
}

void
starter_serve(const struct starter_options *o, const struct cgroup *cgroup,
              int socket)
{
    struct pollfd waits[WAITS];

    become_starter(o, cgroup, socket);
    for (;;) {
        nfds_t count = fill(waits);

        if (poll(waits, count, how_long()) == -1 && errno != EINTR) {
            fail();
        }
        hear(waits);
        look();
    }
}
