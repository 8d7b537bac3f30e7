/*
 * A job: from the request of a worker to its last answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define ROOM_MS 10    /* until a zygote that took no more is asked again */
#define USUAL_SHARE 8 /* of a new time in usual_ms: an eighth */
#define RETRY_MOST 60 /* s that a full queue tells to wait */

/* ---- answering ---- */

static void
count(enum tts_outcome outcome)
{
    metric_add(&tts_metrics[TTS_REQUESTS], outcome, 1);
}

static void
reply(struct rpc_request **r, const struct speech_answer *a, int fd)
{
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, SPEECH_ANSWER_MAX);
    speech_pack_answer(&out, a);
    if (out.full) {
        rpc_refuse(r, "the answer is too long");
    } else {
        rpc_reply(r, buf_data(&b), buf_len(&b), fd);
    }
    buf_clear(&b);
}

void
job_refuse(struct rpc_request **r, const struct speech_answer *no)
{
    reply(r, no, -1);
}

static void
refuse_with(struct rpc_request **r, int status, const char *message,
            int64_t retry_after)
{
    const struct speech_answer no = { .status = status,
                                      .length = -1,
                                      .duration = -1,
                                      .retry_after = retry_after,
                                      .message = str_from(message) };

    reply(r, &no, -1);
}

static void
write_tag(const uint8_t *key, char tag[SPEECH_TAG_MAX + 1])
{
    for (size_t i = 0; i < SPEECH_TAG_MAX / 2; i++) {
        snprintf(&tag[2 * i], 3, "%02x", key[i]);
    }
}

static void
reply_sound(struct rpc_request **r, const struct sound *s,
            const struct cache_answer *a, bool cached)
{
    char tag[SPEECH_TAG_MAX + 1];
    const struct speech_answer answer = {
        .status = 200,
        .length = a->length,
        .sample_rate = a->sample_rate,
        .duration = a->duration,
        .cached = cached,
        .format = s->format,
        .voice = str_from(s->voice.name),
        .tag = { tag, SPEECH_TAG_MAX },
    };

    write_tag(s->key, tag);
    count(TTS_OK);
    reply(r, &answer, a->fd);
}

/* ---- what is asked ---- */

/* The bytes for a child; all that matters for the sound is in them. */
static bool
pack_for_child(const struct desk *d, struct speech_request *asked,
               const struct resolved *voice, struct buf *to)
{
    struct pack out = { .to = to };

    asked->instance = asked->speaker = STR_NONE;
    asked->voice = voice->file;
    asked->speaker = voice->variant;
    asked->speaker_id = -1;
    asked->reset = false;
    asked->buffer = d->plan.buffer;
    asked->max_audio = d->plan.max_audio;
    speech_pack_request(&out, asked);
    return !out.full;
}

/* A stream's bytes may come from a whole answer. */
static void
make_key(const struct desk *d, const struct speech_request *asked,
         uint8_t key[DIGEST_SHA256])
{
    struct speech_request same = *asked;
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, SPEECH_REQUEST_MAX + sizeof(int64_t) + DIGEST_SHA256);
    same.stream = false;
    speech_pack_request(&out, &same);
    pack_bytes(&out, d->tree, sizeof(d->tree));
    digest_sha256(buf_data(&b), buf_len(&b), key);
    buf_clear(&b);
}

/* From the bytes of the request; false: no has the answer, its text in err. */
static bool
read_sound(const struct desk *d, const struct rpc_request *r, struct sound *s,
           struct speech_answer *no, struct errmsg *err)
{
    const struct resolve_defaults defaults = { d->plan.voice, d->plan.speaker,
                                               d->plan.lenient };
    struct unpack in = { .rest = str_of(r->data, r->len) };
    struct speech_request asked;

    *no = (struct speech_answer){ .status = 500,
                                  .length = -1,
                                  .duration = -1,
                                  .message = STR("the request makes no "
                                                 "sense") };
    buf_clear(&s->packet);
    if (speech_unpack_request(&in, &asked) == -1 ||
        resolve_voice(d->catalogue, &defaults, &asked, &s->voice, no, err) ==
            -1 ||
        !pack_for_child(d, &asked, &s->voice, &s->packet)) {
        return false;
    }
    s->format = asked.format;
    s->stream = asked.stream;
    s->text_bytes = (int64_t)asked.text.len;
    s->generation = d->generation;
    make_key(d, &asked, s->key);
    return true;
}

static void
sound_init(struct sound *s)
{
    memset(s, 0, sizeof(*s));
    buf_init(&s->packet, SPEECH_REQUEST_MAX);
}

/* ---- the end of a job ---- */

