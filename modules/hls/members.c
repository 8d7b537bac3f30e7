/*
 * Finding the streams of a ladder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "members.h"

#include "live/ladder.h"

static const struct live_ladder *
ladder_of(const struct asked *a)
{
    return &a->application->cuts.ladder;
}

static void
set_names(struct member *m, size_t len, size_t before)
{
    m->name = str_of(m->text, len);
    m->room = str_skip(m->name, before);
}

void
members_copy(struct member *to, const struct member *from)
{
    if (to != from) {
        *to = *from;
        set_names(to, from->name.len, from->name.len - from->room.len);
    }
}

bool
members_self(const struct asked *a, struct member *out)
{
    str_copy(out->text, sizeof(out->text), a->name);
    set_names(out, a->name.len, a->name.len - a->room.len);
    return live_cuts_find(out->name, &out->cuts);
}

/* False: it is not there, or not for this client. */
static bool
find(const struct asked *a, struct str shared, uint32_t place, struct member *m)
{
    struct str name = live_ladder_member(ladder_of(a), place, shared, m->text);

    if (name.len == 0) {
        return false;
    }
    set_names(m, name.len, a->name.len - a->room.len);
    return !rtmp_service_is_secret(a->application, m->room) &&
           live_cuts_find(m->name, &m->cuts);
}

static size_t
leave_out_ended(struct member *all, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!all[i].cuts.over) {
            members_copy(&all[kept++], &all[i]);
        }
    }
    return kept > 0 ? kept : count;
}

size_t
members_of(const struct asked *a, struct member *out)
{
    size_t count = 0;

    for (uint32_t i = 0; a->room.len > 0 && i < ladder_of(a)->count; i++) {
        count += find(a, a->name, i, &out[count]);
    }
    return leave_out_ended(out, count);
}

bool
members_is_one(const struct asked *a)
{
    struct str shared;

    return live_ladder_place(ladder_of(a), a->name, &shared) != -1;
}

size_t
members_beside(const struct asked *a, struct member *out)
{
    struct str shared;
    int place = live_ladder_place(ladder_of(a), a->name, &shared);
    size_t count = 0;

    for (uint32_t i = 0; place != -1 && i < ladder_of(a)->count; i++) {
        count += i != (uint32_t)place && find(a, shared, i, &out[count]) &&
                 !out[count].cuts.over;
    }
    return count;
}

struct str
members_counted(const struct asked *a)
{
    struct str shared, name;
    char text[LIVE_NAME_MAX];

    if (!a->of_ladder ||
        live_ladder_place(ladder_of(a), a->name, &shared) == -1) {
        return a->name;
    }
    for (uint32_t i = 0; i < ladder_of(a)->count; i++) {
        name = live_ladder_member(ladder_of(a), i, shared, text);
        if (live_is_live(name)) {
            return pool_str(a->request->pool, name);
        }
    }
    return a->name;
}
