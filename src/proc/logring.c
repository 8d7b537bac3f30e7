/*
 * The way of log lines from all processes to the files of the master.
 *
 * A writer puts a line in the ring of its slot under a lock of its process,
 * and wakes the drain thread if that sleeps (a flag in shared memory, and a
 * futex on it).  The thread moves lines to a bounded buffer for each file and
 * writes those.  A pipe or terminal that takes nothing is passed over, so it
 * costs its own lines only; a disk that hangs holds up this thread, nobody
 * else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/logring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/ring.h"
#include "proc/shared.h"
#include "proc/slot.h"

#define PENDING_MAX 131072
#define PIPE_PIECE 4096 /* what a writable pipe takes without blocking */
#define SLEEP_MS 1000   /* in case a waker was killed before it woke us */
/* Lines are left to gather for so long: a writer that is busy wakes the thread
 * as often at most, and a ring has room for what comes meanwhile. */
#define GATHER_MS 4
#define STALLED_MS 50    /* until a stalled file is tried again */
#define STOP_MS 1000     /* most that logring_stop() waits for one */
#define REPORT_MS 1000   /* how often losses are told */
#define ROUND_LINES 4096 /* taken from one slot before the next one's turn */

/* At the front of the shared memory; one ring a slot follows. */
struct shared_head {
    _Alignas(4096) _Atomic uint32_t sleeping; /* the drain thread's futex */
};

/* What a slot has: LOGRING_SIZE bytes. */
struct slot_ring {
    _Atomic uint64_t dropped[LOGRING_FILES]; /* not yet told */
    struct ring ring;
};

#define RING_SIZE (LOGRING_SIZE - sizeof(struct slot_ring))

struct log_file {
    char *path; /* owned */
    int fd;     /* owned unless it is standard error or output */
    _Atomic bool regular;
    /* The thread's: */
    struct buf pending; /* PENDING_MAX, allocated by logring_open() */
    uint64_t lost;      /* lines, not yet told */
    int error;          /* errno of the last write; 0: it was fine */
    bool told;          /* that it cannot be written */
    bool stalled;
};

