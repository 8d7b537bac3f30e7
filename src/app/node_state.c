/*
 * The word of the node's state, in shared memory of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/node_state.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/shared.h"

static _Atomic int *word; /* shared, the master's; NULL while not made */

int
node_state_create(struct errmsg *err)
{
    if (word == NULL) {
        word =
            shared_create("weir node state", sizeof(*word), SHARED_MASTER, err);
    }
    return word != NULL ? 0 : -1;
}

void
node_state_destroy(void)
{
    shared_destroy((void *)(uintptr_t)word);
    word = NULL;
}

enum node_state
node_state(void)
{
    int state = word != NULL ? atomic_load(word) : NODE_READY;

    return state >= NODE_READY && state <= NODE_MAINT ? (enum node_state)state
                                                      : NODE_READY;
}

void
node_state_set(enum node_state state)
{
    if (word != NULL) {
        atomic_store(word, (int)state);
    }
}

const char *
node_state_name(enum node_state state)
{
    static const char *const names[] = { "ready", "drain", "maint" };

    return names[state];
}
