/*
 * Transport streams as ffmpeg reads them: streams that its encoders made are
 * written in fragments, and come back frame by frame, without a warning.
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
#include <unistd.h>

#include "base/bytes.h"
#include "media/container.h"

#define SAMPLES_MAX 600
#define LINE_MAX_BYTES 400

static char folder[] = "/tmp/weir-ts-XXXXXX";

/* ---- files ---- */

struct bytes {
    uint8_t *p; /* owned */
    size_t len;
};

static struct bytes
read_file(const char *name)
{
    char path[100];
    struct bytes b = { 0 };
    long size;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    rewind(f);
    b.p = malloc((size_t)size + 1);
    assert_non_null(b.p);
    b.len = fread(b.p, 1, (size_t)size, f);
    assert_int_equal(b.len, size);
    b.p[b.len] = 0;
    fclose(f);
    return b;
}

/* Runs a command in the folder; what it prints is in "log". */
static void
run(const char *command)
{
    char line[2000];

    snprintf(line, sizeof(line), "cd %s && { %s; } > log 2>&1 < /dev/null",
             folder, command);
    if (system(line) != 0) { /* the shell's own line: no bytes of others */
        struct bytes log = read_file("log");
        print_error("%s\n%s\n", line, (char *)log.p);
        free(log.p);
        fail();
    }
}

#define FFMPEG "ffmpeg -hide_banner -v warning -y "

/* ---- what an encoder made ---- */

struct source {
    struct media_track track;
    struct bytes config; /* where the record lies in a file */
    struct bytes data;
    struct media_sample samples[SAMPLES_MAX];
    struct iovec pieces[SAMPLES_MAX][2];
    size_t count;
    uint64_t begin; /* decode time of the first sample, units of the track */
};

/* Rows of framecrc: stream, dts, pts, duration, size, checksum, flags. */
static void
add_row(struct source *s, const char *row, size_t *at)
{
    struct media_sample *m = &s->samples[s->count];
    struct iovec *pieces = s->pieces[s->count];
    long dts, pts, duration, size;
    long origin = 10 * (long)s->track.timescale; /* the first may be below 0 */

    assert_int_equal(
        sscanf(row, "0, %ld, %ld, %ld, %ld", &dts, &pts, &duration, &size), 4);
    assert_true(s->count < SAMPLES_MAX && *at + (size_t)size <= s->data.len);
    if (s->count == 0) {
        s->begin = (uint64_t)(dts + origin);
    } else {
        m[-1].duration = (uint32_t)((uint64_t)(dts + origin) - s->begin);
        for (size_t i = 0; i + 1 < s->count; i++) {
            m[-1].duration -= s->samples[i].duration;
        }
    }
    /* A sample in two pieces, as one lies that wraps in the arena. */
    pieces[0].iov_base = s->data.p + *at;
    pieces[0].iov_len = (size_t)size / 3;
    pieces[1].iov_base = s->data.p + *at + size / 3;
    pieces[1].iov_len = (size_t)(size - size / 3);
    *m = (struct media_sample){
        .size = (uint32_t)size,
        .duration = (uint32_t)duration,
        .cts = (int32_t)(pts - dts),
        .key = strstr(row, "F=0x0") == NULL,
        .pieces = pieces,
        .piece_count = 2,
    };
    *at += (size_t)size;
    s->count++;
}

static void
read_samples(struct source *s, const char *map)
{
    char command[400], *row, *rest;
    size_t at = 0;

    snprintf(command, sizeof(command),
             FFMPEG "-i in.mkv -map 0:%s -c copy -f data data.bin && " FFMPEG
                    "-ignore_editlist 1 -i in.mp4 -map 0:%s -c copy "
                    "-f framecrc rows.txt",
             map, map);
    run(command);
    s->data = read_file("data.bin");
    struct bytes rows = read_file("rows.txt");
    for (row = strtok_r((char *)rows.p, "\n", &rest); row != NULL;
         row = strtok_r(NULL, "\n", &rest)) {
        if (row[0] != '#') {
            add_row(s, row, &at);
        }
    }
    free(rows.p);
    assert_true(s->count > 10);
}

