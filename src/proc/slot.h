/*
 * Slots: one shared record for every process weir may have.
 *
 * The master makes the table before any fork and never moves it.  Slot 0 is
 * the master's.  A slot is two records: its card, which the master alone can
 * write, and a record that its process writes.  Every object in shared memory
 * that a dead process could leave behind carries its owner's slot and
 * incarnation.  When the master reaps a process, it sweeps the objects of that
 * owner, then frees the slot.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SLOT_H
#define PROC_SLOT_H

#include "base/errmsg.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SLOT_MAX 1024 /* slots at most; the table is touched lazily */
#define SLOT_NAME_MAX 32

enum slot_kind { SLOT_FREE, SLOT_MASTER, SLOT_WORKER, SLOT_ROLE };

enum slot_state {
    SLOT_STARTING, /* forked, has not said READY */
    SLOT_READY,    /* serves */
    SLOT_DRAINING, /* takes nothing new */
    SLOT_GONE,     /* reaped, not yet swept */
};

/* The owner of a thing in shared memory; 0 is nobody. */
typedef uint64_t slot_owner;

/* The process that has the slot.  The master writes the card and trusts its own
 * copy alone; the others read it. */
struct slot_card {
    _Alignas(64) _Atomic int kind; /* enum slot_kind */
    _Atomic int state;             /* see slot_state() */
    _Atomic pid_t pid;             /* of its last process, once it is free */
    _Atomic uint32_t incarnation;  /* grows with each use of the slot; > 0 */
    _Atomic uint32_t generation;   /* of the configuration it runs on */
    _Atomic int64_t started_ms;    /* clock_ms() */
    _Atomic int64_t again_ms;      /* of one that is free: clock_ms() when
                                      another such process starts; 0: none */
    char name[SLOT_NAME_MAX];      /* "worker 0", "relayer" */
    uint32_t index;                /* among its kind: worker number */
    _Atomic bool no_media;         /* see slot_reads_no_media() */
};

/* The record that the process writes about itself; any process can write it. */
struct slot {
    /* Slots share no cache line: each process writes its own all the time. */
    _Alignas(64) _Atomic int state; /* see slot_say() */

    /* Event loop liveness: turns made; when the current turn began, 0 while
     * asleep in epoll_wait.  The master's watchdog reads them. */
    _Atomic uint64_t turns;
    _Atomic int64_t turn_began_ms;

    /* Readers of the arena (src/live): the newest epoch this process has
     * seen at the top of a turn; UINT64_MAX while it sleeps or is free.  Means
     * nothing where the card says no_media. */
    _Atomic uint64_t epoch_seen;
    /* Set while it sleeps and wants the eventfd for new media. */
    _Atomic uint32_t asleep;

    /* Counters shown by statistics. */
    _Atomic uint64_t connections; /* open now */
    _Atomic uint64_t pumps;       /* of these: net/tls_pump.h */
    _Atomic uint64_t attached;    /* of these: given by other processes */
    _Atomic uint64_t accepted;    /* since start */
    _Atomic uint64_t log_dropped; /* lines lost to a full ring */
};

/* Makes the table with count slots; each with an eventfd (close-on-exec,
 * non-blocking) that all children inherit. */
int slots_create(uint32_t count, struct errmsg *err);
void slots_destroy(void);
uint32_t slots_count(void);
/* All slots that were ever taken lie below this number, so that a walk over
 * them need not touch the others. */
uint32_t slots_end(void);
struct slot *slot_at(uint32_t number);              /* NULL: there is none */
const struct slot_card *slot_card(uint32_t number); /* the same */
int slot_eventfd(uint32_t number);

/* A number that the process of a slot says there; 0 if it is more than there
 * can be.  Any process can write to any slot, so others read them by this. */
uint64_t slot_number(const _Atomic uint64_t *word, uint64_t most);
#define SLOT_CONNECTIONS_MOST 10000000 /* worker_connections at most */
#define SLOT_COUNT_MOST ((uint64_t)1 << 50)
uint64_t slot_connections(uint32_t number);

/* Master: takes a free slot for a process about to be forked; -1 when all
 * are taken. */
int slot_take(enum slot_kind kind, const char *name, uint32_t index,
              uint32_t generation);
void slot_set_pid(uint32_t number, pid_t pid);
/* Master: its process never reads the arena, so nobody has to ask what it has
 * seen there: a word that it never writes could not be mended.  Holds until the
 * slot is taken again. */
void slot_reads_no_media(uint32_t number);
void slot_bury(uint32_t number);    /* its process was reaped: SLOT_GONE */
void slot_release(uint32_t number); /* after the sweep */
/* Master: another process of that name will be started at due_ms, clock_ms().
 * Nothing happens if somebody else has the slot by now. */
void slot_starts_again(uint32_t number, const char *name, int64_t due_ms);

/* Which slot this process is (set right after fork, while the card can still be
 * written). */
void slot_set_self(uint32_t number);
uint32_t slot_self(void);
slot_owner slot_self_owner(void);

/* Sets the state of this process: SLOT_READY or SLOT_DRAINING. */
void slot_say(enum slot_state state);
/* The state as the master knows it, else as the process says. */
enum slot_state slot_state(uint32_t number);
const char *slot_state_name(enum slot_state state); /* "ready" */

/* Whether the slot is that role's, or was and nobody has taken it since: its
 * name is "relayer", or "relayer 1" where the role has several processes. */
bool slot_is_role(uint32_t number, const char *name);
/* The process of that role and index that is READY, the newest of several; 0:
 * there is none. */
slot_owner slot_find_role(const char *name, uint32_t index);

/* For a caller that finds no process of a role READY: ms until the master
 * starts one; 0: one starts just now; -1: nothing is known of one. */
int64_t slot_role_starts_in(const char *name, uint32_t index);

slot_owner slot_owner_of(uint32_t number);
uint32_t slot_owner_number(slot_owner o);
/* Whether that very process still runs as far as the master knows. */
bool slot_owner_alive(slot_owner o);
/* Whether it has that pid, or had it and nobody has taken the slot since. */
bool slot_owner_is(slot_owner o, pid_t pid);

/* Wakes a sleeping process through its eventfd. */
void slot_wake(uint32_t number);

#endif
