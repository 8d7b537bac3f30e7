/*
 * Fuzz target: the time of a stream, whatever its publishers' clocks say.
 *
 * Four bytes are where the clock begins, then eight are a frame: what it is and
 * whether a publisher came anew, when it arrives, its timestamp.  All of them
 * lie on one half of the circle of 32 bits, for what is far from there is
 * neither before nor behind.  Sound and pictures never go back by more than
 * the second that a clock may be out of order by (and half a second that a
 * codec header may be ahead), and not at all when a publisher came anew; data
 * do not go back before their publisher.
 *
 * covers: src/live/timeline.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/log.h"
#include "live/stream.h"
#include "live/timeline.h"

#define BACK_MS 1500
#define FRAMES 64         /* of so many, jumping so far, */
#define JUMP_MAX 0xffffff /* ms: 12 days */

enum { ANEW = 4, HEADER = 8, FOLLOWS = 16 };

struct bytes { /* of a frame, as they stand in the input */
    uint8_t what, unused;
    uint16_t later_ms;
    uint32_t timestamp;
};

/* What players were sent of one kind. */
struct seen {
    bool any;
    uint32_t latest; /* on the circle of 32 bits */
};

static struct stream *stream;

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
look_at(struct seen *seen, uint32_t time, bool anew)
{
    int32_t ahead = (int32_t)(time - seen->latest);

    require(!seen->any || ahead >= -BACK_MS);
    require(!seen->any || !anew || ahead > 0);
    if (!seen->any || ahead > 0) {
        seen->latest = time;
    }
    seen->any = true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum media_type types[] = { MEDIA_AUDIO, MEDIA_VIDEO,
                                             MEDIA_DATA, MEDIA_VIDEO };
    struct str input = str_of(data, size);
    struct seen seen[2] = { { false, 0 }, { false, 0 } };
    bool anew[2] = { false, false };
    struct timeline t;
    int64_t now = 0;
    uint32_t begin;

    take_bytes(&input, &begin, sizeof(begin));
    if (stream == NULL) {
        stream = calloc(1, sizeof(*stream));
        log_set_sink(drop_line, NULL);
    }
    memset(stream, 0, sizeof(*stream));
    timeline_start(&t, stream);
    for (int i = 0; i < FRAMES && input.len > 0; i++) {
        struct bytes b;

        take_bytes(&input, &b, sizeof(b));
        if ((b.what & ANEW) != 0) {
            timeline_start(&t, stream);
            anew[0] = anew[1] = true;
        }
        now += b.later_ms;
        struct frame f = { .type = (uint8_t)types[b.what & 3],
                           .flags = (b.what & HEADER) != 0 ? MEDIA_HEADER : 0,
                           .arrived_ms = now };
        unsigned kind = f.type == MEDIA_VIDEO;

        f.timestamp =
            timeline_place(&t, stream, &f, begin + (b.timestamp & JUMP_MAX),
                           (b.what & FOLLOWS) == 0);
        if (f.type != MEDIA_DATA && (b.what & (FOLLOWS | HEADER)) == 0) {
            look_at(&seen[kind], f.timestamp, anew[kind]);
            anew[kind] = false;
        }
        timeline_note(stream, &f);
    }
    return 0;
}
