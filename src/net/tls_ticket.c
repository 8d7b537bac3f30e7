/*
 * Keys of session tickets.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/tls_ticket.h"

#include <stdatomic.h>
#include <string.h>

#include "base/rand.h"
#include "proc/shared.h"

/* One more than are in use would do; a reader that was put to sleep within
 * tls_ticket_find() has the others' time to wake up. */
#define RING 8

struct ring {
    _Atomic uint32_t newest; /* counts on; its key is at newest % RING */
    struct tls_ticket_key keys[RING];
};

static struct ring *ring; /* shared memory, the master's */
static struct timer due;

int
tls_tickets_create(struct errmsg *err)
{
    ring = shared_create("weir ticket keys", sizeof(*ring), SHARED_SECRET, err);
    if (ring == NULL) {
        return -1;
    }
    /* No process ever finds a key of zeros in the ring. */
    rand_bytes(ring->keys, sizeof(ring->keys));
    atomic_store(&ring->newest, RING);
    return 0;
}

void
tls_tickets_destroy(void)
{
    if (ring != NULL) {
        explicit_bzero(ring, sizeof(*ring));
        shared_destroy(ring);
        ring = NULL;
    }
}

void
tls_tickets_rotate(void)
{
    uint32_t next = atomic_load(&ring->newest) + 1;

    rand_bytes(&ring->keys[next % RING], sizeof(ring->keys[0]));
    atomic_store(&ring->newest, next);
    /* A key that may no longer be used is overwritten.  A process that still
     * reads it finds that the ticket does not open. */
    rand_bytes(&ring->keys[(next - TLS_TICKET_OLD - 1) % RING],
               sizeof(ring->keys[0]));
}

const struct tls_ticket_key *
tls_ticket_newest(void)
{
    return ring == NULL ? NULL : &ring->keys[atomic_load(&ring->newest) % RING];
}

const struct tls_ticket_key *
tls_ticket_find(const uint8_t name[16], bool *old)
{
    uint32_t newest;

    if (ring == NULL) {
        return NULL;
    }
    newest = atomic_load(&ring->newest);
    for (uint32_t age = 0; age <= TLS_TICKET_OLD; age++) {
        const struct tls_ticket_key *k = &ring->keys[(newest - age) % RING];

        if (memcmp(k->name, name, sizeof(k->name)) == 0) {
            *old = age > 0;
            return k;
        }
    }
    return NULL;
}

/* ---- the master's timer ---- */

static struct loop *timer_loop; /* borrowed: the master's */

static void
on_due(struct timer *t)
{
    tls_tickets_rotate();
    timer_set(timer_loop, t, TLS_TICKET_PERIOD);
}

void
tls_tickets_start(struct loop *l)
{
    timer_loop = l;
    timer_init(&due, on_due);
    timer_set(l, &due, TLS_TICKET_PERIOD);
}

void
tls_tickets_stop(struct loop *l)
{
    timer_stop(l, &due);
}
