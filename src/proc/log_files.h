/*
 * The log files of the master, as proc/logring.c's thread and its other one
 * share them.
 *
 * The drain thread writes to files and closes those that are given up; all
 * else is done by the thread of the loop.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_LOG_FILES_H
#define PROC_LOG_FILES_H

#include "base/buf.h"
#include "proc/logring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum file_state {
    FILE_FREE,
    FILE_OPEN,
    FILE_CLOSING, /* the thread closes it when nothing is left to write */
};

struct log_file {
    _Atomic int state; /* enum file_state; changed under `table` */
    char *path;        /* owned; read and changed under `table` */
    int fd;            /* owned; -1: closed */
    _Atomic bool regular;
    /* The thread's: */
    struct buf pending; /* PENDING_MAX, allocated by logring_open() */
    uint64_t lost;      /* lines, not yet told */
    int error;          /* errno of the last write; 0: it was fine */
    bool told;          /* that it cannot be written */
    bool stalled;
};

struct log_files {
    struct log_file at[LOGRING_FILES];
    _Atomic unsigned count; /* free ones included */
    pthread_mutex_t table;  /* held for a moment only */
};
extern struct log_files log_files;

void log_files_destroy(void); /* the thread is gone */

/* ---- the drain thread's ---- */

/* Writes what is pending as far as the file takes it. */
void log_file_flush(struct log_file *f);
/* All files; whether any of them takes nothing now. */
bool log_files_flush(void);
/* A file that cannot be written is told about once, and what it lost when it
 * can be written again.  Whether there was something to tell. */
bool log_file_report(struct log_file *f);
/* The files that are being given up, a bit each. */
uint64_t log_files_given_up(void);
/* Closes those of them that have nothing left to write: the rings were found
 * empty since they were given up. */
void log_files_close(uint64_t given_up);

#endif
