/*
 * A client of Socket.IO v5 over Engine.IO v4: what it makes of packets, and
 * what it answers.  The transport is its caller's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SIO_WIRE_H
#define BENCH_SIO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIO_SID = 64 };

struct sio_event {
    const char *name; /* without quotes */
    size_t name_size;
    const char *args; /* JSON behind the name's comma; may be empty */
    size_t args_size;
};

struct sio_hooks {
    /* A packet of Engine.IO is to be sent. */
    void (*send)(void *arg, const char *packet, size_t size);
    void (*on_joined)(void *arg);
    void (*on_event)(void *arg, const struct sio_event *e);
};

struct sio_wire {
    const struct sio_hooks *hooks; /* borrowed, as the next two */
    void *arg;
    const char *space; /* the namespace, "/" */
    char sid[SIO_SID]; /* empty: there is no session */
    bool joined;
    int64_t heard;   /* ns: when the session began, or its last ping */
    int64_t silence; /* ns: it is dead after so long without a ping */
};

/* Forgets the session; hooks, arg and space stay. */
void sio_reset(struct sio_wire *s);
/* Takes a text packet of the server at that time: 0, or -1 with why when the
 * session is over. */
int sio_take(struct sio_wire *s, const char *packet, size_t size, int64_t now,
             const char **why);
/* Sends an event; args is JSON. */
void sio_emit(struct sio_wire *s, const char *name, const char *args);
/* The number that is the member "name" of an object; -1: there is none. */
int64_t sio_number(const char *json, size_t size, const char *name);

#endif
