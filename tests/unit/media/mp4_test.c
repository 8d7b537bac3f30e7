/*
 * Fragmented MP4, box for box, and what ffprobe makes of it.
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
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "media/container.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define LIMIT 65536u

/* Configurations as encoders make them; of codecs without one, a frame. */
static struct media_track h264 = {
    .type = MEDIA_VIDEO,
    .codec = CODEC_H264,
    .config = { "\x01\x4d\x40\x0d\xff\xe1\x00\x19\x67\x4d\x40\x0d\xec\xa0\xa8"
                "\xcf\x11\x36\x02\x20\x00\x00\x03\x00\x20\x00\x00\x06\x41\xe2"
                "\x85\x32\xc0\x01\x00\x04\x68\xce\x0f\xc8",
                40 },
    .timescale = 90000,
    .width = 322,
    .height = 182,
};
static struct media_track aac = {
    .type = MEDIA_AUDIO,
    .codec = CODEC_AAC,
    .config = { "\x11\x90", 2 },
    .timescale = 48000,
    .rate = 48000,
    .channels = 2,
};

/* ---- boxes ---- */

/* The content of the first box of that type among boxes; len 0: none. */
static struct str
find_one(struct str boxes, const char *type)
{
    while (boxes.len >= 8) {
        const uint8_t *p = (const uint8_t *)boxes.ptr;
        size_t size = get_be32(p);

        assert_in_range(size, 8, boxes.len);
        if (memcmp(p + 4, type, 4) == 0) {
            return str_of(p + 8, size - 8);
        }
        boxes = str_skip(boxes, size);
    }
    return STR_NONE;
}

