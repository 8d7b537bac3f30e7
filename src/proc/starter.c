/*
 * The role's side of a starter.
 *
 * A request that the socket has no room for waits in its run.  There are
 * STARTER_RUNS of them at most, so nothing else bounds what waits.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/starter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/starter_impl.h"

#define BATCH 64 /* reports in one turn */
#define END_MS 2000
#define PROGRAM_NAME 32 /* bytes of it, for the log */

struct starter_run {
    struct starter *starter;
    uint32_t number;
    struct list unsent; /* in starter.unsent, while it is */
    struct buf message; /* the request, until it is sent */
    int files[PROGRAM_FILES];
    size_t file_count;
    uint64_t signals; /* bit n: signal n + 1 is to be sent */
    bool started, forgotten;
    char name[PROGRAM_NAME];
    void (*on_start)(void *arg, pid_t pid);
    void (*on_end)(void *arg, const struct program_end *end);
    void *arg;
};

struct starter {
    int socket;
    int handle; /* of the process; -1: the kernel makes none */
    bool gone;
    struct loop *loop; /* borrowed; NULL before starter_open() */
    struct io io;
    void (*on_gone)(void *arg);
    void *arg;
    struct list unsent;
    struct starter_run *runs[STARTER_RUNS];
};

static void
lose_files(struct starter_run *run)
{
    for (size_t i = 0; i < run->file_count; i++) {
        close(run->files[i]);
    }
    run->file_count = 0;
}

static void
free_run(struct starter_run *run)
{
    run->starter->runs[run->number] = NULL;
    list_remove(&run->unsent);
    lose_files(run);
    buf_clear(&run->message);
    mem_free(&run);
}

/* ---- asking ---- */

static ssize_t
send_packet(const struct starter *s, struct str bytes, const int *fds,
            size_t count)
{
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(PROGRAM_FILES * sizeof(int))];
    struct iovec part = { (void *)(uintptr_t)bytes.ptr, bytes.len };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

    if (count > 0) {
        memset(control, 0, sizeof(control));
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = (void *)control;

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    return sendmsg(s->socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* false: there is no room. */
static bool
send_start(struct starter_run *run)
{
    if (send_packet(run->starter, buf_str(&run->message), run->files,
                    run->file_count) == -1 &&
        (errno == EAGAIN || errno == ENOBUFS)) {
        return false;
    }
    list_remove(&run->unsent); /* another error is told by the end of file */
    lose_files(run);
    buf_clear(&run->message);
    return true;
}

static bool
send_signals(struct starter_run *run)
{
    struct starter_request r = { .asks = STARTER_SIGNAL, .run = run->number };
    struct buf out;
    struct errmsg err;
    bool room = true;

    for (int i = 0; i < 64 && run->signals != 0 && room; i++) {
        if ((run->signals >> i & 1) == 0) {
            continue;
        }
        r.number = i + 1;
        buf_init(&out, STARTER_MESSAGE);
        starter_wire_write(&r, &out, &err);
        room = send_packet(run->starter, buf_str(&out), NULL, 0) != -1 ||
               errno != EAGAIN;
        buf_clear(&out);
        run->signals &= room ? ~(1ULL << i) : UINT64_MAX;
    }
    return room;
}

static void
flush(struct starter *s)
{
    bool room = true;

    LIST_EACH (node, &s->unsent) {
        room = room && send_start(LIST_ITEM(node, struct starter_run, unsent));
    }
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        struct starter_run *run = s->runs[i];

        if (run != NULL && list_empty(&run->unsent)) {
            room = room && send_signals(run);
        }
    }
    io_want(s->loop, &s->io, room ? IO_READ : IO_READ | IO_WRITE);
}

/* ---- being told ---- */

static void
end_run(struct starter_run *run, const struct program_end *end)
{
    const struct starter_run was = *run;

    free_run(run);
    if (!was.forgotten) {
        was.on_end(was.arg, end);
    }
}

static void
on_gone(struct starter *s)
{
    struct program_end end = { .status = SIGKILL,
                               .why = "the starter has ended",
                               .lost = true };

    s->gone = true;
    io_stop(s->loop, &s->io);
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        if (s->runs[i] != NULL) {
            end.started = s->runs[i]->started;
            end_run(s->runs[i], &end);
        }
    }
    s->on_gone(s->arg);
}