static void
free_job(struct job *j)
{
    if (j->pipe != -1) {
        close(j->pipe);
    }
    slots_leave(&j->desk->slots, &j->slot);
    list_remove(&j->link);
    buf_clear(&j->sound.packet);
    mem_free(&j);
}

/* Its last answer was given. */
static void
end_job(struct job *j)
{
    struct desk *d = j->desk;

    free_job(j);
    job_go_on(d);
}

static void
fail_job(struct job *j, enum tts_outcome outcome, int status,
         const char *message)
{
    count(outcome);
    refuse_with(&j->request, status, message, 0);
    end_job(j);
}

/* ---- answers of a pipe ---- */

static void send_last(struct job *j);

/* The part with the pipe; false: there is no room for it now. */
static bool
send_pipe(struct job *j, int pipe)
{
    const struct speech_answer a = { .status = 200,
                                     .length = -1,
                                     .sample_rate = j->sample_rate,
                                     .duration = -1,
                                     .format = j->sound.format,
                                     .voice = str_from(j->sound.voice.name) };
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, SPEECH_ANSWER_MAX);
    speech_pack_answer(&out, &a);
    j->piped = rpc_part(j->request, buf_data(&b), buf_len(&b), pipe) == 0;
    buf_clear(&b);
    return j->piped;
}

static void
on_room(void *arg)
{
    struct job *j = arg;

    if (j->pipe != -1 && !j->piped && send_pipe(j, j->pipe)) {
        close(j->pipe);
        j->pipe = -1;
        if (j->over) {
            send_last(j);
        }
    }
}

static void
on_long(void *arg, int pipe)
{
    struct job *j = arg;

    if (!send_pipe(j, pipe)) {
        j->pipe = fcntl(pipe, F_DUPFD_CLOEXEC, 0);
        j->request->on_room = on_room;
    }
}

static void
send_last(struct job *j)
{
    const struct speech_answer a = { .status = j->status,
                                     .length = j->length,
                                     .sample_rate = j->sample_rate,
                                     .duration = j->duration,
                                     .format = j->sound.format,
                                     .voice = str_from(j->sound.voice.name),
                                     .message = str_from(j->message) };

    reply(&j->request, &a, -1);
    end_job(j);
}

/* The last answer behind the pipe, or instead of it. */
static void
finish_job(struct job *j, enum tts_outcome outcome, int status,
           const char *message)
{
    if (j->pipe == -1 && !j->piped) {
        fail_job(j, outcome, status, message);
        return;
    }
    count(outcome);
    j->over = true;
    j->status = status;
    snprintf(j->message, sizeof(j->message), "%s", message);
    if (j->piped) {
        send_last(j);
    }
}

/* ---- the end of a synthesis ---- */

static void
remember_slow(struct desk *d, const struct job *j, int64_t ms)
{
    size_t least = 0;

    for (size_t i = 1; i < DESK_SLOWEST; i++) {
        if (d->slowest[i].ms < d->slowest[least].ms) {
            least = i;
        }
    }
    if (ms > d->slowest[least].ms) {
        struct desk_slow *s = &d->slowest[least];

        s->ms = ms;
        s->wall_ms = clock_wall_ms();
        s->text_bytes = j->sound.text_bytes;
        memcpy(s->voice, j->sound.voice.name, sizeof(s->voice));
    }
}

static void
count_good(struct job *j, const struct speech_record *r)
{
    struct desk *d = j->desk;
    int64_t rate = r->sample_rate > 0 ? r->sample_rate : j->sample_rate;
    int64_t ms = clock_ms() - j->sent_ms;

    j->duration =
        rate > 0 ? r->samples / rate * 1000 + r->samples % rate * 1000 / rate
                 : -1;
    j->sample_rate = rate;
    j->length = r->bytes;
    d->made++;
    d->usual_ms += (ms - d->usual_ms) / USUAL_SHARE;
    remember_slow(d, j, ms);
    metric_add(&tts_metrics[TTS_AUDIO], 0, j->duration);
    metric_add(&tts_metrics[TTS_FIRST_SOUND], 0,
               r->first_us + (j->sent_ms - j->came_ms) * 1000);
}

static void
take_whole(struct job *j, struct synthesis_end *end)
{
    struct cache_answer a = { .fd = end->memory };
    struct desk *d = j->desk;

    count_good(j, end->record);
    a.length = j->length;
    a.sample_rate = j->sample_rate;
    a.duration = j->duration;
    reply_sound(&j->request, &j->sound, &a, false);
    if (j->sound.generation == d->generation) {
        answer_cache_add(d->cache, j->sound.key, &a);
        end->memory = -1;
    }
    end_job(j);
}