/* Bytes of a box before those that it holds. */
static size_t
front_of(const char *type)
{
    static const struct {
        char type[5];
        uint8_t front;
    } rows[] = {
        { "stsd", 8 },  { "avc1", 78 }, { "hvc1", 78 }, { "av01", 78 },
        { "vp09", 78 }, { "mp4a", 28 }, { "Opus", 28 }, { "fLaC", 28 },
        { "ac-3", 28 }, { "ec-3", 28 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (memcmp(type, rows[i].type, 4) == 0) {
            return rows[i].front;
        }
    }
    return 0;
}

/* path: types of four letters, one in the other. */
static struct str
find(struct str boxes, const char *path)
{
    for (const char *type = path; *type != '\0'; type += 4) {
        boxes = find_one(boxes, type);
        if (type[4] != '\0' || memcmp(type, "stsd", 4) == 0) {
            boxes = str_skip(boxes, front_of(type));
        }
    }
    return boxes;
}

static void
assert_hex(struct str s, const char *hex)
{
    char text[1024];

    assert_true(s.len * 2 < sizeof(text));
    text[0] = '\0';
    for (size_t i = 0; i < s.len; i++) {
        snprintf(text + 2 * i, 3, "%02x", (uint8_t)s.ptr[i]);
    }
    assert_string_equal(text, hex);
}

/* ---- initialisation ---- */

static struct buf
init_of(const struct media_track *tracks, size_t count)
{
    struct buf b;

    buf_init(&b, LIMIT);
    for (size_t i = 0; i < count; i++) {
        assert_true(media_mp4.carries(&tracks[i]));
    }
    assert_int_equal(media_mp4.init(&b, tracks, count), 0);
    return b;
}

static void
one_track_is_cmaf(void **state)
{
    struct buf b = init_of(&h264, 1);
    struct str s = buf_str(&b);

    (void)state;
    assert_hex(find(s, "ftyp"), "69736f3600000000"
                                "69736f366d703431636d6663636d6632");
    assert_hex(str_skip(find(s, "moovtraktkhd"), 76), "0142000000b60000");
    assert_hex(find(s, "moovtrakmdiamdhd"), "000000000000000000000000"
                                            "00015f900000000055c40000");
    assert_hex(find(s, "moovtrakmdiaminfdinfdref"),
               "00000000000000010000000c75726c2000000001");
    assert_hex(
        str_skip(find(s, "moovtrakmdiaminfstblstsdavc1"), 24),
        "014200b6"
        "0048000000480000000000000001"
        "0000000000000000000000000000000000000000000000000000000000000000"
        "0018ffff"
        "0000003061766343014d400dffe10019674d400deca0a8cf11360220000003"
        "002000000641e28532c001000468ce0fc8");
    assert_hex(find(s, "moovmvextrex"),
               "000000000000000100000001000000000000000000000000");
    assert_int_equal(find(s, "moovtrakedts").len, 0);
    buf_clear(&b);
}

static void
several_tracks_have_their_ids(void **state)
{
    struct media_track tracks[] = { h264, aac };
    struct buf b = init_of(tracks, 2);
    struct str s = buf_str(&b), movie = find(s, "moov"), second;

    (void)state;
    assert_hex(find(s, "ftyp"), "69736f360000000069736f366d703431");
    assert_hex(str_skip(find(movie, "mvhd"), 96), "00000003");
    second = str_skip(movie, find(movie, "mvhd").len + 8);
    second = str_skip(second, find(movie, "trak").len + 8);
    assert_hex(str_first(find(second, "traktkhd"), 16), "00000007"
                                                        "0000000000000000"
                                                        "00000002");
    assert_hex(str_first(find(second, "trakmdiahdlr"), 16), "0000000000000000"
                                                            "736f756e"
                                                            "00000000");
    assert_hex(find(second, "trakmdiaminfstblstsdmp4aesds"),
               "00000000"
               "03808080220000000480808014401500000000000000000000000580808002"
               "119006808080"
               "0102");
    assert_int_equal(find(movie, "mvex").len, 2 * 32);
    buf_clear(&b);
}

static const struct entry_row {
    const char *path; /* below "stsd": the entry and its configuration's box */
    const char *right;
    struct media_track track;
} entries[] = {
    { "hvc1hvcC",
      /* version 1, the set is told to be complete */
      "0101600000009000000000003cf000fcfdf8f800000f01a1000100024201",
      { .type = MEDIA_VIDEO,
        .codec = CODEC_HEVC,
        .config = { "\x00\x01\x60\x00\x00\x00\x90\x00\x00\x00\x00\x00\x3c\xf0"
                    "\x00\xfc\xfd\xf8\xf8\x00\x00\x0f\x01\x21\x00\x01\x00\x02"
                    "\x42\x01",
                    30 } } },
    { "hvc1hvcC", /* an array that is cut */
      "0101600000009000000000003cf000fcfdf8f800000f01a10001000442",
      { .type = MEDIA_VIDEO,
        .codec = CODEC_HEVC,
        .config = { "\x00\x01\x60\x00\x00\x00\x90\x00\x00\x00\x00\x00\x3c\xf0"
                    "\x00\xfc\xfd\xf8\xf8\x00\x00\x0f\x01\x21\x00\x01\x00\x04"
                    "\x42",
                    29 } } },
    { "av01av1C",
      "81000c000a0e000000043d06d402f81091009040",
      { .type = MEDIA_VIDEO,
        .codec = CODEC_AV1,
        .config = { "\x81\x00\x0c\x00\x0a\x0e\x00\x00\x00\x04\x3d\x06\xd4\x02"
                    "\xf8\x10\x91\x00\x90\x40",
                    20 } } },
    { "av01colr", /* BT.2020, PQ */
      "6e636c7800090010000900",
      { .type = MEDIA_VIDEO,
        .codec = CODEC_AV1,
        .config = { "\x81\x00\x0c\x00\x0a\x0e\x00\x00\x00\x04\x3d\x06\xd4\x02"
                    "\xf8\x10\x91\x00\x90\x40",
                    20 } } },
    { "vp09vpcC",
      "01000000001f82020202"
      "0000",
      { .type = MEDIA_VIDEO,
        .codec = CODEC_VP9,
        .config = { "\x00\x1f\x82\x02\x02\x02\x00\x00", 8 } } },
    { "vp09colr", /* the full range */
      "6e636c7800010001000180",
      { .type = MEDIA_VIDEO,
        .codec = CODEC_VP9,
        .config = { "\x00\x1f\x83\x01\x01\x01\x00\x00", 8 } } },
    { "mp4aesds",
      "00000000"
      "038080801b"
      "000000"
      "048080800d"
      "6b150000000000000000000000"
      "0680808001"
      "02",
      { .type = MEDIA_AUDIO,
        .codec = CODEC_MP3,
        .config = { "\xff\xfb\x90\x64", 4 } } },
    { "OpusdOps",
      "0001"
      "0138"
      "0000bb80"
      "0000"
      "00",
      { .type = MEDIA_AUDIO,
        .codec = CODEC_OPUS,
        .config = { "OpusHead\x01\x01\x38\x01\x80\xbb\x00\x00\x00\x00\x00",
                    19 } } },
    { "OpusdOps", /* 5.1 */
      "0006"
      "0138"
      "0000bb80"
      "0001"
      "01"
      "0402000401020305",
      { .type = MEDIA_AUDIO,
        .codec = CODEC_OPUS,
        .config = { "OpusHead\x01\x06\x38\x01\x80\xbb\x00\x00\x01\x00\x01"
                    "\x04\x02\x00\x04\x01\x02\x03\x05",
                    27 } } },
    { "fLaCdfLa",
      "00000000"
      "80000022"
      "12001200000358"
      "0004ff0bb800f00002ee002a6ba4825dc1428345546ac64bc657fa",
      { .type = MEDIA_AUDIO,
        .codec = CODEC_FLAC,
        .config = { "fLaC\x00\x00\x00\x22\x12\x00\x12\x00\x00\x03\x58\x00\x04"
                    "\xff\x0b\xb8\x00\xf0\x00\x02\xee\x00\x2a\x6b\xa4\x82\x5d"
                    "\xc1\x42\x83\x45\x54\x6a\xc6\x4b\xc6\x57\xfa",
                    42 } } },
    { "ac-3dac3",
      "103de0",
      { .type = MEDIA_AUDIO,
        .codec = CODEC_AC3,
        .config = { "\x0b\x77\xb5\x0b\x1e\x40\xeb\xf8", 8 } } },
    { "ec-3dec3",
      "0600200400",
      { .type = MEDIA_AUDIO,
        .codec = CODEC_EAC3,
        .config = { "\x0b\x77\x01\x7f\x34\x87\xc0\x00", 8 } } },
};

static void
each_codec_has_its_box(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(entries); i++) {
        struct media_track t = entries[i].track;
        struct buf b;

        t.timescale = t.type == MEDIA_VIDEO ? 90000 : 48000;
        b = init_of(&t, 1);
        print_message("%s\n", entries[i].path);
        assert_hex(find(find(buf_str(&b), "moovtrakmdiaminfstblstsd"),
                        entries[i].path),
                   entries[i].right);
        buf_clear(&b);
    }
}

