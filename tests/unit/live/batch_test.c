/*
 * Batches: whatever is sent of them, in whatever pieces, a player's bytes are
 * those of a plain composition of its frames.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>

#include "arena_fixture.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "live/batch.h"

static struct stream *s;
static struct writer w;
static struct batch batch;

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
    writer_start(&w, s);
    fixture_play(s); /* the whole window is kept */
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

/* ---- the reference ---- */

static void
compose_rtmp(struct buf *to, const struct message *m, uint32_t stream_id)
{
    static const uint8_t csid[] = { [8] = 4, [9] = 6, [18] = 5 };
    bool extended = m->timestamp >= 0xffffff;
    uint8_t b[16];

    b[0] = csid[m->type];
    put_be24(b + 1, extended ? 0xffffff : m->timestamp);
    put_be24(b + 4, m->len);
    b[7] = m->type;
    put_le32(b + 8, stream_id);
    put_be32(b + 12, m->timestamp);
    buf_add(to, b, extended ? 16 : 12);
    for (uint32_t i = 0; i < m->len; i++) {
        if (i > 0 && i % s->chunk_size == 0) {
            b[0] = (uint8_t)(0xc0 | csid[m->type]);
            buf_add(to, b, 1);
            buf_add(to, b + 12, extended ? 4 : 0);
        }
        buf_add(to, m->payload + i, 1);
    }
}

static bool
is_metadata(const struct message *m)
{
    return m->type == MEDIA_DATA && m->len >= 13 &&
           memcmp(m->payload, "\x02\x00\x0aonMetaData", 13) == 0;
}

/* As a publisher sends it: "@setDataFrame" before metadata. */
static void
compose_announced(struct buf *to, struct message *m, uint32_t stream_id)
{
    uint8_t *payload = mem_alloc(m->len + 16);

    memcpy(payload, "\x02\x00\x0d@setDataFrame", 16);
    memcpy(payload + 16, m->payload, m->len);
    mem_free(&m->payload);
    m->payload = payload;
    m->len += 16;
    compose_rtmp(to, m, stream_id);
}

static void
compose_flv(struct buf *to, const struct message *m)
{
    uint8_t b[11] = { m->type };

    put_be24(b + 1, m->len);
    put_be24(b + 4, m->timestamp & 0xffffff);
    b[7] = (uint8_t)(m->timestamp >> 24);
    buf_add(to, b, 11);
    buf_add(to, m->payload, m->len);
    put_be32(b, m->len + 11);
    buf_add(to, b, 4);
}

static bool
wants(const struct batch_view *v, const struct message *m)
{
    return !(m->type == MEDIA_AUDIO && v->no_audio) &&
           !(m->type == MEDIA_VIDEO && v->no_video);
}

static void
compose_message(struct buf *to, const struct message *m)
{
    uint64_t len = 11 + (uint64_t)m->len + 4;
    uint8_t b[10] = { 0x82, (uint8_t)len };

    if (len < 126) {
        buf_add(to, b, 2);
    } else if (len < 65536) {
        b[1] = 126;
        b[2] = (uint8_t)(len >> 8);
        b[3] = (uint8_t)len;
        buf_add(to, b, 4);
    } else {
        b[1] = 127;
        put_be32(b + 6, (uint32_t)len);
        buf_add(to, b, 10);
    }
    compose_flv(to, m);
}

/* What a player with that view gets; its payloads in *video and *audio. */
static void
compose(struct buf *to, const struct batch_view *v, uint64_t *video,
        uint64_t *audio)
{
    for (uint64_t i = 0; i < atomic_load(&s->tail); i++) {
        struct message m = message_of(s, i);

        if (wants(v, &m)) {
            *video += m.type == MEDIA_VIDEO ? m.len : 0;
            *audio += m.type == MEDIA_AUDIO ? m.len : 0;
            if (v->set_data_frame && is_metadata(&m)) {
                compose_announced(to, &m, v->stream_id);
            } else if (v->framing == LIVE_RTMP) {
                compose_rtmp(to, &m, v->stream_id);
            } else if (v->framing == LIVE_FLV_WS) {
                compose_message(to, &m);
            } else {
                compose_flv(to, &m);
            }
        }
        mem_free(&m.payload);
    }
}

