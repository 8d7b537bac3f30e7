/*
 * Log files: opening, moving, closing, writing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/log_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "proc/metrics.h"

#define PENDING_MAX 131072
#define PIPE_PIECE 4096 /* what a writable pipe takes without blocking */

struct log_files log_files = { .table = PTHREAD_MUTEX_INITIALIZER };

/* ---- opening and closing ---- */

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

int
logring_try(const char *path, struct errmsg *err)
{
    int fd;

    if (standard_fd(path) != -1) {
        return 0;
    }
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd != -1) {
        close(fd);
        return 0;
    }
    return errno == ENOENT && path_try(path) == 0
               ? 0
               : errmsg_sys(err, "cannot open log file %s", path);
}

/* A descriptor of our own for path, "stderr" and "stdout" too. */
static int
open_path(const char *path, struct errmsg *err)
{
    int fd = standard_fd(path);

    if (fd != -1) {
        fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    } else {
        fd = open(path,
                  O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY |
                      O_NONBLOCK,
                  0644);
    }
    return fd != -1 ? fd : errmsg_sys(err, "cannot open log file %s", path);
}

/* The file of that path; one about to be closed is kept open then. */
static int
find_file(struct str path)
{
    int found = -1;

    pthread_mutex_lock(&log_files.table);
    for (unsigned i = 1; i < log_files.count && found == -1; i++) {
        struct log_file *f = &log_files.at[i];

        if (f->state != FILE_FREE && str_eq(path, str_from(f->path))) {
            f->state = FILE_OPEN;
            found = (int)i;
        }
    }
    pthread_mutex_unlock(&log_files.table);
    return found;
}

static int
free_number(void)
{
    for (unsigned i = 1; i < log_files.count; i++) {
        if (log_files.at[i].state == FILE_FREE) {
            return (int)i;
        }
    }
    return log_files.count < LOGRING_FILES ? (int)log_files.count : -1;
}

/* All of the buffer now: the thread allocates nothing, so a fork never meets
 * it inside the allocator. */
static void
start_file(struct log_file *f, int fd, struct str path)
{
    if (buf_room(&f->pending) == 0) {
        buf_init(&f->pending, PENDING_MAX);
        buf_reserve(&f->pending, PENDING_MAX);
    }
    pthread_mutex_lock(&log_files.table);
    mem_free(&f->path);
    f->path = mem_dup(path.ptr, path.len);
    f->fd = fd;
    f->regular = is_regular(fd);
    f->state = FILE_OPEN;
    pthread_mutex_unlock(&log_files.table);
}

int
logring_open(struct str path, struct errmsg *err)
{
    int number = find_file(path);

    if (number != -1) {
        return number;
    }
    number = free_number();
    if (number == -1) {
        return errmsg_set(err, "cannot open log file %.*s: more than %d",
                          STR_ARGS(path), LOGRING_FILES);
    }
    char *name = mem_dup(path.ptr, path.len);
    int fd = open_path(name, err);

    mem_free(&name);
    if (fd == -1) {
        return -1;
    }
    start_file(&log_files.at[number], fd, path);
    if (number == (int)log_files.count) {
        atomic_fetch_add(&log_files.count, 1);
    }
    return number;
}

void
logring_close(int file)
{
    assert(file > 0 && file < LOGRING_FILES);
    pthread_mutex_lock(&log_files.table);
    if (log_files.at[file].state == FILE_OPEN) {
        log_files.at[file].state = FILE_CLOSING;
    }
    pthread_mutex_unlock(&log_files.table);
}

/* Puts fd, which is used up, in the place of the file's: the descriptor keeps
 * its number, so the thread need not be told. */
static int
replace_fd(struct log_file *f, int fd, struct errmsg *err)
{
    int rc = 0;

    if (dup3(fd, f->fd, O_CLOEXEC) == -1) {
        rc = errmsg_sys(err, "cannot open log file %s", f->path);
    }
    f->regular = is_regular(f->fd);
    close(fd);
    return rc;
}

