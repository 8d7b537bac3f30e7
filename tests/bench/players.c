/*
 * A crowd of players on one epoll loop. A player's life: waits for its turn,
 * connects, talks (the clients know how), is gone.
 *
 * Reading is one recv() of up to 256 KiB per player and turn into one buffer
 * for all; nothing is copied from there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "players.h"

#include "common.h"
#include "console.h"
#include "flv_client.h"
#include "rtmp_client.h"
#include "tally.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    READ_SIZE = 1 << 18,
    EVENTS = 512,
    CONNECTS_A_TURN = 64,
    PLAY_CHUNK = 4096, /* a player sends little */
};

#define SWEEP_EVERY (100 * NS_PER_MS)
#define STARVED_AFTER (2 * NS_PER_S)
#define IDLE_SETTLES (500 * NS_PER_MS)
#define JOIN_LIMIT (20 * NS_PER_S)

enum player_state {
    PLAYER_NEW,
    PLAYER_CONNECTING,
    PLAYER_TALKING,
    PLAYER_GONE
};

struct player {
    enum player_state state;
    int fd;
    bool stalls;         /* is one of those that stop reading */
    bool holding;        /* has stopped */
    bool starved;        /* got nothing for too long, once */
    int64_t read;        /* when it last got something, ns */
    struct crowd *crowd; /* borrowed */
    struct viewer viewer;
    union {
        struct rtmp_client rtmp;
        struct flv_client flv;
    } client; /* as the URL says */
};

struct crowd {
    const struct options *options; /* borrowed */
    struct target target;
    struct tally tally;
    struct console console;
    struct player *players; /* owned */
    unsigned opened;        /* so many have begun to connect */
    int epoll;
    uint8_t *buffer; /* owned */
    int64_t began;   /* when the first connected */
    int64_t joined;  /* when the last connected; 0 before */
    int64_t next_sweep;
    bool ready;       /* has been said */
    int64_t reset_at; /* end of the warm-up; 0: none to come */
    int64_t stop_at;  /* 0: when told */
    bool stop;
    int64_t ahead; /* wall_ahead_ns() */
};

static void
clear_client(struct player *p)
{
    if (p->crowd->target.http) {
        flv_client_clear(&p->client.flv);
    } else {
        rtmp_client_clear(&p->client.rtmp);
    }
}

/* Ends a player; why is NULL when the server just closed. */
static void
lose(struct player *p, const char *why)
{
    struct tally *t = &p->crowd->tally;

    if (p->viewer.started) {
        t->closed++;
    } else {
        t->failed++;
    }
    if (t->why[0] == '\0') {
        snprintf(t->why, sizeof(t->why), "%s",
                 why != NULL ? why : "closed by the server");
    }
    close(p->fd);
    clear_client(p);
    p->state = PLAYER_GONE;
}

static int
watch(struct player *p, int operation, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = p };

    return epoll_ctl(p->crowd->epoll, operation, p->fd, &event);
}

static void
on_media(void *context, const struct media *m)
{
    struct player *p = context;

    viewer_take(&p->viewer, &p->crowd->tally, m);
}

static void
init_client(struct player *p)
{
    const struct crowd *crowd = p->crowd;

    if (crowd->target.http) {
        p->client.flv.target = &crowd->target;
        p->client.flv.stream = p->viewer.stream;
        p->client.flv.on_media = on_media;
        p->client.flv.context = p;
        flv_client_init(&p->client.flv);
    } else {
        p->client.rtmp.role = ROLE_PLAY;
        p->client.rtmp.target = &crowd->target;
        p->client.rtmp.stream = p->viewer.stream;
        p->client.rtmp.chunk_size = PLAY_CHUNK;
        p->client.rtmp.on_media = on_media;
        p->client.rtmp.context = p;
        rtmp_client_init(&p->client.rtmp);
    }
}

