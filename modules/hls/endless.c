/*
 * The stream as one MP4 without end.
 *
 * struct endless lives in the pool of its request, until that ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "endless.h"

#include <string.h>

#include "made.h"

/* A stream that is published may take so long to begin, ms. */
#define PATIENCE 15000
/* Bytes that are handed over at once, for the client alone. */
#define HANDED_MAX (64u * 1024)
/* Bytes of the boxes of a part, messages among them; with more the answer
 * breaks. */
#define HEAD_MAX (16u * 1024 * 1024)
/* Target durations that a client may fall behind. */
#define BEHIND_MAX 3
/* Times of a client begin so shortly before its first frame, ms: where that one
 * is in samples is rounded. */
#define LEAD 100
/* Sound may be so far behind pictures, ms: more is no time of it. */
#define SOUND_BEHIND 20000
/* Target durations without a part after which nobody counts it as a player. */
#define LASTS 4

struct endless {
    struct asked *asked;
    struct live_cut_watch watch;
    struct timer patience;
    struct live_viewer viewer;
    bool started;
    enum live_viewer_answer counted;
    struct errmsg why;     /* FULL */
    uint64_t word;         /* of the run that it began with */
    uint32_t header;       /* the same */
    uint64_t next;         /* cut, whose part is sent next */
    struct object *object; /* held, while it is sent; or NULL */
    uint64_t sent;         /* bytes of it */
    struct media_shift shift;
    struct buf head; /* owned: the boxes of a part, with this client's times;
                        they stand for the first bytes of the object */
};

_Static_assert(OBJECT_TRACKS <= MEDIA_TRACKS_MAX, "a shift for each track");

enum step { GOES_ON, WAITS, ENDS, BREAKS };

/* ---- the end ---- */

static void
clear(struct endless *e)
{
    live_cut_unwatch(&e->watch);
    timer_stop(e->asked->layer->loop, &e->patience);
    if (e->object != NULL) {
        made_drop(e->object);
        e->object = NULL;
    }
    buf_clear(&e->head);
}

static void
on_cancel(void *arg)
{
    clear(arg);
}

static void
refuse(struct endless *e)
{
    switch (e->counted) {
    case LIVE_VIEWER_COUNTED:
        asked_refuse(e->asked, 503, HLS_REFUSED_NOT_READY,
                     "the stream has not begun yet");
        break;
    case LIVE_VIEWER_KICKED:
        asked_refuse(e->asked, 403, HLS_REFUSED_KICKED, LIVE_KICKED);
        break;
    case LIVE_VIEWER_FULL:
        asked_refuse(e->asked, 503, HLS_REFUSED_FULL, e->why.text);
        break;
    }
}

static void
end(struct endless *e, enum step how)
{
    struct http_request *r = e->asked->request;

    clear(e);
    if (!e->started) {
        refuse(e);
    } else if (how == ENDS) {
        http_end(r);
    } else {
        http_break(r);
    }
}

/* ---- who plays ---- */

static bool
is_counted(struct endless *e, const struct live_cuts *c, uint64_t video,
           uint64_t audio)
{
    int64_t lasts = (int64_t)LASTS * c->target;

    e->viewer.lasts =
        (uint32_t)(lasts < LIVE_VIEWER_MAX ? lasts : LIVE_VIEWER_MAX);
    e->counted = live_viewer_came(&e->viewer, video, audio, &e->why);
    if (e->counted == LIVE_VIEWER_KICKED) {
        http_note(e->asked->request, "%s", LIVE_KICKED);
    }
    return e->counted == LIVE_VIEWER_COUNTED;
}

static void
set_viewer(struct endless *e)
{
    struct asked *a = e->asked;

    viewer_draw(a);
    e->viewer = (struct live_viewer){
        .id = a->viewer,
        .name = a->name,
        .url = http_shown_url(a->request),
        .peer = a->request->client,
        .kind = LIVE_KIND_MP4,
    };
}

/* ---- which part ---- */

/* The newest cut that a player can begin at, of those that are kept. */
static bool
find_begin(const struct live_cuts *c, struct live_cut *cut)
{
    const uint32_t wanted = LIVE_CUT_SEGMENT | LIVE_CUT_KEY;
    uint64_t first = c->first > c->run ? c->first : c->run;

    for (uint64_t n = c->end; n > first; n--) {
        if (live_cut_at(c, n - 1, cut) && (cut->flags & wanted) == wanted) {
            return true;
        }
    }
    return false;
}

