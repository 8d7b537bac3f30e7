/*
 * Publishers: getting a name, writing, losing it to another.
 *
 * A publisher is made by live_publish(), asks (perhaps again and again, perhaps
 * another process) until on_start, writes, and is freed at the end of the turn
 * in which it stopped or left.  The stream outlives it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/hub.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "live/metrics.h"
#include "proc/refused.h"

/* How long a name may be in other hands before we give up. */
#define CLAIM_TIMEOUT_MS 3000
#define RETRY_MS 2
#define RATE_LOOK_MS 1000

struct live_publisher {
    struct hub_stream *hs; /* while asking or writing */
    const struct live_publisher_handlers *handlers;
    void *arg;
    struct writer writer;
    bool writing;
    unsigned app; /* its place among METRIC_APPS */
    struct session_record *record;
    struct live_publish what; /* name points into name */
    char name[LIVE_NAME_MAX];
    int64_t deadline;          /* clock_ms(), for the claim */
    int64_t began_ms;          /* clock_ms(): the stream is ours since then */
    int64_t rate_ms;           /* when its rate was looked at last */
    bool too_fast;             /* it has to be stopped for that */
    bool damaged;              /* its stream is: the same */
    struct stream_words words; /* as it left them there */
    struct timer timer;        /* retry, or the claim's end; writing: its own */
    struct later destroy;
};

static void
on_destroy(struct later *later)
{
    struct live_publisher *p = LIST_ITEM(later, struct live_publisher, destroy);

    mem_free(&p);
}

/* Lets go of everything but the stream itself. */
static void
forget(struct live_publisher *p)
{
    struct hub_stream *hs = p->hs;

    timer_stop(hub.loop, &p->timer);
    record_free(&p->record);
    if (p->writing) {
        p->writing = false;
        metric_add(&live_metrics[LIVE_PUBLISHERS], p->app, -1);
    }
    if (hs != NULL) {
        if (hs->publisher == p) {
            hs->publisher = NULL;
        }
        if (hs->asking == p) {
            hs->asking = NULL;
        }
        p->hs = NULL;
        hub_release(hs);
    }
    loop_later(hub.loop, &p->destroy);
}

static void
stop(struct live_publisher *p, enum live_stopped why, const char *reason)
{
    const struct live_publisher_handlers *handlers = p->handlers;
    void *arg = p->arg;

    log_limited_if(
        debug_wanted(&(struct debug_mark){ 0 }, &p->what.peer, p->what.name),
        LOG_INFO, "stream %s: publisher stopped: %s", p->name, reason);
    metric_add(&live_metrics[LIVE_STOPPED], why, 1);
    forget(p);
    handlers->on_stop(arg, reason);
}

static bool
plays(struct writer *w)
{
    return hub_has_players(LIST_ITEM(w, struct live_publisher, writer)->hs);
}

/* The stream is ours. */
static void
begin(struct live_publisher *p, struct hub_stream *hs)
{
    struct live_publisher *other = hs->asking != p ? hs->asking : NULL;

    timer_stop(hub.loop, &p->timer);
    hs->publisher = p;
    hs->asking = NULL;
    p->hs = hs;
    p->writing = true;
    p->began_ms = p->rate_ms = loop_now(hub.loop);
    record_publishes(p->record);
    metric_add(&live_metrics[LIVE_PUBLISHERS], p->app, 1);
    writer_start(&p->writer, hs->stream);
    p->words = stream_words(hs->stream);
    p->writer.plays = plays;
    if (other != NULL) { /* it asked one that has left since */
        stream_unask(hs->stream);
        other->hs = NULL;
        stop(other, LIVE_STOPPED_REPLACED, "replaced by a newer publisher");
    }
    for (uint32_t slot = 0; slot < slots_end(); slot++) {
        if (atomic_load(&arena.pages[slot].hub) != 0) {
            stream_set_owing(hs->stream, slot, true);
            wake_slot(slot, stream_number(hs->stream));
        }
    }
    p->handlers->on_start(p->arg);
}

/* Another publisher of this very process has the name. */
static int
replace_local(struct live_publisher *p, struct hub_stream *hs,
              struct errmsg *err)
{
    struct live_publisher *old = hs->publisher;

    if (stream_note_replaced(hs->stream, err) != 0) {
        return -1;
    }
    hs->publisher = NULL;
    old->hs = NULL;
    p->hs = hs; /* keeps hs while the old one goes */
    hs->asking = p;
    stop(old, LIVE_STOPPED_REPLACED, "replaced by a newer publisher");
    if (hs->asking == p) {
        begin(p, hs);
    }
    return 0;
}

