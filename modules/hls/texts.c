/*
 * Answers with playlists.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "asked.h"
#include "captions.h"
#include "made.h"
#include "offer.h"

#define TYPE "application/vnd.apple.mpegurl"
#define MULTIVARIANT_MAX ((size_t)64 * 1024)

/* ---- what may be asked for (RFC 8216bis, 6.2.5.2) ---- */

/* Whether parts of segments are listed: a container that writes everything has
 * none. */
static bool
has_parts(const struct asked *a, const struct live_cuts *c)
{
    return c->part_target > 0 && a->key.container->payloads_follow;
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

/* Its siblings have the same cuts, and so the same numbers. */
static size_t
siblings_of(const struct asked *a, const struct live_cuts *c,
            const struct offer *o, struct playlist_sibling *out)
{
    static struct live_cut_headers h;
    struct object_track tracks[OBJECT_TRACKS];
    size_t count = 0;

    if (a->key.rendition[0] == '\0' ||
        !live_cut_headers(c, o->cut.header, &h)) {
        return 0;
    }
    for (uint32_t i = 0; i < h.count; i++) {
        char name[OBJECT_RENDITION_MAX] = "v";

        if (h.items[i].type == MEDIA_AUDIO) {
            snprintf(name, sizeof(name), "a%u", h.items[i].track);
        }
        if (strcmp(name, a->key.rendition) != 0 &&
            object_tracks(&h, str_from(name), a->key.container, tracks) > 0) {
            out[count++] = (struct playlist_sibling){
                .uri = asked_uri(a, name),
                .last_segment = o->last,
                .last_part = o->last_part,
            };
        }
    }
    return count;
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

static enum offer_state
write_text(const struct asked *a, const struct live_cuts *c, struct text *t)
{
    struct playlist_sibling siblings[OBJECT_TRACKS];
    bool captions = a->key.container == &captions_container;
    bool sound = captions || a->key.rendition[0] == 'a';
    bool parts = has_parts(a, c);
    struct offer o;
    enum offer_state state = offer_make(c, parts, sound, &o);

    if (state != OFFER_GOOD) {
        return state;
    }
    if (captions) {
        skip_lost_captions(c, &o);
    }
    struct playlist p = {
        .container = a->key.container,
        .target = c->target,
        .part_target = parts ? c->part_target : 0,
        .ended = c->over,
        .independent = c->strict || sound,
        .skip = a->directives.skip,
        .segments = o.segments,
        .count = o.count,
        .open = o.open,
        .base = asked_base(a, c->word),
        .rendition = str_from(a->key.rendition),
        .map_query = STR_NONE,
        .siblings = siblings,
        .sibling_count = siblings_of(a, c, &o, siblings),
    };

    return playlist_write(&t->body, &p) == 0 ? OFFER_GOOD : OFFER_FAT;
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
                    pool_printf(r->pool, "public, max-age=%lld", age));
    http_set_header(r, "ETag",
                    pool_printf(r->pool, "\"%016llx-%llu%s%s\"",
                                (unsigned long long)t->key.word,
                                (unsigned long long)t->key.end,
                                t->key.over ? "-end" : "",
                                t->key.skip ? "-skip" : ""));
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
    };

    memcpy(key.rendition, a->key.rendition, sizeof(key.rendition));
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

static enum http_result
answer_multivariant(struct asked *a, const struct live_cuts *c)
{
    struct offer o;
    enum offer_state state = offer_make(c, true, false, &o);
    struct buf out;

    if (state != OFFER_GOOD) {
        return refuse_offer(a, state);
    }
    buf_init(&out, MULTIVARIANT_MAX);
    if (variants_write(a, c, &out) == -1) {
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
answer(struct asked *a, const struct live_cuts *c)
{
    enum http_result result = HTTP_PASS;

    if (a->kind == HLS_KIND_MULTIVARIANT) {
        viewer_draw(a);
    }
    if (!a->counted) {
        a->counted = true;
        result = viewer_came(a, c);
    }
    if (result != HTTP_PASS) {
        return result;
    }
    if (a->kind == HLS_KIND_MULTIVARIANT) {
        return answer_multivariant(a, c);
    }
    result = wait_for_place(a, c);
    if (result != HTTP_PASS) {
        return result;
    }
    viewer_took(a, c);
    return answer_media(a, c);
}

enum http_result
texts_answer(struct asked *a)
{
    struct live_cuts c;

    if (a->wrong != NULL) {
        return asked_refuse(a, 400, HLS_REFUSED_PARAMETER, a->wrong);
    }
    if (!live_cuts_find(a->name, &c)) {
        bool live = live_is_live(a->name);

        return asked_refuse(
            a, live ? 503 : 404,
            live ? HLS_REFUSED_NOT_READY : HLS_REFUSED_NO_STREAM,
            live ? refusal_of(OFFER_EARLY) : "nobody publishes this stream");
    }
    return c.target != 0 ? answer(a, &c) : refuse_offer(a, offer_state(&c));
}
