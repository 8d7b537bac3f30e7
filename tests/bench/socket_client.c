/*
 * Upgrades, frames, polls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "socket_client.h"

#include "common.h"
#include "http_wire.h"
#include "ws_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum { HEAD_ROOM = 1024, MESSAGE_MAX = 1 << 26, SEPARATOR = 0x1e };

/* ---- requests ---- */

static int
ask(struct socket_client *c, struct socket_line *l, const char *method,
    const char *more, const struct bytes *body)
{
    bool known = c->wire.sid[0] != '\0';
    char head[HEAD_ROOM];
    int n =
        snprintf(head, sizeof(head),
                 "%s %s?EIO=4&transport=%s%s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
                 method, c->target->name, c->polling ? "polling" : "websocket",
                 known ? "&sid=" : "", c->wire.sid, c->target->host, more);

    if (n < 0 || (size_t)n >= sizeof(head)) {
        fatal("the address is too long");
    }
    if (line_send(l, head, (size_t)n) == -1) {
        return -1;
    }
    return body != NULL ? line_send(l, body->start, body->size) : 0;
}

static int
post(struct socket_client *c)
{
    char more[128];

    snprintf(more, sizeof(more),
             "Content-Type: text/plain;charset=UTF-8\r\n"
             "Content-Length: %zu\r\n",
             c->packets.size);
    c->asking = true;
    if (ask(c, &c->post, "POST", more, &c->packets) == -1) {
        return -1;
    }
    bytes_clear(&c->packets);
    return 0;
}

/* Sends what waits, unless a POST is under way. */
static int
flush_packets(struct socket_client *c)
{
    if (c->packets.size == 0 || c->asking || c->post.connecting) {
        return 0;
    }
    return c->post.fd == -1 ? line_open(&c->post, c->target) : post(c);
}

static int
send_frame(struct socket_client *c, uint8_t opcode, const void *data, size_t n)
{
    uint8_t *frame = mem_new(WS_HEAD_MAX + n, 1);
    size_t size;
    int rc;

    c->masks = c->masks * 1664525 + 1013904223;
    size = ws_write(frame, opcode, c->masks, data, n);
    rc = line_send(&c->get, frame, size);
    mem_drop(&frame);
    return rc;
}

void
client_send(void *arg, const char *packet, size_t size)
{
    struct socket_client *c = arg;
    int rc;

    if (c->polling) {
        if (c->packets.size > 0) {
            bytes_add(&c->packets, "\x1e", 1);
        }
        bytes_add(&c->packets, packet, size);
        rc = flush_packets(c);
    } else {
        rc = send_frame(c, WS_TEXT, packet, size);
    }
    if (rc == -1) {
        c->broke = strerror(errno);
    }
}

/* ---- what comes ---- */

static int
take_packet(struct socket_client *c, const uint8_t *p, size_t n,
            const char **why)
{
    return sio_take(&c->wire, (const char *)p, n, now_ns(), why);
}

static int
take_message(struct socket_client *c, const struct ws_in *f, const char **why)
{
    int rc;

    if (f->final && c->message.size == 0) {
        return take_packet(c, f->data, f->size, why);
    }
    bytes_add(&c->message, f->data, f->size);
    if (!f->final) {
        *why = "a message of more than 64 MB";
        return c->message.size > MESSAGE_MAX ? -1 : 0;
    }
    rc = take_packet(c, c->message.start, c->message.size, why);
    bytes_clear(&c->message);
    return rc;
}

static int
take_frame(struct socket_client *c, const struct ws_in *f, const char **why)
{
    switch (f->opcode) {
    case WS_PING:
        return send_frame(c, WS_PONG, f->data, f->size);
    case WS_PONG:
    case WS_BINARY: /* an attachment */
        return 0;
    case WS_CLOSE:
        *why = "the server closed the WebSocket";
        return -1;
    default:
        return take_message(c, f, why);
    }
}

static int
take_upgrade(struct socket_client *c, const struct http_in *a, const char **why)
{
    *why = "the upgrade was refused";
    c->upgraded = a->status == 101;
    return c->upgraded ? 0 : -1;
}

static int
take_polled(struct socket_client *c, const struct http_in *a, const char **why)
{
    const uint8_t *p = a->body, *end = p + a->size;

    if (a->status != 200) {
        *why = "a poll was refused";
        return -1;
    }
    while (p < end) {
        const uint8_t *stop = memchr(p, SEPARATOR, (size_t)(end - p));
        size_t n = (size_t)((stop != NULL ? stop : end) - p);

        if ((n == 0 || *p != 'b') && take_packet(c, p, n, why) == -1) {
            return -1;
        }
        p += n + 1;
    }
    if (a->closes) {
        line_close(&c->get);
        return line_open(&c->get, c->target);
    }
    return ask(c, &c->get, "GET", "", NULL);
}

