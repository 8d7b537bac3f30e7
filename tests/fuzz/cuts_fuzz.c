/*
 * Fuzz target: readers of a cut page that another process wrote to.
 *
 * A stream is published once.  Then the input changes its cut page: a byte that
 * says what is done, two that say where, two of a length, and so many bytes.
 * Whatever stands there, readers end, nothing that they are told is outside of
 * its room, and the numbers of kept cuts are in order.
 *
 * covers: src/live/cuts.c src/live/cut_pieces.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "live/cut.h"
#include "live/cuts.h"
#include "live/stream.h"
#include "live/writer.h"

#define NAME STR("live/a")
#define CHANGES 16
#define MEMORY (8 * 1024 * 1024)

enum {
    CHANGE_CUT = 1, /* a cut's number is kept what it was */
    CHANGE_SET = 2, /* the newest codec headers */
    LEAVE = 3,
};

static struct stream *stream;
static struct cut_page before;
static struct writer writer;

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
append(enum media_type type, uint32_t time, const void *payload, size_t len)
{
    require(writer_append(&writer, type, time, payload, len) == 0);
}

/* Two tracks beside that of the other sound, with their size and bytes. */
#define MANY(packet, body)                 \
    "\x95" packet "mp4a\5" body "\3" body, \
        sizeof("\x95" packet "mp4a\5" body "\3" body) - 1

/* Ten seconds of pictures and sound. */
static void
publish_it(void)
{
    static const uint8_t avcc[] = { 0x17, 0,    0,    0, 0,    1,    0x64, 0,
                                    0x1f, 0xff, 0xe1, 0, 4,    0x67, 0x64, 0,
                                    0x1f, 1,    0,    2, 0x68, 0xee };
    static const uint8_t asc[] = { 0xaf, 0, 0x12, 0x10 };
    uint8_t picture[6000] = { 0x27, 1 }, sound[100] = { 0xaf, 1 };

    append(MEDIA_VIDEO, 0, avcc, sizeof(avcc));
    append(MEDIA_AUDIO, 0, asc, sizeof(asc));
    append(MEDIA_AUDIO, 0, MANY("\x10", "\0\0\2\x12\x10"));
    for (uint32_t time = 0; time < 10000; time += 40) {
        picture[0] = time % 1000 == 0 ? 0x17 : 0x27;
        append(MEDIA_VIDEO, time, picture, time % 200 == 0 ? 6000 : 100);
        append(MEDIA_AUDIO, time, sound, sizeof(sound));
        append(MEDIA_AUDIO, time, MANY("\x11", "\0\0\3\x21\x10\4"));
    }
}

static struct cut_page *
page_of_stream(void)
{
    struct cut_page *page = cut_page_of(stream);

    if (page == NULL) {
        abort();
    }
    return page;
}

static void
begin(void)
{
    const struct live_settings settings = {
        .memory = MEMORY,
        .max_streams = 8,
        .max_sessions = 8,
        .window = 8000,
        .max_stream_memory = MEMORY / 4,
        .hold = 10000,
    };
    const struct live_publish what = {
        .name = NAME,
        .url = STR("rtmp://test/x"),
        .conflict = LIVE_REPLACE,
        .chunk_size = 4096,
        .hold = 10000,
        .cuts = { .segment = 2000, .max_segment = 6000, .part = 333 },
    };
    struct errmsg err;

    log_set_sink(drop_line, NULL);
    hash_init();
    require(slots_create(4, &err) == 0 && live_create(&settings, &err) == 0);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "test", 0, 0));
    require(stream_claim(&what, &stream) == STREAM_YOURS);
    writer_start(&writer, stream);
    publish_it();
    before = *page_of_stream();
}

/* ---- what an attacker does ---- */

static void
change(struct cut_page *page, struct str *input)
{
    unsigned what = take_byte(input);
    uint8_t *bytes = (uint8_t *)page;
    size_t room = sizeof(*page);
    uint16_t where, len;
    uint64_t number = 0;
    struct live_cut *cut = NULL;

    take_bytes(input, &where, sizeof(where));
    take_bytes(input, &len, sizeof(len));
    if (what == LEAVE) {
        atomic_store(&stream->hold_until, len % 2 ? 1 : INT64_MAX);
    } else if (what == CHANGE_CUT) {
        cut = &page->cuts[where % LIVE_CUT_RING];
        number = cut->number;
        bytes = (uint8_t *)cut;
        room = sizeof(*cut);
        where = 0;
    } else if (what == CHANGE_SET) {
        bytes = (uint8_t *)&page->sets[1];
        room = sizeof(page->sets[1]);
    }
    where = (uint16_t)(where % room);
    take_bytes(input, bytes + where,
               len < room - where && len < input->len
                   ? len
                   : (input->len < room - where ? input->len : room - where));
    if (cut != NULL) {
        cut->number = number;
    }
}

