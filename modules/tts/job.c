/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "job.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "reply.h"

#define ROOM_MS 10 /* until a zygote is asked again */

static struct job *
job_of(struct list *node)
{
    return LIST_ITEM(node, struct job, slot.entry.link);
}

/* ---- the end ---- */

void
job_free(struct job *j)
{
    if (j->pipe != -1) {
        close(j->pipe);
    }
    job_unclaim(j);
    slots_leave(&j->desk->slots, &j->slot);
    list_remove(&j->follow);
    list_remove(&j->link);
    sound_clear(&j->sound);
    mem_free(&j);
}

void
job_end(struct job *j)
{
    struct desk *d = j->desk;

    job_release(j, false);
    job_free(j);
    job_go_on(d);
}

/* ---- queueing ---- */

/* Another job that asks for the same whole answer. */
static struct job *
find_leader(const struct job *j)
{
    if (j->alone || j->sound.stream) {
        return NULL;
    }
    LIST_EACH (node, &j->desk->jobs) {
        struct job *o = LIST_ITEM(node, struct job, link);

        if (o != j && !o->alone && !o->sound.stream && list_empty(&o->follow) &&
            memcmp(o->sound.key, j->sound.key, DIGEST_SHA256) == 0) {
            return o;
        }
    }
    return NULL;
}

/* Behind its leader, or into the queue. */
static void
queue_up(struct job *j)
{
    struct job *leader = find_leader(j);

    if (j->desk->retired) {
        speaker_refuse(j->desk->speaker, &j->request);
        job_free(j);
    } else if (leader == NULL) {
        job_claim_slot(j);
    } else if (job_claim_answer(j)) {
        list_append(&leader->followers, &j->follow);
    }
}

void
job_release(struct job *j, bool each_alone)
{
    j->alone = true;
    while (!list_empty(&j->followers)) {
        struct job *o = LIST_ITEM(j->followers.next, struct job, follow);

        list_remove(&o->follow);
        o->alone |= each_alone;
        queue_up(o);
    }
}

/* ---- readers ---- */

static uint32_t
held(const struct job *j)
{
    return share_is_exempt(&j->client)
               ? 0
               : tally_of(&tts_pools[TTS_POOL_QUEUE], &j->client);
}

/* Of the client that has most; of its jobs, the slowest. */
static void
cut_slowest(struct desk *d)
{
    struct job *slowest = NULL;
    int64_t least = INT64_MAX;
    uint32_t most = 0;

    LIST_EACH (node, &d->slots.paused) {
        struct job *j = job_of(node);
        int64_t rate = synthesis_rate(j->run);
        uint32_t has = held(j);

        if (has > most || (has == most && rate < least)) {
            most = has;
            least = rate;
            slowest = j;
        }
    }
    if (slowest != NULL) {
        slots_leave(&d->slots, &slowest->slot);
        synthesis_kill(slowest->run, TTS_END_PAUSED);
    }
}

static void
on_paused(void *arg)
{
    struct job *j = arg;
    struct desk *d = j->desk;

    slots_pause(&d->slots, &j->slot);
    if ((int64_t)(d->slots.pauses + d->slots.wants) > d->plan.max_paused) {
        cut_slowest(d);
    }
    job_go_on(d);
}

static void
on_wants(void *arg)
{
    struct job *j = arg;

    slots_want(&j->desk->slots, &j->slot);
    job_go_on(j->desk);
}

/* ---- beginning ---- */

void
job_wait_room(struct desk *d)
{
    timer_set(d->speaker->loop, &d->room, ROOM_MS);
}

/* It has a slot.  false: not now. */
static bool
begin(struct job *j)
{
    struct desk *d = j->desk;
    const struct synthesis_options o = {
        .loop = d->speaker->loop,
        .engine = d->zygote->engine,
        .packet = buf_str(&j->sound.packet),
        .text = buf_str(&j->sound.text),
        .buffer = d->plan.buffer,
        .timeout = d->plan.timeout,
        .min_rate = d->plan.min_rate,
        .on_long = job_on_long,
        .on_paused = on_paused,
        .on_wants = on_wants,
        .on_end = job_on_end,
        .arg = j,
    };
    struct errmsg err;
    bool again;

    j->sent_ms = clock_ms();
    j->run = synthesis_start(&o, &again, &err);
    if (j->run != NULL) {
        j->zygote = d->zygote;
        j->sample_rate = d->rate;
        return true;
    }
    slots_return(&d->slots, &j->slot);
    job_wait_room(d);
    if (!again) {
        desk_tell_error(d, "%s", err.text);
        reply_unavailable(&j->request, SPEECH_LACKS_SYSTEM, err.text, 1);
        job_end(j);
    }
    return false;
}

/* The request behind its client. */
static struct str
read_client(const struct rpc_request *r, struct tally_holder *client)
{
    struct unpack in = { .rest = str_of(r->data, r->len) };

    *client = share_unpack(&in);
    return in.rest;
}

/* A reload has changed the voices since it came.  false: the job is over. */
static bool
ask_again(struct job *j)
{
    struct tally_holder client;
    struct str bytes = read_client(j->request, &client);
    struct speech_answer no;
    struct errmsg err;

    if (j->sound.generation == j->desk->generation ||
        sound_read(j->desk, bytes, &j->sound, &no, &err) == 0) {
        return true;
    }
    reply_last(&j->request, &no, -1);
    job_release(j, false);
    job_free(j);
    return false;
}

static bool
may_begin(const struct desk *d)
{
    return !timer_is_set(&d->room) && d->zygote != NULL &&
           engine_is_ready(d->zygote->engine);
}

