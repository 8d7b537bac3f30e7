/*
 * A hostile program: each of its ways out is tried by a process of its own.
 *
 *   main.c       the program that it stands for, and the report
 *   sockets.c    ways by the network, and by sockets of the machine
 *   sends.c      ... that are options, messages, rings and calls of others
 *   files.c      ways by files that have a path
 *   open.c       ... by files that are open, and by programs
 *   processes.c  ways to other processes
 *   machine.c    ways by the machine: mounts, name spaces, devices, clocks
 *   left.c       what could stay when the program has ended
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_LIVE_WAYS_WAYS_H
#define TESTS_LIVE_WAYS_WAYS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* 0: it got out, or it left something; else the errno that refused it. */
struct way {
    const char *name;
    int (*go)(void);
};

/* The program has nothing that the way needs. */
#define NOT_HERE ENODATA

/* Ends with a row that has no name. */
extern const struct way ways_of_sockets[], ways_of_sends[], ways_of_files[],
    ways_of_open[], ways_of_processes[], ways_of_machine[], ways_of_left[];

/* A setting of the test; "" if there is none. */
const char *told(const char *name);
int number(const char *name);
/* Of the settings, a folder's, with a name in it. */
const char *path_in(const char *folder, const char *name);
/* The one that weir made for this run, or 0. */
int proxy_port(void);
/* As it was started: the supervisor or the starter. */
pid_t parent(void);

/* errno of a call that returns -1. */
static inline int
tried(long rc)
{
    return rc == -1 ? errno : 0;
}

/* A way that is one call; one that is a function which returns errno. */
#define TRY(name, call)     \
    static int name(void)   \
    {                       \
        return tried(call); \
    }
#define WHY(name, function) \
    static int name(void)   \
    {                       \
        return function;    \
    }
#define WAY(name)   \
    {               \
#name, name \
    }

/* ---- sockets.c ---- */

union address {
    struct sockaddr any;
    char room[128];
};

socklen_t to_inet(union address *a, const char *text, int port);
/* "@name" is abstract. */
socklen_t to_unix(union address *a, const char *name);
/* errno, but 0 where an answer shows that it got out. */
int judge(long rc);
/* Whether it is connected to that port. */
int reached(int fd, int port);
int tcp(void);

#endif
