/*
 * Answers with playlists.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "captions.h"
#include "made.h"
#include "members.h"
#include "offer.h"

#define TYPE "application/vnd.apple.mpegurl"
#define MULTIVARIANT_MAX ((size_t)64 * 1024)

/* ---- what may be asked for (RFC 8216bis, 6.2.5.2) ---- */

/* Whether parts of segments are listed: a container that writes everything has
 * none, and text goes by the pictures that it is shown with. */
static bool
has_parts(const struct asked *a, const struct live_cuts *c)
{
    return c->part_target > 0 && a->layer->container->payloads_follow;
}

static bool
is_text(const struct asked *a)
{
    return a->key.container == &captions_container;
}

static const char *
is_too_far(const struct asked *a, const struct live_cuts *c,
           const struct offer_edge *e)
{
    bool parts = e->part > 0 && has_parts(a, c);

    return hls_directives_refused(&a->directives,
                                  parts ? e->segment : e->last_whole,
                                  parts ? (int64_t)e->part - 1 : -1,
                                  playlist_advance_limit(c->part_target));
}

/* HTTP_PASS: nothing is left to wait for. */
static enum http_result
wait_for_place(struct asked *a, const struct live_cuts *c)
{
    const struct hls_directives *d = &a->directives;
    struct offer_edge e;

    if (!d->has_segment || c->over || !offer_edge(c, &e)) {
        return HTTP_PASS;
    }
    const char *reason = is_too_far(a, c, &e);

    if (reason != NULL) {
        return asked_refuse(a, 400, HLS_REFUSED_PARAMETER, reason);
    }
    a->blocked.segment = d->segment;
    a->blocked.part =
        d->has_part && has_parts(a, c) ? d->part : BLOCKED_SEGMENT;
    if (blocked_is_over(c, &a->blocked)) {
        return HTTP_PASS;
    }
    return asked_wait(a, c, a->blocked.segment, a->blocked.part);
}

/* ---- the media playlist ---- */

static const char *
refusal_of(enum offer_state state)
{
    static const char *const texts[] = {
        [OFFER_GOOD] = "",
        [OFFER_EARLY] = "the stream has just begun",
        [OFFER_FAT] = ("too little of the stream can be kept "
                       "(live.max_stream_memory)"),
        [OFFER_LOOSE] = "its key frames are too far apart (strict_keys)",
    };

    return texts[state];
}

static enum http_result
refuse_offer(struct asked *a, enum offer_state state)
{
    static const enum hls_refused why[] = {
        [OFFER_GOOD] = HLS_REFUSED_FAILED,
        [OFFER_EARLY] = HLS_REFUSED_NOT_READY,
        [OFFER_FAT] = HLS_REFUSED_TOO_FAT,
        [OFFER_LOOSE] = HLS_REFUSED_LOOSE,
    };

    return asked_refuse(a, 503, why[state], refusal_of(state));
}

/* ---- reports of other renditions (4.4.5.4) ---- */

#define SIBLINGS (LIVE_LADDER_MAX * (OBJECT_TRACKS + 2))

struct siblings {
    struct playlist_sibling items[SIBLINGS];
    size_t count;
};

/* A stream whose renditions are reported: they have the same cuts, and so the
 * same numbers. */
struct reported {
    struct str room;
    const struct live_cuts *cuts;
    const struct offer *newest;
};

static void
add_sibling(struct siblings *s, const struct asked *a, const struct reported *r,
            const char *rendition)
{
    if (s->count < SIBLINGS) {
        s->items[s->count++] = (struct playlist_sibling){
            .uri = asked_uri(a, r->room, rendition),
            .last_segment = r->newest->last,
            .last_part = r->newest->last_part,
        };
    }
}

/* Its tracks as renditions of their own. */
static void
add_tracks(struct siblings *s, const struct asked *a, const struct reported *r,
           const char *but)
{
    static struct live_cut_headers h;
    struct object_track tracks[OBJECT_TRACKS];

    if (!live_cut_headers(r->cuts, r->newest->cut.header, &h)) {
        return;
    }
    for (uint32_t i = 0; i < h.count; i++) {
        char name[OBJECT_RENDITION_MAX] = "v";

        if (h.items[i].type == MEDIA_AUDIO) {
            snprintf(name, sizeof(name), "a%u", h.items[i].track);
        }
        if (strcmp(name, but) != 0 &&
            object_tracks(&h, str_from(name), a->layer->container, tracks) >
                0) {
            add_sibling(s, a, r, name);
        }
    }
}

/* Its renditions, but one.  Text does not know whether the tracks that it goes
 * with are together or apart, so its list reports both. */
