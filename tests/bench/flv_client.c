/*
 * FLV over HTTP, and over WebSocket (RFC 6455), as a client reads it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "flv_client.h"

#include "common.h"
#include "ws_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_ROOM = 8192, /* most bytes of an answer's head */
    FILE_HEAD_SIZE = 9 + 4,
    TAG_HEAD_SIZE = 11,
    TAG_SIZE_SIZE = 4,
    TAG_SCRIPT = 18,
};

static int
fail(struct flv_client *c, const char *why)
{
    snprintf(c->why, sizeof(c->why), "%s", why);
    return -1;
}

void
flv_client_init(struct flv_client *c)
{
    c->fd = -1;
    c->http = HTTP_HEAD;
    c->flv = FLV_FILE_HEAD;
    c->line = mem_new(LINE_ROOM, 1);
}

void
flv_client_clear(struct flv_client *c)
{
    mem_drop(&c->line);
}

int
flv_client_start(struct flv_client *c, int fd)
{
    static const char upgrade[] =
        "Connection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: d2Vpci1sb2FkLTEyMzQ1Ng==\r\n";
    char path[TARGET_NAME + 16], out[1024];

    target_name(c->target, c->stream, path, sizeof(path));
    int n = snprintf(out, sizeof(out),
                     "GET %s HTTP/1.1\r\nHost: %s\r\n"
                     "User-Agent: weir-load\r\nAccept: */*\r\n%s\r\n",
                     path, c->target->host, c->target->socket ? upgrade : "");

    c->fd = fd;
    c->asked = now_ns();
    if (send(fd, out, (size_t)n, MSG_NOSIGNAL) != n) {
        return fail(c, strerror(errno));
    }
    return 0;
}

static int
read_head(struct flv_client *c)
{
    int status = 0;

    if (sscanf(c->line, "HTTP/1.%*1d %3d", &status) != 1) {
        return fail(c, "the answer is not HTTP/1");
    }
    if (status != (c->target->socket ? 101 : 200)) {
        snprintf(c->why, sizeof(c->why), "the answer is %d", status);
        return -1;
    }
    const char *coding = strcasestr(c->line, "\r\ntransfer-encoding:");

    c->http = coding != NULL      ? HTTP_CHUNK_SIZE
              : c->target->socket ? HTTP_FRAME_HEAD
                                  : HTTP_PLAIN;
    c->line_size = 0;
    return 0;
}

/* Takes bytes into the line up to the mark that ends it; done says whether
 * it was found. Returns the bytes used. */
static size_t
take_line(struct flv_client *c, const uint8_t *p, size_t n, const char *mark,
          bool *done)
{
    size_t length = strlen(mark);
    size_t used = 0;

    *done = false;
    while (used < n && c->line_size < LINE_ROOM - 1 && !*done) {
        c->line[c->line_size++] = (char)p[used++];
        *done = c->line_size >= length &&
                memcmp(c->line + c->line_size - length, mark, length) == 0;
    }
    c->line[c->line_size] = '\0';
    return used;
}

static int
read_chunk_size(struct flv_client *c)
{
    char *end;

    c->chunk_left = strtoull(c->line, &end, 16);
    if (end == c->line || (*end != '\r' && *end != ';')) {
        return fail(c, "a chunk's size is not a number");
    }
    c->line_size = 0;
    c->http = c->chunk_left > 0 ? HTTP_CHUNK_DATA : HTTP_ENDED;
    return 0;
}

/* ---- frames ---- */

/* Bytes of the head, as far as they tell. */
static size_t
frame_head_size(const struct flv_client *c)
{
    unsigned said = c->line_size < 2 ? 0 : c->line[1] & 0x7f;

    return said < 126 ? 2 : said == 126 ? 4 : 10;
}

static int
read_frame_head(struct flv_client *c)
{
    const uint8_t *p = (const uint8_t *)c->line;

    if (p[0] != (0x80 | WS_BINARY) || (p[1] & 0x80) != 0) {
        return fail(c, "a frame that is not binary, whole and unmasked");
    }
    c->chunk_left = c->line_size == 2   ? p[1]
                    : c->line_size == 4 ? get_be16(p + 2)
                                        : get_be32(p + 6);
    c->line_size = 0;
    c->http = c->chunk_left > 0 ? HTTP_FRAME_DATA : HTTP_FRAME_HEAD;
    return 0;
}

static size_t
take_frame_head(struct flv_client *c, const uint8_t *p, size_t n, bool *done)
{
    size_t used = 0;

    while (used < n && c->line_size < frame_head_size(c)) {
        c->line[c->line_size++] = (char)p[used++];
    }
    *done = c->line_size >= 2 && c->line_size == frame_head_size(c);
    return used;
}

/* ---- FLV ---- */

static int
check_file_head(struct flv_client *c)
{
    if (memcmp(c->head, "FLV\1", 4) != 0 || get_be32(c->head + 5) != 9 ||
        get_be32(c->head + 9) != 0) {
        return fail(c, "the FLV header is wrong");
    }
    c->flv = FLV_TAG_HEAD;
    return 0;
}