int
logring_move(struct str path, struct errmsg *err)
{
    struct log_file *f = &log_files.at[0];
    char *name = mem_dup(path.ptr, path.len);
    int fd = open_path(name, err);
    int rc = -1;

    if (fd != -1) {
        pthread_mutex_lock(&log_files.table);
        rc = replace_fd(f, fd, err);
        if (rc == 0) {
            char *old = f->path;

            f->path = name;
            name = old;
        }
        pthread_mutex_unlock(&log_files.table);
    }
    mem_free(&name);
    return rc;
}

static int
reopen(struct log_file *f, struct errmsg *err)
{
    int fd;

    if (f->state != FILE_OPEN || standard_fd(f->path) != -1) {
        return 0;
    }
    fd = open_path(f->path, err);
    return fd == -1 ? -1 : replace_fd(f, fd, err);
}

int
logring_reopen(struct errmsg *err)
{
    struct errmsg one;
    int rc = 0;

    pthread_mutex_lock(&log_files.table);
    for (unsigned i = 0; i < log_files.count; i++) {
        if (reopen(&log_files.at[i], &one) == -1 && rc == 0) {
            *err = one; /* the first; the others are still tried */
            rc = -1;
        }
    }
    pthread_mutex_unlock(&log_files.table);
    return rc;
}

/* ---- the drain thread ---- */

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

void
log_file_flush(struct log_file *f)
{
    size_t len;

    f->stalled = false;
    if (f->state == FILE_FREE) {
        return;
    }
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
            size_t lost = count_lines(buf_str(&f->pending));

            f->lost += lost;
            metric_add_shared(&proc_metrics[PROC_LOG_DROPPED], 1,
                              (int64_t)lost);
            buf_take(&f->pending, len);
        }
    }
}

bool
log_files_flush(void)
{
    bool stalled = false;

    for (unsigned i = 0; i < log_files.count; i++) {
        log_file_flush(&log_files.at[i]);
        stalled |= log_files.at[i].stalled;
    }
    return stalled;
}

/* Another thread may change the path. */
static void
copy_path(const struct log_file *f, char *dst, size_t size)
{
    pthread_mutex_lock(&log_files.table);
    str_copy(dst, size, str_from(f->path));
    pthread_mutex_unlock(&log_files.table);
}

bool
log_file_report(struct log_file *f)
{
    bool fails = f->error != 0, told = f->told;
    char path[512];

    f->told = fails;
    if (fails == told && (fails || f->stalled || f->lost == 0)) {
        return false;
    }
    copy_path(f, path, sizeof(path));
    if (fails && !told) {
        log_error("cannot write log file %s: %s", path, strerror(f->error));
        return true;
    }
    if (f->stalled || f->lost == 0) {
        return false;
    }
    log_warn("%llu log lines were dropped (%s)", (unsigned long long)f->lost,
             path);
    f->lost = 0;
    return true;
}

void
log_files_close(uint64_t given_up)
{
    for (unsigned i = 1; given_up != 0 && i < log_files.count; i++) {
        struct log_file *f = &log_files.at[i];
        int fd;

        if (!(given_up & UINT64_C(1) << i) || buf_len(&f->pending) > 0) {
            continue;
        }
        pthread_mutex_lock(&log_files.table);
        if (f->state == FILE_CLOSING) {
            fd = f->fd;
            f->fd = -1;
            f->lost = 0;
            f->error = 0;
            f->told = false;
            f->state = FILE_FREE;
            close(fd);
        }
        pthread_mutex_unlock(&log_files.table);
    }
}

uint64_t
log_files_given_up(void)
{
    uint64_t set = 0;

    for (unsigned i = 1; i < log_files.count; i++) {
        if (log_files.at[i].state == FILE_CLOSING) {
            set |= UINT64_C(1) << i;
        }
    }
    return set;
}

/* ---- the end ---- */

void
log_files_destroy(void)
{
    for (unsigned i = 0; i < log_files.count; i++) {
        struct log_file *f = &log_files.at[i];

        if (f->fd != -1) {
            close(f->fd);
        }
        mem_free(&f->path);
        buf_clear(&f->pending);
        *f = (struct log_file){ .state = FILE_FREE };
    }
    log_files.count = 0;
}
