/*
 * Media playlists, line by line.
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

#include <stdio.h>
#include <string.h>

#include "playlist.h"

#define MANY 10
#define PARTS 4

static const struct media_container fmp4 = { .suffix = ".m4s",
                                             .init_suffix = ".mp4" };
static const struct media_container plain_ts = { .suffix = ".ts" };

/* Segments 100, 101, ... of 2 s with four parts each, the first independent. */
static struct playlist_part parts[PARTS] = {
    { .duration = 500, .independent = true },
    { .duration = 500 },
    { .duration = 500 },
    { .duration = 500 },
};
static struct playlist_segment segments[MANY];

static struct playlist
playlist_of(size_t count)
{
    for (size_t i = 0; i < MANY; i++) {
        segments[i] = (struct playlist_segment){
            .number = 100 + i,
            .duration = 2000,
            .discontinuity = 3,
            .header = 7,
            .key = true,
            .wall_ms = INT64_C(1767323045678) + (int64_t)i * 2000,
            .parts = parts,
            .part_count = PARTS,
        };
    }
    return (struct playlist){
        .container = &fmp4,
        .target = 2000,
        .part_target = 500,
        .segments = segments,
        .count = count,
        .base = STR("film/0123456789abcdef/"),
    };
}

/* The last segment is under way and has so many parts. */
static struct playlist
open_of(size_t count, size_t part_count)
{
    struct playlist p = playlist_of(count);

    p.open = true;
    segments[count - 1].part_count = part_count;
    segments[count - 1].duration = (uint32_t)part_count * 500;
    return p;
}

static char text[20000];

static const char *
written(const struct playlist *p)
{
    struct buf out;

    buf_init(&out, sizeof(text));
    assert_int_equal(playlist_write(&out, p), 0);
    str_copy(text, sizeof(text), buf_str(&out));
    buf_clear(&out);
    return text;
}

static void
assert_has(const char *what, size_t times)
{
    size_t found = 0;

    for (const char *at = strstr(text, what); at != NULL;
         at = strstr(at + 1, what)) {
        found++;
    }
    if (found != times) {
        fail_msg("%zu times, not %zu: %s in\n%s", found, times, what, text);
    }
}

static void
test_low_latency(void **state)
{
    struct playlist p = open_of(2, 2);

    (void)state;
    assert_string_equal(
        written(&p),
        "#EXTM3U\n"
        "#EXT-X-VERSION:9\n"
        "#EXT-X-TARGETDURATION:2\n"
        "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.000,"
        "HOLD-BACK=6.000,PART-HOLD-BACK=1.500\n"
        "#EXT-X-PART-INF:PART-TARGET=0.500\n"
        "#EXT-X-MEDIA-SEQUENCE:100\n"
        "#EXT-X-DISCONTINUITY-SEQUENCE:3\n"
        "#EXT-X-MAP:URI=\"film/0123456789abcdef/init-7.mp4\"\n"
        "#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:04:05.678Z\n"
        "#EXT-X-PART:DURATION=0.500,"
        "URI=\"film/0123456789abcdef/100.0.m4s\",INDEPENDENT=YES\n"
        "#EXT-X-PART:DURATION=0.500,URI=\"film/0123456789abcdef/100.1.m4s\"\n"
        "#EXT-X-PART:DURATION=0.500,URI=\"film/0123456789abcdef/100.2.m4s\"\n"
        "#EXT-X-PART:DURATION=0.500,URI=\"film/0123456789abcdef/100.3.m4s\"\n"
        "#EXTINF:2.000,\n"
        "film/0123456789abcdef/100.m4s\n"
        "#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:04:07.678Z\n"
        "#EXT-X-PART:DURATION=0.500,"
        "URI=\"film/0123456789abcdef/101.0.m4s\",INDEPENDENT=YES\n"
        "#EXT-X-PART:DURATION=0.500,URI=\"film/0123456789abcdef/101.1.m4s\"\n"
        "#EXT-X-PRELOAD-HINT:TYPE=PART,"
        "URI=\"film/0123456789abcdef/101.2.m4s\"\n");
}

static void
test_without_parts(void **state)
{
    struct playlist p = open_of(2, 2);

    (void)state;
    p.part_target = 0;
    p.container = &plain_ts;
    p.skip = true;
    p.independent = true;
    segments[0].duration = 1967;
    assert_string_equal(written(&p),
                        "#EXTM3U\n"
                        "#EXT-X-VERSION:6\n"
                        "#EXT-X-TARGETDURATION:2\n"
                        "#EXT-X-INDEPENDENT-SEGMENTS\n"
                        "#EXT-X-MEDIA-SEQUENCE:100\n"
                        "#EXT-X-DISCONTINUITY-SEQUENCE:3\n"
                        "#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:04:05.678Z\n"
                        "#EXTINF:1.967,\n"
                        "film/0123456789abcdef/100.ts\n");
}