/* The record in a box of in.mp4. */
static void
read_config(struct source *s, const char *box)
{
    s->config = read_file("in.mp4");
    uint8_t *p = memmem(s->config.p, s->config.len, box, 4);

    assert_non_null(p);
    s->track.config = str_of(p + 4, get_be32(p - 4) - 8);
}

static void
free_source(struct source *s)
{
    free(s->config.p);
    free(s->data.p);
    free(s);
}

static struct source *
video_source(enum media_codec codec)
{
    struct source *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->track = (struct media_track){ .type = MEDIA_VIDEO,
                                     .codec = (uint8_t)codec,
                                     .timescale = MEDIA_VIDEO_TIMESCALE };
    read_config(s, codec == CODEC_H264 ? "avcC" : "hvcC");
    read_samples(s, "v");
    return s;
}

static struct source *
audio_source(enum media_codec codec, uint32_t rate)
{
    static const char config[] = { 0x12, 0x10 }; /* LC, 44.1 kHz, stereo */
    struct source *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->track = (struct media_track){ .type = MEDIA_AUDIO,
                                     .codec = (uint8_t)codec,
                                     .timescale = rate,
                                     .rate = rate,
                                     .channels = 2,
                                     .config = str_of(config, 2) };
    read_samples(s, "a");
    return s;
}

/* ---- writing ---- */

/* A run with the samples from *next on that begin before a time, ms. */
static struct media_run
cut_run(struct source *s, size_t *next, uint64_t *time, uint64_t until)
{
    struct media_run r = { &s->track, *time, &s->samples[*next], 0 };

    while (*next < s->count &&
           (*time - s->begin) * 1000 / s->track.timescale < until) {
        *time += s->samples[(*next)++].duration;
        r.count++;
    }
    return r;
}

/* Fragments of that many milliseconds, one behind the other in out.ts. */
static void
write_stream(struct source **sources, size_t count, unsigned step)
{
    size_t next[MEDIA_TRACKS_MAX] = { 0 };
    uint64_t times[MEDIA_TRACKS_MAX];
    struct media_run runs[MEDIA_TRACKS_MAX];
    struct media_fragment f = {
        .sequence = 1, .first = true, .runs = runs, .count = count, .steps = 1
    };
    struct buf out;
    char path[100];

    snprintf(path, sizeof(path), "%s/out.ts", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    buf_init(&out, 1 << 24);
    for (size_t i = 0; i < count; i++) {
        times[i] = sources[i]->begin;
    }
    for (bool more = true; more; f.sequence++) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            runs[i] = cut_run(sources[i], &next[i], &times[i],
                              (uint64_t)f.sequence * step);
            more = more || next[i] < sources[i]->count;
        }
        assert_int_equal(media_ts.fragment(&out, &f), 0);
        assert_int_equal(buf_len(&out) % 188, 0);
        fwrite(buf_data(&out), 1, buf_len(&out), file);
        buf_take(&out, buf_len(&out));
    }
    buf_clear(&out);
    fclose(file);
}

/* ---- comparing ---- */

static void
no_warnings(const char *command)
{
    run(command);
    struct bytes log = read_file("log");
    if (log.len > 0) {
        print_error("%s\n%s\n", command, (char *)log.p);
        fail();
    }
    free(log.p);
}

/* Pictures decode to the same ones; of sound the frames' bytes are the same. */
static void
compare(const struct source *s)
{
    bool sound = s->track.type == MEDIA_AUDIO;
    const char *map = sound ? "a -c copy" : "v -fps_mode passthrough";
    const char *strip =
        s->track.codec == CODEC_AAC ? "-bsf:a aac_adtstoasc" : "";
    char command[600];

    snprintf(command, sizeof(command),
             FFMPEG
             "-i in.mkv -map 0:%s -f framehash -hash md5 a.txt && " FFMPEG
             "-i out.ts -map 0:%s %s -f framehash -hash md5 b.txt",
             map, map, strip);
    no_warnings(command);
    run("for i in a b; do grep -v '^#' $i.txt | awk -F', *' '{print $6}' > $i; "
        "done; "
        "test $(wc -l < a) -gt 20 && diff a b");
}