/* ---- what readers are told ---- */

static bool
is_inside(const void *p, size_t len, const void *room, size_t size)
{
    uintptr_t at = (uintptr_t)p, from = (uintptr_t)room;

    return len == 0 ||
           (at >= from && at - from <= size && len <= size - (at - from));
}

/* Its tracks lie in it, and their bytes can be had. */
static void
look_at_pieces(const struct live_cuts *c, const struct live_cut_frame *f)
{
    static struct media_pieces pieces;
    uint8_t byte;

    if (!live_cut_pieces(c, f, &pieces)) {
        return;
    }
    require((f->flags & MEDIA_MANY) != 0 && pieces.count > 0);
    for (uint32_t i = 0; i < pieces.count; i++) {
        const struct media_piece *p = &pieces.all[i];

        require(p->at <= f->len && p->len <= f->len - p->at);
        require(p->len == 0 || live_cut_bytes(c, f->number, p->at, &byte, 1));
    }
}

static void
look_at_frame(const struct live_cuts *c, const struct live_cut *cut,
              uint64_t number)
{
    struct live_cut_frame f;
    struct iovec ranges[8];

    if (!live_cut_frame(c, cut, number, &f)) {
        require(live_cut_ranges(c, number, 0, UINT32_MAX, ranges, 8) == -1);
        return;
    }
    require(f.number == number && f.front_len <= MEDIA_FRONT_MAX &&
            f.front_len <= f.len);
    int count = live_cut_ranges(c, number, 0, UINT32_MAX, ranges, 8);
    uint64_t sum = 0;

    for (int i = 0; i < count; i++) {
        sum += ranges[i].iov_len;
    }
    require(count == -1 || sum == f.len);
    require(live_cut_ranges(c, number, 0, UINT32_MAX, ranges, 0) <= 0);
    look_at_pieces(c, &f);
}

static void
look_at_headers(const struct live_cuts *c, uint32_t number)
{
    static struct live_cut_headers h;
    struct media_track t;

    if (!live_cut_headers(c, number, &h)) {
        return;
    }
    require(h.number == number && h.count <= CUT_TRACKS);
    for (uint32_t i = 0; i < h.count; i++) {
        require(is_inside(h.items[i].payload.ptr, h.items[i].payload.len,
                          h.bytes, sizeof(h.bytes)));
        if (live_cut_track(&h.items[i], &t) == 0) {
            require(t.type == MEDIA_VIDEO || t.type == MEDIA_AUDIO);
        }
    }
}

static void
look_at_cut(const struct live_cuts *c, uint64_t number)
{
    struct live_cut cut, again;
    uint64_t next, time;

    if (!live_cut_at(c, number, &cut)) {
        return;
    }
    require(cut.number == number);
    if (live_cut_of(c, cut.segment, cut.part, &again)) {
        require(again.segment == cut.segment && again.part == cut.part);
    }
    look_at_headers(c, cut.header);
    look_at_frame(c, &cut, cut.frame);
    look_at_frame(c, &cut, cut.ended_frame);
    next = cut.sound[0];
    if (live_cut_sound(&next, cut.time, 44100, 1024, &time)) {
        require(time >= (cut.sound[0] & ~LIVE_CUT_ANEW));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    struct live_cuts c;

    if (stream == NULL) {
        begin();
    }
    struct cut_page *page = page_of_stream();

    *page = before;
    atomic_store(&stream->hold_until, INT64_MAX);
    for (int i = 0; i < CHANGES && input.len > 0; i++) {
        change(page, &input);
    }
    require(!live_cuts_find(STR("live/other"), &c));
    require(live_cuts_find(NAME, &c));
    require(c.first <= c.end && c.end - c.first <= LIVE_CUT_RING);
    require(c.target <= LIVE_CUT_TARGET_MAX);
    for (uint64_t n = c.first; n < c.end; n++) {
        look_at_cut(&c, n);
    }
    look_at_cut(&c, c.end);
    look_at_headers(&c, 0);
    return 0;
}