static void
test_ended(void **state)
{
    struct playlist p = open_of(3, PARTS);
    const struct playlist_sibling sibling = { .uri = STR("x") };

    (void)state;
    p.ended = true;
    p.skip = true;
    p.siblings = &sibling;
    p.sibling_count = 1;
    written(&p);
    assert_has("#EXT-X-SERVER-CONTROL:HOLD-BACK=6.000,PART-HOLD-BACK=1.500\n",
               1);
    assert_has("CAN-", 0);
    assert_has("PRELOAD-HINT", 0);
    assert_has("RENDITION-REPORT", 0);
    assert_has("#EXTINF:2.000,\n", 3); /* the last one, too */
    assert_has("#EXT-X-PART:", 12);
    assert_has("102.m4s\n#EXT-X-ENDLIST\n", 1);
}

/* Players that were told of the hint get a part with that name. */
static void
test_hint(void **state)
{
    struct playlist p = open_of(3, 0);

    (void)state;
    written(&p);
    assert_has("101.m4s\n#EXT-X-PROGRAM-DATE-TIME:2026-01-02T03:04:09.678Z\n"
               "#EXT-X-PRELOAD-HINT:TYPE=PART,"
               "URI=\"film/0123456789abcdef/102.0.m4s\"\n",
               1);
    p = playlist_of(3); /* the next one has not begun */
    written(&p);
    assert_has("102.m4s\n#EXT-X-PRELOAD-HINT:TYPE=PART,"
               "URI=\"film/0123456789abcdef/103.0.m4s\"\n",
               1);
}

/* Parts of a segment that ends at most three target durations before the end
 * are listed. */
static void
test_parts_are_of_the_end(void **state)
{
    struct playlist p = playlist_of(MANY);

    (void)state;
    written(&p);
    assert_has("#EXT-X-PART:", 4 * PARTS);
    assert_has("/106.0.m4s", 1);
    assert_has("/105.0.m4s", 0);
    assert_has("INDEPENDENT=YES", 4);
    p = open_of(MANY, 1); /* half a second later */
    written(&p);
    assert_has("#EXT-X-PART:", 3 * PARTS + 1);
    assert_has("/106.3.m4s", 1);
    assert_has("/105.3.m4s", 0);
    p.part_target = 0;
    written(&p);
    assert_has("#EXT-X-PART", 0);
}

static void
test_skip(void **state)
{
    struct playlist p = playlist_of(7);

    (void)state;
    p.skip = true;
    written(&p); /* 100 ends 12 s before the end: not further */
    assert_has("#EXT-X-SKIP", 0);
    assert_has("/100.m4s", 1);
    p = open_of(8, 3); /* an open segment does not count */
    p.skip = true;
    written(&p);
    assert_has("#EXT-X-SKIP", 0);
    p = playlist_of(MANY);
    p.skip = true;
    written(&p);
    assert_has("#EXT-X-MEDIA-SEQUENCE:100\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n"
               "#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXT-X-PROGRAM-DATE-TIME",
               1);
    assert_has("/102.m4s", 0);
    assert_has("\n#EXTINF:2.000,\nfilm/0123456789abcdef/103.m4s\n", 1);
    assert_has("#EXT-X-MAP", 0);
    assert_has("#EXTINF", 7);
}

/* A shortened list has nothing that may be skipped. */
static void
test_skip_of_few(void **state)
{
    struct playlist p = open_of(4, 2);

    (void)state;
    p.skip = true;
    written(&p);
    assert_has("#EXT-X-SKIP", 0);
    assert_has("CAN-SKIP-UNTIL=12.000", 1);
    assert_has("#EXTINF", 3);
}

/* A list that has ended is sent as a whole. */
static void
test_no_skip_at_the_end(void **state)
{
    struct playlist p = playlist_of(MANY);

    (void)state;
    p.skip = true;
    written(&p);
    assert_has("#EXT-X-SKIP", 1);
    p.ended = true;
    written(&p);
    assert_has("#EXT-X-SKIP", 0);
    assert_has("#EXTINF", MANY);
}

static void
test_headers(void **state)
{
    struct playlist p = playlist_of(MANY);

    (void)state;
    segments[9].header = 8;
    written(&p);
    assert_has("#EXT-X-MAP", 2);
    assert_has("108.m4s\n#EXT-X-MAP:URI=\"film/0123456789abcdef/init-8.mp4\"\n"
               "#EXT-X-PROGRAM-DATE-TIME",
               1);
    p.skip = true; /* said again, as another one follows */
    written(&p);
    assert_has("SKIPPED-SEGMENTS=3\n"
               "#EXT-X-MAP:URI=\"film/0123456789abcdef/init-7.mp4\"\n",
               1);
    assert_has("#EXT-X-MAP", 2);
    for (size_t i = 3; i < MANY; i++) {
        segments[i].header = 8;
    }
    written(&p);
    assert_has("SKIPPED-SEGMENTS=3\n"
               "#EXT-X-MAP:URI=\"film/0123456789abcdef/init-8.mp4\"\n",
               1);
    assert_has("#EXT-X-MAP", 1);
}

