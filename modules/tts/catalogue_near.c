/*
 * Names that are near to one that a catalogue has not.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "catalogue_impl.h"

#define NEAR 3       /* names that are told */
#define NAME_ROOM 96 /* bytes of a name that are compared */

struct near {
    char wanted[NAME_ROOM]; /* in small letters */
    size_t limit;           /* farther ones are not told */
    struct {
        struct str name;
        size_t distance;
    } best[NEAR]; /* the nearest first */
    size_t count;
};

static struct str
in_small_letters(char to[NAME_ROOM], struct str s)
{
    size_t n = str_copy(to, NAME_ROOM, s);

    for (size_t i = 0; i < n; i++) {
        if (to[i] >= 'A' && to[i] <= 'Z') {
            to[i] = (char)(to[i] - 'A' + 'a');
        } else if (to[i] == '_') {
            to[i] = '-';
        }
    }
    return str_of(to, n);
}

static void
start(struct near *n, struct str asked)
{
    *n = (struct near){ .count = 0 };
    n->limit = in_small_letters(n->wanted, asked).len / 3 + 1;
}

/* A name that starts like the one that is wanted is as near as one with a
 * letter that differs.  Of "en-US-somebody" the front is near, the longer the
 * nearer. */
static size_t
distance_of(const struct near *n, struct str name)
{
    char small[NAME_ROOM];
    struct str s = in_small_letters(small, name);
    struct str wanted = str_from(n->wanted);

    if (wanted.len > 2 && str_starts(s, wanted)) {
        return 1;
    }
    if (s.len > 1 && s.len < wanted.len && str_starts(wanted, s) &&
        wanted.ptr[s.len] == '-') {
        return n->limit > s.len + 2 ? n->limit - s.len : 2;
    }
    return str_distance(wanted, s, n->limit);
}

static void
take(struct near *n, struct str name, size_t distance)
{
    size_t at = n->count;

    while (at > 0 && n->best[at - 1].distance > distance) {
        at--;
    }
    if (distance > n->limit || at == NEAR) {
        return;
    }
    if (n->count < NEAR) {
        n->count++;
    }
    for (size_t i = n->count - 1; i > at; i--) {
        n->best[i] = n->best[i - 1];
    }
    n->best[at].name = name;
    n->best[at].distance = distance;
}

static void
tell(const struct near *n, struct buf *out)
{
    for (size_t i = 0; i < n->count; i++) {
        buf_printf(out, "%s\"%.*s\"", i == 0 ? "" : ", ",
                   STR_ARGS(n->best[i].name));
    }
}

void
catalogue_nearest(const struct catalogue *c, struct str asked, struct buf *out)
{
    struct near n;

    start(&n, asked);
    for (size_t i = 0; i < c->count; i++) {
        const struct catalogue_entry *e = &c->entries[i];
        size_t distance = distance_of(&n, e->voice.name);
        size_t other = distance_of(&n, e->voice.display);

        for (size_t k = 0; k < e->language_count; k++) {
            size_t d = distance_of(&n, e->languages[k].tag);

            other = d < other ? d : other;
        }
        take(&n, e->voice.name, other < distance ? other : distance);
    }
    tell(&n, out);
}

void
catalogue_nearest_variant(const struct catalogue *c, struct str asked,
                          struct buf *out)
{
    struct near n;

    start(&n, asked);
    for (size_t i = 0; i < c->variant_count; i++) {
        take(&n, c->variants[i].name, distance_of(&n, c->variants[i].name));
    }
    tell(&n, out);
}