/* ---- sending ---- */

/* How much the socket takes this time. */
static size_t
taken(size_t bytes)
{
    switch (random() % 4) {
    case 0:
        return bytes;
    case 1:
        return 0;
    case 2:
        return (size_t)random() % (bytes < 20 ? bytes + 1 : 20);
    default:
        return (size_t)random() % (bytes + 1);
    }
}

/* Checks the batch against the reference from byte `at` on. */
static void
check_batch(const struct buf *reference, size_t at)
{
    size_t total = 0;

    assert_true(batch.count <= BATCH_RANGES);
    for (int i = 0; i < batch.count; i++) {
        size_t len = batch.ranges[i].iov_len;

        assert_true(len > 0);
        assert_true(at + total + len <= buf_len(reference));
        assert_memory_equal(batch.ranges[i].iov_base,
                            buf_data(reference) + at + total, len);
        total += len;
    }
    assert_int_equal(total, batch.bytes);
}

static void
send_all(const struct batch_view *v)
{
    struct cursor at = { 0 };
    struct buf reference;
    uint64_t all_video = 0, all_audio = 0, video, audio;
    size_t done = 0;

    buf_init(&reference, 64 * 1024 * 1024);
    compose(&reference, v, &all_video, &all_audio);
    while (at.frame < atomic_load(&s->tail)) {
        uint64_t left = atomic_load(&s->tail) - at.frame;
        uint64_t end = at.frame + 1 + (uint64_t)random() % left;
        size_t n;

        batch_fill(&batch, s, v, at, end);
        check_batch(&reference, done);
        n = taken(batch.bytes);
        at = batch_cursor(&batch, s, v, n, &video, &audio);
        if (n == batch.bytes) {
            assert_int_equal(at.frame, batch.to.frame);
            assert_int_equal(at.offset, batch.to.offset);
            assert_int_equal(video, batch.video);
            assert_int_equal(audio, batch.audio);
        }
        all_video -= video;
        all_audio -= audio;
        done += n;
    }
    assert_int_equal(done, buf_len(&reference));
    assert_int_equal(all_video, 0);
    assert_int_equal(all_audio, 0);
    buf_clear(&reference);
}

static const struct batch_view views[] = {
    { .framing = LIVE_RTMP, .stream_id = 1 },
    { .framing = LIVE_RTMP, .stream_id = 7 },
    { .framing = LIVE_RTMP, .stream_id = 0x01020304 },
    { .framing = LIVE_RTMP, .stream_id = 1, .no_audio = true },
    { .framing = LIVE_RTMP, .stream_id = 2, .no_video = true },
    { .framing = LIVE_RTMP, .stream_id = 1, .no_audio = 1, .no_video = 1 },
    { .framing = LIVE_FLV, .stream_id = 1 },
    { .framing = LIVE_FLV, .stream_id = 1, .no_audio = true },
    { .framing = LIVE_RTMP, .stream_id = 1, .set_data_frame = true },
    { .framing = LIVE_RTMP, .stream_id = 9, .set_data_frame = true },
    { .framing = LIVE_FLV_WS, .stream_id = 1 },
    { .framing = LIVE_FLV_WS, .stream_id = 1, .no_video = true },
};

static void
send_all_views(int times)
{
    for (int i = 0; i < times; i++) {
        for (size_t k = 0; k < sizeof(views) / sizeof(views[0]); k++) {
            send_all(&views[k]);
        }
    }
}

static void
write_random(uint32_t count, uint32_t most, uint32_t timestamp)
{
    for (uint32_t i = 0; i < count; i++) {
        enum kind kind = (enum kind)(random() % (EMPTY + 1));
        uint32_t len = (uint32_t)random() % most;

        memset(&w.headers.spent_until, 0, sizeof(w.headers.spent_until));
        assert_int_equal(
            append(&w, kind, timestamp + i * 10, kind == EMPTY ? 0 : len), 0);
    }
}