uint64_t
endless_first_time(const struct live_cut *cut,
                   const struct object_track *tracks, size_t count)
{
    const uint64_t marks = LIVE_CUT_ANEW | LIVE_CUT_OTHER;
    uint64_t time = cut->time > 0 ? (uint64_t)cut->time : 0;
    uint64_t first = time;

    for (size_t i = 0; i < count; i++) {
        uint32_t rate = tracks[i].track.timescale;

        if (tracks[i].track.type == MEDIA_AUDIO && rate > 0) {
            uint64_t next = cut->sound[tracks[i].sound] & ~marks;
            uint64_t sound = next / rate * 1000 + next % rate * 1000 / rate;
            uint64_t most = time > SOUND_BEHIND ? time - SOUND_BEHIND : 0;

            first = sound < first && sound >= most ? sound : first;
        }
    }
    return first;
}

/* A client's MP4 begins when it comes: some players (VLC) would wait for the
 * time at which the stream is. */
static void
set_shift(struct endless *e, const struct live_cuts *c,
          const struct live_cut *cut)
{
    struct object_track tracks[OBJECT_TRACKS];
    struct live_cut_headers h;
    struct media_shift *s = &e->shift;

    if (!live_cut_headers(c, cut->header, &h)) {
        return;
    }
    s->count = object_tracks(&h, STR_NONE, &media_mp4, tracks);
    s->ms = endless_first_time(cut, tracks, s->count);
    s->ms = s->ms > LEAD ? s->ms - LEAD : 0;
    for (size_t i = 0; i < s->count; i++) {
        s->units[i] = s->ms * tracks[i].track.timescale / 1000;
    }
}

/* -1: memory is out, or they are too long. */
static int
make_head(struct endless *e)
{
    const struct object_piece *boxes = &e->object->pieces[0];
    struct iovec all;
    uint8_t *to;

    buf_clear(&e->head);
    if (boxes->frame != OBJECT_OWN ||
        object_ranges(e->object, 0, &all, 1) != 1 || all.iov_len < boxes->len) {
        return 0;
    }
    to = buf_reserve(&e->head, boxes->len);
    if (to == NULL) {
        return -1;
    }
    memcpy(to, all.iov_base, boxes->len);
    media_mp4_shift(to, boxes->len, &e->shift);
    buf_commit(&e->head, boxes->len);
    return 0;
}

static enum step
take(struct endless *e, const struct live_cuts *c, uint64_t number,
     int64_t part)
{
    struct object_key key = {
        .word = e->word,
        .number = number,
        .part = part,
        .container = &media_mp4,
    };

    switch (made_find(c, e->asked->name, &key, &e->object)) {
    case OBJECT_HERE:
        e->sent = 0;
        return part < 0 || make_head(e) == 0 ? GOES_ON : BREAKS;
    case OBJECT_LATER:
        return WAITS;
    case OBJECT_GONE:
    case OBJECT_FAILED:
        break;
    }
    e->object = NULL;
    return ENDS;
}

static enum step
begin(struct endless *e, const struct live_cuts *c)
{
    struct http_request *r = e->asked->request;
    struct live_cut cut;

    if (c->over) {
        return ENDS;
    }
    if (c->target == 0 || !find_begin(c, &cut)) {
        return WAITS;
    }
    if (!is_counted(e, c, 0, 0)) {
        return ENDS;
    }
    e->word = c->word;
    e->header = cut.header;
    e->next = cut.number;
    set_shift(e, c, &cut);

    enum step step = take(e, c, cut.header, OBJECT_INIT);

    if (step == GOES_ON) {
        e->started = true;
        timer_stop(e->asked->layer->loop, &e->patience);
        http_set_header(r, "Cache-Control", STR("no-store"));
        http_start(r, 200, media_mp4.type);
        http_set_endless(r);
    }
    return step;
}

/* Whether a client that stands at this cut is too far behind, or its frames are
 * not kept any more. */
static bool
is_behind(const struct live_cuts *c, const struct live_cut *cut)
{
    struct live_cut newest;
    struct live_cut_frame frame;

    return (live_cut_at(c, c->end - 1, &newest) &&
            newest.time - cut->time > (int64_t)BEHIND_MAX * c->target) ||
           (cut->number + 1 < c->end &&
            !live_cut_frame(c, cut, cut->frame, &frame));
}

