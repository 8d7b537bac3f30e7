/*
 * The ids of viewers, and counting their requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "viewer.h"

#include <stdio.h>
#include <string.h>

#include "asked.h"
#include "base/hash.h"
#include "base/rand.h"
#include "offer.h"

/* A key of its own: other hashes of the project may be seen from outside, but
 * none is of a text with a NUL. */
static uint64_t
mark_of(uint64_t word)
{
    static const char texts[2][sizeof("viewer\0001")] = { "viewer\0001",
                                                          "viewer\0002" };
    uint64_t key[2];
    uint8_t bytes[sizeof(key)];

    for (size_t i = 0; i < 2; i++) {
        key[i] = hash_str(str_of(texts[i], sizeof(texts[i])));
    }
    memcpy(bytes, key, sizeof(bytes));
    return hash_keyed(bytes, str_of(&word, sizeof(word)));
}

static struct live_viewer_id
id_of(uint64_t word)
{
    return (struct live_viewer_id){ { word, mark_of(word) } };
}

/* Two words are compared at once, which takes the same time for all. */
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
    return text.len == VIEWER_TEXT - 1 &&
           (id->words[1] ^ mark_of(id->words[0])) == 0;
}

const char *
viewer_text(const struct live_viewer_id *id, char text[VIEWER_TEXT])
{
    snprintf(text, VIEWER_TEXT, "%016llx%016llx",
             (unsigned long long)id->words[0],
             (unsigned long long)id->words[1]);
    return text;
}

struct live_viewer_id
viewer_new(void)
{
    uint64_t word;

    rand_bytes(&word, sizeof(word));
    return id_of(word);
}

struct live_viewer_id
viewer_of_client(const struct addr *client)
{
    struct str part = addr_client(client);
    char text[sizeof("client") + sizeof(client->ip)] = "client";

    if (part.len > 0) { /* of a unix socket there is nothing */
        memcpy(text + sizeof("client"), part.ptr, part.len);
    }
    return id_of(hash_str(str_of(text, sizeof("client") + part.len)));
}

void
viewer_draw(struct asked *a)
{
    if (!a->has_viewer) {
        a->viewer = viewer_new();
        a->has_viewer = true;
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
        .name = a->shown_as,
        .url = http_shown_url(a->request),
        .peer = a->request->client,
        .kind = LIVE_KIND_HLS,
        .lasts = lasts(c),
    };
    struct errmsg why = { "" };

    if (!a->has_viewer) {
        a->viewer = viewer_of_client(&a->request->client);
        a->has_viewer = true;
    }
    v.id = a->viewer;
    switch (live_viewer_came(&v, 0, 0, &why)) {
    case LIVE_VIEWER_COUNTED:
        break;
    case LIVE_VIEWER_KICKED:
        return asked_refuse(a, 403, HLS_REFUSED_KICKED, LIVE_KICKED);
    case LIVE_VIEWER_FULL:
        return asked_refuse(a, 503, HLS_REFUSED_FULL, why.text);
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
    live_viewer_took(a->viewer, a->shown_as, sound ? 0 : bytes,
                     sound ? bytes : 0);
}
