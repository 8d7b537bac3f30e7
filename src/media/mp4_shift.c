/*
 * Fragments of a player of its own: moved in time, so that the first one it
 * gets begins where an MP4 begins.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/bytes.h"
#include "media/container.h"

#define BOX 8        /* size and type */
#define FULL_BOX 12  /* and version and flags */
#define EVENT_TIME 4 /* bytes of a message before its time: the timescale */

struct box {
    uint8_t *at;
    size_t size; /* all of it */
};

/* The next box of some bytes, which goes off them; false: there is none. */
static bool
take(uint8_t **at, size_t *left, struct box *b)
{
    if (*left < BOX) {
        return false;
    }
    *b = (struct box){ *at, get_be32(*at) };
    if (b->size < BOX || b->size > *left) {
        return false;
    }
    *at += b->size;
    *left -= b->size;
    return true;
}

static bool
is(const struct box *b, const char *type, size_t least)
{
    return memcmp(b->at + 4, type, 4) == 0 && b->size >= least;
}

static void
move_back(uint8_t *time, uint64_t by)
{
    uint64_t now = (uint64_t)get_be32(time) << 32 | get_be32(time + 4);

    now = now > by ? now - by : 0;
    put_be32(time, (uint32_t)(now >> 32));
    put_be32(time + 4, (uint32_t)now);
}

static void
shift_track(struct box traf, const struct media_shift *s)
{
    uint8_t *at = traf.at + BOX;
    size_t left = traf.size - BOX;
    uint32_t id = 0;
    struct box b;

    while (take(&at, &left, &b)) {
        if (is(&b, "tfhd", FULL_BOX + 4)) {
            id = get_be32(b.at + FULL_BOX);
        } else if (is(&b, "tfdt", FULL_BOX + 8) && id > 0 && id <= s->count) {
            move_back(b.at + FULL_BOX, s->units[id - 1]);
        }
    }
}

static void
shift_tracks(struct box moof, const struct media_shift *s)
{
    uint8_t *at = moof.at + BOX;
    size_t left = moof.size - BOX;
    struct box b;

    while (take(&at, &left, &b)) {
        if (is(&b, "traf", BOX)) {
            shift_track(b, s);
        }
    }
}

void
media_mp4_shift(uint8_t *head, size_t n, const struct media_shift *s)
{
    struct box b;

    while (take(&head, &n, &b)) {
        if (is(&b, "emsg", FULL_BOX + EVENT_TIME + 8)) {
            move_back(b.at + FULL_BOX + EVENT_TIME, s->ms);
        } else if (is(&b, "moof", BOX)) {
            shift_tracks(b, s);
        }
    }
}
