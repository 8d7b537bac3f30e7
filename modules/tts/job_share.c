/*
 * Which client a job counts for, and jobs that give way.
 *
 * A job has a place of speech.queue from its request to its end, whether it
 * waits, runs or pauses.  One that waits for the answer of another has a place
 * of speech.followers instead.  Beside these pools of all instances, each has
 * its own queue: when that is full, the job that would be served last gives way
 * to one that comes before it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "job.h"

#include "base/mem.h"
#include "net/share.h"
#include "reply.h"

#define RETRY_MOST 60                  /* s that a full queue tells to wait */
#define BYTES_MOST (RPC_BYTES_MAX / 2) /* of the requests of a client */

struct tally_pool tts_pools[] = {
    [TTS_POOL_QUEUE] = { .name = "speech.queue", .scope = TALLY_PROCESS },
    [TTS_POOL_FOLLOWERS] = { .name = "speech.followers",
                             .scope = TALLY_PROCESS },
    [TTS_POOLS] = { .name = NULL },
};

/* ---- sizes ---- */

static int64_t
queue_size(const struct speaker *s)
{
    int64_t sum = 0;

    LIST_EACH (node, &s->desks) {
        const struct desk *d = LIST_ITEM(node, struct desk, link);

        sum += d->retired ? 0
                          : slots_most(d->plan.children) + d->plan.queue +
                                d->plan.max_paused;
    }
    return sum;
}

void
job_set_pools(const struct speaker *s)
{
    tally_set_size(&tts_pools[TTS_POOL_QUEUE], queue_size(s));
    tally_set_size(&tts_pools[TTS_POOL_FOLLOWERS], TTS_FOLLOWERS);
}

/* ---- jobs that end for others ---- */

static int64_t
retry_after(const struct desk *d)
{
    int64_t ms =
        d->usual_ms * (int64_t)(d->slots.waits + 1) / d->slots.children;
    int64_t s = ms / 1000 + 1;

    return s < RETRY_MOST ? s : RETRY_MOST;
}

void
job_refuse(struct job *j, const char *why)
{
    reply_unavailable(&j->request, SPEECH_LACKS_QUEUE, why,
                      retry_after(j->desk));
    job_free(j);
}

/* It waits, and nobody else waits for it. */
static bool
may_give(const struct job *j)
{
    if (j->request == NULL || share_is_exempt(&j->client) ||
        (j->slot.place != SLOT_WAITS && j->pool != TTS_POOL_FOLLOWERS)) {
        return false;
    }
    LIST_EACH (node, &j->followers) {
        if (!share_eq(&LIST_ITEM(node, struct job, follow)->client,
                      &j->client)) {
            return false;
        }
    }
    return true;
}

static void
give_way(struct job *j)
{
    static const char why[] = "the queue is full, and this address has most "
                              "of it: others go before";

    while (!list_empty(&j->followers)) {
        job_refuse(LIST_ITEM(j->followers.next, struct job, follow), why);
    }
    job_refuse(j, why);
}

struct giving {
    struct speaker *speaker;
    enum tts_pool pool;
};

/* The newest of that client.  Its own new one does not take its place. */
static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    const struct giving *g = arg;

    if (!in_use) {
        return false;
    }
    LIST_EACH (at, &g->speaker->desks) {
        struct desk *d = LIST_ITEM(at, struct desk, link);

        for (struct list *node = d->jobs.prev; node != &d->jobs;
             node = node->prev) {
            struct job *j = LIST_ITEM(node, struct job, link);

            if (j->pool == g->pool && share_eq(&j->client, h) && may_give(j)) {
                give_way(j);
                return true;
            }
        }
    }
    return false;
}

/* Of a full queue: one that would be served after j. */
static bool
another_gives(struct job *j)
{
    const struct fair_queue *q = &j->desk->slots.waiting;
    uint64_t turn = fair_queue_turn(q, &j->slot.entry);

    for (struct list *node = q->entries.prev; node != &q->entries;
         node = node->prev) {
        struct job *o = LIST_ITEM(node, struct job, slot.entry.link);

        if (o->slot.entry.turn <= turn) {
            break;
        }
        if (may_give(o)) {
            give_way(o);
            share_gave(&tts_pools[TTS_POOL_QUEUE]);
            return true;
        }
    }
    return false;
}

/* ---- places ---- */

/* Of the requests of j's client that are here, with its own. */
static size_t
bytes_of_client(const struct job *j)
{
    size_t sum = 0;

    LIST_EACH (at, &j->desk->speaker->desks) {
        LIST_EACH (node, &LIST_ITEM(at, struct desk, link)->jobs) {
            const struct job *o = LIST_ITEM(node, struct job, link);

            sum += o->request != NULL && share_eq(&o->client, &j->client)
                       ? o->request->len
                       : 0;
        }
    }
    return sum;
}

/* Texts may be so long that few of them are all that calls may bring. */
static bool
has_many_bytes(const struct job *j)
{
    return !share_is_exempt(&j->client) && bytes_of_client(j) > BYTES_MOST;
}

void
job_unclaim(struct job *j)
{
    if (j->pool != TTS_POOLS) {
        tally_leave(&tts_pools[j->pool], &j->client);
        j->pool = TTS_POOLS;
    }
}

/* False: it was refused, and is gone. */
static bool
claim(struct job *j, enum tts_pool pool)
{
    struct speaker *s = j->desk->speaker;
    struct giving g = { s, pool };
    const struct share_want w = {
        .pool = &tts_pools[pool],
        .client = j->client,
        .size = pool == TTS_POOL_QUEUE ? queue_size(s) : TTS_FOLLOWERS,
        .give = give,
        .arg = &g,
    };
    enum share_answer answer;

    job_unclaim(j);
    answer = has_many_bytes(j) ? SHARE_OVER : share_claim(&w);
    if (answer == SHARE_GRANTED) {
        j->pool = pool;
        return true;
    }
    job_refuse(j, answer == SHARE_OVER
                      ? "this address has its share of the queue"
                      : "the queue is full");
    return false;
}

bool
job_claim_slot(struct job *j)
{
    struct desk *d = j->desk;

    if (!claim(j, TTS_POOL_QUEUE)) {
        return false;
    }
    if (slots_enter(&d->slots, &j->slot) ||
        (another_gives(j) && slots_enter(&d->slots, &j->slot))) {
        return true;
    }
    job_refuse(j, "the queue is full");
    return false;
}

bool
job_claim_answer(struct job *j)
{
    return claim(j, TTS_POOL_FOLLOWERS);
}

/* There is one of them less by now: nothing is claimed anew. */
void
job_change_client(struct job *j, const struct tally_holder *client)
{
    if (j->pool != TTS_POOLS) {
        tally_leave(&tts_pools[j->pool], &j->client);
        tally_enter(&tts_pools[j->pool], client);
    }
    j->client = *client;
    j->slot.entry.owner[0] = client->words[0];
    j->slot.entry.owner[1] = client->words[1];
}