static void
add_renditions(struct siblings *s, const struct asked *a,
               const struct reported *r, const char *but)
{
    bool together = a->key.rendition[0] == '\0';

    if ((together || is_text(a)) && strcmp("all", but) != 0) {
        add_sibling(s, a, r, "all");
    }
    if (!together) {
        add_tracks(s, a, r, but);
    }
    if (strcmp(CAPTION_RENDITION, but) != 0 && captions_are_there(r->cuts)) {
        add_sibling(s, a, r, CAPTION_RENDITION);
    }
}

/* The newest part of another stream that is whole.  False: it has none, or
 * cannot be offered. */
static bool
find_newest(const struct live_cuts *c, bool parts, struct offer *o)
{
    struct live_cut whole;

    if (c->target == 0 || c->end < c->run + 2 ||
        !live_cut_at(c, c->end - 1, &o->cut) ||
        !live_cut_at(c, c->end - 2, &whole)) {
        return false;
    }
    if ((whole.flags & LIVE_CUT_PLAIN) != 0) {
        parts = false;
    }
    o->last = parts ? whole.segment : o->cut.segment - 1;
    o->last_part = parts ? (int64_t)whole.part : -1;
    return true;
}

/* Stands for what is reported of other streams: a playlist is made anew when
 * one has moved, though this one has not.  0: there are none. */
