/*
 * The rights of a process in the sandbox (proc/sandbox.h) beyond those that
 * every process has: the files that it reads and writes, its connections.
 *
 * The sandbox takes all of them away unless the process adds them before it
 * enters.
 * The texts are borrowed, the lists are owned: rights_clear().
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_RIGHTS_H
#define PROC_RIGHTS_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rights_paths {
    struct str *items; /* owned; the texts are borrowed */
    size_t count, room;
};

struct rights_ports {
    uint16_t *items; /* owned */
    size_t count, room;
};

struct rights {
    bool fork;          /* makes processes of itself, which execute nothing */
    bool resize;        /* changes the sizes of files that it has open */
    bool supervise;     /* its programs filter what they execute further, and
                         * hear of calls that it may not make */
    bool seal;          /* fixes contents and sizes of its memory files */
    bool connect_any;   /* to any TCP port */
    bool connect_local; /* to sockets that have a path */
    /* Files, and directories with all below them. */
    struct rights_paths read, write;
    /* Programs.  The process itself never executes one: its starter does
     * (proc/starter.h). */
    struct rights_paths programs;
    struct rights_ports ports; /* TCP ports that it connects to */
};

void rights_clear(struct rights *r);

void rights_read(struct rights *r, struct str path);
/* Files there can be made, read, written, renamed and removed, directories
 * too. */
void rights_write(struct rights *r, struct str path);
void rights_execute(struct rights *r, struct str program);
void rights_connect(struct rights *r, uint16_t port);
/* Adds all that more has. */
void rights_add(struct rights *r, const struct rights *more);

/* Whether it connects to anything. */
bool rights_connects(const struct rights *r);

/* For the log: "reads 3 paths, writes below /a, connects to ports 53 5432";
 * "nothing" if there is nothing. */
void rights_describe(const struct rights *r, struct buf *out);

#endif
