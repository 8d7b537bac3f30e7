/*
 * Which certificate a client is shown.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/tls_name.h"

static bool
is_wildcard(struct str pattern)
{
    return str_starts(pattern, STR("*."));
}

bool
tls_name_covers(struct str pattern, struct str host)
{
    if (!is_wildcard(pattern)) {
        return pattern.len > 0 && str_eq_nocase(pattern, host);
    }
    size_t dot = str_find(host, '.', 0);
    struct str parent = str_skip(pattern, 2);

    return dot > 0 && parent.len > 0 &&
           str_eq_nocase(parent, str_skip(host, dot + 1));
}

static bool
has_name(const struct tls_names *names, struct str host, bool wildcards)
{
    for (size_t i = 0; i < names->count; i++) {
        if (is_wildcard(names->all[i]) == wildcards &&
            tls_name_covers(names->all[i], host)) {
            return true;
        }
    }
    return false;
}

static struct str
without_dot(struct str host) /* the root's dot names the same host */
{
    return str_ends(host, STR(".")) ? str_first(host, host.len - 1) : host;
}

bool
tls_names_agree(const struct tls_names *a, const struct tls_names *b,
                struct str host)
{
    bool exact;

    host = without_dot(host);
    exact = has_name(a, host, false);
    return exact ? has_name(b, host, false)
                 : has_name(a, host, true) && has_name(b, host, true);
}

size_t
tls_choose(const struct tls_names *certificates, size_t count, struct str host)
{
    host = without_dot(host);
    for (size_t i = 0; i < count; i++) {
        if (has_name(&certificates[i], host, false)) {
            return i;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (has_name(&certificates[i], host, true)) {
            return i;
        }
    }
    return 0;
}
