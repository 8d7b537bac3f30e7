/*
 * A claim is counted first and judged then: of several processes that give the
 * last place away at once, all see each other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/metrics.h"

#define SAY_MS 10000 /* between two lines about one pool */

static struct {
    const struct access_list *exempt;
    unsigned ipv4_bits, ipv6_bits; /* 0: all that count otherwise */
    struct said {
        int64_t due_ms;  /* clock_ms() of the next line; 0: none was written */
        uint64_t silent; /* refusals since the last one */
    } said[TALLY_POOLS];
} share;

/* ---- clients ---- */

#define MAPPED UINT64_C(0xffff00000000) /* ::ffff:0:0/96 */

/* Prefixes that no address has: of ::/96. */
enum { NO_ADDRESS, EXEMPT };

static struct tally_holder
no_address(uint64_t which)
{
    return (struct tally_holder){ { 0, which } };
}

void
share_start(const struct access_list *exempt, int64_t ipv4_prefix,
            int64_t ipv6_prefix)
{
    share.exempt = exempt;
    share.ipv4_bits = (unsigned)ipv4_prefix;
    share.ipv6_bits = (unsigned)ipv6_prefix;
}

static unsigned
ipv4_bits(void)
{
    return share.ipv4_bits == 0 ? 32 : share.ipv4_bits;
}

static unsigned
ipv6_bits(void)
{
    return share.ipv6_bits == 0 ? 64 : share.ipv6_bits;
}

static uint64_t
big_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* The first bits of a word of 64. */
static uint64_t
first_bits(uint64_t word, unsigned bits)
{
    return bits == 0 ? 0 : bits >= 64 ? word : word & ~(UINT64_MAX >> bits);
}

struct tally_holder
share_prefix(const struct addr *client)
{
    uint64_t ipv4;

    if (client->family == AF_INET) {
        ipv4 = first_bits(big_endian(client->ip, 4) << 32, ipv4_bits());
        return (struct tally_holder){ { 0, MAPPED | ipv4 >> 32 } };
    }
    if (client->family == AF_INET6) {
        unsigned bits = ipv6_bits();

        return (
            struct tally_holder){ { first_bits(big_endian(client->ip, 8), bits),
                                    first_bits(big_endian(client->ip + 8, 8),
                                               bits > 64 ? bits - 64 : 0) } };
    }
    return no_address(NO_ADDRESS);
}

struct tally_holder
share_client(const struct addr *client)
{
    return client->family == AF_UNSPEC ||
                   (share.exempt != NULL && access_allows(share.exempt, client))
               ? share_self()
               : share_prefix(client);
}

struct tally_holder
share_self(void)
{
    return no_address(EXEMPT);
}

