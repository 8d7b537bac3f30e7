/*
 * Answers of jobs: from the end of a synthesis to the last word.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "reply.h"

#define USUAL_SHARE 8 /* of a new time in usual_ms: an eighth */
#define RETURNS_MAX 5 /* a request that ends what takes it is refused */

/* ---- answers through a pipe ---- */

static struct speech_answer
good_answer(const struct job *j, int64_t length)
{
    return (struct speech_answer){ .status = 200,
                                   .length = length,
                                   .sample_rate = j->sample_rate,
                                   .duration = j->duration,
                                   .format = j->sound.format,
                                   .voice = str_from(j->sound.voice.name) };
}

static void
send_last(struct job *j)
{
    struct speech_answer a = good_answer(j, j->length);

    a.status = j->status;
    a.message = str_from(j->message);
    reply_last(&j->request, &a, -1);
    job_end(j);
}

static bool
send_pipe(struct job *j, int pipe)
{
    struct speech_answer a = good_answer(j, -1);

    a.duration = -1;
    j->piped = reply_part(j->request, &a, pipe);
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

void
job_on_long(void *arg, int pipe)
{
    struct job *j = arg;

    j->sample_rate = synthesis_sample_rate(j->run);
    job_release(j, true);
    if (!send_pipe(j, pipe)) {
        j->pipe = fcntl(pipe, F_DUPFD_CLOEXEC, 0);
        j->request->on_room = on_room;
    }
}

/* The last answer behind the pipe, or instead of it. */
static void
finish(struct job *j, int status, const char *field, const char *message)
{
    struct speech_answer no;

    if (j->pipe == -1 && !j->piped) { /* nothing, or no descriptor for it */
        no = status == 200 ? reply_error_of(503, "there are no descriptors")
                           : reply_error_of(status, message);
        no.lack = no.status == 503 ? SPEECH_LACKS_SYSTEM : SPEECH_LACKS_NOTHING;
        no.field = str_from(field);
        reply_last(&j->request, &no, -1);
        job_end(j);
        return;
    }
    j->over = true;
    j->status = status;
    str_copy(j->message, sizeof(j->message), str_from(message));
    if (j->piped) {
        send_last(j);
    } else { /* its caller takes no part: that costs no slot */
        slots_leave(&j->desk->slots, &j->slot);
        job_go_on(j->desk);
    }
}

/* ---- whole answers ---- */

static void
reply_sound(struct job *j, int fd, bool cached)
{
    char tag[SPEECH_TAG_MAX + 1];
    struct speech_answer a = good_answer(j, j->length);

    sound_tag(&j->sound, tag);
    a.cached = cached;
    a.tag = str_from(tag);
    reply_last(&j->request, &a, fd);
}

static void
answer_followers(const struct job *leader, int fd)
{
    LIST_EACH (node, &leader->followers) {
        struct job *j = LIST_ITEM(node, struct job, follow);

        j->sample_rate = leader->sample_rate;
        j->duration = leader->duration;
        j->length = leader->length;
        j->desk->hits++;
        metric_add(&tts_metrics[TTS_CACHE_HITS], 0, 1);
        reply_sound(j, fd, true);
        job_free(j);
    }
}

/* The slowest stands first. */
static void
remember_slow(struct desk *d, const struct job *j, int64_t ms)
{
    struct desk_slow *last = &d->slowest[DESK_SLOWEST - 1];

    if (ms <= last->ms) {
        return;
    }
    last->ms = ms;
    last->wall_ms = clock_wall_ms();
    last->text_bytes = j->sound.text_bytes;
    memcpy(last->voice, j->sound.voice.name, sizeof(last->voice));
    for (; last > d->slowest && last[-1].ms < ms; last--) {
        struct desk_slow before = last[-1];

        last[-1] = last[0];
        last[0] = before;
    }
}

static void
count_good(struct job *j, const struct speech_record *r)
{
    struct desk *d = j->desk;
    int64_t ms = clock_ms() - j->sent_ms, rate;

    if (r->sample_rate > 0) {
        j->sample_rate = r->sample_rate;
    }
    rate = j->sample_rate > 0 ? j->sample_rate : 1;
    j->duration = r->samples / rate * 1000 + r->samples % rate * 1000 / rate;
    j->length = r->bytes;
    d->made++;
    d->usual_ms += (ms - d->usual_ms) / USUAL_SHARE;
    remember_slow(d, j, ms);
    metric_add(&tts_metrics[TTS_AUDIO], 0, j->duration);
    metric_observe(&tts_metrics[TTS_FIRST_SOUND], 0,
                   r->first_us + (j->sent_ms - j->came_ms) * 1000);
}

static void
take_whole(struct job *j, struct synthesis_end *end)
{
    struct answer_cache *cache = j->desk->cache;

    count_good(j, end->record);
    reply_sound(j, end->memory, false);
    answer_followers(j, end->memory);
    if (j->sound.generation == j->desk->generation) {
        const struct cache_answer a = { end->memory, j->length, j->sample_rate,
                                        j->duration };

        answer_cache_add(cache, j->sound.key, &a);
        end->memory = -1;
    }
    job_end(j);
}

/* ---- failures ---- */

static void
take_failed(struct job *j, const struct speech_record *r)
{
    char why[SPEECH_MESSAGE_MAX], field[SPEECH_FIELD_MAX + 1];
    bool known = r->status == 400 || r->status == 404 || r->status == 413 ||
                 r->status == 503;
    int status = known ? (int)r->status : 500;

    str_escape(why, sizeof(why), r->message);
    str_escape(field, sizeof(field), r->field);
    if (status >= 500) {
        desk_tell_error(j->desk, "%s", why);
    }
    finish(j, status, field, why);
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
    finish(j, 500, "", texts[reason]);
}

/* No child has begun it: it waits again, before all others.  The zygote that it
 * was sent to may end just now, which is told a moment later. */
static void
take_untaken(struct job *j)
{
    struct desk *d = j->desk;
    int64_t retry_after;

    if (j->returns < RETURNS_MAX && !d->retired) {
        j->returns++;
        slots_return(&d->slots, &j->slot);
        job_wait_room(d);
        job_go_on(d); /* those that have begun may use its slot */
        return;
    }
    desk_is_open(d, &retry_after);
    reply_unavailable(&j->request, SPEECH_LACKS_ENGINE,
                      "weir-speaker has ended",
                      retry_after > 0 ? retry_after : 1);
    job_end(j);
}

void
job_on_end(void *arg, struct synthesis_end *end)
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
        finish(j, 200, "", "");
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
