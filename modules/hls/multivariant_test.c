/*
 * Multivariant playlists, line by line.
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

#include <string.h>

#include "playlist.h"

static const uint8_t avc[] = { 1, 0x64, 0, 0x1f, 0xff, 0xe0, 0 };
static const uint8_t aac[] = { 0x12, 0x10 };

static struct media_track
pictures(void)
{
    return (struct media_track){ .type = MEDIA_VIDEO,
                                 .codec = CODEC_H264,
                                 .config = str_of(avc, sizeof(avc)),
                                 .width = 1280,
                                 .height = 720 };
}

static struct media_track
sound(void)
{
    return (struct media_track){ .type = MEDIA_AUDIO,
                                 .codec = CODEC_AAC,
                                 .config = str_of(aac, sizeof(aac)),
                                 .rate = 44100,
                                 .channels = 2 };
}

static void
assert_text(const struct multivariant *m, const char *wanted)
{
    struct buf out;
    char text[2000];

    buf_init(&out, sizeof(text));
    assert_int_equal(multivariant_write(&out, m), 0);
    str_copy(text, sizeof(text), buf_str(&out));
    assert_string_equal(text, wanted);
    buf_clear(&out);
    for (size_t limit = 0; limit < strlen(wanted); limit++) {
        buf_init(&out, limit);
        assert_int_equal(multivariant_write(&out, m), -1);
        buf_clear(&out);
    }
}

static void
assert_variant(const struct multivariant_variant *v, const char *wanted)
{
    char text[1000] = "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-STREAM-INF:";

    str_append(text, sizeof(text), strlen(text), str_from(wanted));
    assert_text(&(struct multivariant){ .variants = v, .variant_count = 1 },
                text);
}

static void
test_pictures_and_sound(void **state)
{
    const struct media_track tracks[] = { pictures(), sound() };
    struct multivariant_variant v = {
        .uri = STR("film.m3u8?rendition=all"),
        .tracks = tracks,
        .track_count = 2,
        .fps = 29970,
        .bandwidth = 600123,
        .average_bandwidth = 500000,
    };

    (void)state;
    assert_variant(&v, "BANDWIDTH=600123,AVERAGE-BANDWIDTH=500000,"
                       "CODECS=\"avc1.64001f,mp4a.40.2\",RESOLUTION=1280x720,"
                       "FRAME-RATE=29.970,VIDEO-RANGE=SDR\n"
                       "film.m3u8?rendition=all\n");
}

static void
test_sound_alone(void **state)
{
    const struct media_track tracks[] = { sound() };
    struct multivariant_variant v = {
        .uri = STR("a"), .tracks = tracks, .track_count = 1, .fps = 25000
    };

    (void)state;
    assert_variant(&v, "BANDWIDTH=1,CODECS=\"mp4a.40.2\"\na\n");
}

static void
test_unknown(void **state)
{
    struct media_track tracks[] = { pictures(), sound() };
    struct multivariant_variant v = { .uri = STR("a"),
                                      .tracks = tracks,
                                      .track_count = 2,
                                      .bandwidth = 5,
                                      .average_bandwidth = 6 };

    (void)state;
    tracks[0].codec = CODEC_VP8; /* has no name: then none is said */
    tracks[0].width = 0;
    assert_variant(&v, "BANDWIDTH=6,AVERAGE-BANDWIDTH=6,VIDEO-RANGE=SDR\na\n");
    v.track_count = 0;
    assert_variant(&v, "BANDWIDTH=6,AVERAGE-BANDWIDTH=6\na\n");
}

static void
test_renditions(void **state)
{
    const struct media_track tracks[] = { pictures(), sound(), sound() };
    const struct multivariant_rendition renditions[] = {
        { .type = "AUDIO",
          .group = STR("sound"),
          .name = STR("say \"hi\"\nthere"),
          .uri = STR("film.m3u8?rendition=a0"),
          .is_default = true,
          .channels = 2 },
        { .type = "AUDIO",
          .group = STR("sound"),
          .name = STR("English"),
          .language = STR("en"),
          .uri = STR("film.m3u8?rendition=a1"),
          .channels = 6 },
        { .type = "SUBTITLES",
          .group = STR("text"),
          .name = STR("Text"),
          .uri = STR("t") },
    };
    const struct multivariant_variant v = { .uri = STR("v"),
                                            .tracks = tracks,
                                            .track_count = 3,
                                            .bandwidth = 9,
                                            .audio = STR("sound"),
                                            .subtitles = STR("text") };

    (void)state;
    assert_text(
        &(struct multivariant){ .independent = true,
                                .variants = &v,
                                .variant_count = 1,
                                .renditions = renditions,
                                .rendition_count = 3 },
        "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-INDEPENDENT-SEGMENTS\n"
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"say 'hi' there\","
        "DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"2\","
        "URI=\"film.m3u8?rendition=a0\"\n"
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"English\","
        "LANGUAGE=\"en\",DEFAULT=NO,AUTOSELECT=YES,CHANNELS=\"6\","
        "URI=\"film.m3u8?rendition=a1\"\n"
        "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"text\",NAME=\"Text\","
        "DEFAULT=NO,AUTOSELECT=NO,URI=\"t\"\n"
        "#EXT-X-STREAM-INF:BANDWIDTH=9,CODECS=\"avc1.64001f,mp4a.40.2\","
        "RESOLUTION=1280x720,VIDEO-RANGE=SDR,AUDIO=\"sound\","
        "SUBTITLES=\"text\"\nv\n");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures_and_sound),
        cmocka_unit_test(test_sound_alone),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_renditions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
