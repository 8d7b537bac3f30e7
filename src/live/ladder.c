/*
 * Names of the members of ladders.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/ladder.h"

#include <string.h>

/* It may lie in shared memory, where anything may stand. */
static struct str
suffix_of(const struct live_ladder *l, uint32_t place)
{
    const char *suffix = l->suffixes[place];

    return str_of(suffix, strnlen(suffix, LIVE_SUFFIX_MAX - 1));
}

static uint32_t
count_of(const struct live_ladder *l)
{
    return l->count < LIVE_LADDER_MAX ? l->count : LIVE_LADDER_MAX;
}

int
live_ladder_place(const struct live_ladder *l, struct str name,
                  struct str *shared)
{
    for (uint32_t i = 0; i < count_of(l); i++) {
        struct str suffix = suffix_of(l, i);

        if (suffix.len == 0 || name.len <= suffix.len) {
            continue;
        }
        *shared = str_of(name.ptr, name.len - suffix.len);
        if (str_eq(str_skip(name, shared->len), suffix) &&
            shared->ptr[shared->len - 1] != '/') {
            return (int)i;
        }
    }
    return -1;
}

struct str
live_ladder_member(const struct live_ladder *l, uint32_t place,
                   struct str shared, char out[LIVE_NAME_MAX])
{
    struct str suffix = place < count_of(l) ? suffix_of(l, place) : STR_NONE;

    if (suffix.len == 0 || shared.len + suffix.len >= LIVE_NAME_MAX) {
        return STR_NONE;
    }
    memcpy(out, shared.ptr, shared.len);
    memcpy(out + shared.len, suffix.ptr, suffix.len);
    out[shared.len + suffix.len] = '\0';
    return str_of(out, shared.len + suffix.len);
}
