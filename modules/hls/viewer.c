/*
 * The ids of viewers, and counting their requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "viewer.h"

#include <stdio.h>

#include "asked.h"
#include "base/rand.h"
#include "offer.h"

bool
viewer_read(struct str text, struct live_viewer_id *id)
{
    *id = (struct live_viewer_id){ { 0, 0 } };
    for (size_t i = 0; i < text.len && i < VIEWER_TEXT; i++) {
        int digit = str_hex_digit(text.ptr[i]);

        if (digit < 0) {
            return false;
        }
        id->words[i / 16 % 2] = id->words[i / 16 % 2] << 4 | (unsigned)digit;
    }
    return text.len == VIEWER_TEXT - 1 && (id->words[0] | id->words[1]) != 0;
}

const char *
viewer_text(const struct live_viewer_id *id, char text[VIEWER_TEXT])
{
    snprintf(text, VIEWER_TEXT, "%016llx%016llx",
             (unsigned long long)id->words[0],
             (unsigned long long)id->words[1]);
    return text;
}

void
viewer_draw(struct asked *a)
{
    while (!a->has_viewer) {
        rand_bytes(&a->viewer, sizeof(a->viewer));
        a->has_viewer = (a->viewer.words[0] | a->viewer.words[1]) != 0;
    }
}

/* It asks at least once in a target duration, and a blocked request takes up to
 * three of them. */
static uint32_t
lasts(const struct live_cuts *c)
{
    int64_t ms = 4 * (int64_t)c->target;

    return (uint32_t)(ms < LIVE_VIEWER_MAX ? ms : LIVE_VIEWER_MAX);
}

enum http_result
viewer_came(struct asked *a, const struct live_cuts *c)
{
    struct live_viewer v = {
        .id = a->viewer,
        .name = a->name,
        .url = http_shown_url(a->request),
        .peer = a->request->client,
        .kind = LIVE_KIND_HLS,
        .lasts = lasts(c),
    };

    if (!a->has_viewer) {
        return HTTP_PASS;
    }
    switch (live_viewer_came(&v, 0, 0)) {
    case LIVE_VIEWER_COUNTED:
        break;
    case LIVE_VIEWER_KICKED:
        return asked_refuse(a, 403, HLS_REFUSED_KICKED, LIVE_KICKED);
    case LIVE_VIEWER_FULL:
        return asked_refuse(a, 503, HLS_REFUSED_FULL,
                            "there are as many players as may be");
    }
    return HTTP_PASS;
}

/* Objects are the same for all, so their requests tell no viewer. */
void
viewer_took(const struct asked *a, const struct live_cuts *c)
{
    bool sound = a->key.rendition[0] == 'a';
    uint64_t bytes;

    if (!a->has_viewer || !a->directives.has_segment) {
        return;
    }
    bytes = offer_newest_bytes(c, a->directives.has_part);
    live_viewer_took(a->viewer, a->name, sound ? 0 : bytes, sound ? bytes : 0);
}
