/*
 * The last requests that any process has refused, for "show errors" of the
 * control socket: the peer, the reason, the place in the bytes, and the bytes
 * around that place with secrets masked.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_REFUSED_H
#define PROC_REFUSED_H

#include "proc/event_ring.h"

struct refused {
    const char *proto;  /* "http", "rtmp", a module's name */
    const char *peer;   /* address as text */
    const char *reason; /* words for the operator */
    struct str bytes;   /* of the peer, or a part of them; may be empty */
    size_t offset;      /* in bytes: where it went wrong */
    uint64_t before;    /* bytes of the peer that came before these */
};

int refused_create(struct errmsg *err); /* master, before any fork */
void refused_destroy(void);

void refused_note(const struct refused *r);
struct recent *refused_list(void); /* NULL while it is not made */

/* A record's parts; they point into its text. */
struct refused_view {
    struct str proto, peer, reason;
    struct str bytes; /* escaped: printable */
    uint64_t offset;  /* before + offset of struct refused */
};
bool refused_parse(const struct recent_record *r, struct refused_view *v);

#endif