static void
some_codecs_are_not_carried(void **state)
{
    struct media_track t = { .type = MEDIA_VIDEO, .codec = CODEC_VP6 };

    (void)state;
    assert_false(media_mp4.carries(&t));
    t.codec = CODEC_NONE;
    assert_false(media_mp4.carries(&t));
    t = (struct media_track){ .type = MEDIA_AUDIO, .codec = CODEC_OPUS };
    t.config = STR("OpusHead\x01\x06\x38\x01\x80\xbb\x00\x00\x01\x00\x01\x04");
    assert_false(media_mp4.carries(&t)); /* its mapping is cut */
}

/* A rate of more than 16 bits: FLAC says a part of it, AAC none. */
static void
high_rates_do_not_fit(void **state)
{
    struct media_track t = aac;
    struct buf b;
    struct str entry;

    (void)state;
    t.timescale = 96000;
    b = init_of(&t, 1);
    entry = find(buf_str(&b), "moovtrakmdiaminfstblstsdmp4a");
    assert_hex(str_first(str_skip(entry, 16), 12), "000200100000000000000000");
    buf_clear(&b);
    t = entries[9].track;
    t.timescale = 192000;
    t.channels = 1;
    b = init_of(&t, 1);
    entry = find(buf_str(&b), "moovtrakmdiaminfstblstsdfLaC");
    assert_hex(str_first(str_skip(entry, 16), 12), "0001001000000000bb800000");
    buf_clear(&b);
}

/* ---- fragments ---- */

static struct buf
fragment_of(const struct media_run *runs, size_t count)
{
    struct media_fragment f = { .sequence = 7, .runs = runs, .count = count };
    struct buf b;

    buf_init(&b, LIMIT);
    assert_int_equal(media_mp4.fragment(&b, &f), 0);
    return b;
}

