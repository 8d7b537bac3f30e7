/*
 * Keys of session tickets: one set for every listener, worker and generation.
 *
 * The master draws them at random into memory that all processes share; they
 * are nowhere else.  A new one comes every TLS_TICKET_PERIOD, the three before
 * it still open the tickets they sealed (which are then sealed anew), older
 * ones are overwritten.  So a ticket is good for 12 to 16 hours at most, and a
 * thief of a process's memory cannot decrypt older traffic.
 *
 * Readers take no lock: the master overwrites the oldest key of a ring, which
 * has more places than keys in use, then moves the number of the newest.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_TICKET_H
#define NET_TLS_TICKET_H

#include "event/loop.h"

#define TLS_TICKET_PERIOD ((int64_t)4 * 3600 * 1000) /* ms */
#define TLS_TICKET_OLD 3 /* keys before the newest that still open */

struct tls_ticket_key {
    uint8_t name[16]; /* in clear in the ticket: which key sealed it */
    uint8_t cipher[32];
    uint8_t mac[32];
};

/* Master, before any fork: makes the first key. */
int tls_tickets_create(struct errmsg *err);
void tls_tickets_destroy(void); /* overwrites them; idempotent */
/* Master: a new key when its time comes. */
void tls_tickets_start(struct loop *l);
void tls_tickets_stop(struct loop *l);
void tls_tickets_rotate(void); /* now */

/* The key that seals; NULL before tls_tickets_create(). */
const struct tls_ticket_key *tls_ticket_newest(void);
/* The key of that name if it may still open; *old: it is not the newest. */
const struct tls_ticket_key *tls_ticket_find(const uint8_t name[16], bool *old);

#endif
