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

static _Atomic int *word; /* shared; NULL while it is not made */
static int word_fd = -1;

int
node_state_create(struct errmsg *err)
{
    if (word == NULL) {
        word = shared_create("weir node state", sizeof(*word), &word_fd, err);
    }
    return word != NULL ? 0 : -1;
}

void
node_state_destroy(void)
{
    shared_destroy((void *)(uintptr_t)word, sizeof(*word), &word_fd);
    word = NULL;
}

enum node_state
node_state(void)
{
    return word != NULL ? (enum node_state)atomic_load(word) : NODE_READY;
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