static enum step
take_next(struct endless *e, const struct live_cuts *c)
{
    struct live_cut cut, begin;

    if (e->next >= c->end) {
        return c->over ? ENDS : WAITS;
    }
    if (!live_cut_at(c, e->next, &cut) || is_behind(c, &cut)) {
        if (find_begin(c, &begin) && begin.number > e->next) {
            http_note(e->asked->request, "too slow: some parts were left out");
            e->next = begin.number;
            cut = begin;
        }
    }
    if (cut.number != e->next || cut.header != e->header) {
        return ENDS;
    }
    if (e->next + 1 >= c->end && !c->over) {
        return WAITS;
    }
    enum step step = take(e, c, cut.segment, cut.part);

    if (step != GOES_ON) {
        return step;
    }
    e->next++;
    if (!is_counted(e, c, e->object->video, e->object->audio)) {
        return ENDS;
    }
    return GOES_ON;
}

/* ---- sending ---- */

/* Ranges of the arena, or of a copy. */
static int
hand_over_rest(struct endless *e)
{
    struct iovec ranges[8];
    int count = object_ranges(e->object, e->sent, ranges, 8);
    size_t room = HANDED_MAX;

    for (int i = 0; i < count && room > 0; i++) {
        size_t n = ranges[i].iov_len < room ? ranges[i].iov_len : room;

        if (http_send_more(e->asked->request, str_of(ranges[i].iov_base, n)) !=
            0) {
            return -1;
        }
        e->sent += n;
        room -= n;
    }
    return count > 0 ? 0 : -1;
}

/* Hands over a piece; -1: the connection or the frames are gone. */
static int
hand_over(struct endless *e)
{
    struct str head = str_skip(buf_str(&e->head), e->sent);

    if (head.len > 0) {
        e->sent += head.len;
        return http_send_more(e->asked->request, head);
    }
    return hand_over_rest(e);
}

static enum step
send_on(struct endless *e)
{
    while (e->sent < e->object->size) {
        if (!http_is_sent(e->asked->request)) {
            made_copy(e->object); /* else the arena, while it has the frames */
            return WAITS;
        }
        if (hand_over(e) == -1) {
            return BREAKS;
        }
    }
    made_drop(e->object);
    e->object = NULL;
    return GOES_ON;
}

static enum step
step_on(struct endless *e)
{
    struct live_cuts c;

    if (!live_cuts_find(e->asked->name, &c) ||
        (e->started && c.word != e->word)) {
        return e->object != NULL ? BREAKS : ENDS;
    }
    if (!e->started) {
        return begin(e, &c);
    }
    return e->object != NULL ? send_on(e) : take_next(e, &c);
}

/* HTTP_DONE: the answer is over. */
static enum http_result
run(struct endless *e)
{
    enum step step;

    do {
        step = step_on(e);
    } while (step == GOES_ON);
    if (step == WAITS) {
        return HTTP_WAIT;
    }
    end(e, step);
    return HTTP_DONE;
}

static void
on_cut(struct live_cut_watch *w)
{
    run(LIST_ITEM(w, struct endless, watch));
}

static void
on_room(void *arg)
{
    run(arg);
}

static void
on_patience(struct timer *t)
{
    end(LIST_ITEM(t, struct endless, patience), ENDS);
}

enum http_result
endless_answer(struct asked *a)
{
    struct http_request *r = a->request;
    struct endless *e;
    struct live_cuts c;

    if (!live_is_live(a->name) && !live_cuts_find(a->name, &c)) {
        return asked_refuse(a, 404, HLS_REFUSED_NO_STREAM,
                            "nobody publishes this stream");
    }
    if (str_eq(r->method, STR("HEAD"))) {
        http_set_header(r, "Cache-Control", STR("no-store"));
        http_start(r, 200, media_mp4.type);
        return http_end(r);
    }
    e = pool_zero(r->pool, sizeof(*e));
    e->asked = a;
    buf_init(&e->head, HEAD_MAX);
    e->watch = (struct live_cut_watch){ .name = a->name, .on_cut = on_cut };
    set_viewer(e);
    timer_init(&e->patience, on_patience);
    timer_set(a->layer->loop, &e->patience, PATIENCE);
    live_cut_watch(&e->watch);
    http_on_cancel(r, on_cancel, e);
    http_on_room(r, on_room, e);
    return run(e);
}
