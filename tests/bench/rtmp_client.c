/*
 * The client side of RTMP's handshake and commands.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp_client.h"

#include "amf.h"
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    TRANSACTION_CONNECT = 1,
    TRANSACTION_CREATE = 2,
    TRANSACTION_ASK = 3,
    MESSAGE_ROOM = 2048,
    BUFFER_MS = 1000,
    EVERYTHING_HEARD = 1 + 2 * RTMP_HELLO, /* S0, S1, S2 */
};

static int fail(struct rtmp_client *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int
fail(struct rtmp_client *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(c->why, sizeof(c->why), fmt, args);
    va_end(args);
    c->state = RTMP_FAILED;
    return -1;
}

static int
say(struct rtmp_client *c, const uint8_t *p, size_t n)
{
    ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent == -1) {
        return fail(c, "sending a command: %s", strerror(errno));
    }
    if ((size_t)sent != n) {
        return fail(c, "the server does not read its commands");
    }
    return 0;
}

static void on_message(void *context, const struct rtmp_message *m);
static void on_media(void *context, const struct media *m);

static const struct chunk_events EVENTS = {
    .media = on_media,
    .message = on_message,
};

void
rtmp_client_init(struct rtmp_client *c)
{
    c->fd = -1;
    c->state = RTMP_HANDSHAKE;
    c->hello = mem_new(EVERYTHING_HEARD, 1);
    chunk_reader_init(&c->reader, &EVENTS, c);
}

void
rtmp_client_clear(struct rtmp_client *c)
{
    mem_drop(&c->hello);
    chunk_reader_clear(&c->reader);
}

int
rtmp_client_start(struct rtmp_client *c, int fd)
{
    uint8_t hello[1 + RTMP_HELLO] = { 3 };

    /* Time and version are 0, which asks for the simple handshake. */
    put_bytes(hello + 9, pattern_bytes(), RTMP_HELLO - 8);
    c->fd = fd;
    return say(c, hello, sizeof(hello));
}

static uint8_t *
put_text_property(uint8_t *p, const char *key, const char *value)
{
    return amf_put_string(amf_put_key(p, key), value);
}

static uint8_t *
put_connect(const struct rtmp_client *c, uint8_t *p)
{
    uint8_t body[MESSAGE_ROOM];
    char url[300];
    uint8_t *b = amf_put_string(body, "connect");

    snprintf(url, sizeof(url), "rtmp://%s/%s", c->target->host, c->target->app);
    b = amf_put_number(b, TRANSACTION_CONNECT);
    b = amf_begin_object(b);
    b = put_text_property(b, "app", c->target->app);
    b = put_text_property(b, "type", "nonprivate");
    b = put_text_property(b, "flashVer", "LNX 9,0,124,2");
    b = put_text_property(b, "tcUrl", url);
    b = amf_end_object(b);
    return rtmp_put_command(p, 0, body, (size_t)(b - body), c->chunk_size);
}

static uint8_t *
put_create_stream(const struct rtmp_client *c, uint8_t *p)
{
    uint8_t body[64];
    uint8_t *b = amf_put_string(body, "createStream");

    b = amf_put_number(b, TRANSACTION_CREATE);
    b = amf_put_null(b);
    return rtmp_put_command(p, 0, body, (size_t)(b - body), c->chunk_size);
}

/* S1 is here: C2 is its echo, and the commands follow in the same write. */
static int
answer_hello(struct rtmp_client *c)
{
    uint8_t out[RTMP_HELLO + 2 * MESSAGE_ROOM];
    uint8_t *p = put_bytes(out, c->hello + 1, RTMP_HELLO);

    if (c->hello[0] != 3) {
        return fail(c, "S0 is %u, not 3", c->hello[0]);
    }
    p = rtmp_put_control(p, RTMP_SET_CHUNK_SIZE, c->chunk_size);
    p = put_connect(c, p);
    p = put_create_stream(c, p);
    return say(c, out, (size_t)(p - out));
}

/* Sends play or publish on the stream the server gave. */
static int
ask(struct rtmp_client *c)
{
    uint8_t body[MESSAGE_ROOM], out[MESSAGE_ROOM + 128];
    char name[TARGET_NAME + 16];
    bool play = c->role == ROLE_PLAY;
    uint8_t *b = amf_put_string(body, play ? "play" : "publish");
    uint8_t *p = out;

    target_name(c->target, c->stream, name, sizeof(name));
    b = amf_put_number(b, TRANSACTION_ASK);
    b = amf_put_null(b);
    b = amf_put_string(b, name);
    if (play) {
        b = amf_put_number(b, -2); /* live, or wait until it is */
    } else {
        b = amf_put_string(b, "live");
    }
    p = rtmp_put_command(p, c->msid, body, (size_t)(b - body), c->chunk_size);
    if (play) {
        p = rtmp_put_buffer_length(p, c->msid, BUFFER_MS);
    }
    c->asked = now_ns();
    c->state = RTMP_ASKED;
    return say(c, out, (size_t)(p - out));
}

