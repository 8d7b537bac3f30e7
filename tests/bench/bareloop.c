/*
 * The bare loop: one thread, one epoll set, one send() per player and turn.
 *
 * A player's life: it says hello, gets canned answers, asks, gets metadata and
 * codec headers, and is then a position in the ring. A socket that is full is
 * left alone until it is writable again; a player that falls behind by most of
 * the ring is closed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bareloop.h"

#include "amf.h"
#include "bare_ring.h"
#include "common.h"
#include "console.h"
#include "rtmp_wire.h"
#include "submission.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, HEARD_SIZE = 8192, BACKLOG = 4096 };

enum peer_state { PEER_HELLO, PEER_COMMANDS, PEER_ASKING, PEER_PLAYING };

struct peer {
    int fd;
    enum peer_state state;
    bool full; /* the socket: waits to be writable */
    uint64_t position;
    uint8_t *heard; /* owned; what it said before it played */
    size_t heard_size;
    unsigned index;    /* in the list of peers */
    struct peer *next; /* in the list of dead ones */
};

struct bare {
    const struct options *options; /* borrowed */
    struct bare_ring ring;
    struct console console;
    struct peer **peers; /* owned */
    unsigned count;
    unsigned room;
    struct peer *dead;             /* owned; closed in this turn of the loop */
    struct submission *submission; /* owned; NULL: a send each */
    int epoll;
    int listener;
    bool stop;
    int64_t flush_at; /* when gathered messages go out */
    uint64_t sent_to; /* the position up to which all were offered */
    uint64_t bytes;
    uint64_t sends;
    unsigned slow; /* closed for being behind */
};

static int
watch(struct bare *bare, struct peer *p, int operation, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = p };

    return epoll_ctl(bare->epoll, operation, p->fd, &event);
}

/* Takes a peer out; its memory goes when the turn is over, because an event
 * of it may still be waiting. */
static void
drop(struct bare *bare, struct peer *p)
{
    struct peer *last = bare->peers[--bare->count];

    bare->peers[p->index] = last;
    last->index = p->index;
    close(p->fd);
    p->fd = -1;
    mem_drop(&p->heard);
    p->next = bare->dead;
    bare->dead = p;
}

static void
bury(struct bare *bare)
{
    while (bare->dead != NULL) {
        struct peer *p = bare->dead;

        bare->dead = p->next;
        mem_drop(&p);
    }
}