static uint64_t
where_members_are(const struct asked *a)
{
    static struct member members[LIVE_LADDER_MAX];
    size_t count = members_beside(a, members);
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum = (sum ^ members[i].cuts.word) * UINT64_C(0x9e3779b97f4a7c15);
        sum = (sum ^ members[i].cuts.end) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

static void
add_members(struct siblings *s, const struct asked *a)
{
    static struct member members[LIVE_LADDER_MAX];
    size_t count = members_beside(a, members);
    struct offer newest;

    for (size_t i = 0; i < count; i++) {
        const struct live_cuts *c = &members[i].cuts;

        if (find_newest(c, has_parts(a, c), &newest)) {
            add_renditions(
                s, a, &(struct reported){ members[i].room, c, &newest }, "");
        }
    }
}

static void
find_siblings(struct siblings *s, const struct asked *a,
              const struct live_cuts *c, const struct offer *o)
{
    const char *own = a->key.rendition;

    s->count = 0;
    add_renditions(s, a, &(struct reported){ a->room, c, o },
                   own[0] != '\0' ? own : "all");
    add_members(s, a);
}

/* Leaves out the segments whose text is not kept any more. */
static void
skip_lost_captions(const struct live_cuts *c, struct offer *o)
{
    struct live_cut cut;

    while (o->count > 0 && (!live_cut_of(c, o->segments[0].number, 0, &cut) ||
                            !captions_are_kept(c, &cut))) {
        o->segments++;
        o->count--;
    }
}

static struct offer_wish
wish_of(const struct asked *a, const struct live_cuts *c)
{
    struct str rendition = str_from(a->key.rendition);
    bool sound = rendition.len > 0 && rendition.ptr[0] == 'a';
    bool pictures = str_eq(rendition, STR("v"));
    int64_t id = 0;

    if (sound) {
        str_to_int(str_skip(rendition, 1), 0, 255, &id);
    }
    return (struct offer_wish){
        .parts = has_parts(a, c),
        .anywhere = is_text(a) || sound,
        .type = sound      ? MEDIA_AUDIO
                : pictures ? MEDIA_VIDEO
                           : MEDIA_DATA,
        .track = (uint8_t)id,
    };
}

static enum offer_state
write_text(const struct asked *a, const struct live_cuts *c, struct text *t)
{
    static struct siblings siblings;
    const struct offer_wish wish = wish_of(a, c);
    struct offer o;
    enum offer_state state = offer_make(c, &wish, &o);

    if (state != OFFER_GOOD) {
        return state;
    }
    if (is_text(a)) {
        skip_lost_captions(c, &o);
    }
    find_siblings(&siblings, a, c, &o);
    struct playlist p = {
        .container = a->key.container,
        .target = c->target,
        .part_target = wish.parts ? c->part_target : 0,
        .ended = c->over,
        .independent = c->strict || wish.anywhere,
        .skip = a->directives.skip,
        .segments = o.segments,
        .count = o.count,
        .open = o.open,
        .base = asked_base(a, c->word),
        .rendition = str_from(a->key.rendition),
        .map_query = str_from(t->key.query),
        .siblings = siblings.items,
        .sibling_count = siblings.count,
    };

    return playlist_write(&t->body, &p) == 0 ? OFFER_GOOD : OFFER_FAT;
}

static const char *
members_tag(struct pool *pool, uint64_t beside)
{
    return beside == 0
               ? ""
               : pool_printf(pool, "-%016llx", (unsigned long long)beside).ptr;
}

static void
set_headers(struct asked *a, const struct live_cuts *c, const struct text *t)
{
    struct http_request *r = a->request;
    long long age = 1;

    if (c->over) {
        age = playlist_seconds(c->target);
    } else if (a->directives.has_segment) {
        age = 6 * (long long)playlist_seconds(c->target);
    }
    http_set_header(r, "Cache-Control",
                    pool_printf(r->pool, "%s, max-age=%lld",
                                http_is_private(r) ? "private" : "public",
                                age));
    http_set_header(
        r, "ETag",
        pool_printf(
            r->pool, "%s\"%016llx-%llu%s%s%s\"", members_is_one(a) ? "W/" : "",
            (unsigned long long)t->key.word, (unsigned long long)t->key.end,
            t->key.over ? "-end" : "", t->key.skip ? "-skip" : "",
            members_tag(r->pool, t->key.beside)));
}

static enum http_result
answer_media(struct asked *a, const struct live_cuts *c)
{
    struct text_key key = {
        .word = c->word,
        .end = c->end,
        .container = a->key.container,
        .over = c->over,
        .skip = a->directives.skip,
        .parts = has_parts(a, c),
        .beside = where_members_are(a),
    };

    memcpy(key.rendition, a->key.rendition, sizeof(key.rendition));
    str_copy(key.query, sizeof(key.query), asked_object_query(a, c->word));
    struct text *t = made_text(a->name, &key);

    if (t == NULL) {
        t = made_add_text(a->name, &key);
        enum offer_state state = write_text(a, c, t);

        if (state != OFFER_GOOD) {
            made_drop_text(t);
            return refuse_offer(a, state);
        }
    }
    set_headers(a, c, t);
    return http_reply_shared(a->request, 200, TYPE, buf_str(&t->body),
                             &t->gzip);
}

/* ---- all of them ---- */

/* Keeps those that can be offered; where there are none, returns the reason
 * that the first has. */
static enum offer_state
keep_offered(struct member *all, size_t *count)
{
    const struct offer_wish wish = { .parts = true, .type = MEDIA_DATA };
    enum offer_state first = OFFER_EARLY;
    size_t kept = 0;
    struct offer o;

    for (size_t i = 0; i < *count; i++) {
        const struct live_cuts *c = &all[i].cuts;
        enum offer_state state =
            c->target != 0 ? offer_make(c, &wish, &o) : offer_state(c);

        first = i == 0 ? state : first;
        if (state == OFFER_GOOD) {
            members_copy(&all[kept++], &all[i]);
        }
    }
    *count = kept;
    return kept > 0 ? OFFER_GOOD : first;
}

static enum http_result
answer_multivariant(struct asked *a, struct member *members, size_t count)
{
    enum offer_state state = keep_offered(members, &count);
    enum http_result result;
    struct buf out;

    if (state != OFFER_GOOD) {
        return refuse_offer(a, state);
    }
    viewer_draw(a);
    a->shown_as = members[0].name;
    result = viewer_came(a, &members[0].cuts);
    if (result != HTTP_PASS) {
        return result;
    }
    buf_init(&out, MULTIVARIANT_MAX);
    if (variants_write(a, members, count, &out) == -1) {
        buf_clear(&out);
        return asked_refuse(a, 503, HLS_REFUSED_FAILED,
                            "nothing in it can be played over HLS");
    }
    http_set_header(a->request, "Cache-Control", STR("no-store"));
    http_reply(a->request, 200, TYPE, buf_str(&out));
    buf_clear(&out);
    return HTTP_DONE;
}

static enum http_result
answer_playlist(struct asked *a, const struct live_cuts *c)
{
    enum http_result result = HTTP_PASS;

    if (!a->counted) {
        a->counted = true;
        a->shown_as = members_counted(a);
        result = viewer_came(a, c);
    }
    if (result == HTTP_PASS) {
        result = wait_for_place(a, c);
    }
    if (result != HTTP_PASS) {
        return result;
    }
    viewer_took(a, c);
    return answer_media(a, c);
}

/* A stream of that name comes before a ladder. */
static enum http_result
answer(struct asked *a)
{
    static struct member members[LIVE_LADDER_MAX];
    bool whole = a->kind == HLS_KIND_MULTIVARIANT;
    size_t count = 1;

    if (!members_self(a, &members[0])) {
        count = whole ? members_of(a, members) : 0;
        a->of_ladder = count > 0;
    }
    if (count == 0) {
        bool live = live_is_live(a->name);

        return asked_refuse(
            a, live ? 503 : 404,
            live ? HLS_REFUSED_NOT_READY : HLS_REFUSED_NO_STREAM,
            live ? refusal_of(OFFER_EARLY) : "nobody publishes this stream");
    }
    if (whole) {
        return answer_multivariant(a, members, count);
    }
    return members[0].cuts.target != 0
               ? answer_playlist(a, &members[0].cuts)
               : refuse_offer(a, offer_state(&members[0].cuts));
}

enum http_result
texts_answer(struct asked *a)
{
    return a->wrong != NULL
               ? asked_refuse(a, 400, HLS_REFUSED_PARAMETER, a->wrong)
               : answer(a);
}