static void
on_status(struct rtmp_client *c, const struct amf_reply *reply)
{
    const char *started = c->role == ROLE_PLAY ? "NetStream.Play.Start"
                                               : "NetStream.Publish.Start";

    if (strcmp(reply->code, started) == 0) {
        c->state = RTMP_RUNNING;
    } else if (strcmp(reply->code, "NetStream.Play.UnpublishNotify") == 0 ||
               strcmp(reply->code, "NetStream.Play.Stop") == 0) {
        c->state = RTMP_ENDED;
    } else if (strstr(reply->code, "Failed") != NULL ||
               strstr(reply->code, "BadName") != NULL ||
               strstr(reply->code, "Denied") != NULL ||
               strstr(reply->code, "Rejected") != NULL ||
               strstr(reply->code, "NotFound") != NULL) {
        fail(c, "%s %s", reply->code, reply->about);
    }
}

static void
on_command(struct rtmp_client *c, const uint8_t *p, uint32_t n)
{
    struct amf_reply reply;

    if (!amf_get_reply(p, n, &reply)) {
        fail(c, "a command that is not AMF0");
    } else if (strcmp(reply.name, "_error") == 0) {
        fail(c, "_error: %s %s", reply.code, reply.about);
    } else if (strcmp(reply.name, "onStatus") == 0) {
        on_status(c, &reply);
    } else if (strcmp(reply.name, "_result") == 0 &&
               (int)reply.transaction == TRANSACTION_CREATE) {
        c->msid = (uint32_t)reply.number;
        ask(c);
    }
}

/* Answers pings; the other events need no answer. */
static void
on_event(struct rtmp_client *c, const struct rtmp_message *m)
{
    uint8_t out[64];

    if (m->size >= 6 && get_be16(m->body) == EVENT_PING) {
        uint8_t *p = rtmp_put_event(out, EVENT_PONG, get_be32(m->body + 2));

        say(c, out, (size_t)(p - out));
    }
}

static void
on_message(void *context, const struct rtmp_message *m)
{
    struct rtmp_client *c = context;

    if (c->state == RTMP_FAILED) {
        return;
    }
    switch (m->type) {
    case RTMP_COMMAND:
        on_command(c, m->body, m->size);
        break;
    case RTMP_COMMAND_AMF3: /* one byte, then as AMF0 */
        if (m->size > 0) {
            on_command(c, m->body + 1, m->size - 1);
        }
        break;
    case RTMP_USER_CONTROL:
        on_event(c, m);
        break;
    case RTMP_WINDOW_ACK_SIZE:
        c->window = m->size == 4 ? get_be32(m->body) : 0;
        break;
    default:
        break;
    }
}

static void
on_media(void *context, const struct media *m)
{
    struct rtmp_client *c = context;

    if (c->on_media != NULL) {
        c->on_media(c->context, m);
    }
}

/* Takes what belongs to the handshake; returns the bytes used, -1 and why. */
static ssize_t
take_hello(struct rtmp_client *c, const uint8_t *p, size_t n)
{
    uint32_t before = c->hello_size;

    if (n > EVERYTHING_HEARD - before) {
        n = EVERYTHING_HEARD - before;
    }
    put_bytes(c->hello + before, p, n);
    c->hello_size += (uint32_t)n;
    if (before <= RTMP_HELLO && c->hello_size > RTMP_HELLO &&
        answer_hello(c) == -1) {
        return -1;
    }
    if (c->hello_size == EVERYTHING_HEARD) {
        mem_drop(&c->hello);
        c->state = RTMP_CONNECTED;
    }
    return (ssize_t)n;
}

static int
acknowledge(struct rtmp_client *c)
{
    uint8_t out[32];

    if (c->window == 0 || c->received - c->acknowledged < c->window) {
        return 0;
    }
    uint8_t *p = rtmp_put_control(out, RTMP_ACK, (uint32_t)c->received);

    c->acknowledged = c->received;
    return say(c, out, (size_t)(p - out));
}

int
rtmp_client_feed(struct rtmp_client *c, const uint8_t *p, size_t n)
{
    c->received += n;
    if (c->state == RTMP_HANDSHAKE) {
        ssize_t used = take_hello(c, p, n);

        if (used == -1) {
            return -1;
        }
        p += used;
        n -= (size_t)used;
    }
    if (chunk_reader_feed(&c->reader, p, n) == -1) {
        return fail(c, "not RTMP: %s", c->reader.wrong);
    }
    if (c->state == RTMP_FAILED) {
        return -1;
    }
    return acknowledge(c);
}