void
job_go_on(struct desk *d)
{
    struct slot_user *u;

    while ((u = slots_next(&d->slots, may_begin(d))) != NULL) {
        struct job *j = LIST_ITEM(u, struct job, slot);

        if (j->run != NULL) {
            synthesis_grant(j->run);
        } else if (ask_again(j)) {
            begin(j);
        }
    }
}

/* ---- ends from outside ---- */

/* The first follower's request takes the place of that of j, so that nothing
 * is done anew because one of several has gone. */
static void
adopt(struct job *j)
{
    struct job *o = LIST_ITEM(j->followers.next, struct job, follow);

    j->request = o->request;
    j->request->arg = j;
    j->came_ms = o->came_ms;
    o->request = NULL;
    job_change_client(j, &o->client);
    job_free(o);
}

/* Nobody waits for it any more: neither does its child. */
static void
on_gone(void *arg)
{
    struct job *j = arg;

    if (!list_empty(&j->followers)) {
        rpc_refuse(&j->request, "gone");
        adopt(j);
        return;
    }
    if (j->run != NULL) {
        metric_add(&tts_metrics[TTS_CHILD_ENDS], TTS_END_GONE, 1);
        synthesis_forget(&j->run);
    }
    rpc_refuse(&j->request, "gone");
    job_end(j);
}

static struct job *
find_of_zygote(const struct zygote *z)
{
    LIST_EACH (node, &z->desk->jobs) {
        struct job *j = LIST_ITEM(node, struct job, link);

        if (j->zygote == z) {
            return j;
        }
    }
    return NULL;
}

/* The end of one job may end others, so each look begins anew. */
void
job_zygote_gone(struct zygote *z)
{
    struct job *j;

    while ((j = find_of_zygote(z)) != NULL) {
        j->zygote = NULL;
        synthesis_engine_gone(j->run);
    }
}

void
job_refuse_waiting(struct desk *d, int64_t retry_after)
{
    while (!list_empty(&d->slots.waiting.entries)) {
        struct job *j = job_of(d->slots.waiting.entries.next);

        if (d->retired) {
            speaker_refuse(d->speaker, &j->request);
        } else {
            reply_unavailable(&j->request, SPEECH_LACKS_ENGINE, d->why,
                              retry_after);
        }
        job_release(j, false);
        job_free(j);
    }
}

void
job_drop_all(struct desk *d)
{
    while (!list_empty(&d->jobs)) {
        struct job *j = LIST_ITEM(d->jobs.next, struct job, link);

        synthesis_forget(&j->run);
        rpc_refuse(&j->request, "the speaker stops");
        while (!list_empty(&j->followers)) { /* each is a job of this list */
            list_remove(j->followers.next);
        }
        job_free(j);
    }
}

/* ---- requests ---- */

static void
job_begin(struct desk *d, struct rpc_request *r, const struct sound *s)
{
    struct job *j = mem_zero(sizeof(*j));

    read_client(r, &j->client);
    j->pool = TTS_POOLS;
    slot_user_init(&j->slot, j->client.words);
    list_init(&j->follow);
    list_init(&j->followers);
    j->pipe = -1;
    j->desk = d;
    j->request = r;
    j->sound = *s; /* with its packet */
    j->came_ms = clock_ms();
    r->arg = j;
    r->on_gone = on_gone;
    list_append(&d->jobs, &j->link);
    queue_up(j);
    job_go_on(d);
}

static void
answer_from_cache(struct desk *d, struct rpc_request **r, const struct sound *s,
                  const struct cache_answer *kept)
{
    char tag[SPEECH_TAG_MAX + 1];
    const struct speech_answer a = { .status = 200,
                                     .length = kept->length,
                                     .sample_rate = kept->sample_rate,
                                     .duration = kept->duration,
                                     .cached = true,
                                     .format = s->format,
                                     .voice = str_from(s->voice.name),
                                     .tag = { tag, SPEECH_TAG_MAX } };

    sound_tag(s, tag);
    d->hits++;
    metric_add(&tts_metrics[TTS_CACHE_HITS], 0, 1);
    reply_last(r, &a, kept->fd);
}

static void
answer_or_begin(struct desk *d, struct rpc_request *r, struct sound *s)
{
    const struct cache_answer *kept = answer_cache_find(d->cache, s->key);
    int64_t retry_after;

    if (kept != NULL) {
        answer_from_cache(d, &r, s, kept);
    } else if (!desk_is_open(d, &retry_after)) {
        reply_unavailable(&r, SPEECH_LACKS_ENGINE, d->why,
                          retry_after > 0 ? retry_after : 1);
    } else {
        job_begin(d, r, s);
        return;
    }
    sound_clear(s);
}

/* The instance's name is the first text of the request. */
static struct desk *
desk_of(struct speaker *s, struct str bytes)
{
    struct unpack in = { .rest = bytes };

    return desk_find(s, unpack_text(&in));
}

void
job_on_request(void *arg, struct rpc_request *r)
{
    struct speaker *speaker = arg;
    struct tally_holder client;
    struct str bytes = read_client(r, &client);
    struct desk *d = desk_of(speaker, bytes);
    struct speech_answer no;
    struct errmsg err;
    struct sound s;

    if (d == NULL) {
        speaker_refuse(speaker, &r);
        return;
    }
    if (d->catalogue == NULL) {
        reply_unavailable(&r, SPEECH_LACKS_VOICE,
                          "no data directory has voices", 1);
        return;
    }
    sound_init(&s);
    if (sound_read(d, bytes, &s, &no, &err) == -1) {
        reply_last(&r, &no, -1);
        sound_clear(&s);
    } else {
        answer_or_begin(d, r, &s);
    }
}
