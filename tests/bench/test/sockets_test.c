/*
 * Tests of the clients of Socket.IO: what they take of a server, what they find
 * wrong, what they write.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../common.h"
#include "../http_wire.h"
#include "../sio_wire.h"
#include "../ws_wire.h"

#include <stdio.h>
#include <string.h>

static unsigned tests;
static unsigned failures;

static void
ok(bool good, const char *what)
{
    tests++;
    failures += !good;
    printf("%sok %u - %s\n", good ? "" : "not ", tests, what);
}

/* ---- frames ---- */

static void
test_frame_of_length(size_t n)
{
    uint8_t *frame = mem_new(n + WS_HEAD_MAX, 1), *text = mem_new(n + 1, 1);
    struct ws_in in;
    const char *why;
    size_t size, head;
    bool good = true;
    char what[80];

    memset(text, 'a', n);
    size = ws_write(frame, WS_TEXT, 0, text, n);
    head = size - n - 4;
    /* A server's frame has the same head, without the mask. */
    frame[1] &= 0x7f;
    memmove(frame + head, frame + head + 4, n);
    for (size_t cut = 0; cut < head + n; cut += cut < 16 ? 1 : 997) {
        good = good && ws_read(frame, cut, &in, &why) == 0;
    }
    good =
        good && ws_read(frame, head + n + 5, &in, &why) == (ssize_t)(head + n);
    good = good && in.final && in.opcode == WS_TEXT && in.size == n &&
           memcmp(in.data, text, n) == 0;
    snprintf(what, sizeof(what), "a frame of %zu bytes, whole and cut", n);
    ok(good, what);
    mem_drop(&frame);
    mem_drop(&text);
}

static void
test_frames(void)
{
    static const uint8_t bad[][4] = {
        { 0xc1, 0 },                        /* a reserved bit */
        { 0x81, 0x80 },                     /* a mask */
        { 0x83, 0 },                        /* kinds that there are not */
        { 0x8b, 0 },           { 0x09, 0 }, /* a ping that is cut */
        { 0x89, 126, 0, 126 },              /* one that is long */
    };
    /* RFC 6455, 5.7. */
    static const uint8_t hello[] = { 0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d,
                                     0x7f, 0x9f, 0x4d, 0x51, 0x58 };
    uint8_t frame[32];
    struct ws_in in;
    const char *why;
    bool good = true;

    test_frame_of_length(0);
    test_frame_of_length(125);
    test_frame_of_length(126);
    test_frame_of_length(65535);
    test_frame_of_length(65536);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        good = good && ws_read(bad[i], sizeof(bad[i]), &in, &why) == -1;
    }
    ok(good, "frames that no server may send");
    ok(ws_write(frame, WS_TEXT, 0x37fa213d, "Hello", 5) == sizeof(hello) &&
           memcmp(frame, hello, sizeof(hello)) == 0,
       "a masked frame is that of the standard");
}

/* ---- answers ---- */

static ssize_t
answer(const char *text, struct http_in *a, const char **why)
{
    static uint8_t bytes[4096];

    memcpy(bytes, text, strlen(text));
    return http_read(bytes, strlen(text), a, why);
}

static void
test_cut(const char *text, const char *what)
{
    size_t n = strlen(text);
    uint8_t *copy = mem_new(n, 1);
    struct http_in a;
    const char *why;
    bool good = true;

    for (size_t cut = 0; cut < n; cut++) {
        memcpy(copy, text, n);
        good = good && http_read(copy, cut, &a, &why) == 0 &&
               memcmp(copy, text, n) == 0;
    }
    memcpy(copy, text, n);
    good = good && http_read(copy, n, &a, &why) == (ssize_t)n && a.size == 5 &&
           memcmp(a.body, "hello", 5) == 0;
    ok(good, what);
    mem_drop(&copy);
}

static void
test_answers(void)
{
    struct http_in a;
    const char *why;
    ssize_t n;

    test_cut("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
             "an answer with a length, whole and cut");
    test_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
             "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
             "an answer in chunks, whole and cut");
    n = answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
               "\x81\x02hi",
               &a, &why);
    ok(n > 0 && a.status == 101 && a.size == 0, "frames follow an upgrade");
    n = answer("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
               "Content-Length: 0\r\n\r\n",
               &a, &why);
    ok(n > 0 && a.status == 400 && a.closes, "a refusal that closes");
    ok(answer("HTTP/1.0 200 OK\r\n\r\n", &a, &why) == -1 &&
           answer("HTTP/1.1 200 OK\r\n\r\nhello", &a, &why) == -1 &&
           answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "ffffffff\r\n",
                  &a, &why) == -1,
       "answers that cannot be read");
}

/* ---- sessions ---- */

struct seen {
    struct sio_wire wire;
    char sent[256];
    unsigned joined, events;
    char event[64], args[64];
};