static void
test_random_frames(void **state)
{
    (void)state;
    srandom(3);
    write_random(500, 3000, 0);
    send_all_views(3);
}

static void
test_small_chunks_and_extended_times(void **state)
{
    (void)state;
    srandom(4);
    s->chunk_size = 128;
    write_random(600, 1000, 0xffffff - 2000);
    send_all_views(3);
}

/* More ranges than a batch has: it ends inside the frame. */
static void
test_frames_larger_than_a_batch(void **state)
{
    (void)state;
    srandom(5);
    s->chunk_size = 1000;
    for (uint32_t i = 0; i < 4; i++) {
        append(&w, KEY, i * 40, 200000);
        append(&w, SOUND, i * 40, 2000);
    }
    batch_fill(&batch, s, &views[6], (struct cursor){ 0 }, 8);
    assert_int_equal(batch.to.frame, 0);
    assert_true(batch.to.offset > 0);
    send_all_views(3);
}

/* Lengths that another process spoilt: the frame is in no batch. */
static void
test_frames_that_are_spoilt(void **state)
{
    static const struct {
        uint32_t payload_len, wire_len;
    } wrong[] = {
        { 0x7fffffff, 0 },
        { 0, 1 },
        { 100, 0 },
        /* too long for RTMP, and else as it should be */
        { 0x1000000, 12 + 0x1000000 + 0xffffff / FIXTURE_CHUNK },
    };

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        append(&w, SOUND, i, 200);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct frame *f = frame_at(s, 2), kept = *f;

        assert_true(batch_is_whole(s, 2));
        f->payload_len = wrong[i].payload_len;
        f->wire_len = wrong[i].wire_len;
        assert_false(batch_is_whole(s, 2));
        batch_fill(&batch, s, &views[0], (struct cursor){ 0 }, 4);
        assert_int_equal(batch.to.frame, 2);
        *f = kept;
    }
    batch_fill(&batch, s, &views[0], (struct cursor){ 0 }, 4);
    assert_int_equal(batch.to.frame, 4);
}

/* Headers of their own must not run into one another. */
static void
test_empty_frames_with_long_headers(void **state)
{
    (void)state;
    srandom(6);
    for (uint32_t i = 0; i < 200; i++) {
        append(&w, EMPTY, 0x1000000 + i, 0);
    }
    send_all_views(2);
}

static void
test_over_an_index_segment(void **state)
{
    (void)state;
    srandom(7);
    for (uint32_t i = 0; i < INDEX_FRAMES + 50; i++) {
        append(&w, SOUND, i, 20);
    }
    send_all_views(1);
}

static void
test_common_batches_are_one_range(void **state)
{
    (void)state;
    append(&w, KEY, 0, 3000);
    append(&w, SOUND, 0, 300);
    append(&w, INTER, 40, 9000);
    batch_fill(&batch, s, &views[0], (struct cursor){ 0 }, 3);
    assert_int_equal(batch.count, 1);
    assert_true(batch_is_common(&views[0]));
    assert_false(batch_is_common(&views[1]));
    assert_false(batch_is_common(&views[3]));
    assert_true(batch_is_common(&views[6]));
    assert_false(batch_is_common(&views[8]));
    assert_int_equal(batch_frame_size(s, &views[6], 1), 315);
    assert_int_equal(batch_frame_size(s, &views[3], 1), 0);
    assert_int_equal(batch_frame_size(s, &views[1], 1), 312);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_random_frames),
        TEST(test_small_chunks_and_extended_times),
        TEST(test_frames_larger_than_a_batch),
        TEST(test_frames_that_are_spoilt),
        TEST(test_empty_frames_with_long_headers),
        TEST(test_over_an_index_segment),
        TEST(test_common_batches_are_one_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
