/*
 * What a URL says: where to connect, and the name there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { TARGET_NAME = 256 };

struct target {
    bool http; /* also over WebSocket: */
    bool socket;
    char host[128];         /* with the port, as written */
    char app[128];          /* of RTMP: the first part of the path */
    char name[TARGET_NAME]; /* the rest; of HTTP the whole path */
    struct sockaddr_storage address;
    socklen_t address_size;
};

/* Reads rtmp://HOST[:PORT]/APP/NAME, http:// or ws://HOST[:PORT]/PATH and looks
 * the host up; ends the program when it cannot. */
void target_parse(struct target *t, const char *url);
/* Writes the name with its first "%d", if there is one, replaced by the
 * number of the stream. */
void target_name(const struct target *t, unsigned stream, char *out,
                 size_t room);
/* A socket that is connecting and does not block; small: systems on both sides
 * keep few bytes of what it does not read.  -1 with errno. */
int target_connect(const struct target *t, bool small);

#endif