static void
take(struct starter *s, const struct starter_report *r)
{
    struct starter_run *run = s->runs[r->run];

    if (run == NULL) {
        return;
    }
    if (r->tells == STARTER_STARTED) {
        run->started = true;
        if (run->on_start != NULL && !run->forgotten) {
            run->on_start(run->arg, r->end.status);
        }
        return;
    }
    if (r->tells == STARTER_CALLED) {
        sandbox_note(run->name, r->end.status);
        return;
    }
    end_run(run, &r->end);
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct starter *s = LIST_ITEM(io, struct starter, io);
    char bytes[STARTER_REPORT];
    struct starter_report r;

    (void)ready;
    for (int i = 0; i < BATCH; i++) {
        ssize_t n = recv(s->socket, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (n <= 0 || !starter_report_read(&r, str_of(bytes, (size_t)n))) {
            on_gone(s);
            return;
        }
        take(s, &r);
    }
    flush(s);
}

/* ---- its life ---- */

static int
handle_of(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

static void
make_cgroup(const struct starter_options *o, struct cgroup *cgroup)
{
    struct errmsg why;

    *cgroup = (struct cgroup){ .folder = -1 };
    if (!o->cgroups) {
        return;
    }
    if (cgroup_make(cgroup, &why) == -1) {
        log_info("runs are not in cgroups of their own: %s", why.text);
    } else if (cgroup->controllers[0] == '\0') {
        log_info("runs are in cgroups of their own, which have no "
                 "controllers: weir looks after their bounds alone");
    } else {
        log_info("runs are in cgroups of their own, bounded by %s",
                 cgroup->controllers);
    }
}

struct starter *
starter_new(const struct starter_options *o, struct errmsg *err)
{
    struct cgroup cgroup;
    int ends[2];
    pid_t pid;

    assert(o->folder_count > 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        errmsg_sys(err, "cannot make a socket for the starter");
        return NULL;
    }
    make_cgroup(o, &cgroup);
    fflush(NULL); /* or both write it */
    pid = fork();
    if (pid == 0) {
        starter_serve(o, &cgroup, ends[1]);
    }
    close(ends[1]);
    if (pid == -1) {
        errmsg_sys(err, "cannot fork the starter");
        cgroup_leave(&cgroup);
        close(ends[0]);
        return NULL;
    }
    cgroup_leave(&cgroup); /* and so the starter alone locks it */
    struct starter *s = mem_zero(sizeof(*s));

    s->socket = ends[0];
    s->handle = handle_of(pid);
    io_init(&s->io);
    list_init(&s->unsent);
    return s;
}

int
starter_open(struct starter *s, struct loop *l, void (*gone)(void *arg),
             void *arg, struct errmsg *err)
{
    s->on_gone = gone;
    s->arg = arg;
    if (io_start(l, &s->io, s->socket, IO_READ, on_ready) == -1) {
        return errmsg_sys(err, "cannot watch the starter");
    }
    s->loop = l;
    return 0;
}

static void
wait_for_end(const struct starter *s)
{
    struct pollfd p = { s->handle, POLLIN, 0 };

    if (s->handle == -1) { /* its end of the socket closes with it */
        p.fd = s->socket;
        shutdown(s->socket, SHUT_WR);
    }
    poll(&p, 1, END_MS);
}

void
starter_free(struct starter **s)
{
    struct starter *own = *s;

    if (own == NULL) {
        return;
    }
    *s = NULL;
    for (size_t i = 0; i < STARTER_RUNS; i++) {
        if (own->runs[i] != NULL) {
            free_run(own->runs[i]);
        }
    }
    if (own->loop != NULL) {
        io_stop(own->loop, &own->io);
    }
    shutdown(own->socket, SHUT_WR);
    wait_for_end(own);
    close(own->socket);
    if (own->handle != -1) {
        close(own->handle);
    }
    mem_free(&own);
}

/* ---- runs ---- */

static struct starter_run *
new_run(struct starter *s, const struct program *p)
{
    for (uint32_t i = 0; i < STARTER_RUNS; i++) {
        if (s->runs[i] == NULL) {
            struct starter_run *run = mem_zero(sizeof(*run));

            run->starter = s;
            run->number = i;
            run->on_start = p->on_start;
            run->on_end = p->on_end;
            run->arg = p->arg;
            str_copy(run->name, sizeof(run->name), str_from(p->arguments[0]));
            list_init(&run->unsent);
            buf_init(&run->message, STARTER_MESSAGE);
            s->runs[i] = run;
            return run;
        }
    }
    return NULL;
}

static int
copy_texts(const char **dst, const char *const *src, struct errmsg *err)
{
    size_t n = 0;

    for (; src[n] != NULL; n++) {
        if (n == PROGRAM_TEXTS) {
            return errmsg_set(err,
                              "a program has %d arguments at most, and as "
                              "many texts in its environment",
                              PROGRAM_TEXTS);
        }
        dst[n] = src[n];
    }
    return 0;
}

static int
write_request(struct starter_run *run, const struct program *p,
              struct errmsg *err)
{
    struct starter_request r = {
        .asks = STARTER_START,
        .run = run->number,
        .program = p->number,
        .folder = p->folder,
        .limits = p->limits,
        .bounds = p->bounds,
    };

    for (size_t i = 0; i < p->file_count; i++) {
        r.passed |= p->files[i] != -1 ? 1U << i : 0;
    }
    if (copy_texts(r.arguments, p->arguments, err) == -1 ||
        copy_texts(r.environment, p->environment, err) == -1) {
        return -1;
    }
    return starter_wire_write(&r, &run->message, err);
}

static void
take_files(struct starter_run *run, const struct program *p)
{
    for (size_t i = 0; i < p->file_count; i++) {
        if (p->files[i] == -1) {
            continue;
        }
        if (run != NULL) {
            run->files[run->file_count++] = p->files[i];
        } else {
            close(p->files[i]);
        }
    }
}

struct starter_run *
starter_run(struct starter *s, const struct program *p, struct errmsg *err)
{
    struct starter_run *run = s->gone ? NULL : new_run(s, p);

    assert(p->file_count <= PROGRAM_FILES);
    take_files(run, p);
    if (run == NULL) {
        if (s->gone) {
            errmsg_set(err, "the starter has ended");
        } else {
            errmsg_set(err, "%d programs run already", STARTER_RUNS);
        }
        return NULL;
    }
    if (write_request(run, p, err) == -1) {
        free_run(run);
        return NULL;
    }
    list_append(&s->unsent, &run->unsent);
    flush(s);
    return run;
}

void
starter_signal(struct starter_run *run, int number)
{
    assert(number >= 1 && number <= 64);
    run->signals |= 1ULL << (number - 1);
    flush(run->starter);
}

void
starter_forget(struct starter_run **run)
{
    struct starter_run *own = *run;

    *run = NULL;
    if (own == NULL) {
        return;
    }
    if (!list_empty(&own->unsent)) {
        free_run(own);
        return;
    }
    own->forgotten = true;
    starter_signal(own, SIGKILL);
}

bool
starter_is_gone(const struct starter *s)
{
    return s->gone;
}

size_t
starter_running(const struct starter *s)
{
    size_t n = 0;

    for (size_t i = 0; i < STARTER_RUNS; i++) {
        n += s->runs[i] != NULL;
    }
    return n;
}