static void
on_send(void *arg, const char *packet, size_t size)
{
    struct seen *s = arg;

    size_t n = strlen(s->sent);

    snprintf(s->sent + n, sizeof(s->sent) - n, "%.*s;", (int)size, packet);
}

static void
on_joined(void *arg)
{
    struct seen *s = arg;

    s->joined++;
}

static void
on_event(void *arg, const struct sio_event *e)
{
    struct seen *s = arg;

    s->events++;
    snprintf(s->event, sizeof(s->event), "%.*s", (int)e->name_size, e->name);
    snprintf(s->args, sizeof(s->args), "%.*s", (int)e->args_size, e->args);
}

static const struct sio_hooks hooks = { on_send, on_joined, on_event };

#define OPEN                                                     \
    "0{\"sid\":\"abc-_1\",\"upgrades\":[],\"pingInterval\":300," \
    "\"pingTimeout\":200,\"maxPayload\":1000000}"

static void
start(struct seen *s, const char *space)
{
    *s = (struct seen){ 0 };
    s->wire = (struct sio_wire){ .hooks = &hooks, .arg = s, .space = space };
}

static int
take(struct seen *s, const char *packet, int64_t now)
{
    const char *why = NULL;
    int rc = sio_take(&s->wire, packet, strlen(packet), now, &why);

    return rc == -1 && why == NULL ? -2 : rc;
}

static void
test_session(void)
{
    struct seen s;

    start(&s, "/");
    ok(take(&s, OPEN, 7) == 0 && strcmp(s.wire.sid, "abc-_1") == 0 &&
           s.wire.heard == 7 && s.wire.silence == 500 * NS_PER_MS &&
           strcmp(s.sent, "40;") == 0,
       "a session begins, and its namespace is asked for");
    ok(take(&s, "42[\"early\"]", 8) == -1, "no event before it has joined");
    ok(take(&s, "40{\"sid\":\"x\"}", 8) == 0 && s.joined == 1 && s.wire.joined,
       "it joins");
    ok(take(&s, "2", 9) == 0 && strcmp(s.sent, "40;3;") == 0 &&
           s.wire.heard == 9,
       "a ping is answered");
    ok(take(&s, "42[\"a\",1,{\"b\":2}]", 9) == 0 && s.events == 1 &&
           strcmp(s.event, "a") == 0 && strcmp(s.args, "1,{\"b\":2}") == 0,
       "an event with arguments");
    ok(take(&s, "4217[\"bare\"]", 9) == 0 && s.events == 2 &&
           strcmp(s.event, "bare") == 0 && s.args[0] == '\0',
       "one that wants an answer, without any");
    ok(take(&s, "6", 9) == 0, "a packet that says nothing");
    sio_emit(&s.wire, "go", "[1]");
    ok(strcmp(s.sent, "40;3;42[\"go\",[1]];") == 0, "an event is sent");
    ok(take(&s, OPEN, 10) == -1, "no session begins twice");
    ok(take(&s, "41", 10) == -1 && take(&s, "1", 10) == -1 &&
           take(&s, "44{\"message\":\"no\"}", 10) == -1 &&
           take(&s, "42{}", 10) == -1 && take(&s, "42/x,[\"a\"]", 10) == -1 &&
           take(&s, "", 10) == -1 && take(&s, "9", 10) == -1,
       "ends, refusals, and what is none of the protocol's");
    sio_reset(&s.wire);
    ok(take(&s, OPEN, 11) == 0 && !s.wire.joined, "it begins anew");
}

static void
test_namespace(void)
{
    struct seen s;

    start(&s, "/custom");
    take(&s, OPEN, 0);
    ok(strcmp(s.sent, "40/custom,;") == 0, "a namespace is asked for by name");
    ok(take(&s, "40{\"sid\":\"x\"}", 0) == -1, "an answer for another one");
    ok(take(&s, "40/custom,{\"sid\":\"x\"}", 0) == 0 && s.joined == 1 &&
           take(&s, "42/custom,[\"a\",2]", 0) == 0 && strcmp(s.args, "2") == 0,
       "its answer and its events");
}

static void
test_numbers(void)
{
    static const char json[] =
        "{\"n\":12,\"t\":9007199254740992,\"pad\":\"x\"}";

    ok(sio_number(json, sizeof(json) - 1, "n") == 12 &&
           sio_number(json, sizeof(json) - 1, "t") == 9007199254740992 &&
           sio_number(json, sizeof(json) - 1, "pad") == -1 &&
           sio_number(json, sizeof(json) - 1, "q") == -1 &&
           sio_number(json, 6, "n") == 1,
       "numbers of an event, and no byte behind it");
}

int
main(void)
{
    test_frames();
    test_answers();
    test_session();
    test_namespace();
    test_numbers();
    printf("1..%u\n", tests);
    return failures > 0;
}
