/*
 * The newest key frame as a file: the boxes of a fragment with one sample.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "still.h"

#include "http/file/condition.h"

/* A picture of the largest size that is answered, with its boxes. */
#define STILL_MAX ((size_t)8 * 1024 * 1024)
/* So many messages are looked at for a key frame, newest first. */
#define LOOK_MAX 8192u
#define RANGES_MAX 1024
/* It is shown for a second. */
#define DURATION MEDIA_VIDEO_TIMESCALE

struct still {
    struct live_cut cut; /* in front of it */
    bool known;          /* whether a track of pictures is: */
    struct media_track track;
    struct live_cut_frame frame;
    struct media_piece picture; /* of the frame */
};

/* The picture of a frame; of several tracks that of the lowest one. */
static bool
find_picture(const struct live_cuts *c, const struct live_cut_frame *f,
             struct media_piece *picture)
{
    static struct media_pieces pieces;
    struct media_sample_head head;

    if ((f->flags & MEDIA_MANY) != 0) {
        if (!live_cut_pieces(c, f, &pieces) || !pieces.coded) {
            return false;
        }
        *picture = *media_pieces_lowest(&pieces);
        return picture->len > 0;
    }
    if (media_sample_head(&head, MEDIA_VIDEO, str_of(f->front, f->front_len)) ==
            -1 ||
        head.offset >= f->len) {
        return false;
    }
    *picture = (struct media_piece){
        .at = head.offset,
        .len = f->len - head.offset,
        .codec = head.codec,
        .track = head.track,
    };
    return true;
}

/* Of the track that is offered, where there is one. */
static bool
is_key(const struct live_cuts *c, struct still *s)
{
    return s->frame.type == MEDIA_VIDEO && (s->frame.flags & MEDIA_KEY) != 0 &&
           find_picture(c, &s->frame, &s->picture) &&
           (!s->known || s->track.id == s->picture.track);
}

static void
find_track(const struct live_cuts *c, struct still *s)
{
    static struct live_cut_headers h; /* the track borrows from it */

    s->known = false;
    if (!live_cut_headers(c, s->cut.header, &h)) {
        return;
    }
    for (uint32_t i = 0; i < h.count && !s->known; i++) {
        s->known = h.items[i].type == MEDIA_VIDEO &&
                   live_cut_track(&h.items[i], &s->track) == 0;
    }
}

/* Looks through the part that s->cut begins, from its end. */
static bool
find_in_part(const struct live_cuts *c, struct still *s, uint64_t end,
             unsigned *left)
{
    for (uint64_t n = end; n > s->cut.frame && *left > 0; n--, --*left) {
        if (live_cut_frame(c, &s->cut, n - 1, &s->frame) && is_key(c, s)) {
            return true;
        }
    }
    return false;
}

static bool
find(const struct live_cuts *c, struct still *s)
{
    uint64_t end = c->end_frame;
    uint64_t first = c->first > c->run ? c->first : c->run;
    unsigned left = LOOK_MAX;

    for (uint64_t n = c->end; n > first && left > 0; n--) {
        if (!live_cut_at(c, n - 1, &s->cut)) {
            return false;
        }
        find_track(c, s);
        if (find_in_part(c, s, end, &left)) {
            return true;
        }
        end = s->cut.frame;
    }
    return false;
}

static int
add_payload(const struct live_cuts *c, const struct still *s, struct buf *out)
{
    static struct iovec ranges[RANGES_MAX];
    int count = live_cut_ranges(c, s->frame.number, s->picture.at,
                                s->picture.len, ranges, RANGES_MAX);

    for (int i = 0; i < count; i++) {
        if (buf_add(out, ranges[i].iov_base, ranges[i].iov_len) != 0) {
            return -1;
        }
    }
    return count > 0 ? 0 : -1;
}

static int
make(const struct live_cuts *c, const struct still *s, struct buf *out)
{
    struct media_sample sample = {
        .size = s->picture.len,
        .duration = DURATION,
        .key = true,
    };
    struct media_run run = { .track = &s->track,
                             .samples = &sample,
                             .count = 1 };
    struct media_fragment f = {
        .sequence = 1,
        .first = true,
        .runs = &run,
        .count = 1,
    };

    return media_mp4.init(out, &s->track, 1) == 0 &&
                   media_mp4.fragment(out, &f) == 0
               ? add_payload(c, s, out)
               : -1;
}

static enum http_result
answer(struct asked *a, const struct live_cuts *c, const struct still *s)
{
    struct http_request *r = a->request;
    struct buf out;

    buf_init(&out, STILL_MAX);
    if (make(c, s, &out) != 0) {
        buf_clear(&out);
        return asked_refuse(a, 503, HLS_REFUSED_FAILED,
                            "the newest key frame is too large, or gone");
    }
    http_reply(r, 200, media_mp4.type, buf_str(&out));
    buf_clear(&out);
    return HTTP_DONE;
}

enum http_result
still_answer(struct asked *a)
{
    struct http_request *r = a->request;
    struct live_cuts c;
    struct still s;

    if (!live_cuts_find(a->name, &c) || c.over) {
        return asked_refuse(a, 404, HLS_REFUSED_NO_STREAM,
                            "nobody publishes this stream");
    }
    if (!find(&c, &s)) {
        return c.target == 0 ? asked_refuse(a, 503, HLS_REFUSED_NOT_READY,
                                            "no key frame has come yet")
                             : asked_refuse(a, 404, HLS_REFUSED_NO_OBJECT,
                                            "the stream has no picture");
    }
    if (!s.known || s.track.codec != s.picture.codec ||
        !media_mp4.carries(&s.track)) {
        return asked_refuse(a, 404, HLS_REFUSED_NO_OBJECT,
                            "its pictures cannot be carried in MP4");
    }
    struct http_validators v = {
        pool_printf(r->pool, "\"%016llx-%llu\"", (unsigned long long)c.word,
                    (unsigned long long)s.frame.number),
        INT64_MAX, /* no date compares */
    };
    enum http_verdict verdict = http_judge_conditions(r, &v);

    if (verdict == HTTP_FAILED) {
        return http_error(r, 412, "it is another picture");
    }
    http_set_header(r, "Cache-Control",
                    http_is_private(r) ? STR("private, max-age=1")
                                       : STR("public, max-age=1"));
    http_set_header(r, "ETag", v.tag);
    return verdict == HTTP_NOT_MODIFIED ? http_reply(r, 304, NULL, STR_NONE)
                                        : answer(a, &c, &s);
}