bool
share_eq(const struct tally_holder *a, const struct tally_holder *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

bool
share_is_exempt(const struct tally_holder *h)
{
    struct tally_holder exempt = no_address(EXEMPT);

    return share_eq(h, &exempt);
}

static void
to_bytes(uint8_t *dst, uint64_t word, size_t n)
{
    while (n > 0) {
        dst[--n] = (uint8_t)word;
        word >>= 8;
    }
}

const char *
share_text(const struct tally_holder *h, char *dst)
{
    bool is_ipv4 = h->words[0] == 0 && h->words[1] >> 32 == MAPPED >> 32;
    unsigned bits = is_ipv4 ? ipv4_bits() : ipv6_bits();
    struct addr a = { .family = is_ipv4 ? AF_INET : AF_INET6 };
    char text[ADDR_TEXT];

    if (h->words[0] == 0 && h->words[1] <= EXEMPT) {
        snprintf(dst, SHARE_TEXT, "%s",
                 share_is_exempt(h) ? "exempt" : "unix:");
        return dst;
    }
    if (is_ipv4) {
        to_bytes(a.ip, h->words[1], 4);
    } else {
        to_bytes(a.ip, h->words[0], 8);
        to_bytes(a.ip + 8, h->words[1], 8);
    }
    addr_ip_text(&a, text);
    if (bits == (is_ipv4 ? 32 : 128)) {
        snprintf(dst, SHARE_TEXT, "%s", text);
    } else {
        snprintf(dst, SHARE_TEXT, "%s/%u", text, bits % 1000);
    }
    return dst;
}

void
share_pack(struct pack *out, const struct tally_holder *h)
{
    pack_int(out, (int64_t)h->words[0]);
    pack_int(out, (int64_t)h->words[1]);
}

struct tally_holder
share_unpack(struct unpack *in)
{
    struct tally_holder h;

    h.words[0] = (uint64_t)unpack_int(in);
    h.words[1] = (uint64_t)unpack_int(in);
    return h;
}

/* ---- counting ---- */

static uint32_t
holds(const struct share_want *w)
{
    return w->part == 0 ? tally_of(w->pool, &w->client)
                        : tally_part_of(w->pool, w->part, &w->client);
}

static int64_t
used(const struct share_want *w)
{
    return w->part == 0 ? tally_used(w->pool)
                        : tally_part_used(w->pool, w->part);
}

static void
enter(const struct share_want *w)
{
    if (w->part == 0) {
        tally_set_size(w->pool, w->size);
        tally_enter(w->pool, &w->client);
    } else {
        tally_enter_part(w->pool, w->part, &w->client);
    }
}

static void
leave(const struct share_want *w)
{
    if (w->part == 0) {
        tally_leave(w->pool, &w->client);
    } else {
        tally_leave_part(w->pool, w->part, &w->client);
    }
}

/* ---- words about it ---- */

static void
say(const struct share_want *w, const char *what)
{
    struct said *s = &share.said[w->pool->number];
    int64_t now = clock_ms();
    struct tally_holder exempt = no_address(EXEMPT), most = exempt;
    char client[SHARE_TEXT], largest[SHARE_TEXT];
    uint32_t count;

    if (now < s->due_ms) {
        s->silent++;
        return;
    }
    count = tally_largest(w->pool, &exempt, &most);
    log_warn("%s: %s is refused, %s: %" PRId64 " of %" PRId64 " in use, "
             "most by %s (%" PRIu32 "); %" PRIu64 " more since the last line",
             w->pool->name, share_text(&w->client, client), what, used(w),
             w->size, share_text(&most, largest), count, s->silent);
    s->due_ms = now + SAY_MS;
    s->silent = 0;
}

void
share_refused(const struct share_want *w, enum share_answer why)
{
    metric_add(&net_metrics[NET_POOL_REFUSED],
               metric_at(&net_metrics[NET_POOL_REFUSED], w->pool->number,
                         why == SHARE_FULL, 0),
               1);
    say(w, why == SHARE_FULL ? "the pool is full" : "it has its share");
}

static enum share_answer
refuse(const struct share_want *w, enum share_answer why)
{
    leave(w);
    share_refused(w, why);
    return why;
}

void
share_gave(const struct tally_pool *p)
{
    metric_add(&net_metrics[NET_POOL_GAVE], p->number, 1);
}

/* ---- judging ---- */

static bool
gives(const struct share_want *w, const struct tally_holder *h, bool in_use)
{
    if (w->give == NULL || (h != NULL && share_is_exempt(h)) ||
        !w->give(w->arg, h, in_use)) {
        return false;
    }
    share_gave(w->pool);
    return true;
}

/* Whether so many are more than half of the pool, which others may want. */
static bool
is_over(const struct share_want *w, int64_t count)
{
    int64_t half = w->size / 2 > 0 ? w->size / 2 : 1;

    return !share_is_exempt(&w->client) && count > half;
}

bool
share_is_over(const struct share_want *w)
{
    return is_over(w, (int64_t)holds(w) + 1);
}

/* The place that it gives may come free a little later: it gets its new one
 * now, as long as that goes on for an eighth of the pool at most. */
static bool
gives_itself(const struct share_want *w)
{
    return w->part == 0 && holds(w) <= w->size / 2 + w->size / 8 + 1 &&
           gives(w, &w->client, false);
}

static int64_t
reserve(const struct share_want *w)
{
    bool none = w->part != 0 || w->publishes || share_is_exempt(&w->client);

    return none ? 0 : w->size / 16;
}

/* Whether somebody gives way.  The reserve lends a place that comes free a
 * little later; where it is too small for that, the next claim finds it. */
static bool
others_give(const struct share_want *w, int64_t room)
{
    int64_t lent = reserve(w) / 2;
    struct tally_holder exempt = no_address(EXEMPT), largest = exempt;
    uint32_t most = tally_largest(w->pool, &exempt, &largest);
    bool in_use =
        most > (uint64_t)w->size / 8 && !share_eq(&largest, &w->client);

    return tally_used(w->pool) <= room + (lent > 0 ? lent : 1) &&
           (gives(w, &largest, false) ||
            (in_use && gives(w, &largest, true))) &&
           tally_used(w->pool) <= room + lent;
}

static bool
is_room_made(const struct share_want *w, int64_t room)
{
    return w->part == 0 ? others_give(w, room)
                        : gives(w, NULL, true) && used(w) <= room;
}

enum share_answer
share_claim(const struct share_want *w)
{
    int64_t room = w->size - reserve(w);

    enter(w);
    if (is_over(w, holds(w)) && !gives_itself(w)) {
        return refuse(w, SHARE_OVER);
    }
    if (used(w) > room && !is_room_made(w, room)) {
        return refuse(w, SHARE_FULL);
    }
    return SHARE_GRANTED;
}