static enum tts_outcome
outcome_of(int64_t status)
{
    return status == 413   ? TTS_TOO_LONG
           : status == 400 ? TTS_BAD_REQUEST
                           : TTS_CRASHED;
}

static void
take_failed(struct job *j, const struct speech_record *r)
{
    char why[4 * SPEECH_MESSAGE_MAX / 2], field[SPEECH_FIELD_MAX + 1];
    bool known = r->status == 400 || r->status == 413 || r->status == 503;
    int status = known ? (int)r->status : 500;

    str_escape(why, SPEECH_MESSAGE_MAX, r->message);
    str_escape(field, sizeof(field), r->field);
    if (status >= 500) {
        desk_tell_error(j->desk, "%s", why);
    }
    if (j->piped || j->pipe != -1) {
        finish_job(j, outcome_of(status), status, why);
        return;
    }
    const struct speech_answer no = { .status = status,
                                      .length = -1,
                                      .duration = -1,
                                      .field = str_from(field),
                                      .message = str_from(why) };

    count(outcome_of(status));
    job_refuse(&j->request, &no);
    end_job(j);
}

static void
take_killed(struct job *j, enum tts_child_end reason)
{
    static const char *const texts[TTS_CHILD_ENDS_COUNT] = {
        [TTS_END_CRASHED] = "the synthesis has crashed",
        [TTS_END_TIMEOUT] = "the synthesis took longer than timeout",
        [TTS_END_SLOW] = "the reader took less than min_rate",
        [TTS_END_PAUSED] = "more readers than max_paused are slow",
        [TTS_END_GONE] = "nobody waits for it any more",
    };

    metric_add(&tts_metrics[TTS_CHILD_ENDS], reason, 1);
    desk_tell_error(j->desk, "%s (voice %s, %lld bytes of text)", texts[reason],
                    j->sound.voice.name, (long long)j->sound.text_bytes);
    finish_job(j, TTS_CRASHED, 500, texts[reason]);
}

/* No child has begun it: it waits again, before all others, once. */
static void
take_untaken(struct job *j)
{
    struct desk *d = j->desk;
    int64_t retry_after;

    if (j->returned || d->retired || d->speaker->stopping ||
        (d->zygote == NULL && timer_is_set(&d->again))) {
        desk_is_open(d, &retry_after);
        count(TTS_CRASHED);
        refuse_with(&j->request, 503, "weir-speaker has ended",
                    retry_after > 0 ? retry_after : 1);
        end_job(j);
        return;
    }
    j->returned = true;
    slots_return(&d->slots, &j->slot);
}

static void
on_end(void *arg, struct synthesis_end *end)
{
    struct job *j = arg;

    j->run = NULL;
    j->zygote = NULL;
    switch (end->outcome) {
    case SYNTHESIS_WHOLE:
        take_whole(j, end);
        break;
    case SYNTHESIS_PIPED:
        count_good(j, end->record);
        finish_job(j, TTS_OK, 200, "");
        break;
    case SYNTHESIS_FAILED:
        take_failed(j, end->record);
        break;
    case SYNTHESIS_CRASHED:
        take_killed(j, TTS_END_CRASHED);
        break;
    case SYNTHESIS_UNTAKEN:
        take_untaken(j);
        break;
    case SYNTHESIS_KILLED:
        take_killed(j, end->reason);
        break;
    }
}

/* ---- readers ---- */

