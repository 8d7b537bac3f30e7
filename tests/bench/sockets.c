/*
 * A crowd of clients of Socket.IO on one epoll loop.  The first one may send
 * events, stamped with their number and the time, which the server sends back
 * to all.  A client that is lost comes back as real ones do: after a second,
 * two, four, five, each half of it more or less.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sockets.h"

#include "common.h"
#include "console.h"
#include "schedule.h"
#include "socket_client.h"
#include "socket_tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    EVENTS = 512,
    CONNECTS_A_TURN = 64,
    FIRST_WAIT = 1000,
    LAST_WAIT = 5000
};

#define SWEEP_EVERY (100 * NS_PER_MS)
#define JOIN_LIMIT (20 * NS_PER_S)

struct member {
    struct socket_client client; /* the first: a line's owner */
    struct sockets *crowd;
    int64_t opened;    /* when the attempt under way began, ns */
    int64_t lost;      /* when it was joined last; 0: it has not been lost */
    unsigned attempts; /* since then */
    int64_t number;    /* of its last event; 0: none since it joined */
};

struct sockets {
    const struct options *options; /* borrowed */
    struct target target;
    struct socket_tally tally;
    struct console console;
    struct schedule away;
    struct member *members; /* owned */
    unsigned opened;        /* so many have begun */
    int epoll;
    uint8_t *buffer; /* owned */
    char *pad;       /* owned; makes an event as long as it shall be */
    int64_t number;  /* of the last event that was sent */
    int64_t began, joined;
    int64_t next_sweep, next_event;
    int64_t reset_at, stop_at; /* 0: none to come */
    bool ready, stop;
    uint32_t seed;
};

/* ---- a client ---- */

static double
chance(struct sockets *s)
{
    s->seed = s->seed * 1664525 + 1013904223;
    return (double)(s->seed >> 8) / (1 << 24);
}

static void
come_back(struct member *m)
{
    struct sockets *s = m->crowd;
    int64_t wait = (int64_t)FIRST_WAIT << (m->attempts < 3 ? m->attempts : 3);

    wait = wait < LAST_WAIT ? wait : LAST_WAIT;
    m->attempts++;
    m->client.state = CLIENT_AWAY;
    schedule_add(&s->away,
                 now_ns() +
                     (int64_t)((double)(wait * NS_PER_MS) * (0.5 + chance(s))),
                 (unsigned)(m - s->members));
}

static void
lose(struct member *m, const char *why)
{
    struct socket_tally *t = &m->crowd->tally;
    bool was_in = m->client.state == CLIENT_JOINED;

    if (was_in) {
        m->lost = now_ns();
        t->losses++;
    } else if (m->client.state == CLIENT_OPENING) {
        t->failures++;
    }
    if (t->why[0] == '\0' && !m->client.mute) {
        snprintf(t->why, sizeof(t->why), "%s", why);
    }
    client_close(&m->client);
    if (m->crowd->options->reconnect && !m->client.mute) {
        come_back(m);
    } else {
        m->client.state = CLIENT_GONE;
    }
}

static void
open_member(struct member *m)
{
    const char *why;

    m->opened = now_ns();
    if (client_open(&m->client, &why) == -1) {
        lose(m, why);
    }
}

static void
on_joined(void *arg)
{
    struct member *m = arg;
    struct socket_tally *t = &m->crowd->tally;
    int64_t now = now_ns();

    m->client.state = CLIENT_JOINED;
    m->number = 0;
    m->attempts = 0;
    histogram_add(&t->join, now - m->opened);
    if (m->lost != 0) {
        histogram_add(&t->back, now - m->lost);
        m->lost = 0;
    }
}

static void
take_number(struct member *m, int64_t number)
{
    struct socket_tally *t = &m->crowd->tally;

    if (m->number != 0 && number > m->number) {
        t->missed += (uint64_t)(number - m->number - 1);
    } else if (m->number != 0) {
        t->repeated++;
    }
    m->number = number;
}