static int
read_tag_head(struct flv_client *c)
{
    c->type = c->head[0];
    c->size = get_be24(c->head + 1);
    c->left = c->size;
    c->timestamp = (uint32_t)c->head[7] << 24 | get_be24(c->head + 4);
    if (c->type != MEDIA_AUDIO && c->type != MEDIA_VIDEO &&
        c->type != TAG_SCRIPT) {
        return fail(c, "an FLV tag of a type that does not exist");
    }
    if (get_be24(c->head + 8) != 0) {
        return fail(c, "an FLV tag with a stream id");
    }
    if (c->type != TAG_SCRIPT) {
        frame_begin(&c->check, (enum media_kind)c->type, c->size);
    }
    c->flv = FLV_BODY;
    return 0;
}

/* The tag is complete, also the size that follows it. */
static int
end_tag(struct flv_client *c)
{
    if (get_be32(c->head) != c->size + TAG_HEAD_SIZE) {
        return fail(c, "a previous tag size is wrong");
    }
    c->flv = FLV_TAG_HEAD;
    if (c->type != TAG_SCRIPT) {
        struct media m = {
            .kind = c->check.kind,
            .verdict = frame_end(&c->check),
            .timestamp = c->timestamp,
            .stamp = &c->check.stamp,
        };

        c->on_media(c->context, &m);
    }
    return 0;
}

static unsigned
head_wanted(const struct flv_client *c)
{
    switch (c->flv) {
    case FLV_FILE_HEAD:
        return FILE_HEAD_SIZE;
    case FLV_TAG_HEAD:
        return TAG_HEAD_SIZE;
    case FLV_TAG_SIZE:
        return TAG_SIZE_SIZE;
    case FLV_BODY:
        break;
    }
    return 0;
}

static int
end_head(struct flv_client *c)
{
    c->head_size = 0;
    switch (c->flv) {
    case FLV_FILE_HEAD:
        return check_file_head(c);
    case FLV_TAG_HEAD:
        return read_tag_head(c);
    case FLV_TAG_SIZE:
        return end_tag(c);
    case FLV_BODY:
        break;
    }
    return 0;
}

static int
feed_flv(struct flv_client *c, const uint8_t *p, size_t n)
{
    while (n > 0) {
        size_t part;

        if (c->flv == FLV_BODY) {
            part = n < c->left ? n : c->left;
            if (c->type != TAG_SCRIPT) {
                frame_add(&c->check, p, part);
            }
            c->left -= (uint32_t)part;
        } else {
            part = head_wanted(c) - c->head_size;
            part = n < part ? n : part;
            put_bytes(c->head + c->head_size, p, part);
            c->head_size += (unsigned)part;
            if (c->head_size == head_wanted(c) && end_head(c) == -1) {
                return -1;
            }
        }
        p += part;
        n -= part;
        if (c->flv == FLV_BODY && c->left == 0) {
            c->flv = FLV_TAG_SIZE;
        }
    }
    return 0;
}

/* One step of the answer; returns the bytes used, or -1. */
static ssize_t
step(struct flv_client *c, const uint8_t *p, size_t n)
{
    bool done;
    size_t used = n;
    int rc = 0;

    switch (c->http) {
    case HTTP_HEAD:
        used = take_line(c, p, n, "\r\n\r\n", &done);
        rc = done ? read_head(c) : 0;
        break;
    case HTTP_PLAIN:
        rc = feed_flv(c, p, n);
        break;
    case HTTP_CHUNK_SIZE:
        used = take_line(c, p, n, "\r\n", &done);
        rc = done ? read_chunk_size(c) : 0;
        break;
    case HTTP_FRAME_HEAD:
        used = take_frame_head(c, p, n, &done);
        rc = done ? read_frame_head(c) : 0;
        break;
    case HTTP_FRAME_DATA:
    case HTTP_CHUNK_DATA:
        used = n < c->chunk_left ? n : (size_t)c->chunk_left;
        rc = feed_flv(c, p, used);
        c->chunk_left -= used;
        if (c->chunk_left == 0) {
            c->http = c->target->socket ? HTTP_FRAME_HEAD : HTTP_CHUNK_END;
        }
        break;
    case HTTP_CHUNK_END:
        used = take_line(c, p, n, "\r\n", &done);
        if (done) {
            rc = c->line_size == 2 ? 0 : fail(c, "a chunk is too long");
            c->line_size = 0;
            c->http = HTTP_CHUNK_SIZE;
        }
        break;
    case HTTP_ENDED:
        break;
    }
    return rc == -1 ? -1 : (ssize_t)used;
}

int
flv_client_feed(struct flv_client *c, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t used = step(c, p, n);

        if (used == -1) {
            return -1;
        }
        if (used == 0) {
            return fail(c, "the answer's head is above 8 KiB");
        }
        p += used;
        n -= (size_t)used;
    }
    return 0;
}
