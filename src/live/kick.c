/*
 * Sending sessions away: of this process, because the operator wants it.
 *
 * Lists are walked by taking the first element away, because telling one
 * session that it is over may end others.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/metrics.h"
#include "live/player.h"

bool
live_kick_means(const struct live_kick *k, const struct live_session_view *v)
{
    if (k->serial != 0) {
        return v->id == k->serial && slot_owner_number(v->owner) == k->slot;
    }
    if (k->name.len > 0) {
        return (v->publisher ? k->publishers : k->players) &&
               str_eq(str_from(v->name), k->name);
    }
    return k->from != NULL && access_allows(k->from, &v->peer);
}

static bool
means(const struct live_kick *k, const struct session_record *r)
{
    struct live_session_view view;

    return record_view(r, &view) && live_kick_means(k, &view);
}

static unsigned
kick_players(const struct live_kick *k, struct list *players)
{
    unsigned count = 0;
    struct list done;

    list_init(&done);
    while (!list_empty(players)) {
        struct live_player *p =
            LIST_ITEM(players->next, struct live_player, link);

        list_remove(&p->link);
        list_append(&done, &p->link);
        if (means(k, p->record)) {
            count++;
            metric_add(&live_metrics[LIVE_LOST], LIVE_LOST_KICKED, 1);
            player_stop(p, LIVE_KICKED);
        }
    }
    list_splice(players, &done);
    return count;
}

static unsigned
kick_publisher(const struct live_kick *k, struct live_publisher *p)
{
    if (p == NULL || !means(k, publisher_record(p))) {
        return 0;
    }
    publisher_kick(p, LIVE_KICKED);
    return 1;
}

/* It stays until the end of the turn, whoever leaves it. */
static unsigned
kick_stream(const struct live_kick *k, struct hub_stream *hs)
{
    unsigned count = kick_players(k, &hs->waiting);

    count += kick_players(k, &hs->current);
    count += kick_players(k, &hs->behind);
    count += kick_players(k, &hs->blocked);
    count += kick_publisher(k, hs->publisher);
    count += kick_publisher(k, hs->asking);
    return count;
}

unsigned
live_kick(const struct live_kick *k)
{
    unsigned count = 0;

    if (hub.loop == NULL) {
        return 0;
    }
    for (size_t i = 0; i < HUB_BUCKETS; i++) {
        count += kick_players(k, &hub.nameless[i]);
    }
    for (uint32_t n = 0; n < arena.stream_count; n++) {
        if (hub.streams[n] != NULL) {
            count += kick_stream(k, hub.streams[n]);
        }
    }
    return count;
}