static void
open_player(struct crowd *crowd, unsigned number)
{
    const struct options *o = crowd->options;
    struct player *p = &crowd->players[number];
    unsigned turn = number / o->streams;
    const int on = 1;

    p->crowd = crowd;
    p->stalls = turn * o->stall / 100 != (turn + 1) * o->stall / 100;
    p->viewer.stream = number % o->streams;
    p->viewer.any_stream = o->streams == 1;
    init_client(p);
    p->viewer.connected = now_ns();
    p->read = p->viewer.connected;
    p->fd = target_connect(&crowd->target, false);
    p->state = PLAYER_CONNECTING;
    if (p->fd != -1 && o->arrival) {
        setsockopt(p->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
    }
    if (p->fd == -1 || watch(p, EPOLL_CTL_ADD, EPOLLOUT) == -1) {
        lose(p, strerror(errno));
    }
}

static void
start_talking(struct player *p)
{
    int error = 0;
    socklen_t size = sizeof(error);
    int rc;

    getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        lose(p, strerror(error));
        return;
    }
    p->state = PLAYER_TALKING;
    if (p->crowd->target.http) {
        rc = flv_client_start(&p->client.flv, p->fd);
        p->viewer.asked = p->client.flv.asked;
    } else {
        rc = rtmp_client_start(&p->client.rtmp, p->fd);
    }
    if (rc == -1) {
        lose(p, p->crowd->target.http ? p->client.flv.why : p->client.rtmp.why);
    } else if (watch(p, EPOLL_CTL_MOD, EPOLLIN) == -1) {
        lose(p, strerror(errno));
    }
}

/* Hands bytes to the client; what it says when it is not content. */
static const char *
feed(struct player *p, size_t n)
{
    const uint8_t *bytes = p->crowd->buffer;

    if (p->crowd->target.http) {
        return flv_client_feed(&p->client.flv, bytes, n) == -1
                   ? p->client.flv.why
                   : NULL;
    }
    int rc = rtmp_client_feed(&p->client.rtmp, bytes, n);

    p->viewer.asked = p->client.rtmp.asked;
    return rc == -1 ? p->client.rtmp.why : NULL;
}

/* When the newest bytes of a message came to this machine's end of the
 * connection, whenever we had the time to read them. */
static int64_t
arrival(const struct crowd *crowd, struct msghdr *m)
{
    struct timespec came;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
         c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&came, CMSG_DATA(c), sizeof(came));
            return (int64_t)came.tv_sec * NS_PER_S + came.tv_nsec -
                   crowd->ahead;
        }
    }
    return now_ns();
}

/* Notes when the bytes came. */
static ssize_t
take(struct player *p, struct tally *t)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec iov = { p->crowd->buffer, READ_SIZE };
    struct msghdr m = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };
    ssize_t n = p->crowd->options->arrival
                    ? recvmsg(p->fd, &m, 0)
                    : recv(p->fd, p->crowd->buffer, READ_SIZE, 0);

    if (n > 0) {
        t->now = p->crowd->options->arrival ? arrival(p->crowd, &m) : now_ns();
    }
    return n;
}

static void
receive(struct player *p)
{
    struct tally *t = &p->crowd->tally;
    ssize_t n = take(p, t);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        lose(p, n == 0 ? NULL : strerror(errno));
        return;
    }
    t->bytes += (uint64_t)n;
    p->read = t->now;
    const char *why = feed(p, (size_t)n);

    if (why != NULL) {
        lose(p, why);
    } else if (p->stalls && p->viewer.started) {
        p->holding = true;
        watch(p, EPOLL_CTL_DEL, 0);
    }
}

static void
reset(struct crowd *crowd)
{
    tally_reset(&crowd->tally);
    for (unsigned i = 0; i < crowd->opened; i++) {
        crowd->players[i].starved = false;
    }
}

static void
obey(struct crowd *crowd)
{
    switch (console_read(&crowd->console)) {
    case ORDER_RESET:
        reset(crowd);
        break;
    case ORDER_STOP:
        crowd->stop = true;
        break;
    case ORDER_NONE:
        break;
    }
}

static void
handle(struct crowd *crowd, const struct epoll_event *event)
{
    struct player *p = event->data.ptr;

    if (p == NULL) {
        obey(crowd);
    } else if (p->state == PLAYER_CONNECTING) {
        start_talking(p);
    } else if (p->state == PLAYER_TALKING) {
        receive(p);
    }
}

/* Opens the players whose time has come. */
static void
open_due(struct crowd *crowd, int64_t now)
{
    const struct options *o = crowd->options;
    unsigned most = crowd->opened + CONNECTS_A_TURN;
    unsigned due = o->players;

    if (o->join_rate > 0) {
        double share = (double)(now - crowd->began) / 1e9 * o->join_rate + 1;

        due = share < o->players ? (unsigned)share : o->players;
    }
    while (crowd->opened < due && crowd->opened < most) {
        open_player(crowd, crowd->opened++);
    }
    if (crowd->opened == o->players && crowd->joined == 0) {
        crowd->joined = now;
    }
}