static struct {
    struct shared_head *memory; /* shared; NULL while not created */
    size_t size;
    int fd;
    struct log_file files[LOGRING_FILES];
    _Atomic unsigned count; /* of files */
    pthread_mutex_t lock;   /* writers of this process */
    bool forks_handled;
    pthread_t thread;
    sem_t started;      /* posted by the thread */
    pid_t thread_owner; /* the process that started it; 0: none */
    bool stuck;         /* the thread did not end: its memory stays */
    _Atomic bool stopping;
} logs = { .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static struct slot_ring *
ring_of(uint32_t slot)
{
    uint8_t *rings = (uint8_t *)(logs.memory + 1);

    return (struct slot_ring *)(void *)(rings + (size_t)slot * LOGRING_SIZE);
}

/* ---- writers ---- */

/* In a child.  Files are the master's alone: a copy of their descriptors
 * would hold on to the space of a log that was rotated away. */
static void
after_fork(void)
{
    pthread_mutex_init(&logs.lock, NULL); /* another thread may have held it */
    for (unsigned i = 0; i < logs.count; i++) {
        struct log_file *f = &logs.files[i];

        if (f->fd > STDERR_FILENO) {
            close(f->fd);
            f->fd = -1;
        }
    }
}

static void
wake_drain(void)
{
    _Atomic uint32_t *sleeping = &logs.memory->sleeping;

    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(sleeping, memory_order_relaxed) != 0 &&
        atomic_exchange(sleeping, 0) != 0) {
        syscall(SYS_futex, sleeping, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

void
logring_write(int file, const char *line, size_t len)
{
    if (logs.memory == NULL || file < 0 || file >= LOGRING_FILES) {
        return;
    }
    struct slot_ring *r = ring_of(slot_self());

    pthread_mutex_lock(&logs.lock);
    bool kept = ring_put(&r->ring, RING_SIZE, (uint32_t)file, line, len);

    pthread_mutex_unlock(&logs.lock);
    if (!kept) {
        atomic_fetch_add(&r->dropped[file], 1);
        atomic_fetch_add(&slot_at(slot_self())->log_dropped, 1);
    }
    wake_drain();
}

void
logring_sink(void *arg, const char *line, size_t len)
{
    (void)arg;
    logring_write(0, line, len);
}

/* ---- files ---- */

/* Standard error or output for their names; else -1. */
static int
standard_fd(const char *path)
{
    if (strcmp(path, "stderr") == 0) {
        return STDERR_FILENO;
    }
    return strcmp(path, "stdout") == 0 ? STDOUT_FILENO : -1;
}

static bool
is_regular(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int
open_path(const char *path, struct errmsg *err)
{
    int fd = open(
        path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
        0644);

    return fd != -1 ? fd : errmsg_sys(err, "cannot open log file %s", path);
}

static int
find_file(struct str path)
{
    for (unsigned i = 0; i < logs.count; i++) {
        if (str_eq(path, str_from(logs.files[i].path))) {
            return (int)i;
        }
    }
    return -1;
}

int
logring_open(struct str path, struct errmsg *err)
{
    int number = find_file(path);

    if (number != -1) {
        return number;
    }
    if (logs.count == LOGRING_FILES) {
        return errmsg_set(err, "cannot open log file %.*s: more than %d",
                          STR_ARGS(path), LOGRING_FILES);
    }
    struct log_file *f = &logs.files[logs.count];

    *f = (struct log_file){ .path = mem_dup(path.ptr, path.len) };
    f->fd = standard_fd(f->path);
    if (f->fd == -1) {
        f->fd = open_path(f->path, err);
    }
    if (f->fd == -1) {
        mem_free(&f->path);
        return -1;
    }
    f->regular = is_regular(f->fd);
    /* All of it now: the thread allocates nothing, so a fork never meets it
     * inside the allocator. */
    buf_init(&f->pending, PENDING_MAX);
    buf_reserve(&f->pending, PENDING_MAX);
    return (int)atomic_fetch_add(&logs.count, 1);
}

/* The descriptor keeps its number, so the thread need not be told. */
static int
reopen(struct log_file *f, struct errmsg *err)
{
    int fd, rc = 0;

    if (standard_fd(f->path) != -1) {
        return 0;
    }
    fd = open_path(f->path, err);
    if (fd == -1) {
        return -1;
    }
    if (dup3(fd, f->fd, O_CLOEXEC) == -1) {
        rc = errmsg_sys(err, "cannot open log file %s", f->path);
    }
    f->regular = is_regular(f->fd);
    close(fd);
    return rc;
}

int
logring_reopen(struct errmsg *err)
{
    struct errmsg one;
    int rc = 0;

    for (unsigned i = 0; i < logs.count; i++) {
        if (reopen(&logs.files[i], &one) == -1 && rc == 0) {
            *err = one; /* the first; the others are still tried */
            rc = -1;
        }
    }
    return rc;
}

/* ---- the thread ---- */

static size_t
count_lines(struct str s)
{
    size_t n = 0;

    for (size_t i = str_find(s, '\n', 0); i < s.len;
         i = str_find(s, '\n', i + 1)) {
        n++;
    }
    return n;
}

static bool
takes_bytes(const struct log_file *f)
{
    struct pollfd p = { .fd = f->fd, .events = POLLOUT };

    return f->regular || (poll(&p, 1, 0) == 1 && p.revents != 0);
}

/* Writes what is pending as far as the file takes it. */
static void
flush_file(struct log_file *f)
{
    size_t len;

    f->stalled = false;
    while ((len = buf_len(&f->pending)) > 0) {
        size_t piece = f->regular || len < PIPE_PIECE ? len : PIPE_PIECE;

        if (!takes_bytes(f)) {
            f->stalled = true;
            return;
        }
        ssize_t n = write(f->fd, buf_data(&f->pending), piece);

        if (n >= 0) {
            f->error = 0;
            buf_take(&f->pending, (size_t)n);
        } else if (errno == EAGAIN) {
            f->stalled = true;
            return;
        } else if (errno != EINTR) { /* full disk, closed pipe */
            f->error = errno;
            f->lost += count_lines(buf_str(&f->pending));
            buf_take(&f->pending, len);
        }
    }
}

static void
take_line(uint32_t slot, struct log_file *f, size_t len)
{
    struct ring *r = &ring_of(slot)->ring;

    if (buf_room(&f->pending) < len && !f->stalled) {
        flush_file(f);
    }
    uint8_t *dst = buf_reserve(&f->pending, len);

    ring_take(r, RING_SIZE, dst, len);
    if (dst != NULL) {
        buf_commit(&f->pending, len);
    } else {
        f->lost++;
        atomic_fetch_add(&slot_at(slot)->log_dropped, 1);
    }
}

/* Moves lines of one slot to the files; how many. */
static int
drain_ring(uint32_t slot)
{
    struct slot_ring *r = ring_of(slot);
    uint32_t file;
    size_t len;
    int lines = 0, rc;

    /* Bounded, so that one that writes all the time is not the only one. */
    while (lines < ROUND_LINES &&
           (rc = ring_first(&r->ring, RING_SIZE, &file, &len)) != 0) {
        lines++;
        if (rc == -1) {
            logs.files[0].lost++;
        } else if (file < logs.count) {
            take_line(slot, &logs.files[file], len);
        } else {
            ring_take(&r->ring, RING_SIZE, NULL, len);
        }
    }
    for (unsigned i = 0; i < logs.count; i++) {
        if (atomic_load_explicit(&r->dropped[i], memory_order_relaxed) != 0) {
            logs.files[i].lost += atomic_exchange(&r->dropped[i], 0);
        }
    }
    return lines;
}

/* The most lines that a ring had. */
static int
drain_all(void)
{
    int most = 0;

    for (uint32_t i = 0; i < slots_count(); i++) {
        int lines = drain_ring(i);

        most = lines > most ? lines : most;
    }
    return most;
}

/* Whether any of them takes nothing now. */
static bool
flush_all(void)
{
    bool stalled = false;

    for (unsigned i = 0; i < logs.count; i++) {
        flush_file(&logs.files[i]);
        stalled |= logs.files[i].stalled;
    }
    return stalled;
}

/* A file that cannot be written is told about once, and what it lost when it
 * can be written again.  Whether there was something to tell. */
static bool
report_file(struct log_file *f)
{
    bool fails = f->error != 0, told = f->told;

    f->told = fails;
    if (fails && !told) {
        log_error("cannot write log file %s: %s", f->path, strerror(f->error));
        return true;
    }
    if (fails || f->stalled || f->lost == 0) {
        return false;
    }
    log_warn("%llu log lines were dropped (%s)", (unsigned long long)f->lost,
             f->path);
    f->lost = 0;
    return true;
}

/* Says what is wrong: through the log itself, so in its format, and not
 * before the error log takes lines again.  Whether it said something. */
static bool
report_losses(int64_t *next_ms)
{
    bool said = false;

    if (clock_ms() < *next_ms || logs.count == 0 || logs.files[0].stalled ||
        logs.files[0].error != 0) {
        return false;
    }
    for (unsigned i = 0; i < logs.count; i++) {
        said |= report_file(&logs.files[i]);
    }
    if (said) {
        *next_ms = clock_ms() + REPORT_MS;
    }
    return said;
}

static void
sleep_until_woken(int64_t ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    _Atomic uint32_t *sleeping = &logs.memory->sleeping;

    atomic_store(sleeping, 1);
    /* With the flag up, who writes now wakes us; who wrote before is seen. */
    if (!logs.stopping && drain_all() == 0) {
        syscall(SYS_futex, sleeping, FUTEX_WAIT, 1, &t, NULL, 0);
    }
    atomic_store(sleeping, 0);
}

static void *
run_thread(void *arg)
{
    int64_t next_report = 0, give_up = 0;

    (void)arg;
    sem_post(&logs.started);
    for (;;) {
        bool stopping = logs.stopping;
        int lines = drain_all();
        bool stalled = flush_all();
        bool moved = lines > 0;

        if (stopping && give_up == 0) {
            give_up = clock_ms() + STOP_MS;
            next_report = 0;
        }
        moved |= report_losses(&next_report);
        if (stopping && clock_ms() >= give_up) {
            break;
        }
        if (stopping && stalled) {
            poll(NULL, 0, 10);
        } else if (stopping && !moved) {
            break;
        } else if (!moved) {
            sleep_until_woken(stalled ? STALLED_MS : SLEEP_MS);
        } else if (lines < ROUND_LINES && !stopping) {
            poll(NULL, 0, GATHER_MS);
        }
    }
    return NULL;
}

/* ---- life ---- */

int
logring_create(struct errmsg *err)
{
    assert(logs.memory == NULL && slots_count() > 0);
    logs.size = sizeof(*logs.memory) + (size_t)slots_count() * LOGRING_SIZE;
    logs.memory = shared_create("weir logs", logs.size, &logs.fd, err);
    if (logs.memory == NULL) {
        return -1;
    }
    if (!logs.forks_handled) {
        pthread_atfork(NULL, NULL, after_fork);
        logs.forks_handled = true;
    }
    return 0;
}

int
logring_start(struct errmsg *err)
{
    sigset_t all, old;

    assert(logs.memory != NULL && logs.thread_owner == 0);
    logs.stopping = false;
    sem_init(&logs.started, 0, 0);
    sigfillset(&all); /* signals are for the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    errno = pthread_create(&logs.thread, NULL, run_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (errno != 0) {
        return errmsg_sys(err, "cannot start the log thread");
    }
    logs.thread_owner = getpid();
    /* A fork must not meet the thread in the midst of being set up, where it
     * holds locks of the C library and of sanitizers. */
    while (sem_wait(&logs.started) == -1) {
    }
    return 0;
}

void
logring_stop(void)
{
    struct timespec until;

    if (logs.thread_owner == 0 || logs.thread_owner != getpid()) {
        return;
    }
    logs.stopping = true;
    wake_drain();
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += STOP_MS / 1000 + 1;
    logs.stuck =
        pthread_clockjoin_np(logs.thread, NULL, CLOCK_MONOTONIC, &until) != 0;
    logs.thread_owner = 0;
}

void
logring_destroy(void)
{
    if (logs.memory == NULL || logs.stuck) {
        return;
    }
    for (unsigned i = 0; i < logs.count; i++) {
        struct log_file *f = &logs.files[i];

        if (standard_fd(f->path) == -1) {
            close(f->fd);
        }
        mem_free(&f->path);
        buf_clear(&f->pending);
    }
    logs.count = 0;
    shared_destroy(logs.memory, logs.size, &logs.fd);
    logs.memory = NULL;
}