/* Times between frames are what they were, to 0.1 ms. */
static void
compare_times(const char *map)
{
    char command[900];

    snprintf(command, sizeof(command),
             "for i in in.mkv out.ts; do ffprobe -v warning -select_streams %s "
             "-show_entries packet=pts_time,dts_time -of csv=p=0 $i | "
             "grep . | cut -d, -f1,2 > $i.t; done; "
             "paste -d, in.mkv.t out.ts.t | awk -F, '{"
             "if (NR == 1) d = $3 - $1; e = $3 - $1 - d; "
             "if (e > 0.0015 || e < -0.0015) { print NR, $0; bad = 1 } } "
             "END { exit bad || NR < 20 }'",
             map);
    no_warnings(command);
}

static void
check_stream(struct source **sources, size_t count, unsigned step)
{
    write_stream(sources, count, step);
    no_warnings(FFMPEG "-i out.ts -map 0 -c copy -f null -");
    for (size_t i = 0; i < count; i++) {
        compare(sources[i]);
        compare_times(sources[i]->track.type == MEDIA_AUDIO ? "a" : "v");
    }
}

static void
make_input(const char *video, const char *audio)
{
    char command[900];

    snprintf(command, sizeof(command),
             "ffmpeg -hide_banner -v error -y "
             "%s%s %s%s %s %s -t 4 -f matroska in.mkv && ffmpeg -hide_banner "
             "-v error -y -i in.mkv -c copy -video_track_timescale 90000 "
             "-f mp4 in.mp4",
             video ? "-f lavfi -i testsrc2=size=320x180:rate=25 " : "", "",
             audio ? "-f lavfi -i sine=frequency=440:sample_rate=" : "",
             audio ? "44100" : "", video ? video : "", audio ? audio : "");
    run(command);
}

static void
test_h264_with_aac(void **state)
{
    (void)state;
    make_input("-c:v libx264 -preset ultrafast -bf 2 -g 50 -b:v 400k",
               "-ac 2 -c:a aac -b:a 128k");
    struct source *s[] = { video_source(CODEC_H264),
                           audio_source(CODEC_AAC, 44100) };
    check_stream(s, 2, 2000);
    check_stream(s, 2, 333);
    check_stream(s, 2, 40);
    check_stream(s + 1, 1, 1000);
    free_source(s[0]);
    free_source(s[1]);
}

static void
test_hevc_with_mp3(void **state)
{
    (void)state;
    make_input("-c:v libx265 -preset ultrafast -x265-params "
               "log-level=none:bframes=3:keyint=50",
               "-ac 2 -c:a libmp3lame -b:a 96k");
    struct source *s[] = { video_source(CODEC_HEVC),
                           audio_source(CODEC_MP3, 44100) };
    check_stream(s, 2, 1000);
    check_stream(s, 2, 333);
    free_source(s[0]);
    free_source(s[1]);
}

static void
test_dolby(void **state)
{
    static const struct {
        enum media_codec codec;
        const char *arguments;
    } rows[] = { { CODEC_AC3, "-ac 2 -ar 48000 -c:a ac3 -b:a 128k" },
                 { CODEC_EAC3, "-ac 2 -ar 48000 -c:a eac3 -b:a 96k" } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make_input(NULL, rows[i].arguments);
        struct source *s = audio_source(rows[i].codec, 48000);
        check_stream(&s, 1, 1000);
        free_source(s);
    }
}

static int
make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int
remove_folder(void **state)
{
    (void)state;
    run("rm -f -- *");
    return rmdir(folder);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h264_with_aac),
        cmocka_unit_test(test_hevc_with_mp3),
        cmocka_unit_test(test_dolby),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