static void
on_event(void *arg, const struct sio_event *e)
{
    struct member *m = arg;
    const char *wanted = m->crowd->options->event;
    struct socket_tally *t = &m->crowd->tally;
    int64_t sent = sio_number(e->args, e->args_size, m->crowd->options->stamp);
    int64_t number = sio_number(e->args, e->args_size, "n");

    if (e->name_size != strlen(wanted) ||
        memcmp(e->name, wanted, e->name_size) != 0) {
        return;
    }
    t->events++;
    if (sent > 0) {
        histogram_add(&t->latency, t->now - sent);
    }
    if (number > 0) {
        take_number(m, number);
    }
}

static const struct sio_hooks hooks = { client_send, on_joined, on_event };

static void
make_member(struct sockets *s, unsigned number)
{
    const struct options *o = s->options;
    struct member *m = &s->members[number];

    m->crowd = s;
    /* The first one sends the events, so it reads. */
    m->client.mute = number * o->stall / 100 != (number + 1) * o->stall / 100 ||
                     (o->stall == 100 && number > 0);
    m->client.polling = o->polling;
    m->client.target = &s->target;
    m->client.masks = number;
    m->client.wire.hooks = &hooks;
    m->client.wire.space = o->space;
    client_init(&m->client, s->epoll);
}

/* ---- events of the loop ---- */

static void
reset(struct sockets *s)
{
    socket_tally_reset(&s->tally);
}

static void
obey(struct sockets *s)
{
    switch (console_read(&s->console)) {
    case ORDER_RESET:
        reset(s);
        break;
    case ORDER_STOP:
        s->stop = true;
        break;
    case ORDER_NONE:
        break;
    }
}

static void
handle(struct sockets *s, const struct epoll_event *event)
{
    struct socket_line *l = event->data.ptr;
    struct member *m;
    const char *why;
    size_t bytes;

    if (l == NULL) {
        obey(s);
        return;
    }
    m = l->owner;
    if (l->fd == -1) {
        return; /* was closed by an event of this turn */
    }
    s->tally.now = now_ns();
    if (client_turn(&m->client, l, event->events, s->buffer, &bytes, &why) ==
        -1) {
        lose(m, why);
    }
    s->tally.bytes += bytes;
}

static void
open_due(struct sockets *s, int64_t now)
{
    const struct options *o = s->options;
    unsigned most = s->opened + CONNECTS_A_TURN;
    unsigned due = o->players;

    if (o->join_rate > 0) {
        double share = (double)(now - s->began) / 1e9 * o->join_rate + 1;

        due = share < o->players ? (unsigned)share : o->players;
    }
    while (s->opened < due && s->opened < most) {
        open_member(&s->members[s->opened++]);
    }
    if (s->opened == o->players && s->joined == 0) {
        s->joined = now;
    }
}

static void
bring_back(struct sockets *s, int64_t now)
{
    while (schedule_first(&s->away) <= now) {
        open_member(&s->members[schedule_take(&s->away)]);
    }
}

static void
emit(struct sockets *s, int64_t now)
{
    const struct options *o = s->options;
    struct socket_client *first = &s->members[0].client;
    size_t room = o->bytes + 128;
    char *args;

    s->next_event += (int64_t)(1e9 / o->rate);
    if (s->next_event < now) {
        s->next_event = now; /* it was held */
    }
    if (first->state != CLIENT_JOINED) {
        return;
    }
    args = mem_new(room, 1);
    snprintf(args, room, "{\"n\":%" PRId64 ",\"t\":%" PRId64 ",\"pad\":\"%s\"}",
             ++s->number, now_ns(), s->pad);
    sio_emit(&first->wire, o->emit, args);
    s->tally.emitted++;
    mem_drop(&args);
}

/* ---- now and then ---- */

static bool
settled(const struct socket_client *c)
{
    return c->state == CLIENT_JOINED || c->state == CLIENT_GONE ||
           c->state == CLIENT_MUTE;
}

static void
announce(struct sockets *s, int64_t now)
{
    const struct options *o = s->options;

    s->ready = true;
    console_say("ready");
    reset(s);
    s->next_event = now;
    if (o->warmup > 0) {
        s->reset_at = now + (int64_t)(o->warmup * 1e9);
    }
    if (o->duration > 0) {
        s->stop_at = now + (int64_t)((o->warmup + o->duration) * 1e9);
    }
}

