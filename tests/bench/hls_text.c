/*
 * Lines of playlists.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "hls_text.h"

#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *start;
    size_t size;
};

static bool
next_line(struct line *l, const char **at, const char *end)
{
    const char *stop;

    if (*at >= end) {
        return false;
    }
    stop = memchr(*at, '\n', (size_t)(end - *at));
    stop = stop != NULL ? stop : end;
    l->start = *at;
    l->size = (size_t)(stop - *at);
    if (l->size > 0 && l->start[l->size - 1] == '\r') {
        l->size--;
    }
    *at = stop + 1;
    return true;
}

/* What stands behind the tag; NULL: the line is another. */
static const char *
behind(const struct line *l, const char *tag)
{
    size_t n = strlen(tag);

    return l->size >= n && memcmp(l->start, tag, n) == 0 ? l->start + n : NULL;
}

/* The quoted value of an attribute. */
static bool
quoted(const struct line *l, const char *name, char out[HLS_URI])
{
    const char *at = memmem(l->start, l->size, name, strlen(name));
    const char *end = l->start + l->size, *stop;

    if (at == NULL) {
        return false;
    }
    at += strlen(name);
    stop = memchr(at, '"', (size_t)(end - at));
    if (stop == NULL || stop - at >= HLS_URI) {
        return false;
    }
    memcpy(out, at, (size_t)(stop - at));
    out[stop - at] = '\0';
    return true;
}

static void
add_part(struct hls_text *t, const struct line *l)
{
    struct hls_part *p;

    if (t->parts == HLS_PARTS) {
        memmove(t->part, t->part + 1, sizeof(t->part) - sizeof(t->part[0]));
        t->parts--;
    }
    p = &t->part[t->parts];
    if (quoted(l, "URI=\"", p->uri)) {
        p->place = t->next;
        t->parts++;
    }
    t->next.part++;
}

static void
read_control(struct hls_text *t, const struct line *l)
{
    static const char can[] = "CAN-BLOCK-RELOAD=YES";

    t->blocks = memmem(l->start, l->size, can, sizeof(can) - 1) != NULL;
}

static void
read_line(struct hls_text *t, const struct line *l)
{
    const char *value;

    if (l->size > 0 && l->start[0] != '#') {
        t->next = (struct hls_place){ t->next.segment + 1, 0 };
    } else if (behind(l, "#EXT-X-PART:") != NULL) {
        add_part(t, l);
    } else if ((value = behind(l, "#EXT-X-MEDIA-SEQUENCE:")) != NULL) {
        t->next.segment = strtoull(value, NULL, 10);
    } else if ((value = behind(l, "#EXT-X-SKIP:SKIPPED-SEGMENTS=")) != NULL) {
        t->next.segment += strtoull(value, NULL, 10);
    } else if ((value = behind(l, "#EXT-X-PART-INF:PART-TARGET=")) != NULL) {
        t->part_target = strtod(value, NULL);
    } else if (behind(l, "#EXT-X-SERVER-CONTROL:") != NULL) {
        read_control(t, l);
    } else if (behind(l, "#EXT-X-ENDLIST") != NULL) {
        t->ended = true;
    }
}

bool
hls_read_media(struct hls_text *t, const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    struct line l;

    *t = (struct hls_text){ 0 };
    if (!next_line(&l, &at, end) || behind(&l, "#EXTM3U") == NULL) {
        return false;
    }
    while (next_line(&l, &at, end)) {
        read_line(t, &l);
    }
    return true;
}

bool
hls_read_first(char uri[HLS_URI], const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    struct line l;

    while (next_line(&l, &at, end)) {
        if (l.size > 0 && l.start[0] != '#' && l.size < HLS_URI) {
            memcpy(uri, l.start, l.size);
            uri[l.size] = '\0';
            return true;
        }
    }
    return false;
}

void
hls_resolve(char *out, size_t room, const char *base, const char *uri)
{
    const char *query = strchr(base, '?');
    size_t size = query != NULL ? (size_t)(query - base) : strlen(base);

    while (size > 0 && base[size - 1] != '/') {
        size--;
    }
    if (uri[0] == '/') {
        size = 0;
    }
    snprintf(out, room, "%.*s%s", (int)size, base, uri);
}
