/*
 * Sessions by client: shares of channel.max_sessions (net/share.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/engine/session_impl.h"

#define LOOKED 1024 /* sessions, for one that gives way */

struct tally_pool engine_pools[] = {
    { .name = "channel.max_sessions", .scope = TALLY_PROCESS }, { .name = NULL }
};

/* The oldest of a client in one of the lists. */
static struct session *
oldest_of(const struct tally_holder *h, struct list *all, bool fresh)
{
    int looked = 0;

    LIST_EACH (link, all) {
        struct session *s =
            session_of(fresh ? LIST_ITEM(link, struct session_state, fresh)
                             : LIST_ITEM(link, struct session_state, link));

        if (s->state->stage == SESSION_OPEN && share_eq(&s->client.holder, h)) {
            return s;
        }
        if (++looked == LOOKED) {
            break;
        }
    }
    return NULL;
}

/* One that was opened and not used since goes first. */
static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    struct engine *e = arg;
    struct session *s = oldest_of(h, &e->fresh, true);

    if (s == NULL && in_use) {
        s = oldest_of(h, &e->sessions, false);
    }
    if (s != NULL) {
        session_end(s, SESSION_REFUSED);
    }
    return s != NULL;
}

enum engine_error
engine_admit(struct engine *e, const struct engine_request *r)
{
    const struct share_want w = { .pool = &engine_pools[0],
                                  .client = r->client.holder,
                                  .size = (int64_t)e->sessions_max,
                                  .give = give,
                                  .arg = e };

    enum share_answer answer = share_claim(&w);

    if (answer == SHARE_GRANTED && e->count < e->sessions_max) {
        return ENGINE_OK;
    }
    if (answer == SHARE_GRANTED) {
        engine_give_up(r); /* those that end still have their place */
    }
    return answer == SHARE_OVER ? ENGINE_SHARE : ENGINE_FULL;
}

void
engine_give_up(const struct engine_request *r)
{
    tally_leave(&engine_pools[0], &r->client.holder);
}

void
engine_used(struct session *s)
{
    list_remove(&s->state->fresh);
}