static void
sweep(struct sockets *s, int64_t now)
{
    bool all = s->joined != 0;
    unsigned gone = 0;

    for (unsigned i = 0; i < s->opened; i++) {
        struct socket_client *c = &s->members[i].client;

        all = all && settled(c);
        gone += c->state == CLIENT_GONE;
        if (c->wire.silence > 0 && now - c->wire.heard > c->wire.silence) {
            lose(&s->members[i], "no ping of the server in time");
        }
    }
    if (!s->ready &&
        (all || (s->joined != 0 && now - s->joined > JOIN_LIMIT))) {
        announce(s, now);
    }
    if (s->reset_at != 0 && now >= s->reset_at) {
        s->reset_at = 0;
        reset(s);
    }
    if ((s->stop_at != 0 && now >= s->stop_at) ||
        (gone == s->options->players && !s->options->control)) {
        s->stop = true;
    }
    s->next_sweep = now + SWEEP_EVERY;
}

/* How long nothing is to be done, ms. */
static int
pause_of(const struct sockets *s)
{
    int64_t now = now_ns(), next = now + 50 * NS_PER_MS;

    if (s->joined == 0) {
        return 1;
    }
    if (s->ready && s->options->emit != NULL && s->next_event < next) {
        next = s->next_event;
    }
    if (schedule_first(&s->away) < next) {
        next = schedule_first(&s->away);
    }
    return next <= now ? 0 : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void
loop(struct sockets *s)
{
    struct epoll_event events[EVENTS];

    while (!s->stop && !console_signalled()) {
        int n = epoll_wait(s->epoll, events, EVENTS, pause_of(s));

        for (int i = 0; i < n; i++) {
            handle(s, &events[i]);
        }
        int64_t now = now_ns();

        if (s->joined == 0) {
            open_due(s, now);
        }
        bring_back(s, now);
        if (s->ready && s->options->emit != NULL && now >= s->next_event) {
            emit(s, now);
        }
        if (now >= s->next_sweep) {
            sweep(s, now);
        }
    }
}

/* ---- the end ---- */

static void
count(struct sockets *s)
{
    struct socket_tally *t = &s->tally;

    t->clients = s->options->players;
    for (unsigned i = 0; i < s->opened; i++) {
        const struct socket_client *c = &s->members[i].client;

        t->joined += c->state == CLIENT_JOINED;
        t->mute += c->mute;
        t->muted += c->mute && c->state == CLIENT_GONE;
        t->away += c->state == CLIENT_AWAY || c->state == CLIENT_OPENING;
        t->gone += !c->mute && c->state == CLIENT_GONE;
    }
}

static bool
anything_wrong(const struct socket_tally *t)
{
    return t->joined + t->mute < t->clients || t->missed + t->repeated > 0;
}

int
sockets_run(const struct options *o)
{
    struct sockets *s = mem_new(1, sizeof(*s));
    int status;

    raise_file_limit();
    s->options = o;
    target_parse(&s->target, o->url);
    s->members = mem_new(o->players, sizeof(*s->members));
    s->buffer = mem_new(READ_SIZE, 1);
    s->pad = mem_new(o->bytes + 1, 1);
    memset(s->pad, 'x', o->bytes);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->seed = (uint32_t)now_ns();
    schedule_init(&s->away, o->players);
    console_open(&s->console, o->control, s->epoll);
    for (unsigned i = 0; i < o->players; i++) {
        make_member(s, i);
    }
    s->began = now_ns();
    reset(s);
    loop(s);
    count(s);
    socket_tally_print(&s->tally, o->json);
    status = anything_wrong(&s->tally) ? 1 : 0;
    for (unsigned i = 0; i < s->opened; i++) {
        client_close(&s->members[i].client);
    }
    close(s->epoll);
    schedule_clear(&s->away);
    mem_drop(&s->members);
    mem_drop(&s->buffer);
    mem_drop(&s->pad);
    mem_drop(&s);
    return status;
}
