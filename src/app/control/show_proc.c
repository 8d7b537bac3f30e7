/*
 * Commands that tell of each process what the kernel and its slot know:
 * descriptors, memory, activity.  A process in its sandbox cannot look at
 * itself, so the master does, by files of /proc that cost it nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/slot.h"

#define FILE_MAX 4096 /* bytes that are read of one */

struct look {
    struct control_call *call;
    uint32_t slot;
    pid_t pid;
    char text[FILE_MAX]; /* of the file that was read last */
    size_t len;
};

static void
read_file(struct look *l, const char *name)
{
    char path[64];
    ssize_t n;
    int fd;

    l->len = 0;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)l->pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        n = read(fd, l->text, sizeof(l->text));
        l->len = n > 0 ? (size_t)n : 0;
        close(fd);
    }
}

/* The first number in the line that begins with a name; 0 if there is none. */
static int64_t
number_of(const struct look *l, const char *name)
{
    struct str rest = str_of(l->text, l->len);
    int64_t n = 0;

    while (rest.len > 0) {
        struct str line = str_cut(&rest, '\n');

        if (str_starts(line, str_from(name))) {
            line = str_skip(line, str_from(name).len);
            while (line.len > 0 && (line.ptr[0] < '0' || line.ptr[0] > '9')) {
                line = str_skip(line, 1);
            }
            for (; line.len > 0 && line.ptr[0] >= '0' && line.ptr[0] <= '9';
                 line = str_skip(line, 1)) {
                n = n < INT64_MAX / 16 ? n * 10 + (line.ptr[0] - '0') : n;
            }
            return n;
        }
    }
    return 0;
}

/* A row for each process that runs, begun with who it is. */
static enum control_result
each(struct control_call *call, const struct control_column *columns,
     void (*show)(struct look *l))
{
    control_table(call, columns);
    for (uint32_t i = 0; i < slots_end(); i++) {
        const struct slot_card *card = slot_card(i);
        struct look l = { .call = call, .slot = i };

        l.pid = atomic_load(&card->pid);
        if (atomic_load(&card->kind) == SLOT_FREE || l.pid <= 0) {
            continue;
        }
        control_cell_int(call, i);
        control_cell_int(call, l.pid);
        control_cell(call, str_from(card->name));
        show(&l);
    }
    return CONTROL_DONE;
}

#define WHO                      \
    { "slot", 4 }, { "pid", 7 }, \
    {                            \
        "name", 12               \
    }

/* ---- descriptors ---- */

static const struct control_column fd_columns[] = {
    WHO, { "open", 7 }, { "limit", 8 }, { "conns", 0 }, { NULL, 0 },
};

/* The size of the folder is the number of its entries (Linux 6.2). */
static void
show_files(struct look *l)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)l->pid);
    read_file(l, "limits");
    control_cell_int(l->call, stat(path, &st) == 0 ? st.st_size : 0);
    control_cell_int(l->call, number_of(l, "Max open files"));
    control_cell_int(l->call, (int64_t)slot_connections(l->slot));
}

static enum control_result
on_fd(struct control_call *call)
{
    return each(call, fd_columns, show_files);
}

/* ---- memory ---- */

static const struct control_column memory_columns[] = {
    WHO,
    { "rss_kb", 9 },
    { "private_kb", 10 },
    { "file_kb", 9 },
    { "shared_kb", 9 },
    { "peak_kb", 9 },
    { "swap_kb", 8 },
    { "threads", 0 },
    { NULL, 0 },
};

static void
show_memory(struct look *l)
{
    static const char *const lines[] = { "VmRSS:",    "RssAnon:", "RssFile:",
                                         "RssShmem:", "VmHWM:",   "VmSwap:",
                                         "Threads:" };

    read_file(l, "status");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        control_cell_int(l->call, number_of(l, lines[i]));
    }
}

static enum control_result
on_memory(struct control_call *call)
{
    return each(call, memory_columns, show_memory);
}

/* ---- activity ---- */

static const struct control_column activity_columns[] = {
    WHO,
    { "cpu_ms", 9 },
    { "turns", 10 },
    { "in_turn_ms", 10 },
    { "accepted", 9 },
    { "log_dropped", 11 },
    { "waits", 9 },
    { "preempted", 0 },
    { NULL, 0 },
};

static int64_t
cpu_ms(pid_t pid)
{
    struct timespec t;
    clockid_t id;

    if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) != 0) {
        return 0;
    }
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
show_activity(struct look *l)
{
    const struct slot *s = slot_at(l->slot);
    int64_t began = atomic_load(&s->turn_began_ms);
    int64_t ms = clock_ms() - began;

    read_file(l, "status");
    control_cell_int(l->call, cpu_ms(l->pid));
    control_cell_int(l->call, (int64_t)slot_number(&s->turns, SLOT_COUNT_MOST));
    control_cell_int(l->call, began > 0 && ms > 0 ? ms : 0);
    control_cell_int(l->call,
                     (int64_t)slot_number(&s->accepted, SLOT_COUNT_MOST));
    control_cell_int(l->call,
                     (int64_t)slot_number(&s->log_dropped, SLOT_COUNT_MOST));
    control_cell_int(l->call, number_of(l, "voluntary_ctxt_switches:"));
    control_cell_int(l->call, number_of(l, "nonvoluntary_ctxt_switches:"));
}

static enum control_result
on_activity(struct control_call *call)
{
    return each(call, activity_columns, show_activity);
}

const struct control_verb control_process_verbs[] = {
    { "show fd", NULL, "Open files of each process, and how many it may have.",
      CONTROL_USER, 0, on_fd },
    { "show memory", NULL, "Memory and threads of each process.", CONTROL_USER,
      0, on_memory },
    { "show activity", NULL,
      "What each process has done: processor time, turns of its loop, how long "
      "the one in progress takes, how often it waited and was preempted.",
      CONTROL_USER, 0, on_activity },
    { .words = NULL },
};