/* Whether a player is as far as it will get. */
static bool
settled(const struct player *p, int64_t now)
{
    if (p->state == PLAYER_GONE || p->viewer.started) {
        return true;
    }
    return p->crowd->options->mode == MODE_IDLE && p->viewer.asked != 0 &&
           now - p->viewer.asked > IDLE_SETTLES;
}

/* Says ready once, and lets the clock of warm-up and duration run. */
static void
announce(struct crowd *crowd, int64_t now)
{
    const struct options *o = crowd->options;

    crowd->ready = true;
    console_say("ready");
    reset(crowd);
    if (o->warmup > 0) {
        crowd->reset_at = now + (int64_t)(o->warmup * 1e9);
    }
    if (o->duration > 0) {
        crowd->stop_at = now + (int64_t)((o->warmup + o->duration) * 1e9);
    }
}

/* Looks at every player now and then. */
static void
sweep(struct crowd *crowd, int64_t now)
{
    bool all = crowd->joined != 0;
    unsigned gone = 0;

    crowd->ahead = wall_ahead_ns();
    for (unsigned i = 0; i < crowd->opened; i++) {
        struct player *p = &crowd->players[i];

        all = all && settled(p, now);
        gone += p->state == PLAYER_GONE;
        if (p->viewer.started && !p->holding && p->state != PLAYER_GONE &&
            now - p->read > STARVED_AFTER) {
            p->starved = true;
        }
    }
    if (!crowd->ready &&
        (all || (crowd->joined != 0 && now - crowd->joined > JOIN_LIMIT))) {
        announce(crowd, now);
    }
    if (crowd->reset_at != 0 && now >= crowd->reset_at) {
        crowd->reset_at = 0;
        reset(crowd);
    }
    if ((crowd->stop_at != 0 && now >= crowd->stop_at) ||
        (gone == crowd->options->players && !crowd->options->control)) {
        crowd->stop = true;
    }
    crowd->next_sweep = now + SWEEP_EVERY;
}

static void
loop(struct crowd *crowd)
{
    struct epoll_event events[EVENTS];

    while (!crowd->stop && !console_signalled()) {
        int timeout = crowd->joined == 0 ? 1 : 50;
        int n = epoll_wait(crowd->epoll, events, EVENTS, timeout);

        for (int i = 0; i < n; i++) {
            handle(crowd, &events[i]);
        }
        int64_t now = now_ns();

        if (crowd->joined == 0) {
            open_due(crowd, now);
        }
        if (now >= crowd->next_sweep) {
            sweep(crowd, now);
        }
    }
}

/* Counts the players as they are now. */
static void
count(struct crowd *crowd)
{
    struct tally *t = &crowd->tally;

    t->players = crowd->options->players;
    for (unsigned i = 0; i < crowd->opened; i++) {
        const struct player *p = &crowd->players[i];

        t->stalled += p->starved;
        t->holding += p->holding;
        if (p->state != PLAYER_GONE && !p->holding) {
            t->playing += p->viewer.started;
            t->waiting += !p->viewer.started;
        }
    }
}

/* Closes all at once: with a reset, so that no port stays busy. */
static void
close_all(struct crowd *crowd)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };

    for (unsigned i = 0; i < crowd->opened; i++) {
        struct player *p = &crowd->players[i];

        if (p->state == PLAYER_GONE) {
            continue;
        }
        setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(p->fd);
        clear_client(p);
    }
}

static bool
anything_wrong(const struct tally *t)
{
    return t->failed + t->closed + t->stalled > 0 ||
           t->repeated + t->corrupt + t->strayed + t->off_key > 0;
}

int
players_run(const struct options *o)
{
    struct crowd *crowd = mem_new(1, sizeof(*crowd));

    raise_file_limit();
    crowd->options = o;
    target_parse(&crowd->target, o->url);
    crowd->players = mem_new(o->players, sizeof(*crowd->players));
    crowd->buffer = mem_new(READ_SIZE, 1);
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    console_open(&crowd->console, o->control, crowd->epoll);
    crowd->began = now_ns();
    tally_reset(&crowd->tally);
    loop(crowd);
    count(crowd);
    tally_print(&crowd->tally, o->json);
    int status = anything_wrong(&crowd->tally) ? 1 : 0;

    close_all(crowd);
    close(crowd->epoll);
    mem_drop(&crowd->players);
    mem_drop(&crowd->buffer);
    mem_drop(&crowd);
    return status;
}
