/*
 * Access rules: parsed to a prefix and its bits each; words stay words.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/access.h"

#include <assert.h>
#include <string.h>

enum what {
    WHAT_ALL,
    WHAT_LOOPBACK,
    WHAT_PRIVATE,
    WHAT_LINKLOCAL,
    WHAT_UNIX,
    WHAT_NET,
};

struct rule {
    bool allow;
    enum what what;
    struct access_net net; /* WHAT_NET */
};

struct access_list {
    size_t count;
    struct rule rules[];
};

static bool
parse_word(struct str s, enum what *out)
{
    static const struct {
        struct str word;
        enum what what;
    } words[] = {
        { { "all", 3 }, WHAT_ALL },
        { { "loopback", 8 }, WHAT_LOOPBACK },
        { { "private", 7 }, WHAT_PRIVATE },
        { { "linklocal", 9 }, WHAT_LINKLOCAL },
        { { "unix:", 5 }, WHAT_UNIX },
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_eq(s, words[i].word)) {
            *out = words[i].what;
            return true;
        }
    }
    return false;
}

/* Sets the bits that do not count to 0. */
static void
clear_rest(struct access_net *net)
{
    for (unsigned i = net->bits; i < 8 * sizeof(net->addr.ip); i++) {
        net->addr.ip[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
    }
}

int
access_parse_net(struct str s, struct access_net *out)
{
    size_t slash = str_find(s, '/', 0);
    struct str ip = str_first(s, slash);
    bool six = str_find(ip, ':', 0) < ip.len;
    int64_t bits = six ? 128 : 32;

    *out = (struct access_net){ .bits = 0 };
    if (addr_parse_ip(ip, &out->addr) == -1) {
        return -1;
    }
    if (slash < s.len && !str_to_int(str_skip(s, slash + 1), 0, bits, &bits)) {
        return -1;
    }
    if (six && out->addr.family == AF_INET) { /* ::ffff:a.b.c.d is IPv4 */
        bits -= 96;
    }
    out->bits = bits > 0 ? (unsigned)bits : 0;
    clear_rest(out);
    return bits >= 0 ? 0 : -1;
}

bool
access_net_has(const struct access_net *net, const struct addr *peer)
{
    unsigned bytes = net->bits / 8, rest = net->bits % 8;

    if (peer->family != net->addr.family ||
        memcmp(peer->ip, net->addr.ip, bytes) != 0) {
        return false;
    }
    return rest == 0 ||
           (peer->ip[bytes] ^ net->addr.ip[bytes]) >> (8 - rest) == 0;
}

static bool
parse_net(struct str s, struct rule *r)
{
    r->what = WHAT_NET;
    return access_parse_net(s, &r->net) == 0;
}

static int
parse_what(struct str s, struct rule *r, struct str whole, struct errmsg *err)
{
    if (parse_word(s, &r->what) || parse_net(s, r)) {
        return 0;
    }
    return errmsg_set(err,
                      "\"%.*s\" must name an address, ADDRESS/BITS, "
                      "\"loopback\", \"private\", \"linklocal\", \"unix:\" or "
                      "\"all\"",
                      STR_ARGS(whole));
}

static int
parse_rule(struct str s, struct rule *r, struct errmsg *err)
{
    struct str rest = str_trim(s);
    struct str verb = str_cut(&rest, ' ');

    *r = (struct rule){ .allow = str_eq(verb, STR("allow")) };
    if (!r->allow && !str_eq(verb, STR("deny"))) {
        return errmsg_set(err, "\"%.*s\" must begin with \"allow\" or \"deny\"",
                          STR_ARGS(s));
    }
    return parse_what(str_trim(rest), r, s, err);
}

int
access_check_rule(struct str rule, struct errmsg *err)
{
    struct rule r;

    return parse_rule(rule, &r, err);
}

const struct access_list *
access_parse(struct pool *pool, const struct str *rules, size_t count)
{
    struct access_list *list =
        pool_alloc(pool, sizeof(*list) + count * sizeof(list->rules[0]));

    list->count = count;
    for (size_t i = 0; i < count; i++) {
        struct errmsg err;
        int bad = parse_rule(rules[i], &list->rules[i], &err);

        assert(bad == 0);
        (void)bad;
    }
    return list;
}

static bool
matches(const struct rule *r, const struct addr *peer)
{
    switch (r->what) {
    case WHAT_ALL:
        return true;
    case WHAT_LOOPBACK:
        return addr_is_loopback(peer);
    case WHAT_PRIVATE:
        return addr_is_private(peer);
    case WHAT_LINKLOCAL:
        return addr_is_linklocal(peer);
    case WHAT_UNIX:
        return peer->family == AF_UNIX;
    case WHAT_NET:
        return access_net_has(&r->net, peer);
    }
    return false;
}

bool
access_allows(const struct access_list *list, const struct addr *peer)
{
    if (list == NULL) {
        return true;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (matches(&list->rules[i], peer)) {
            return list->rules[i].allow;
        }
    }
    return false;
}

bool
access_allows_all(const struct access_list *list)
{
    return list == NULL || (list->count > 0 && list->rules[0].allow &&
                            list->rules[0].what == WHAT_ALL);
}

/* ---- lists of names ---- */

int
access_check_name(struct str name, struct errmsg *err)
{
    struct rule r;

    return parse_what(str_trim(name), &r, name, err);
}

const struct access_list *
access_parse_names(struct pool *pool, const struct str *names, size_t count)
{
    struct access_list *list =
        pool_alloc(pool, sizeof(*list) + count * sizeof(list->rules[0]));

    list->count = count;
    for (size_t i = 0; i < count; i++) {
        struct rule *r = &list->rules[i];
        struct errmsg err;

        r->allow = true;
        int bad = parse_what(str_trim(names[i]), r, names[i], &err);

        assert(bad == 0);
        (void)bad;
    }
    return list;
}

bool
access_names(const struct access_list *list, const struct addr *peer)
{
    return list != NULL && access_allows(list, peer);
}
