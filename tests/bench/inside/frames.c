/*
 * What a frame costs its publisher: a stream of pictures and sound, appended
 * as fast as it goes, with cuts for HLS or without.
 *
 *   frames cuts|plain [SECONDS]   publishes so many seconds of media (600)
 *
 * It is linked with weir's own code.  tests/bench/hls counts its instructions
 * (callgrind, within writer_append()) with cuts and without; the difference is
 * what cuts cost a stream that nobody watches.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "live/arena.h"
#include "live/stream.h"
#include "live/writer.h"

#define FPS 30u
#define GOP 60u /* pictures */
#define RATE 44100u
#define PICTURE 2300u /* bytes; with the sound 600 kbit/s */
#define SOUND 120u

static const uint8_t sound_header[] = { 0xaf, 0, 0x12, 0x10 };
static const uint8_t picture_header[] = { 0x17, 0,    0,    0,    0,    1,
                                          0x64, 0,    0x1f, 0xff, 0xe1, 0,
                                          4,    0x67, 0x64, 0,    0x1f, 1,
                                          0,    2,    0x68, 0xee };

static void
give_up(const char *why)
{
    fprintf(stderr, "frames: %s\n", why);
    exit(2);
}

static void
begin(struct writer *w, bool cuts)
{
    const struct live_settings settings = { .memory = INT64_C(64) << 20,
                                            .max_streams = 16,
                                            .max_sessions = 16,
                                            .window = 8000,
                                            .max_stream_memory = 32 << 20,
                                            .hold = 10000 };
    struct live_publish what = { .name = STR("live/a"), .chunk_size = 4096 };
    struct stream *s;
    struct errmsg err;

    if (cuts) {
        what.cuts = (struct live_cut_rules){ .segment = 2000,
                                             .max_segment = 6000,
                                             .part = 333 };
    }
    if (slots_create(8, &err) == -1 || live_create(&settings, &err) == -1) {
        give_up(err.text);
    }
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "worker", 0, 0));
    if (stream_claim(&what, &s) != STREAM_YOURS) {
        give_up("the name cannot be had");
    }
    writer_start(w, s);
}

static void
append(struct writer *w, enum media_type type, uint64_t ms, const uint8_t *data,
       size_t n)
{
    if (writer_append(w, type, (uint32_t)ms, data, n) != 0) {
        give_up("a frame is dropped");
    }
}

/* Whichever is due first; returns frames. */
static uint64_t
publish(struct writer *w, uint64_t seconds)
{
    static uint8_t picture[PICTURE] = { 0x27, 1 };
    static uint8_t sound[SOUND] = { 0xaf, 1 };
    uint64_t pictures = 0, sounds = 0;

    append(w, MEDIA_VIDEO, 0, picture_header, sizeof(picture_header));
    append(w, MEDIA_AUDIO, 0, sound_header, sizeof(sound_header));
    while (pictures < seconds * FPS) {
        uint64_t seen = pictures * 1000 / FPS;
        uint64_t heard = sounds * 1024 * 1000 / RATE;

        if (seen <= heard) {
            picture[0] = pictures % GOP == 0 ? 0x17 : 0x27;
            append(w, MEDIA_VIDEO, seen, picture, sizeof(picture));
            pictures++;
        } else {
            append(w, MEDIA_AUDIO, heard, sound, sizeof(sound));
            sounds++;
        }
    }
    return pictures + sounds;
}

int
main(int argc, char **argv)
{
    uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 600;
    struct writer w;

    if (argc < 2 ||
        (strcmp(argv[1], "cuts") != 0 && strcmp(argv[1], "plain") != 0)) {
        give_up("use: frames cuts|plain [SECONDS]");
    }
    log_set(LOG_CRIT, LOG_TEXT);
    hash_init();
    begin(&w, strcmp(argv[1], "cuts") == 0);
    printf("%llu\n", (unsigned long long)publish(&w, seconds));
    live_destroy();
    slots_destroy();
    return 0;
}