static void
pictures_and_sound_share_a_fragment(void **state)
{
    const struct media_sample pictures[] = {
        { .size = 1000, .duration = 3600, .cts = 7200, .key = true },
        { .size = 200, .duration = 3600, .cts = -3600 },
        { .size = 100, .duration = 3600 },
    };
    const struct media_sample sounds[] = {
        { .size = 11, .duration = 1024, .key = true },
        { .size = 12, .duration = 1024, .key = true },
    };
    const struct media_run runs[] = {
        { &h264, 0x123456789abcdef0, pictures, COUNT(pictures) },
        { &aac, 48000, NULL, 0 },
        { &aac, 96000, sounds, COUNT(sounds) },
    };
    struct buf b = fragment_of(runs, COUNT(runs));

    (void)state;
    assert_hex(buf_str(&b), "000000cc6d6f6f66"
                            "000000106d6668640000000000000007"
                            /* pictures: the first one has flags of its own */
                            "00000064"
                            "74726166"
                            "000000187466686400020028000000010000"
                            "0e1001010000"
                            "0000001474666474"
                            "01000000123456789abcdef0"
                            "000000307472756e01000a0500000003000000d402000000"
                            "000003e800001c20"
                            "000000c8fffff1f0"
                            "0000006400000000"
                            /* sound: nothing but sizes */
                            "00000050747261660000001874666864"
                            "00020028000000030000040002000000"
                            "0000001474666474"
                            "010000000000000000017700"
                            "0000001c7472756e0100020100000002"
                            "000005e80000000b0000000c"
                            "000005336d646174");
    buf_clear(&b);
}

static void
durations_and_keys_may_differ(void **state)
{
    const struct media_sample pictures[] = {
        { .size = 1, .duration = 3600 },
        { .size = 2, .duration = 3600, .key = true },
        { .size = 3, .duration = 3601 },
    };
    const struct media_run run = { &h264, 0, pictures, COUNT(pictures) };
    struct buf b = fragment_of(&run, 1);

    (void)state;
    assert_hex(find(buf_str(&b), "mooftraftfhd"), "0002000000000001");
    assert_hex(find(buf_str(&b), "mooftraftrun"), "010007010000000300000084"
                                                  "00000e100000000101010000"
                                                  "00000e100000000202000000"
                                                  "00000e110000000301010000");
    buf_clear(&b);
}

static void
a_fragment_may_be_empty(void **state)
{
    const struct media_run run = { &h264, 0, NULL, 0 };
    struct buf b = fragment_of(&run, 1);

    (void)state;
    assert_hex(buf_str(&b), "000000186d6f6f66"
                            "000000106d6668640000000000000007"
                            "000000086d646174");
    buf_clear(&b);
}

/* ISO/IEC 23009-1, 5.10.3.3. */
static void
messages_stand_in_front(void **state)
{
    const struct media_sample sample = { .size = 1, .duration = 1 };
    const struct media_run run = { &h264, 0, &sample, 1 };
    const struct media_event events[] = {
        { .time = 0x123456789,
          .id = 5,
          .scheme = STR("urn:a"),
          .value = STR("v"),
          .data = STR("DATA") },
        { .time = -1, .id = 6, .scheme = STR("b"), .value = STR("") },
    };
    struct media_fragment f = { .sequence = 7, .runs = &run, .count = 1 };
    struct buf plain = fragment_of(&run, 1), b;

    (void)state;
    f.events = events;
    f.event_count = 2;
    buf_init(&b, LIMIT);
    assert_int_equal(media_mp4.fragment(&b, &f), 0);
    assert_hex(str_first(buf_str(&b), 79),
               "0000002c656d736701000000000003e80000000123456789"
               "000000000000000575726e3a61007600"
               "44415441"
               "00000023656d736701000000000003e80000000000000000"
               "00000000000000066200"
               "00");
    assert_true(str_eq(str_skip(buf_str(&b), 0x2c + 0x23), buf_str(&plain)));
    buf_clear(&plain);
    buf_clear(&b);
}

