/*
 * From messages to cues.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "captions.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "message.h"

#define STREAMS 1024u /* of which it is kept whether they have lines */
#define LINE_MAX 2048 /* bytes of a cue; what is longer is cut */
#define MPEG_CLOCK 90 /* units of X-TIMESTAMP-MAP in a millisecond */

static bool
carries(const struct media_track *t)
{
    (void)t;
    return false;
}

static int
no_fragment(struct buf *out, const struct media_fragment *f)
{
    (void)out;
    (void)f;
    return -1;
}

const struct media_container captions_container = {
    .name = "webvtt",
    .suffix = ".vtt",
    .type = "text/vtt; charset=utf-8",
    .audio_type = "text/vtt; charset=utf-8",
    .carries = carries,
    .fragment = no_fragment,
};

/* ---- which frames ---- */

static int64_t
reach(const struct live_cuts *c)
{
    return (int64_t)CAPTION_TARGETS * c->target;
}

/* The first cut whose lines may still be shown at `cut`.  False: it is not
 * kept. */
static bool
first_of(const struct live_cuts *c, const struct live_cut *cut,
         struct live_cut *first)
{
    *first = *cut;
    if (cut->number < c->run) { /* of that run the target is not known */
        return false;
    }
    while (first->number > c->run && first->time > cut->time - reach(c)) {
        if (first->number <= c->first ||
            !live_cut_at(c, first->number - 1, first)) {
            return false;
        }
    }
    return true;
}

bool
captions_are_kept(const struct live_cuts *c, const struct live_cut *cut)
{
    struct live_cut first;

    return first_of(c, cut, &first);
}

/* Messages in the order of the stream. */
struct walk {
    const struct live_cuts *c;
    struct live_cut cut; /* the part it is in */
    uint64_t frame, end;
    struct live_cut_frame at;
};

static bool
next_message(struct walk *w, struct message *m)
{
    struct live_cut next;

    while (w->frame < w->end) {
        while (w->cut.number + 1 < w->c->end &&
               live_cut_at(w->c, w->cut.number + 1, &next) &&
               next.frame <= w->frame) {
            w->cut = next;
        }
        if (live_cut_frame(w->c, &w->cut, w->frame++, &w->at) &&
            message_read(w->c, &w->at, m)) {
            return true;
        }
    }
    return false;
}

/* Lists of all renditions ask with each part, so a frame is looked at once. */
static struct found {
    uint64_t word;  /* of the stream */
    uint64_t frame; /* those before it were looked at */
    uint64_t line;  /* behind the newest line; 0: none was seen */
} founds[STREAMS];

static struct found *
found_of(uint64_t word)
{
    struct found *f = &founds[word % STREAMS];

    if (f->word != word) {
        *f = (struct found){ .word = word };
    }
    return f;
}

bool
captions_are_there(const struct live_cuts *c)
{
    static struct message m;
    struct found *f = found_of(c->word);
    struct walk w = { .c = c };
    struct live_cut last;
    struct str text;

    if (!live_cut_at(c, c->first > c->run ? c->first : c->run, &w.cut) ||
        !live_cut_at(c, c->end - 1, &last)) {
        return false;
    }
    uint64_t first = w.cut.frame;

    w.frame = first > f->frame ? first : f->frame;
    w.end = c->over ? c->end_frame : last.frame;
    while (next_message(&w, &m)) {
        if (message_text(&m, &text)) {
            f->line = w.frame;
        }
    }
    f->frame = w.frame;
    return f->line > first;
}

/* ---- cues ---- */

static int
add_time(struct buf *out, int64_t ms)
{
    return buf_printf(out,
                      "%02" PRId64 ":%02" PRId64 ":%02" PRId64 ".%03" PRId64,
                      ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

/* A character of a cue's text (WebVTT, 4.2.2): markup is nobody's, and a blank
 * line would end the cue. */
static int
add_char(struct buf *out, struct str c, bool *line_begins)
{
    if (str_eq(c, STR("\n"))) {
        if (*line_begins) {
            return 0;
        }
        *line_begins = true;
        return buf_add(out, "\n", 1);
    }
    if ((unsigned char)*c.ptr < ' ' || *c.ptr == 0x7f) {
        return 0;
    }
    *line_begins = false;
    switch (*c.ptr) {
    case '&':
        return buf_add_str(out, STR("&amp;"));
    case '<':
        return buf_add_str(out, STR("&lt;"));
    case '>':
        return buf_add_str(out, STR("&gt;"));
    default:
        return buf_add_str(out, c);
    }
}

static int
add_text(struct buf *out, struct str text)
{
    bool line_begins = true;
    int bad = 0;

    while (text.len > 0 && bad == 0) {
        size_t n = utf8_char(text);

        if (n == 0) { /* not UTF-8 */
            bad = buf_add_str(out, STR("\xef\xbf\xbd"));
            line_begins = false;
            n = 1;
        } else {
            bad = add_char(out, str_first(text, n), &line_begins);
        }
        text = str_skip(text, n);
    }
    return bad | buf_add_str(out, line_begins ? STR("\n") : STR("\n\n"));
}

/* The line that is shown. */
struct cue {
    int64_t begin; /* ms */
    size_t len;    /* 0: none */
    char text[LINE_MAX];
};

static void
set_cue(struct cue *cue, int64_t time, struct str text)
{
    text = str_trim(text);
    if (text.len > LINE_MAX) {
        text = str_first(text, utf8_length(str_first(text, LINE_MAX)));
    }
    cue->begin = time;
    cue->len = text.len;
    memcpy(cue->text, text.ptr, text.len);
}

/* Writes the cue as far as it lies in the stretch; it ends at `end`. */
static int
add_cue(struct buf *out, const struct cue *cue, int64_t end,
        const struct object_stretch *s, int64_t most)
{
    int64_t from = cue->begin > s->cut.time ? cue->begin : s->cut.time;
    int64_t to = end < cue->begin + most ? end : cue->begin + most;

    if (to > s->end_time) {
        to = s->end_time;
    }
    if (cue->len == 0 || to <= from) {
        return 0;
    }
    return add_time(out, from - s->cut.time) | buf_add_str(out, STR(" --> ")) |
           add_time(out, to - s->cut.time) | buf_add(out, "\n", 1) |
           add_text(out, str_of(cue->text, cue->len));
}

static int
add_head(struct buf *out, int64_t begin)
{
    uint64_t clock = (uint64_t)begin * MPEG_CLOCK & ((UINT64_C(1) << 33) - 1);

    return buf_printf(out,
                      "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:%" PRIu64
                      ",LOCAL:00:00:00.000\n\n",
                      clock);
}

int
captions_write(const struct live_cuts *c, const struct object_stretch *s,
               struct buf *out)
{
    static struct message m;
    static struct cue cue;
    struct walk w = { .c = c, .end = s->end };
    struct str text;
    int bad = add_head(out, s->cut.time);

    if (!first_of(c, &s->cut, &w.cut)) {
        return -1;
    }
    w.frame = w.cut.frame;
    cue.len = 0;
    while (bad == 0 && next_message(&w, &m)) {
        if (message_text(&m, &text)) {
            bad = add_cue(out, &cue, w.at.time, s, reach(c));
            set_cue(&cue, w.at.time, text);
        }
    }
    return bad | add_cue(out, &cue, s->end_time, s, reach(c));
}
