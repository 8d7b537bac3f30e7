/*
 * Egress rules: each is a list of one name (net/access.h) and a verb.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/egress.h"

#include <assert.h>
#include <string.h>

#include "net/access.h"

struct rule {
    struct str text; /* as it was written */
    const struct access_list *what;
    bool allow;
    bool all;
};

struct egress {
    size_t count;
    struct rule rules[];
};

/* ---- rules ---- */

static struct str
what_of(struct str rule, struct str *verb)
{
    struct str rest = str_trim(rule);

    *verb = str_cut(&rest, ' ');
    return str_trim(rest);
}

int
egress_check_rule(struct str rule, struct errmsg *err)
{
    struct str verb;
    struct errmsg why;

    if (access_check_rule(rule, &why) == 0 &&
        !str_eq(what_of(rule, &verb), STR("unix:"))) {
        return 0;
    }
    return errmsg_set(err,
                      "\"%.*s\" must be \"allow\" or \"deny\" and an address, "
                      "ADDRESS/BITS, \"loopback\", \"private\", \"linklocal\" "
                      "or \"all\"",
                      STR_ARGS(rule));
}

const struct egress *
egress_parse(struct pool *pool, const struct str *rules, size_t count)
{
    struct egress *e =
        pool_alloc(pool, sizeof(*e) + count * sizeof(e->rules[0]));

    e->count = count;
    for (size_t i = 0; i < count; i++) {
        struct rule *r = &e->rules[i];
        struct str verb, what = what_of(rules[i], &verb);

        r->text = pool_str(pool, str_trim(rules[i]));
        r->what = access_parse_names(pool, &what, 1);
        r->allow = str_eq(verb, STR("allow"));
        r->all = str_eq(what, STR("all"));
    }
    return e;
}

/* ---- addresses that are not like others ---- */

struct range {
    uint8_t family;
    uint8_t bits;
    uint8_t ip[16];
};

#define IN4(bits, ...)   \
    {                    \
        AF_INET, (bits), \
        {                \
            __VA_ARGS__  \
        }                \
    }
#define IN6(bits, ...)    \
    {                     \
        AF_INET6, (bits), \
        {                 \
            __VA_ARGS__   \
        }                 \
    }

/* Nobody can be connected to there, or it means this host. */
static const struct range never[] = {
    IN4(8, 0),                   /* RFC 1122, 3.2.1.3: this host */
    IN4(4, 224),                 /* multicast */
    IN4(32, 255, 255, 255, 255), /* broadcast */
    IN6(128, 0),                 /* unspecified */
    IN6(8, 0xff),                /* multicast */
};

/* Not reachable by everybody (IANA's registries of special-purpose addresses,
 * RFC 6890), and neither loopback, private nor link-local. */
static const struct range reserved[] = {
    IN4(24, 192, 0, 0),                 /* protocol assignments */
    IN4(24, 192, 88, 99),               /* 6to4 anycast, RFC 7526 */
    IN4(15, 198, 18),                   /* benchmarks */
    IN4(24, 192, 0, 2),                 /* documentation, RFC 5737 */
    IN4(24, 198, 51, 100),              /* the same */
    IN4(24, 203, 0, 113),               /* the same */
    IN4(4, 240),                        /* future use */
    IN6(48, 0, 0x64, 0xff, 0x9b, 0, 1), /* NAT64 of the own network */
    IN6(10, 0xfe, 0xc0),                /* site-local, RFC 3879 */
    IN6(64, 0x01, 0, 0, 0, 0, 0, 0, 0), /* discarded, RFC 6666 */
    IN6(64, 0x01, 0, 0, 0, 0, 0, 0, 1), /* a prefix of nobody, RFC 9780 */
    IN6(23, 0x20, 0x01),                /* protocol assignments, RFC 2928 */
    IN6(32, 0x20, 0x01, 0x0d, 0xb8),    /* documentation, RFC 3849 */
    IN6(20, 0x3f, 0xff),                /* documentation, RFC 9637 */
    IN6(16, 0x5f),                      /* segments of SRv6, RFC 9602 */
};

/* Parts of the reserved that the same registries call globally reachable. */
static const struct range reachable[] = {
    IN4(32, 192, 0, 0, 9),                 /* PCP, RFC 7723 */
    IN4(32, 192, 0, 0, 10),                /* TURN, RFC 8155 */
    IN6(32, 0x20, 0x01),                   /* Teredo: the inner one */
    IN6(128, 0x20, 0x01, 0, 1, [15] = 1),  /* PCP, RFC 7723 */
    IN6(128, 0x20, 0x01, 0, 1, [15] = 2),  /* TURN, RFC 8155 */
    IN6(128, 0x20, 0x01, 0, 1, [15] = 3),  /* DNS-SD, RFC 9665 */
    IN6(32, 0x20, 0x01, 0, 3),             /* AMT, RFC 7450 */
    IN6(48, 0x20, 0x01, 0, 4, 0x01, 0x12), /* AS112, RFC 7535 */
    IN6(28, 0x20, 0x01, 0, 0x20),          /* ORCHIDv2, RFC 7343 */
    IN6(28, 0x20, 0x01, 0, 0x30),          /* drones, RFC 9374 */
};