/* With any room, all is written or nothing. */
static void
there_may_be_no_room(void **state)
{
    const struct media_sample sample = { .size = 1, .duration = 1 };
    const struct media_run run = { &h264, 0, &sample, 1 };
    const struct media_fragment f = { .sequence = 1, .runs = &run, .count = 1 };
    struct buf b = init_of(&h264, 1);
    size_t needed = buf_len(&b);

    (void)state;
    buf_clear(&b);
    for (size_t limit = 3; limit <= needed + 3; limit++) {
        size_t len;

        buf_init(&b, limit);
        assert_int_equal(buf_add(&b, "abc", 3), 0);
        assert_int_equal(media_mp4.init(&b, &h264, 1),
                         limit == needed + 3 ? 0 : -1);
        len = buf_len(&b);
        assert_int_equal(len, limit == needed + 3 ? limit : 3);
        if (media_mp4.fragment(&b, &f) == -1) {
            assert_int_equal(buf_len(&b), len);
        }
        assert_memory_equal(buf_data(&b), "abc", 3);
        buf_clear(&b);
    }
}

static void
samples_may_be_too_large(void **state)
{
    const struct media_sample samples[] = {
        { .size = UINT32_MAX, .duration = 1 },
        { .size = UINT32_MAX, .duration = 1 },
    };
    const struct media_run run = { &h264, 0, samples, 2 };
    const struct media_fragment f = { .sequence = 1, .runs = &run, .count = 1 };
    const struct media_fragment many = { .sequence = 1,
                                         .runs = &run,
                                         .count = MEDIA_TRACKS_MAX + 1 };
    struct buf b;

    (void)state;
    buf_init(&b, LIMIT);
    assert_int_equal(media_mp4.fragment(&b, &f), -1);
    assert_int_equal(media_mp4.fragment(&b, &many), -1);
    assert_int_equal(buf_len(&b), 0);
}

/* ---- what others read ---- */

static void
add_file(FILE *file, const struct buf *b)
{
    assert_int_equal(fwrite(buf_data(b), 1, buf_len(b), file), buf_len(b));
}

/* Two pictures and a sound that no decoder has to like, read by ffprobe. */
static void
ffprobe_finds_the_samples(void **state)
{
    const struct media_track tracks[] = { h264, aac };
    const struct media_sample pictures[] = {
        { .size = 10, .duration = 3600, .cts = 3600, .key = true },
        { .size = 5, .duration = 3600, .cts = 0 },
    };
    const struct media_sample sound = { 6, 1024, 0, true, NULL, 0 };
    const struct media_run runs[] = {
        { &h264, 90000ull << 33, pictures, 2 },
        { &aac, 48000ull << 33, &sound, 1 },
    };
    char path[] = "/tmp/weir-mp4-XXXXXX", command[256], text[4096];
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "wb"), *probe;
    struct buf b = init_of(tracks, 2);
    size_t n;

    (void)state;
    assert_non_null(file);
    add_file(file, &b);
    buf_clear(&b);
    b = fragment_of(runs, 2);
    add_file(file, &b);
    buf_clear(&b);
    fputs("first picturenext sound", file);
    fclose(file);
    snprintf(command, sizeof(command),
             "ffprobe -v quiet -select_streams v -of csv=p=0 -show_entries "
             "packet=pts,dts,size %s",
             path);
    probe = popen(command, "r");
    assert_non_null(probe);
    n = fread(text, 1, sizeof(text) - 1, probe);
    text[n] = '\0';
    remove(path);
    if (pclose(probe) != 0) {
        print_message("ffprobe is needed\n");
        skip();
    }
    assert_string_equal(text, "773094113283600,773094113280000,10\n"
                              "773094113283600,773094113283600,5\n");
}

static void
containers_have_names(void **state)
{
    (void)state;
    assert_ptr_equal(media_container_find(STR("fmp4")), &media_mp4);
    assert_null(media_container_find(STR("fmp")));
    assert_null(media_container_find(STR_NONE));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_track_is_cmaf),
        cmocka_unit_test(several_tracks_have_their_ids),
        cmocka_unit_test(each_codec_has_its_box),
        cmocka_unit_test(some_codecs_are_not_carried),
        cmocka_unit_test(high_rates_do_not_fit),
        cmocka_unit_test(pictures_and_sound_share_a_fragment),
        cmocka_unit_test(durations_and_keys_may_differ),
        cmocka_unit_test(a_fragment_may_be_empty),
        cmocka_unit_test(messages_stand_in_front),
        cmocka_unit_test(there_may_be_no_room),
        cmocka_unit_test(samples_may_be_too_large),
        cmocka_unit_test(ffprobe_finds_the_samples),
        cmocka_unit_test(containers_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