static int
take_over(struct live_publisher *p, struct stream *s, struct errmsg *err)
{
    struct hub_stream *hs = hub_adopt(s);
    int result = 0;

    if (p->what.conflict == LIVE_REFUSE) {
        live_count_refused(LIVE_REFUSED_TAKEN);
        result = errmsg_set(err, "%s has a publisher already", p->name);
    } else if (hs->asking != NULL) {
        live_count_refused(LIVE_REFUSED_TAKING);
        result =
            errmsg_set(err, "another publisher is taking %s over", p->name);
    } else if (hs->publisher != NULL) {
        return replace_local(p, hs, err);
    } else {
        result = stream_ask(s, err);
    }
    if (result == 0) {
        p->hs = hs;
        hs->asking = p;
        timer_set(hub.loop, &p->timer, p->deadline - clock_ms());
        publisher_look(hs); /* it may have been left in this moment */
    } else {
        hub_release(hs);
    }
    return result;
}

/* 0: begun or under way; -1: refused. */
static int
claim(struct live_publisher *p, struct errmsg *err)
{
    struct stream *s = NULL;

    switch (stream_claim(&p->what, &s)) {
    case STREAM_YOURS:
        begin(p, hub_adopt(s));
        return 0;
    case STREAM_TAKEN:
        return take_over(p, s, err);
    case STREAM_RETRY:
        if (clock_ms() >= p->deadline) {
            live_count_refused(LIVE_REFUSED_BUSY);
            return errmsg_set(err, "%s is in use by another process", p->name);
        }
        timer_set(hub.loop, &p->timer, RETRY_MS);
        return 0;
    case STREAM_NO_ROOM:
        live_count_refused(LIVE_REFUSED_STREAMS);
        return errmsg_set(err,
                          "no room for another stream: live.max_streams "
                          "is %u",
                          arena.stream_count);
    case STREAM_SHARE:
        live_count_refused(LIVE_REFUSED_SHARE);
        return errmsg_set(err,
                          "your address has its share of live.max_streams, "
                          "which is %u",
                          arena.stream_count);
    }
    return -1;
}

/* The stream stays, on hold. */
static void
leave(struct live_publisher *p)
{
    const struct hub_stream *hs = p->hs;

    if (hs != NULL && (p->writing || !stream_unask(hs->stream)) &&
        atomic_load(&hs->stream->writer) == slot_self_owner()) {
        stream_leave(hs->stream);
    }
}

/* Why it cannot go on, or LIVE_STOPPED_COUNT. */
static enum live_stopped
must_stop(const struct live_publisher *p)
{
    return p->damaged           ? LIVE_STOPPED_DAMAGED
           : p->too_fast        ? LIVE_STOPPED_RATE
           : p->writer.unsteady ? LIVE_STOPPED_HEADERS
                                : LIVE_STOPPED_COUNT;
}

/* Not from within live_write(): its caller may have more to write. */
static void
stop_writing(struct live_publisher *p)
{
    static const char *const reasons[] = {
        [LIVE_STOPPED_DAMAGED] = "the stream's record was damaged",
        [LIVE_STOPPED_RATE] = "it sends more than the operator allows the "
                              "stream",
        [LIVE_STOPPED_HEADERS] = "its codec headers change too often",
    };
    enum live_stopped why = must_stop(p);

    refused_note(&(struct refused){
        .proto = live_kind_name(p->what.kind),
        .peer = addr_text(&p->what.peer, (char[ADDR_TEXT]){ 0 }),
        .reason = reasons[why],
        .bytes = STR_NONE,
    });
    if (p->damaged) {
        stream_abandon(p->hs->stream);
    } else {
        leave(p);
    }
    stop(p, why, reasons[why]);
}

/* A retry is due, the old publisher's process did not answer in time, or what
 * is written cannot be kept or is too much. */
static void
on_timer(struct timer *timer)
{
    struct live_publisher *p = LIST_ITEM(timer, struct live_publisher, timer);
    struct errmsg err = { "" };

    if (p->writing) {
        stop_writing(p);
        return;
    }
    if (p->hs == NULL) {
        if (claim(p, &err) != 0) {
            stop(p, LIVE_STOPPED_CLAIM, err.text);
        }
        return;
    }
    if (stream_unask(p->hs->stream)) {
        stop(p, LIVE_STOPPED_CLAIM,
             "the process of the old publisher does not answer");
        return;
    }
    publisher_look(p->hs);
    if (p->hs != NULL && !p->writing) { /* it died while it answered */
        stop(p, LIVE_STOPPED_CLAIM, "the process of the old publisher died");
    }
}

struct live_publisher *
live_publish(const struct live_publish *what,
             const struct live_publisher_handlers *h, void *arg,
             struct errmsg *err)
{
    struct record_text text = { what->name,      what->url,  what->peer,
                                what->stream_id, what->kind, SESSION_ASKING };
    struct live_publisher *p;