static void
cut_slowest(struct desk *d)
{
    struct job *slowest = NULL;
    int64_t least = INT64_MAX;

    LIST_EACH (node, &d->slots.paused) {
        struct job *j = LIST_ITEM(LIST_ITEM(node, struct slot_user, link),
                                  struct job, slot);
        int64_t rate = synthesis_rate(j->run);

        if (rate < least) {
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

/* It has a slot.  false: not now. */
static bool
begin(struct job *j)
{
    struct desk *d = j->desk;
    const struct synthesis_options o = {
        .loop = d->speaker->loop,
        .engine = d->zygote->engine,
        .packet = buf_str(&j->sound.packet),
        .buffer = d->plan.buffer,
        .timeout = d->plan.timeout,
        .min_rate = d->plan.min_rate,
        .on_long = on_long,
        .on_paused = on_paused,
        .on_wants = on_wants,
        .on_end = on_end,
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
    if (again) {
        slots_return(&d->slots, &j->slot);
        timer_set(d->speaker->loop, &d->room, ROOM_MS);
        return false;
    }
    desk_tell_error(d, "%s", err.text);
    count(TTS_CRASHED);
    refuse_with(&j->request, 503, err.text, 1);
    free_job(j);
    return true;
}

/* A reload has changed the voices since it came.  false: the job is over. */
static bool
ask_again(struct job *j)
{
    struct speech_answer no;
    struct errmsg err;

    if (j->sound.generation == j->desk->generation ||
        read_sound(j->desk, j->request, &j->sound, &no, &err)) {
        return true;
    }
    count(no.status == 404 ? TTS_UNKNOWN_VOICE : TTS_BAD_REQUEST);
    job_refuse(&j->request, &no);
    free_job(j);
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
        } else if (ask_again(j) && !begin(j)) {
            break;
        }
    }
}

/* ---- ends from outside ---- */

/* Nobody waits for it any more: neither does its child. */
static void
on_gone(void *arg)
{
    struct job *j = arg;

    if (j->run != NULL) {
        metric_add(&tts_metrics[TTS_CHILD_ENDS], TTS_END_GONE, 1);
        synthesis_forget(&j->run);
    }
    count(TTS_CLIENT_GONE);
    rpc_refuse(&j->request, "gone");
    end_job(j);
}

static struct job *
find_job(const struct zygote *z)
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

    while ((j = find_job(z)) != NULL) {
        j->zygote = NULL;
        synthesis_engine_gone(j->run);
    }
}

void
job_refuse_waiting(struct desk *d, const char *why, int64_t retry_after)
{
    while (!list_empty(&d->slots.waiting)) {
        struct job *j =
            LIST_ITEM(LIST_ITEM(d->slots.waiting.next, struct slot_user, link),
                      struct job, slot);

        count(TTS_CRASHED);
        refuse_with(&j->request, 503, why, retry_after);
        free_job(j);
    }
}

void
job_drop_all(struct desk *d)
{
    while (!list_empty(&d->jobs)) {
        struct job *j = LIST_ITEM(d->jobs.next, struct job, link);

        synthesis_forget(&j->run);
        rpc_refuse(&j->request, "the speaker stops");
        free_job(j);
    }
}

/* ---- requests ---- */

static void
refuse_full(struct desk *d, struct rpc_request *r)
{
    int64_t ms =
        d->usual_ms * (int64_t)(d->slots.waits + 1) / d->slots.children;
    int64_t s = ms / 1000 + 1;

    count(TTS_QUEUE_FULL);
    refuse_with(&r, 503, "the queue is full", s < RETRY_MOST ? s : RETRY_MOST);
}

/* It is asked of a child. */
static void
queue_up(struct desk *d, struct rpc_request *r, struct sound *s)
{
    struct job *j = mem_zero(sizeof(*j));

    slot_user_init(&j->slot);
    list_init(&j->link);
    j->pipe = -1;
    if (!slots_enter(&d->slots, &j->slot)) {
        refuse_full(d, r);
        buf_clear(&s->packet);
        mem_free(&j);
        return;
    }
    j->desk = d;
    j->request = r;
    j->sound = *s; /* with its packet */
    j->came_ms = clock_ms();
    r->arg = j;
    r->on_gone = on_gone;
    list_append(&d->jobs, &j->link);
    job_go_on(d);
}

static void
answer_or_queue(struct desk *d, struct rpc_request *r, struct sound *s)
{
    const struct cache_answer *a = answer_cache_find(d->cache, s->key);
    int64_t retry_after;

    if (a != NULL) {
        d->hits++;
        metric_add(&tts_metrics[TTS_CACHE_HITS], 0, 1);
        reply_sound(&r, s, a, true);
    } else if (!desk_is_open(d, &retry_after)) {
        count(TTS_CRASHED);
        refuse_with(&r, 503, d->why, retry_after > 0 ? retry_after : 1);
    } else {
        queue_up(d, r, s);
        return;
    }
    buf_clear(&s->packet);
}

/* The instance's name is the first text of the request. */
static struct desk *
desk_of(struct speaker *s, const struct rpc_request *r)
{
    struct unpack in = { .rest = str_of(r->data, r->len) };

    return desk_find(s, unpack_text(&in));
}

void
job_on_request(void *arg, struct rpc_request *r)
{
    struct speaker *speaker = arg;
    struct desk *d = desk_of(speaker, r);
    struct speech_answer no;
    struct errmsg err;
    struct sound s;

    if (d == NULL || d->catalogue == NULL || speaker->stopping) {
        count(TTS_NO_SPEAKER);
        refuse_with(&r, 503,
                    d == NULL           ? "weir.conf has no such tts any more"
                    : speaker->stopping ? "the speaker starts again"
                                        : "its data directories have no voices",
                    1);
        return;
    }
    sound_init(&s);
    if (read_sound(d, r, &s, &no, &err)) {
        answer_or_queue(d, r, &s);
        return;
    }
    count(no.status == 404 ? TTS_UNKNOWN_VOICE : TTS_BAD_REQUEST);
    job_refuse(&r, &no);
    buf_clear(&s.packet);
}
