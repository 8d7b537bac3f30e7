/*
 * How much of each pool is in use, and by which clients: of what weir has a
 * bounded number of, in one process or in all together.
 *
 * A client is a holder: the bits of an address that count (net/share.h, which
 * judges by these numbers).  Every process counts in an area of its slot and
 * reads the areas of all.  The master empties the area of a dead process before
 * the slot is used again.  The master's area counts things that belong to no
 * process (live/viewer.h): any process does so.
 *
 * An entry is one word that is changed by compare and swap, in sets of eight, a
 * cache line each.  A holder that finds no room in its set is not counted, and
 * so not limited.  A process that is killed between two words leaves one too
 * many or too few of what belongs to nobody.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_TALLY_H
#define PROC_TALLY_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_POOLS 32 /* at most */

struct tally_holder {
    uint64_t words[2];
};

enum tally_scope {
    TALLY_NODE,    /* one pool of all processes */
    TALLY_PROCESS, /* each process has one of that size */
};

struct tally_pool {
    const char *name; /* as `show limits` has it: "live.max_sessions" */
    enum tally_scope scope;
    uint32_t number; /* from 1; 0: not registered, and nothing is counted */
};

/* Master, before any fork: static pools of a table that ends with a name of
 * NULL; a table of NULL has none.  -1 with err: they are too many. */
int tally_register(struct tally_pool *table, struct errmsg *err);
/* Areas for `slots` processes, each with room for `keys` holders. */
int tally_create(size_t keys, uint32_t slots, struct errmsg *err);
void tally_destroy(void); /* and forgets what was registered */
/* Master: its process is gone. */
void tally_sweep(uint32_t slot);

/* ---- counting ---- */

/* One more, or one less, of this process. */
void tally_enter(const struct tally_pool *p, const struct tally_holder *h);
void tally_leave(const struct tally_pool *p, const struct tally_holder *h);
/* The same of what belongs to no process. */
void tally_leave_nobody(const struct tally_pool *p,
                        const struct tally_holder *h);
/* From this process to nobody. */
void tally_hand_on(const struct tally_pool *p, const struct tally_holder *h);
/* The same of a part of the pool, which counts by itself too: of one upstream
 * of all.  It has a number that is not 0. */
void tally_enter_part(const struct tally_pool *p, uint64_t part,
                      const struct tally_holder *h);
void tally_leave_part(const struct tally_pool *p, uint64_t part,
                      const struct tally_holder *h);
/* The size of the pool as this process has it. */
void tally_set_size(const struct tally_pool *p, int64_t size);

/* ---- reading; of the pool's scope ---- */

uint32_t tally_of(const struct tally_pool *p, const struct tally_holder *h);
int64_t tally_used(const struct tally_pool *p);
uint32_t tally_part_of(const struct tally_pool *p, uint64_t part,
                       const struct tally_holder *h);
int64_t tally_part_used(const struct tally_pool *p, uint64_t part);
/* The holder of most but `skip`, of those that came to hold many; how many.
 * 0: nobody, and out stays as it is. */
uint32_t tally_largest(const struct tally_pool *p,
                       const struct tally_holder *skip,
                       struct tally_holder *out);

/* A pool for the operator.  Of one that each process has, this is the process
 * that uses most of it. */
struct tally_view {
    const char *name;
    enum tally_scope scope;
    int64_t size, used;
    struct tally_holder largest;
    uint32_t holds; /* 0: nobody */
};
/* Number 1 and on; false behind the last. */
bool tally_look(uint32_t number, struct tally_view *v);
/* NULL: there is none. */
const char *tally_name(uint32_t number);

#endif
