/*
 * Fuzz target: access rules and egress rules.
 *
 * The first line is an address, the others are rules.  What the rules say of
 * the address is what a naive reading of them says; egress allows nothing
 * that the same rules would not let in.
 *
 * covers: src/net/access.c src/net/egress.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "net/access.h"
#include "net/egress.h"

#define RULES 32

/* Bit number n, from the left. */
static bool
bit(const uint8_t *ip, int n)
{
    return (ip[n / 8] >> (7 - n % 8) & 1) != 0;
}

/* All 16 bytes, an IPv4 address as ::ffff:a.b.c.d. */
static bool
parse16(const char *text, uint8_t ip[16])
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

    memcpy(ip, mapped, sizeof(mapped));
    return inet_pton(AF_INET, text, ip + 12) == 1 ||
           inet_pton(AF_INET6, text, ip) == 1;
}

static bool
in_net(const char *net, const struct addr *a)
{
    char ip_text[128], peer_text[ADDR_TEXT];
    uint8_t ip[16], peer[16];
    const char *slash = strchr(net, '/');
    int len = slash != NULL ? (int)(slash - net) : (int)strlen(net);
    int64_t bits = 128;

    snprintf(ip_text, sizeof(ip_text), "%.*s", len, net);
    require(slash == NULL || str_to_int(str_from(slash + 1), 0, 128, &bits));
    require(parse16(ip_text, ip) && parse16(addr_ip_text(a, peer_text), peer));
    if (slash != NULL && strchr(ip_text, ':') == NULL) {
        bits += 96;
    }
    if (bits < 96 && a->family == AF_INET) { /* "::/0" is of IPv6 alone */
        return false;
    }
    for (int i = 0; i < (int)bits; i++) {
        if (bit(ip, i) != bit(peer, i)) {
            return false;
        }
    }
    return true;
}

static bool
means(const char *what, const struct addr *a)
{
    if (strcmp(what, "all") == 0) {
        return true;
    }
    if (strcmp(what, "loopback") == 0) {
        return addr_is_loopback(a);
    }
    if (strcmp(what, "private") == 0) {
        return addr_is_private(a);
    }
    if (strcmp(what, "linklocal") == 0) {
        return addr_is_linklocal(a);
    }
    if (strcmp(what, "unix:") == 0 || a->family == AF_UNIX) {
        return strcmp(what, "unix:") == 0 && a->family == AF_UNIX;
    }
    return in_net(what, a);
}

/* 1 allowed, 0 denied, -1 the rule is of others. */
static int
says(struct str rule, const struct addr *a)
{
    char what[256];
    struct str rest = str_trim(rule);
    struct str verb = str_cut(&rest, ' ');

    str_copy(what, sizeof(what), str_trim(rest));
    return means(what, a) ? str_eq(verb, STR("allow")) : -1;
}

static bool
is_allowed(const struct str *rules, size_t count, const struct addr *a)
{
    for (size_t i = 0; i < count; i++) {
        int answer = says(rules[i], a);

        if (answer >= 0) {
            return answer == 1;
        }
    }
    return false;
}

static void
try_egress(struct pool *pool, const struct str *rules, size_t count,
           const struct addr *a)
{
    struct errmsg err = { "" };
    const struct egress *e = egress_parse(pool, rules, count);
    bool allowed = egress_check(e, a, &err) == 0;

    require(allowed || err.text[0] != '\0');
    require(!allowed || is_allowed(rules, count, a));
    require(!allowed || a->family != AF_UNIX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size), rules[RULES], of_egress[RULES];
    struct addr a = { .family = AF_UNIX };
    struct pool *pool = pool_new(1024);
    size_t count = 0, egress_count = 0;
    struct errmsg err;

    addr_parse_ip(str_cut(&input, '\n'), &a);
    while (input.len > 0 && count < RULES && egress_count < RULES) {
        struct str line = str_cut(&input, '\n');

        if (access_check_name(line, &err) == 0) {
            const struct access_list *one = access_parse_names(pool, &line, 1);
            struct str rule = pool_printf(pool, "allow %.*s", STR_ARGS(line));

            require(access_names(one, &a) == (says(rule, &a) == 1));
        }
        if (egress_check_rule(line, &err) == 0) {
            require(access_check_rule(line, &err) == 0);
            of_egress[egress_count++] = line;
        }
        if (access_check_rule(line, &err) == 0) {
            rules[count++] = line;
        }
    }
    const struct access_list *list = access_parse(pool, rules, count);

    require(access_allows(list, &a) == is_allowed(rules, count, &a));
    require(!access_allows_all(list) || access_allows(list, &a));
    try_egress(pool, of_egress, egress_count, &a);
    pool_free(&pool);
    return 0;
}
