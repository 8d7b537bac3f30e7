/*
 * Shares: nobody keeps others out of a pool, of what weir has a bounded number
 * of.
 *
 * A client is known by the bits of its address that count (limits.ipv4_prefix,
 * limits.ipv6_prefix); behind a trusted balancer it is the balancer's client.
 * While at most half of a pool is in use, everybody gets what it wants: a
 * school and a carrier are one address.  Beyond that, a client may hold half of
 * the pool.  One that holds more is refused, unless something that it used
 * once, or does not use, can give way.
 *
 * When the pool is full, the client that holds most gives first, the same way;
 * what is in use is taken from it only while it has more than an eighth of the
 * pool.  A sixteenth is kept for publishers and for clients that are exempt
 * (limits.exempt), which no share bounds and which give nothing.
 *
 * Each refusal is counted by pool and reason.  A line of the log names the
 * address, at most once in ten seconds for each pool and process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_SHARE_H
#define NET_SHARE_H

#include "net/access.h"
#include "net/addr.h"
#include "proc/tally.h"

/* ---- clients ---- */

/* A process that accepts clients: the rules of limits.exempt, and how many bits
 * of an address are its client's.  The list is borrowed for good. */
void share_start(const struct access_list *exempt, int64_t ipv4_prefix,
                 int64_t ipv6_prefix);
/* The client of an address; one that is exempt, and weir itself (no address),
 * stand for all such together. */
struct tally_holder share_client(const struct addr *client);
struct tally_holder share_self(void); /* weir's own sessions */
/* The bits that count, whatever is exempt: for limits of one address. */
struct tally_holder share_prefix(const struct addr *client);
bool share_is_exempt(const struct tally_holder *h);
bool share_eq(const struct tally_holder *a, const struct tally_holder *b);

#define SHARE_TEXT (ADDR_TEXT + 8)
/* "192.0.2.1", "2001:db8::/64", "exempt"; returns dst (SHARE_TEXT bytes). */
const char *share_text(const struct tally_holder *h, char *dst);

/* As messages between processes have it (base/pack.h). */
void share_pack(struct pack *out, const struct tally_holder *h);
struct tally_holder share_unpack(struct unpack *in);

/* ---- pools ---- */

struct share_want {
    const struct tally_pool *pool;
    /* 0, or a part that counts by itself (proc/tally.h): size is the part's,
     * nothing is kept of it for anybody, and give() is asked, with h NULL, for
     * anything that should give way to the client. */
    uint64_t part;
    struct tally_holder client;
    int64_t size;   /* of the pool */
    bool publishes; /* it may have what is kept for publishers */
    /* Ends one thing that this client holds: one that was used once or is idle,
     * the oldest first; with in_use, any.  It may end a little later.  False:
     * there is none.  NULL: nothing of this pool gives way. */
    bool (*give)(void *arg, const struct tally_holder *h, bool in_use);
    void *arg;
};

enum share_answer {
    SHARE_GRANTED, /* counted: tally_leave() when it ends */
    SHARE_OVER,    /* its address has its share */
    SHARE_FULL,    /* there is no more */
};
enum share_answer share_claim(const struct share_want *w);
/* Whether one more would be more than the client's share.  Nothing is counted:
 * of what is taken one by one, and can wait. */
bool share_is_over(const struct share_want *w);
/* Counts and tells a refusal without a claim as others are. */
void share_refused(const struct share_want *w, enum share_answer why);
/* Counts a thing that its owner has ended for others, without a claim. */
void share_gave(const struct tally_pool *p);
/* Seconds until one that was refused may ask again (Retry-After). */
#define SHARE_RETRY_S 1

#endif