static void
test_discontinuities(void **state)
{
    struct playlist p = playlist_of(4);

    (void)state;
    segments[0].discontinuity = 2;
    segments[1].tag = true;
    written(&p);
    assert_has("#EXT-X-DISCONTINUITY-SEQUENCE:2\n", 1);
    assert_has("100.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-PROGRAM", 1);
    p.segments++; /* it is the first now: its tag still counts */
    p.count--;
    written(&p);
    assert_has("#EXT-X-DISCONTINUITY-SEQUENCE:2\n#EXT-X-DISCONTINUITY\n", 1);
    p.segments++;
    p.count--;
    written(&p);
    assert_has("#EXT-X-DISCONTINUITY-SEQUENCE:3\n", 1);
    assert_has("#EXT-X-DISCONTINUITY\n", 0);
    segments[2].discontinuity = 0; /* nothing before it */
    segments[2].tag = true;
    written(&p);
    assert_has("#EXT-X-DISCONTINUITY-SEQUENCE:0\n", 1);
    assert_has("#EXT-X-DISCONTINUITY\n", 0);
}

static void
test_renditions(void **state)
{
    struct playlist p = open_of(2, 2);
    const struct playlist_sibling siblings[] = {
        { .uri = STR("film.m3u8?rendition=v"),
          .last_segment = 101,
          .last_part = 1 },
        { .uri = STR("a\"b"), .last_segment = 100, .last_part = -1 },
    };

    (void)state;
    p.rendition = STR("a0");
    p.map_query = STR("?expires=5");
    p.siblings = siblings;
    p.sibling_count = 2;
    written(&p);
    assert_has("\"film/0123456789abcdef/a0-init-7.mp4?expires=5\"\n", 1);
    assert_has("\nfilm/0123456789abcdef/a0-100.m4s?expires=5\n", 1);
    assert_has("\"film/0123456789abcdef/a0-101.1.m4s?expires=5\"\n", 1);
    assert_has("\"film/0123456789abcdef/a0-101.2.m4s?expires=5\"\n"
               "#EXT-X-RENDITION-REPORT:URI=\"film.m3u8?rendition=v\","
               "LAST-MSN=101,LAST-PART=1\n"
               "#EXT-X-RENDITION-REPORT:URI=\"a'b\",LAST-MSN=100\n",
               1);
}

static void
test_numbers(void **state)
{
    struct playlist p = playlist_of(1);

    (void)state;
    assert_int_equal(playlist_seconds(0), 1);
    assert_int_equal(playlist_seconds(499), 1);
    assert_int_equal(playlist_seconds(2499), 2);
    assert_int_equal(playlist_seconds(2500), 3);
    assert_int_equal(playlist_seconds(UINT32_MAX), 4294967);
    assert_int_equal(playlist_advance_limit(0), 3);
    assert_int_equal(playlist_advance_limit(1000), 3);
    assert_int_equal(playlist_advance_limit(1500), 3);
    assert_int_equal(playlist_advance_limit(999), 4);
    assert_int_equal(playlist_advance_limit(333), 10);
    assert_int_equal(playlist_advance_limit(1), 3000);
    segments[0].number = UINT64_MAX - 1;
    segments[0].duration = UINT32_MAX;
    p.part_target = UINT32_MAX;
    p.target = UINT32_MAX;
    written(&p);
    assert_has("#EXT-X-MEDIA-SEQUENCE:18446744073709551614\n", 1);
    assert_has("#EXTINF:4294967.295,\n", 1);
    assert_has("PART-HOLD-BACK=12884901.885\n", 1);
    assert_has("/18446744073709551615.0.m4s", 1);
}

static void
test_nothing_is_listed(void **state)
{
    struct playlist p = playlist_of(0);

    (void)state;
    written(&p);
    assert_has("#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n", 1);
    assert_has("PRELOAD-HINT", 0);
    p.open = true;
    p.part_target = 0;
    written(&p);
    assert_has("#EXT-X-MEDIA-SEQUENCE:0\n", 1);
    assert_has("#EXTINF", 0);
    p = open_of(1, 1);
    p.part_target = 0;
    written(&p);
    assert_has("#EXTINF", 0);
    assert_has("#EXT-X-MEDIA-SEQUENCE:0\n", 1);
}

/* It is told when there is no room, and nothing is written beyond. */
static void
test_no_room(void **state)
{
    struct playlist p = open_of(3, 2);
    size_t all = strlen(written(&p));

    (void)state;
    for (size_t limit = 0; limit <= all; limit++) {
        struct buf out;

        buf_init(&out, limit);
        assert_int_equal(playlist_write(&out, &p), limit < all ? -1 : 0);
        buf_clear(&out);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_low_latency),
        cmocka_unit_test(test_without_parts),
        cmocka_unit_test(test_ended),
        cmocka_unit_test(test_hint),
        cmocka_unit_test(test_parts_are_of_the_end),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_skip_of_few),
        cmocka_unit_test(test_no_skip_at_the_end),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_discontinuities),
        cmocka_unit_test(test_renditions),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nothing_is_listed),
        cmocka_unit_test(test_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