static int
take_posted(struct socket_client *c, const struct http_in *a, const char **why)
{
    c->asking = false;
    if (a->status != 200) {
        *why = "a POST was refused";
        return -1;
    }
    if (a->closes) {
        line_close(&c->post);
    }
    return flush_packets(c);
}

static int
take_answer(struct socket_client *c, struct socket_line *l, struct http_in *a,
            const char **why)
{
    if (!c->polling) {
        return take_upgrade(c, a, why);
    }
    return l == &c->get ? take_polled(c, a, why) : take_posted(c, a, why);
}

/* Eats what l has received, from *p on: bytes eaten, 0: there is no more, or
 * -1. */
static ssize_t
eat(struct socket_client *c, struct socket_line *l, uint8_t *p, size_t n,
    const char **why)
{
    struct http_in answer;
    struct ws_in frame;
    ssize_t took;
    int rc;

    if (c->upgraded) {
        took = ws_read(p, n, &frame, why);
        rc = took > 0 ? take_frame(c, &frame, why) : 0;
    } else {
        took = http_read(p, n, &answer, why);
        rc = took > 0 ? take_answer(c, l, &answer, why) : 0;
    }
    return rc == -1 ? -1 : took;
}

/* What a line has received goes on to be eaten while it may be closed. */
static int
eat_all(struct socket_client *c, struct socket_line *l, const char **why)
{
    struct bytes in = l->in;
    size_t at = 0;
    ssize_t took = 1;

    l->in = (struct bytes){ 0 };
    *why = NULL;
    while (took > 0 && at < in.size) {
        took = eat(c, l, in.start + at, in.size - at, why);
        at += took > 0 ? (size_t)took : 0;
    }
    if (at < in.size && l->fd != -1) {
        bytes_cut(&in, at);
        l->in = in;
    } else {
        bytes_clear(&in);
    }
    if (took == -1 && *why == NULL) {
        *why = strerror(errno);
    }
    return took == -1 ? -1 : 0;
}

/* ---- turns ---- */

static int
begin(struct socket_client *c, struct socket_line *l)
{
    static const char upgrade[] =
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\n";

    if (l == &c->post) {
        return post(c);
    }
    if (ask(c, l, "GET", c->polling ? "" : upgrade, NULL) == -1) {
        return -1;
    }
    if (c->mute) { /* joins without having heard anything */
        c->state = CLIENT_MUTE;
        return send_frame(c, WS_TEXT, "40", 2);
    }
    return 0;
}

/* An end of the connection for POST is none of the client while it is idle. */
static int
ended(struct socket_client *c, struct socket_line *l, const char **why)
{
    *why = errno == 0 ? "closed by the server" : strerror(errno);
    if (l == &c->post && !c->asking) {
        line_close(l);
        return flush_packets(c);
    }
    return -1;
}

static int
connected(struct socket_client *c, struct socket_line *l, const char **why)
{
    int error = line_connected(l);

    if (error == 0 && begin(c, l) == -1) {
        error = errno;
    }
    *why = error != 0 ? strerror(error) : NULL;
    return error != 0 ? -1 : 0;
}

int
client_turn(struct socket_client *c, struct socket_line *l, uint32_t events,
            uint8_t *buffer, size_t *bytes, const char **why)
{
    ssize_t n;

    *bytes = 0;
    if (l->connecting) {
        return connected(c, l, why);
    }
    if ((events & EPOLLOUT) != 0 && line_flush(l) == -1) {
        return ended(c, l, why);
    }
    if (l->deaf) {
        *why = "closed by the server";
        return (events & ~(uint32_t)EPOLLOUT) != 0 ? -1 : 0;
    }
    if ((events & ~(uint32_t)EPOLLOUT) == 0) {
        return 0;
    }
    n = line_receive(l, buffer, READ_SIZE);
    if (n == -1) {
        return ended(c, l, why);
    }
    *bytes = (size_t)n;
    if (eat_all(c, l, why) == -1) {
        return -1;
    }
    *why = c->broke;
    return c->broke != NULL ? -1 : 0;
}

/* ---- life ---- */

void
client_init(struct socket_client *c, int epoll)
{
    c->state = CLIENT_NEW;
    c->wire.arg = c->get.owner = c->post.owner = c;
    c->get.epoll = c->post.epoll = epoll;
    line_init(&c->get);
    line_init(&c->post);
    sio_reset(&c->wire);
}

int
client_open(struct socket_client *c, const char **why)
{
    c->state = CLIENT_OPENING;
    c->get.deaf = c->mute;
    c->upgraded = c->asking = false;
    c->broke = NULL;
    if (line_open(&c->get, c->target) == -1) {
        *why = strerror(errno);
        return -1;
    }
    return 0;
}

void
client_close(struct socket_client *c)
{
    line_close(&c->get);
    line_close(&c->post);
    bytes_clear(&c->packets);
    bytes_clear(&c->message);
    sio_reset(&c->wire);
}