static bool
in_range(const struct range *r, const struct addr *a)
{
    unsigned bytes = r->bits / 8, rest = r->bits % 8;

    return a->family == r->family && memcmp(a->ip, r->ip, bytes) == 0 &&
           (rest == 0 || (a->ip[bytes] ^ r->ip[bytes]) >> (8 - rest) == 0);
}

static bool
in_ranges(const struct range *r, size_t count, const struct addr *a)
{
    for (size_t i = 0; i < count; i++) {
        if (in_range(&r[i], a)) {
            return true;
        }
    }
    return false;
}

/* ---- IPv4 inside of IPv6 ---- */

/* Where an IPv4 address lies in those that begin so. */
static const struct {
    struct range range;
    uint8_t at;
    uint8_t flip; /* each byte is hidden by this */
} carriers[] = {
    { IN6(96, 0), 12, 0 }, /* compatible */
    { IN6(96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 12, 0 }, /* mapped */
    { IN6(96, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 12, 0 }, /* translated */
    { IN6(96, 0, 0x64, 0xff, 0x9b), 12, 0 }, /* NAT64, RFC 6052 */
    { IN6(16, 0x20, 0x02), 2, 0 },           /* 6to4, RFC 3056 */
    { IN6(32, 0x20, 0x01), 12, 0xff },       /* Teredo, RFC 4380 */
};

/* ISATAP (RFC 5214, 6.1): the interface's half, below any prefix. */
static bool
is_isatap(const struct addr *a)
{
    static const uint8_t mark[] = { 0, 0x5e, 0xfe };

    return a->family == AF_INET6 && (a->ip[8] & 0xfd) == 0 &&
           memcmp(a->ip + 9, mark, sizeof(mark)) == 0;
}

static void
take_inner(struct addr *inner, const struct addr *a, unsigned at, uint8_t flip)
{
    *inner = (struct addr){ .family = AF_INET };
    for (unsigned i = 0; i < 4; i++) {
        inner->ip[i] = a->ip[at + i] ^ flip;
    }
}

static bool
find_inner(const struct addr *a, struct addr *inner)
{
    /* ::1 has the form of an IPv4-compatible address. */
    if (a->family != AF_INET6 || addr_is_loopback(a)) {
        return false;
    }
    if (is_isatap(a)) {
        take_inner(inner, a, 12, 0);
        return true;
    }
    for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
        if (in_range(&carriers[i].range, a)) {
            take_inner(inner, a, carriers[i].at, carriers[i].flip);
            return true;
        }
    }
    return false;
}

/* ---- judging ---- */

static bool
is_reserved(const struct addr *a)
{
    return in_ranges(reserved, sizeof(reserved) / sizeof(reserved[0]), a) &&
           !in_ranges(reachable, sizeof(reachable) / sizeof(reachable[0]), a);
}

/* Of an address that "allow all" does not mean. */
static const char *
special_name(const struct addr *a)
{
    if (addr_is_loopback(a)) {
        return "loopback";
    }
    return is_reserved(a) ? "reserved" : NULL;
}

/* 0, or -1 with why: what stands behind "is refused", and what would allow
 * it. */
static int
judge(const struct egress *e, const struct addr *a, struct errmsg *why)
{
    const char *special = special_name(a);
    char text[ADDR_TEXT];
    bool passed = false;

    if (in_ranges(never, sizeof(never) / sizeof(never[0]), a)) {
        return errmsg_set(why, ": it is not the address of one host");
    }
    for (size_t i = 0; i < e->count; i++) {
        const struct rule *r = &e->rules[i];

        if (!access_names(r->what, a)) {
            continue;
        }
        if (!r->allow) {
            return errmsg_set(why,
                              " by \"%.*s\": \"allow %s\" before it in egress "
                              "would allow it",
                              STR_ARGS(r->text), addr_ip_text(a, text));
        }
        if (special == NULL || !r->all) {
            return 0;
        }
        passed = true;
    }
    return errmsg_set(why, ": %s%s%s: \"allow %s\" in egress would allow it",
                      passed ? "\"allow all\" leaves out "
                             : "no rule allows it",
                      passed ? special : "", passed ? " addresses" : "",
                      addr_ip_text(a, text));
}

int
egress_check(const struct egress *e, const struct addr *to, struct errmsg *err)
{
    struct addr inner, outer = *to;
    char text[ADDR_TEXT], inner_text[ADDR_TEXT];
    struct errmsg why;

    if (to->family != AF_INET && to->family != AF_INET6) {
        return errmsg_set(err, "egress: only IP addresses are connected to");
    }
    addr_unmap(&outer);
    if (judge(e, &outer, &why) == -1) {
        return errmsg_set(err, "egress: %s is refused%.200s",
                          addr_ip_text(&outer, text), why.text);
    }
    if (find_inner(&outer, &inner) && judge(e, &inner, &why) == -1) {
        return errmsg_set(err, "egress: %s, which means %s, is refused%.200s",
                          addr_ip_text(&outer, text),
                          addr_ip_text(&inner, inner_text), why.text);
    }
    return 0;
}