    if (what->name.len >= LIVE_NAME_MAX) {
        live_count_refused(LIVE_REFUSED_NAME);
        errmsg_set(err, "the stream's name is longer than %d bytes",
                   LIVE_NAME_MAX - 1);
        return NULL;
    }
    p = mem_zero(sizeof(*p));
    p->handlers = h;
    p->arg = arg;
    p->what = *what;
    p->app = live_app_place(what->name);
    str_copy(p->name, sizeof(p->name), what->name);
    p->what.name = str_of(p->name, what->name.len);
    p->deadline = clock_ms() + CLAIM_TIMEOUT_MS;
    timer_init(&p->timer, on_timer);
    later_init(&p->destroy, on_destroy);
    p->record = record_take(&text, err);
    if (p->record == NULL || claim(p, err) != 0) {
        forget(p);
        return NULL;
    }
    return p;
}

/* Counts received bytes, also of frames that are dropped later. */
static void
count(struct live_publisher *p, enum media_type type, size_t len)
{
    uint64_t video = type == MEDIA_VIDEO ? len : 0;
    uint64_t audio = type == MEDIA_AUDIO ? len : 0;
    int64_t now = loop_now(hub.loop);

    record_count(p->record, now, video, audio);
    meter_add(&p->hs->stream->meter, now, video, audio);
}

/* Looked at once a second, over the window of the meter: who has sent for less
 * than that is not judged, because many begin with a burst. */
static bool
is_too_fast(struct live_publisher *p)
{
    int64_t now = loop_now(hub.loop);
    const struct exception *e;
    struct meter_view m;

    if (exceptions_of_kind[EXCEPTION_RATE] == 0 ||
        now - p->rate_ms < RATE_LOOK_MS ||
        now - p->began_ms < METER_BUCKETS * METER_BUCKET_MS) {
        return false;
    }
    p->rate_ms = now;
    e = exception_of_stream(EXCEPTION_RATE, p->what.name);
    if (e == NULL) {
        return false;
    }
    m = meter_read(&p->record->meter, now, p->began_ms);
    if (m.video_speed <= (uint64_t)e->most &&
        m.audio_speed <= (uint64_t)e->most - m.video_speed) {
        return false;
    }
    exception_strikes(e);
    return true;
}

/* Another process wrote there. */
static bool
is_damaged(struct live_publisher *p)
{
    struct stream_words now = stream_words(p->hs->stream);

    return memcmp(&now, &p->words, sizeof(now)) != 0 ||
           !str_eq(stream_name(p->hs->stream), p->what.name) ||
           !stream_is_whole(p->hs->stream);
}

int
live_write(struct live_publisher *p, enum media_type type, uint32_t timestamp,
           const uint8_t *payload, size_t len)
{
    int result = -1;

    if (!p->writing || p->hs == NULL) {
        return -1;
    }
    count(p, type, len);
    if (must_stop(p) != LIVE_STOPPED_COUNT) {
        return -1;
    }
    p->too_fast = is_too_fast(p);
    p->damaged = is_damaged(p);
    if (!p->damaged) {
        result = writer_append(&p->writer, type, timestamp, payload, len);
        p->words = stream_words(p->hs->stream);
    }
    if (must_stop(p) != LIVE_STOPPED_COUNT) {
        timer_set(hub.loop, &p->timer, 0);
    }
    return result;
}

void
live_unpublish(struct live_publisher **pp)
{
    struct live_publisher *p = *pp;

    if (p != NULL) {
        *pp = NULL;
        leave(p);
        forget(p);
    }
}

const struct session_record *
publisher_record(const struct live_publisher *p)
{
    return p->record;
}

void
publisher_kick(struct live_publisher *p, const char *reason)
{
    leave(p);
    stop(p, LIVE_STOPPED_KICKED, reason);
}

void
publisher_look(struct hub_stream *hs)
{
    struct stream *s = hs->stream;
    slot_owner self = slot_self_owner();
    slot_owner nobody = 0;

    if (hs->publisher != NULL) {
        if (atomic_load(&s->takeover) != 0 && stream_hand_over(s)) {
            stop(hs->publisher, LIVE_STOPPED_REPLACED,
                 "replaced by a newer publisher");
        }
        return;
    }
    if (hs->asking == NULL) {
        if (atomic_load(&s->writer) == self) {
            stream_leave(s); /* the one that asked for it has gone meanwhile */
        }
        return;
    }
    if (atomic_load(&s->writer) == self ||
        atomic_compare_exchange_strong(&s->writer, &nobody, self)) {
        stream_unask(s); /* its writer may have gone without answering */
        begin(hs->asking, hs);
    }
}

void
publisher_retry(struct hub_stream *hs)
{
    struct live_publisher *p = hs->asking;

    if (p != NULL) {
        hs->asking = NULL;
        p->hs = NULL;
        timer_set(hub.loop, &p->timer, RETRY_MS);
    }
}
