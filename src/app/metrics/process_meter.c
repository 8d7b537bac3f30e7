/*
 * Looking at processes from outside.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/metrics/process_meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/metrics/metrics.h"
#include "base/log.h"
#include "proc/slot.h"

#define LOOK_MS 1000

static struct {
    struct loop *loop; /* borrowed */
    struct timer timer;
    struct {
        uint32_t incarnation;
        int64_t cpu; /* microseconds, as counted so far */
    } seen[SLOT_MAX];
} meter;

struct usage {
    int64_t resident[APP_KINDS], private[APP_KINDS], files[APP_KINDS];
    int64_t most_files;
};

static unsigned
kind_of(const struct slot_card *s)
{
    int kind = atomic_load(&s->kind);

    return kind == SLOT_MASTER   ? APP_MASTER
           : kind == SLOT_WORKER ? APP_WORKER
                                 : APP_ROLE;
}

/* Processor time is a counter: what is new of it is added. */
static void
count_cpu(uint32_t number, int64_t us)
{
    const struct slot_card *s = slot_card(number);
    uint32_t incarnation = atomic_load(&s->incarnation);

    if (meter.seen[number].incarnation != incarnation) {
        meter.seen[number].incarnation = incarnation;
        meter.seen[number].cpu = 0;
    }
    if (us > meter.seen[number].cpu) {
        metric_add(&app_metrics[APP_CPU], kind_of(s),
                   us - meter.seen[number].cpu);
        meter.seen[number].cpu = us;
    }
}

static void
look_at_cpu(uint32_t number, pid_t pid)
{
    struct timespec t;
    clockid_t id;

    if (clock_getcpuclockid(pid, &id) == 0 && clock_gettime(id, &t) == 0) {
        count_cpu(number, (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    }
}

static void
look_at_memory(struct usage *u, unsigned kind, pid_t pid)
{
    char path[64], text[128];
    long long size, resident, shared;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd != -1 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd != -1) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%lld %lld %lld", &size, &resident, &shared) == 3) {
        int64_t page = sysconf(_SC_PAGESIZE);

        u->resident[kind] += resident * page;
        u->private[kind] += (resident - shared) * page;
    }
}

/* The size of the folder is the number of its entries (Linux 6.2). */
static void
look_at_files(struct usage *u, unsigned kind, pid_t pid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    if (stat(path, &st) == 0) {
        u->files[kind] += st.st_size;
        u->most_files = st.st_size > u->most_files ? st.st_size : u->most_files;
    }
}

static void
tell(const struct usage *u)
{
    for (unsigned kind = 0; kind < APP_KINDS; kind++) {
        metric_set(&app_metrics[APP_MEMORY], kind, u->resident[kind]);
        metric_set(&app_metrics[APP_PRIVATE], kind, u->private[kind]);
        metric_set(&app_metrics[APP_FILES], kind, u->files[kind]);
    }
    metric_set(&app_metrics[APP_FILES_MOST], 0, u->most_files);
}

static void
on_look(struct timer *timer)
{
    struct usage u = { .most_files = 0 };

    for (uint32_t i = 0; i < slots_count(); i++) {
        const struct slot_card *s = slot_card(i);
        pid_t pid = atomic_load(&s->pid);

        if (atomic_load(&s->kind) != SLOT_FREE && pid > 0) {
            look_at_cpu(i, pid);
            look_at_memory(&u, kind_of(s), pid);
            look_at_files(&u, kind_of(s), pid);
        }
    }
    tell(&u);
    metric_look();
    log_tell_held(); /* the master has no other look once a second */
    timer_set(meter.loop, timer, LOOK_MS);
}

void
process_meter_start(struct loop *l)
{
    meter.loop = l;
    timer_init(&meter.timer, on_look);
    timer_set(l, &meter.timer, 0);
}

void
process_meter_stop(void)
{
    if (meter.loop != NULL) {
        timer_stop(meter.loop, &meter.timer);
        meter.loop = NULL;
    }
}

void
process_meter_gone(uint32_t slot, const struct rusage *usage)
{
    count_cpu(slot, (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) *
                            INT64_C(1000000) +
                        usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}
