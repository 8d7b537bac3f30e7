/*
 * The way of log lines from all processes to the files of the master.
 *
 * A writer puts a line in the ring of its slot under a lock of its process,
 * and wakes the drain thread if that sleeps (a flag in shared memory, and a
 * futex on it).  The master's own ring is not shared: what it says of others
 * is nobody else's to change.  The thread moves lines to a bounded buffer for
 * each file and writes those.  A pipe or terminal that takes nothing is passed
 * over, so it costs its own lines only; a disk that hangs holds up this thread,
 * nobody else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/log_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/metrics.h"
#include "proc/ring.h"
#include "proc/shared.h"
#include "proc/slot.h"

#define SLEEP_MS 1000 /* in case a waker was killed before it woke us */
/* Lines are left to gather for so long: a writer that is busy wakes the thread
 * as often at most, and a ring has room for what comes meanwhile. */
#define GATHER_MS 4
#define STALLED_MS 50    /* until a stalled file is tried again */
#define STOP_MS 1000     /* most that logring_stop() waits for one */
#define REPORT_MS 1000   /* between two reports of losses */
#define ROUND_LINES 4096 /* taken from one slot before the next one's turn */

/* At the front of the shared memory; a ring follows for each slot but the
 * master's. */
struct shared_head {
    _Alignas(4096) _Atomic uint32_t sleeping; /* the drain thread's futex */
};

/* The ring of a slot: LOGRING_SIZE bytes. */
struct slot_ring {
    _Atomic uint64_t dropped[LOGRING_FILES]; /* not yet told */
    struct ring ring;
};

#define RING_SIZE (LOGRING_SIZE - sizeof(struct slot_ring))

/* The master's, which no other process sees. */
static union {
    struct slot_ring ring;
    uint8_t room[LOGRING_SIZE];
} master_ring;

static struct {
    struct shared_head *memory; /* shared; NULL while not created */
    pthread_mutex_t lock;       /* writers of this process */
    bool forks_handled;
    pthread_t thread;
    sem_t started;      /* posted by the thread */
    sem_t ended;        /* and when it does nothing more */
    pid_t thread_owner; /* the process that started it; 0: none */
    bool stuck;         /* the thread did not end: its memory stays */
    _Atomic bool stopping;
} logs = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct slot_ring *
ring_of(uint32_t slot)
{
    uint8_t *rings = (uint8_t *)(logs.memory + 1);

    if (slot == 0) {
        return &master_ring.ring;
    }
    return (struct slot_ring *)(void *)(rings +
                                        (size_t)(slot - 1) * LOGRING_SIZE);
}

/* ---- writers ---- */

static void
after_fork(void)
{
    pthread_mutex_init(&logs.lock, NULL); /* another thread may have held it */
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
        metric_add_shared(&proc_metrics[PROC_LOG_DROPPED], 0, 1);
    }
    wake_drain();
}

void
logring_sink(void *arg, const char *line, size_t len)
{
    (void)arg;
    logring_write(0, line, len);
}

/* ---- the thread ---- */

/* One record is one line, whatever a process wrote there. */
static void
make_one_line(uint8_t *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f) {
            line[i] = '?';
        }
    }
    if (len > 0) {
        line[len - 1] = '\n';
    }
}

static void
take_line(uint32_t slot, struct log_file *f, size_t len)
{
    struct ring *r = &ring_of(slot)->ring;

    if (buf_room(&f->pending) < len && !f->stalled) {
        log_file_flush(f);
    }
    uint8_t *dst = buf_reserve(&f->pending, len);

    ring_take(r, RING_SIZE, dst, len);
    if (dst != NULL) {
        make_one_line(dst, len);
        buf_commit(&f->pending, len);
    } else {
        f->lost++;
        atomic_fetch_add(&slot_at(slot)->log_dropped, 1);
        metric_add_shared(&proc_metrics[PROC_LOG_DROPPED], 0, 1);
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
            log_files.at[0].lost++;
        } else if (file < log_files.count) {
            take_line(slot, &log_files.at[file], len);
        } else {
            ring_take(&r->ring, RING_SIZE, NULL, len);
        }
    }
    for (unsigned i = 0; i < log_files.count; i++) {
        if (atomic_load_explicit(&r->dropped[i], memory_order_relaxed) != 0) {
            log_files.at[i].lost += atomic_exchange(&r->dropped[i], 0);
        }
    }
    return lines;
}

/* The most lines that a ring had. */
static int
drain_all(void)
{
    int most = 0;

    for (uint32_t i = 0; i < slots_end(); i++) {
        int lines = drain_ring(i);

        most = lines > most ? lines : most;
    }
    return most;
}

/* Says what is wrong: through the log itself, so in its format, and not
 * before the error log takes lines again.  Whether it said something. */
static bool
report_losses(int64_t *next_ms)
{
    bool said = false;

    if (clock_ms() < *next_ms || log_files.count == 0 ||
        log_files.at[0].stalled || log_files.at[0].error != 0) {
        return false;
    }
    for (unsigned i = 0; i < log_files.count; i++) {
        said |= log_file_report(&log_files.at[i]);
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
    /* With the flag up, a writer wakes us; who wrote before is seen. */
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
        uint64_t given_up = log_files_given_up();
        int lines = drain_all();
        bool stalled = log_files_flush();
        bool moved = lines > 0;

        if (stopping && give_up == 0) {
            give_up = clock_ms() + STOP_MS;
            next_report = 0;
        }
        if (!moved) {
            log_files_close(given_up);
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
    sem_post(&logs.ended);
    return NULL;
}

/* ---- life ---- */

int
logring_create(struct errmsg *err)
{
    assert(logs.memory == NULL && slots_count() > 0);
    logs.memory = shared_create("weir logs",
                                sizeof(*logs.memory) +
                                    (size_t)(slots_count() - 1) * LOGRING_SIZE,
                                SHARED_ALL, err);
    if (logs.memory == NULL) {
        return -1;
    }
    memset(&master_ring.ring, 0, sizeof(master_ring.ring));
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
    sem_init(&logs.ended, 0, 0);
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

/* Whether the thread ended before until. */
static bool
has_ended(const struct timespec *until)
{
    int rc;

    do {
        rc = sem_clockwait(&logs.ended, CLOCK_MONOTONIC, until);
    } while (rc == -1 && errno == EINTR);
    return rc == 0;
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
    logs.stuck = !has_ended(&until);
    if (!logs.stuck) {
        pthread_join(logs.thread, NULL);
    }
    logs.thread_owner = 0;
}

void
logring_destroy(void)
{
    if (logs.memory == NULL || logs.stuck) {
        return;
    }
    log_files_destroy();
    shared_destroy(logs.memory);
    logs.memory = NULL;
}
