/*
 * A table of names, keyed by their form and their letters in lower case.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/host_names.h"

#include "base/hash.h"

struct entry {
    struct entry *next; /* of its bucket; of patterns: the next one */
    enum host_by by;
    struct str key; /* in lower case, without "*" and its dot */
    struct regex *pattern;
    struct host_found found;
};

struct host_names {
    struct pool *pool; /* borrowed */
    struct entry **buckets;
    size_t mask;
    struct entry *patterns, **patterns_end;
    size_t fronts, behinds; /* how many there are of these forms */
};

/* ---- forms ---- */

static bool
is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.' &&
            c != ':') {
            return false;
        }
    }
    return s.len > 0 && s.len <= HOST_NAME_MAX_LEN && s.ptr[0] != '.' &&
           !str_ends(s, STR("."));
}

/* Takes the star or the dot off; *also: the name itself is meant as well. */
static enum host_by
form_of(struct str *name, bool *also)
{
    *also = false;
    if (str_starts(*name, STR("~"))) {
        *name = str_skip(*name, 1);
        return HOST_PATTERN;
    }
    if (str_starts(*name, STR("*."))) {
        *name = str_skip(*name, 2);
        return HOST_FRONT;
    }
    if (str_starts(*name, STR("."))) {
        *also = true;
        *name = str_skip(*name, 1);
        return HOST_FRONT;
    }
    if (str_ends(*name, STR(".*"))) {
        *name = str_first(*name, name->len - 2);
        return HOST_BEHIND;
    }
    return HOST_EXACT;
}

int
host_name_check(struct str name, struct errmsg *err)
{
    struct str rest = name;
    bool also;

    if (form_of(&rest, &also) == HOST_PATTERN) {
        struct pool *pool = pool_new(1024);
        bool good = regex_new(pool, rest, REGEX_NOCASE, err) != NULL;

        pool_free(&pool);
        return good ? 0 : -1;
    }
    if (is_name(rest)) {
        return 0;
    }
    return errmsg_set(err,
                      "\"%.*s\" must be a name without a port, "
                      "\"media.example.org\", \"*.example.org\" for all names "
                      "below one, \"media.example.*\", or \"~PATTERN\"",
                      STR_ARGS(name));
}

bool
host_name_same(struct str a, struct str b)
{
    bool also_a, also_b;
    enum host_by of_a = form_of(&a, &also_a), of_b = form_of(&b, &also_b);

    if (of_a == of_b) {
        return of_a == HOST_PATTERN ? str_eq(a, b) : str_eq_nocase(a, b);
    }
    return ((of_a == HOST_EXACT && also_b) || (of_b == HOST_EXACT && also_a)) &&
           str_eq_nocase(a, b);
}

struct str
host_of_authority(struct str authority)
{
    struct str name;

    if (str_starts(authority, STR("["))) {
        name = str_skip(authority, 1);
        return str_first(name, str_find(name, ']', 0));
    }
    name = str_first(authority, str_find(authority, ':', 0));
    return str_ends(name, STR(".")) ? str_first(name, name.len - 1) : name;
}

/* ---- the table ---- */

struct host_names *
host_names_new(struct pool *pool, size_t count)
{
    struct host_names *n = pool_zero(pool, sizeof(*n));
    size_t size = 8;

    while (size < 2 * count) {
        size *= 2;
    }
    n->pool = pool;
    n->mask = size - 1;
    n->buckets = pool_zero(pool, size * sizeof(struct entry *));
    n->patterns_end = &n->patterns;
    return n;
}

/* dst has room for the name. */
static struct str
lower(char *dst, struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        dst[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return str_of(dst, name.len);
}

static const struct entry *
look_up(const struct host_names *n, enum host_by by, struct str key)
{
    const struct entry *e = n->buckets[hash_str(key) & n->mask];

    while (e != NULL && (e->by != by || !str_eq(e->key, key))) {
        e = e->next;
    }
    return e;
}

static void
put(struct host_names *n, enum host_by by, struct str key,
    const struct host_found *found)
{
    struct str low = lower(pool_alloc(n->pool, key.len + 1), key);
    struct entry **bucket = &n->buckets[hash_str(low) & n->mask];
    struct entry *e;

    if (look_up(n, by, low) != NULL) {
        return;
    }
    e = pool_zero(n->pool, sizeof(*e));
    *e = (struct entry){ .next = *bucket, .by = by, .key = low };
    e->found = *found;
    e->found.by = by;
    *bucket = e;
    n->fronts += by == HOST_FRONT;
    n->behinds += by == HOST_BEHIND;
}

static int
put_pattern(struct host_names *n, struct str pattern,
            const struct host_found *found, struct errmsg *err)
{
    struct entry *e = pool_zero(n->pool, sizeof(*e));

    e->by = HOST_PATTERN;
    e->found = *found;
    e->found.by = HOST_PATTERN;
    e->pattern = regex_new(n->pool, pattern, REGEX_NOCASE, err);
    if (e->pattern == NULL) {
        return -1;
    }
    *n->patterns_end = e;
    n->patterns_end = &e->next;
    return 0;
}

int
host_names_add(struct host_names *n, struct str name, size_t value,
               struct errmsg *err)
{
    struct host_found found = { .value = value, .name = name };
    struct str key = name;
    bool also;
    enum host_by by = form_of(&key, &also);

    if (by == HOST_PATTERN) {
        return put_pattern(n, key, &found, err);
    }
    if (host_name_check(name, err) == -1) {
        return -1;
    }
    put(n, by, key, &found);
    if (also) {
        put(n, HOST_EXACT, key, &found);
    }
    return 0;
}

/* ---- finding ---- */

/* Of "a.b.c": "b.c", then "c". */
static const struct entry *
find_front(const struct host_names *n, struct str host)
{
    const struct entry *e = NULL;

    while (e == NULL && n->fronts > 0 && host.len > 0) {
        host = str_skip(host, str_find(host, '.', 0) + 1);
        e = host.len > 0 ? look_up(n, HOST_FRONT, host) : NULL;
    }
    return e;
}

/* Of "a.b.c": "a.b", then "a". */
static const struct entry *
find_behind(const struct host_names *n, struct str host)
{
    const struct entry *e = NULL;

    while (e == NULL && n->behinds > 0 && host.len > 0) {
        while (host.len > 0 && host.ptr[host.len - 1] != '.') {
            host.len--;
        }
        host.len -= host.len > 0;
        e = host.len > 0 ? look_up(n, HOST_BEHIND, host) : NULL;
    }
    return e;
}

static enum host_answer
find_pattern(const struct host_names *n, struct str host,
             struct host_found *out)
{
    for (const struct entry *e = n->patterns; e != NULL; e = e->next) {
        switch (regex_match(e->pattern, host, NULL)) {
        case REGEX_YES:
            *out = e->found;
            return HOST_FOUND;
        case REGEX_LIMIT:
            return HOST_LIMIT;
        case REGEX_NO:
            break;
        }
    }
    return HOST_NONE;
}

enum host_answer
host_names_find(const struct host_names *n, struct str host,
                struct host_found *out)
{
    char room[HOST_NAME_MAX_LEN];
    const struct entry *e;

    if (host.len == 0 || host.len > sizeof(room)) {
        return HOST_NONE;
    }
    host = lower(room, host);
    e = look_up(n, HOST_EXACT, host);
    e = e != NULL ? e : find_front(n, host);
    e = e != NULL ? e : find_behind(n, host);
    if (e != NULL) {
        *out = e->found;
        return HOST_FOUND;
    }
    return find_pattern(n, host, out);
}