/* What the socket took of the bytes that are left for a peer; or -errno. */
static void
delivered(struct bare *bare, struct peer *p, ssize_t sent)
{
    uint64_t left = bare->ring.tail - p->position;

    bare->sends++;
    if (sent < 0 && sent != -EAGAIN) {
        drop(bare, p);
        return;
    }
    sent = sent < 0 ? 0 : sent;
    p->position += (uint64_t)sent;
    bare->bytes += (uint64_t)sent;
    bool full = (uint64_t)sent < left;

    if (full != p->full) {
        p->full = full;
        watch(bare, p, EPOLL_CTL_MOD, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

static void
on_submitted(void *arg, void *of, int sent)
{
    delivered(arg, of, sent);
}

/* Closes a peer that is too far behind. */
static bool
is_slow(struct bare *bare, struct peer *p)
{
    const struct bare_ring *ring = &bare->ring;

    if (ring->tail - p->position <= ring->size - ring->size / 8) {
        return false;
    }
    bare->slow++;
    drop(bare, p);
    return true;
}

/* Sends what the ring has for a peer, as far as its socket takes it. */
static void
deliver(struct bare *bare, struct peer *p)
{
    struct bare_ring *ring = &bare->ring;

    if (!is_slow(bare, p)) {
        ssize_t sent = send(p->fd, bare_ring_at(ring, p->position),
                            (size_t)(ring->tail - p->position),
                            MSG_NOSIGNAL | MSG_DONTWAIT);

        delivered(bare, p, sent == -1 ? -errno : sent);
    }
}

/* The same, later, with others. */
static void
submit(struct bare *bare, struct peer *p)
{
    struct bare_ring *ring = &bare->ring;

    if (!is_slow(bare, p) &&
        !submission_add(bare->submission, p->fd,
                        bare_ring_at(ring, p->position),
                        (size_t)(ring->tail - p->position), p)) {
        submission_flush(bare->submission, on_submitted, bare);
    }
}

/* To every player that has room, what is new. */
static void
deliver_all(struct bare *bare)
{
    void (*to)(struct bare *, struct peer *) =
        bare->submission != NULL ? submit : deliver;

    /* From the end: a peer that is dropped is replaced by a later one. */
    for (unsigned i = bare->count; i > 0; i--) {
        struct peer *p = bare->peers[i - 1];

        if (p->state != PEER_PLAYING) {
            continue;
        }
        if (!p->full || bare->ring.tail - p->position > bare->ring.size / 2) {
            to(bare, p);
        }
    }
    if (bare->submission != NULL) {
        submission_flush(bare->submission, on_submitted, bare);
    }
    bare->sent_to = bare->ring.tail;
}

/* Everything said to a peer before it plays is small enough for its socket. */
static int
say(struct bare *bare, struct peer *p, const uint8_t *bytes, size_t n)
{
    if (send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n) {
        drop(bare, p);
        return -1;
    }
    bare->bytes += n;
    return 0;
}

/* The player begins with the last key frame. */
static int
play(struct bare *bare, struct peer *p)
{
    if (say(bare, p, bare->ring.opening, bare->ring.opening_size) == -1) {
        return -1;
    }
    p->state = PEER_PLAYING;
    p->position = bare->ring.has_key ? bare->ring.key : bare->ring.tail;
    mem_drop(&p->heard);
    deliver(bare, p);
    return p->fd == -1 ? -1 : 0;
}

static uint8_t *
put_reply(uint8_t *p, double transaction, double stream)
{
    uint8_t body[128];
    uint8_t *b = amf_put_string(body, "_result");

    b = amf_put_number(b, transaction);
    b = amf_put_null(b);
    b = amf_put_number(b, stream);
    return rtmp_put_command(p, 0, body, (size_t)(b - body), BARE_CHUNK);
}

static uint8_t *
put_play_start(uint8_t *p)
{
    uint8_t body[256];
    uint8_t *b = amf_put_string(body, "onStatus");

    b = amf_put_number(b, 0);
    b = amf_put_null(b);
    b = amf_begin_object(b);
    b = amf_put_string(amf_put_key(b, "level"), "status");
    b = amf_put_string(amf_put_key(b, "code"), "NetStream.Play.Start");
    b = amf_end_object(b);
    return rtmp_put_command(p, 1, body, (size_t)(b - body), BARE_CHUNK);
}

/* Whether the player has said an AMF0 string. */
static bool
has_heard(const struct peer *p, const char *word)
{
    uint8_t string[32];
    size_t n = (size_t)(amf_put_string(string, word) - string);

    return memmem(p->heard, p->heard_size, string, n) != NULL;
}

/* S0, S1 and S2; S2 is the echo of C1. */
static int
greet(struct bare *bare, struct peer *p)
{
    uint8_t out[1 + 2 * RTMP_HELLO] = { 3 };

    put_bytes(out + 1 + RTMP_HELLO, p->heard + 1, RTMP_HELLO);
    p->state = PEER_COMMANDS;
    return say(bare, p, out, sizeof(out));
}

static int
answer_commands(struct bare *bare, struct peer *p)
{
    uint8_t out[512];
    uint8_t *end = rtmp_put_control(out, RTMP_WINDOW_ACK_SIZE, 5000000);

    end = rtmp_put_control(end, RTMP_PEER_BANDWIDTH, 5000000);
    end = rtmp_put_control(end, RTMP_SET_CHUNK_SIZE, BARE_CHUNK);
    end = put_reply(end, 1, 0);
    end = put_reply(end, 2, 1);
    p->state = PEER_ASKING;
    return say(bare, p, out, (size_t)(end - out));
}

static int
answer_play(struct bare *bare, struct peer *p)
{
    uint8_t out[256];
    uint8_t *end = put_play_start(out);

    if (say(bare, p, out, (size_t)(end - out)) == -1) {
        return -1;
    }
    return play(bare, p);
}

static int
answer_get(struct bare *bare, struct peer *p)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n"
                               "Content-Type: video/x-flv\r\n"
                               "Connection: close\r\n\r\n";

    if (say(bare, p, (const uint8_t *)head, sizeof(head) - 1) == -1) {
        return -1;
    }
    return play(bare, p);
}

/* Answers as much as has been heard; the peer may be gone afterwards. */
static void
answer(struct bare *bare, struct peer *p)
{
    if (bare->ring.flv) {
        if (memmem(p->heard, p->heard_size, "\r\n\r\n", 4) != NULL) {
            answer_get(bare, p);
        }
        return;
    }
    if (p->state == PEER_HELLO && p->heard_size > RTMP_HELLO &&
        greet(bare, p) == -1) {
        return;
    }
    if (p->state == PEER_COMMANDS && has_heard(p, "createStream") &&
        answer_commands(bare, p) == -1) {
        return;
    }
    if (p->state == PEER_ASKING && has_heard(p, "play")) {
        answer_play(bare, p);
    }
}

static void
listen_to(struct bare *bare, struct peer *p)
{
    uint8_t waste[4096];
    bool playing = p->state == PEER_PLAYING;
    uint8_t *to = playing ? waste : p->heard + p->heard_size;
    size_t room = playing ? sizeof(waste) : HEARD_SIZE - p->heard_size;
    ssize_t n = recv(p->fd, to, room, MSG_DONTWAIT);

    if (n == -1 && errno == EAGAIN) {
        return;
    }
    if (n <= 0) {
        drop(bare, p);
    } else if (!playing) {
        p->heard_size += (size_t)n;
        answer(bare, p);
    }
}

static void
welcome(struct bare *bare)
{
    int on = 1;

    for (;;) {
        int fd =
            accept4(bare->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd == -1) {
            return;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (bare->count == bare->room) {
            bare->room = bare->room * 2 + 64;
            bare->peers =
                mem_grow(bare->peers, bare->room * sizeof(struct peer *));
        }
        struct peer *p = mem_new(1, sizeof(*p));

        p->fd = fd;
        p->index = bare->count;
        p->heard = mem_new(HEARD_SIZE, 1);
        bare->peers[bare->count++] = p;
        watch(bare, p, EPOLL_CTL_ADD, EPOLLIN);
    }
}

static void
handle(struct bare *bare, const struct epoll_event *event)
{
    struct peer *p = event->data.ptr;

    if (p == NULL) {
        bare->stop |= console_read(&bare->console) == ORDER_STOP;
        return;
    }
    if (event->data.ptr == bare) {
        welcome(bare);
        return;
    }
    if (p->fd != -1 && (event->events & (uint32_t)~EPOLLOUT) != 0) {
        listen_to(bare, p);
    }
    if (p->fd != -1 && p->full) {
        deliver(bare, p);
    }
}

/* Makes what is due and sends it when the mode says so. */
static void
work(struct bare *bare)
{
    const struct options *o = bare->options;
    struct frame f;

    while (bare_ring_due(&bare->ring) <= now_ns()) {
        bare_ring_make(&bare->ring, &f);
        if (o->send == SEND_MESSAGE ||
            (o->send == SEND_FRAME && f.kind == MEDIA_VIDEO)) {
            deliver_all(bare);
        }
    }
    if (o->send == SEND_GATHER && now_ns() >= bare->flush_at) {
        bare->flush_at += o->gather * NS_PER_MS;
        if (bare->sent_to < bare->ring.tail) {
            deliver_all(bare);
        }
    }
}

static int
wait(struct bare *bare, struct epoll_event *events)
{
    int64_t due = bare_ring_due(&bare->ring);

    if (bare->options->send == SEND_GATHER && bare->flush_at < due) {
        due = bare->flush_at;
    }
    int64_t left = due - now_ns();

    left = left < 0 ? 0 : left;
    left = left > 50 * NS_PER_MS ? 50 * NS_PER_MS : left;
    struct timespec timeout = { .tv_nsec = (long)left };

    return epoll_pwait2(bare->epoll, events, EVENTS, &timeout, NULL);
}

static void
loop(struct bare *bare)
{
    double duration = bare->options->duration;
    int64_t end =
        duration > 0 ? now_ns() + (int64_t)(duration * 1e9) : INT64_MAX;
    struct epoll_event events[EVENTS];

    while (!bare->stop && !console_signalled() && now_ns() < end) {
        int n = wait(bare, events);

        work(bare);
        for (int i = 0; i < n; i++) {
            handle(bare, &events[i]);
        }
        bury(bare);
    }
}

static void
open_listener(struct bare *bare)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)bare->options->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t size = sizeof(address);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = bare };
    int on = 1;

    bare->listener =
        socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(bare->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(bare->listener, (struct sockaddr *)&address, size) == -1 ||
        listen(bare->listener, BACKLOG) == -1 ||
        getsockname(bare->listener, (struct sockaddr *)&address, &size) == -1) {
        fatal("port %u: %s", bare->options->port, strerror(errno));
    }
    epoll_ctl(bare->epoll, EPOLL_CTL_ADD, bare->listener, &event);
    printf("listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
    fflush(stdout);
}

static void
report(const struct bare *bare)
{
    printf(bare->options->json ? "{\"cpu_seconds\":%.3f,\"bytes\":%" PRIu64
                                 ",\"sends\":%" PRIu64 ",\"slow\":%u}\n"
                               : "CPU        %.2f s\nsent       %" PRIu64
                                 " bytes in %" PRIu64
                                 " sends, %u players too slow\n",
           (double)cpu_ns() / 1e9, bare->bytes, bare->sends, bare->slow);
    fflush(stdout);
}

int
bareloop_run(const struct options *o)
{
    struct bare bare = { .options = o };

    raise_file_limit();
    bare.epoll = epoll_create1(EPOLL_CLOEXEC);
    console_open(&bare.console, o->control, bare.epoll);
    bare_ring_init(&bare.ring,
                   o->file != NULL
                       ? source_file(o->file)
                       : source_synthetic(o->bitrate, o->fps, o->gop),
                   o->flv);
    bare.submission = o->submit ? submission_new() : NULL;
    bare.flush_at = bare.ring.start + o->gather * NS_PER_MS;
    open_listener(&bare);
    loop(&bare);
    report(&bare);
    while (bare.count > 0) {
        drop(&bare, bare.peers[0]);
    }
    bury(&bare);
    close(bare.listener);
    close(bare.epoll);
    mem_drop(&bare.peers);
    submission_free(&bare.submission);
    bare_ring_clear(&bare.ring);
    return 0;
}
