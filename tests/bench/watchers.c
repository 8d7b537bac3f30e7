/*
 * Viewers on one epoll loop.  A viewer's life: it fetches the multivariant
 * playlist, the media playlist that this names first, then the next version of
 * that again and again, and each new part.
 *
 * A part is late by the time from the moment when the server could know its
 * end, one picture behind the stamp of its last one, to its last byte.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "watchers.h"

#include "common.h"
#include "console.h"
#include "hls_text.h"
#include "http_wire.h"
#include "socket_line.h"
#include "watch_tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    READ_SIZE = 1 << 18,
    EVENTS = 512,
    CONNECTS_A_TURN = 64,
    PATH_ROOM = 512,
    QUEUE = 16, /* parts that a viewer may be behind */
};

#define SWEEP_EVERY (50 * NS_PER_MS)
#define RETRY_AFTER (500 * NS_PER_MS)
#define STARVED_AFTER (5 * NS_PER_S)
#define JOIN_LIMIT (20 * NS_PER_S)

enum watcher_state { ASKS_FIRST, ASKS_MEDIA, FOLLOWS, GONE };

struct fetch {
    char path[PATH_ROOM];
    int64_t told; /* when the playlist that names it came */
};

struct watcher {
    struct socket_line playlists, parts; /* first: a line's owner */
    struct crowd *crowd;                 /* borrowed */
    enum watcher_state state;
    unsigned stream;
    char media[PATH_ROOM]; /* of the media playlist */
    struct hls_place next; /* of the part it has not seen */
    bool placed;           /* next counts */
    struct fetch queue[QUEUE];
    unsigned first, queued;
    bool fetching; /* queue[first] is on its way */
    bool asking;   /* a playlist is on its way */
    int64_t due;   /* of the next try, or step of the pace; 0: none */
    int64_t took;  /* when the last part came */
    bool started, starved;
};

struct crowd {
    const struct options *options; /* borrowed */
    struct target target, part_target;
    struct watch_tally tally;
    struct console console;
    struct watcher *watchers; /* owned */
    unsigned opened;
    int epoll;
    uint8_t *buffer; /* owned */
    int64_t began, joined, next_sweep, reset_at, stop_at;
    bool ready, stop;
};

static void
lose(struct watcher *w, const char *why)
{
    struct watch_tally *t = &w->crowd->tally;

    t->lost++;
    if (t->why[0] == '\0') {
        snprintf(t->why, sizeof(t->why), "%s", why);
    }
    line_close(&w->playlists);
    line_close(&w->parts);
    w->state = GONE;
}

/* ---- asking ---- */

static void
ask(struct watcher *w, struct socket_line *l, const char *path)
{
    char out[PATH_ROOM + 160];
    int n = snprintf(out, sizeof(out),
                     "GET %s HTTP/1.1\r\nHost: %s\r\n"
                     "User-Agent: weir-load\r\nAccept: */*\r\n\r\n",
                     path, w->crowd->target.host);

    if (line_send(l, out, (size_t)n) == -1) {
        lose(w, "a request could not be sent");
    }
}

static void
ask_playlist(struct watcher *w)
{
    char path[PATH_ROOM + 64];
    const char *mark = strchr(w->media, '?') != NULL ? "&" : "?";

    w->asking = true;
    w->due = 0;
    if (w->state == ASKS_FIRST || !w->placed || w->crowd->options->pace > 0) {
        ask(w, &w->playlists, w->media);
        return;
    }
    snprintf(path, sizeof(path), "%s%s_HLS_msn=%" PRIu64 "&_HLS_part=%u",
             w->media, mark, w->next.segment, w->next.part);
    ask(w, &w->playlists, path);
}

static void
ask_part(struct watcher *w)
{
    if (!w->fetching && w->queued > 0 && w->state != GONE) {
        w->fetching = true;
        ask(w, &w->parts, w->queue[w->first].path);
    }
}

static void
queue_part(struct watcher *w, const char *base, const char *uri)
{
    struct fetch *f;

    if (w->queued == QUEUE) {
        w->crowd->tally.skipped++;
        return;
    }
    f = &w->queue[(w->first + w->queued++) % QUEUE];
    hls_resolve(f->path, sizeof(f->path), base, uri);
    f->told = w->crowd->tally.now;
}

/* ---- answers ---- */

static bool
is_behind(struct hls_place a, struct hls_place b)
{
    return a.segment > b.segment ||
           (a.segment == b.segment && a.part >= b.part);
}

static void
take_media(struct watcher *w, const struct http_in *a)
{
    struct watch_tally *t = &w->crowd->tally;
    struct hls_text text;

    if (!hls_read_media(&text, (const char *)a->body, a->size)) {
        lose(w, "a media playlist is none");
        return;
    }
    t->wrong += w->placed && !is_behind(text.next, w->next);
    for (size_t i = 0; i < text.parts && w->placed; i++) {
        if (is_behind(text.part[i].place, w->next)) {
            queue_part(w, w->media, text.part[i].uri);
        }
    }
    w->state = FOLLOWS;
    w->placed = text.blocks;
    w->next = text.next;
    if (text.ended) {
        lose(w, "the stream ended");
    } else if (text.blocks) {
        ask_playlist(w);
    } else {
        w->due = t->now + RETRY_AFTER;
    }
    ask_part(w);
}

static void
take_first(struct watcher *w, const struct http_in *a)
{
    char uri[HLS_URI], base[PATH_ROOM];

    if (!hls_read_first(uri, (const char *)a->body, a->size)) {
        lose(w, "a multivariant playlist names nothing");
        return;
    }
    memcpy(base, w->media, sizeof(base));
    hls_resolve(w->media, sizeof(w->media), base, uri);
    w->state = ASKS_MEDIA;
    ask_playlist(w);
}

static void
on_playlist(struct watcher *w, const struct http_in *a)
{
    struct watch_tally *t = &w->crowd->tally;

    w->asking = false;
    t->playlists++;
    t->playlist_bytes += a->size;
    if (a->status == 503) {
        t->refused++;
        w->due = t->now + RETRY_AFTER;
    } else if (a->status != 200) {
        lose(w, "a playlist is refused");
    } else if (w->crowd->options->pace > 0) {
        w->state = FOLLOWS;
    } else if (w->state == ASKS_FIRST) {
        take_first(w, a);
    } else {
        take_media(w, a);
    }
}

static void
on_part(struct watcher *w, const struct http_in *a)
{
    const struct fetch *f = &w->queue[w->first];
    struct watch_tally *t = &w->crowd->tally;

    if (a->status != 200) {
        t->refused++;
    } else {
        watch_tally_part(t, a->body, a->size, f->told, w->stream);
        w->started = true;
    }
    w->took = t->now;
    w->first = (w->first + 1) % QUEUE;
    w->queued--;
    w->fetching = false;
    ask_part(w);
}

static void
answers(struct watcher *w, struct socket_line *l)
{
    struct http_in a;
    const char *why = "";
    ssize_t n;

    while (l->in.size > 0 &&
           (n = http_read(l->in.start, l->in.size, &a, &why)) != 0) {
        if (n == -1) {
            lose(w, why);
            return;
        }
        if (l == &w->playlists) {
            on_playlist(w, &a);
        } else {
            on_part(w, &a);
        }
        if (w->state == GONE) {
            return;
        }
        bytes_cut(&l->in, (size_t)n);
    }
}

/* ---- the crowd ---- */

static void
open_watcher(struct crowd *c, unsigned number)
{
    struct watcher *w = &c->watchers[number];

    w->crowd = c;
    w->stream = number % c->options->streams;
    w->took = now_ns();
    target_name(&c->target, w->stream, w->media, sizeof(w->media));
    w->playlists.owner = w->parts.owner = w;
    w->playlists.epoll = w->parts.epoll = c->epoll;
    line_init(&w->playlists);
    line_init(&w->parts);
    if (line_open(&w->playlists, &c->target) == -1 ||
        line_open(&w->parts, &c->target) == -1) {
        lose(w, "cannot connect");
    }
}

static void
connected(struct watcher *w, struct socket_line *l)
{
    if (line_connected(l) != 0) {
        lose(w, "cannot connect");
    } else if (l == &w->playlists && w->crowd->options->pace == 0) {
        ask_playlist(w);
    } else if (l == &w->playlists) {
        w->due = now_ns() + (int64_t)w->stream * NS_PER_MS;
    }
}

static void
handle(struct crowd *c, const struct epoll_event *event)
{
    struct socket_line *l = event->data.ptr;
    struct watcher *w = l != NULL ? l->owner : NULL;
    ssize_t n;

    if (l == NULL) {
        switch (console_read(&c->console)) {
        case ORDER_RESET:
            watch_tally_reset(&c->tally);
            break;
        case ORDER_STOP:
            c->stop = true;
            break;
        case ORDER_NONE:
            break;
        }
    } else if (l->fd != -1 && l->connecting) {
        connected(w, l);
    } else if (l->fd != -1) {
        n = line_receive(l, c->buffer, READ_SIZE);
        c->tally.now = now_ns();
        c->tally.bytes += n > 0 ? (uint64_t)n : 0;
        if (n == -1 || line_flush(l) == -1) {
            lose(w, "closed by the server");
        } else {
            answers(w, l);
        }
    }
}

/* A step of the pace: a playlist and a part. */
static void
step(struct watcher *w, int64_t now)
{
    char path[TARGET_NAME + 16];

    w->due += (int64_t)(w->crowd->options->pace * 1e6);
    w->due = w->due < now ? now : w->due;
    if (!w->asking) {
        int64_t due = w->due;

        ask_playlist(w);
        w->due = due;
    }
    target_name(&w->crowd->part_target, w->stream, path, sizeof(path));
    queue_part(w, "/", path);
    ask_part(w);
}

static void
sweep(struct crowd *c, int64_t now)
{
    const struct options *o = c->options;
    unsigned settled = 0;

    for (unsigned i = 0; i < c->opened; i++) {
        struct watcher *w = &c->watchers[i];

        settled += w->started || w->state == GONE;
        if (c->ready && w->state != GONE && !w->starved &&
            now - w->took > STARVED_AFTER) {
            w->starved = true;
            c->tally.starved++;
        }
    }
    if (!c->ready && c->joined != 0 &&
        (settled == o->players || now - c->joined > JOIN_LIMIT)) {
        c->ready = true;
        console_say("ready");
        watch_tally_reset(&c->tally);
        c->reset_at = o->warmup > 0 ? now + (int64_t)(o->warmup * 1e9) : 0;
        c->stop_at = o->duration > 0
                         ? now + (int64_t)((o->warmup + o->duration) * 1e9)
                         : 0;
    }
    if (c->reset_at != 0 && now >= c->reset_at) {
        c->reset_at = 0;
        watch_tally_reset(&c->tally);
    }
    c->stop = c->stop || (c->stop_at != 0 && now >= c->stop_at);
    c->next_sweep = now + SWEEP_EVERY;
}

/* Whose time has come: of a try, of a step. */
static void
act_due(struct crowd *c, int64_t now)
{
    for (unsigned i = 0; i < c->opened; i++) {
        struct watcher *w = &c->watchers[i];

        if (w->state == GONE || w->due == 0 || w->due > now) {
            continue;
        }
        if (c->options->pace > 0) {
            step(w, now);
        } else {
            ask_playlist(w);
        }
    }
}

static void
open_due(struct crowd *c, int64_t now)
{
    const struct options *o = c->options;
    double share = (double)(now - c->began) / 1e9 * o->join_rate + 1;
    unsigned most = c->opened + CONNECTS_A_TURN;
    unsigned due =
        o->join_rate == 0 || share >= o->players ? o->players : (unsigned)share;

    while (c->opened < due && c->opened < most) {
        open_watcher(c, c->opened++);
    }
    if (c->opened == o->players && c->joined == 0) {
        c->joined = now;
    }
}

static void
loop(struct crowd *c)
{
    struct epoll_event events[EVENTS];
    int64_t next_due = 0;

    while (!c->stop && !console_signalled()) {
        int n = epoll_wait(c->epoll, events, EVENTS, 2);
        int64_t now;

        for (int i = 0; i < n; i++) {
            handle(c, &events[i]);
        }
        now = c->tally.now = now_ns();
        open_due(c, now);
        if (now >= next_due) {
            act_due(c, now);
            next_due = now + 2 * NS_PER_MS;
        }
        if (now >= c->next_sweep) {
            sweep(c, now);
        }
    }
}

int
watchers_run(const struct options *o)
{
    struct crowd *c = mem_new(1, sizeof(*c));
    int status;

    raise_file_limit();
    c->options = o;
    target_parse(&c->target, o->url);
    target_parse(&c->part_target, o->part_url != NULL ? o->part_url : o->url);
    c->watchers = mem_new(o->players, sizeof(*c->watchers));
    c->buffer = mem_new(READ_SIZE, 1);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->tally.interval = NS_PER_S / o->fps;
    console_open(&c->console, o->control, c->epoll);
    c->began = now_ns();
    watch_tally_reset(&c->tally);
    loop(c);
    c->tally.watchers = o->players;
    watch_tally_print(&c->tally, o->json);
    status = c->tally.lost + c->tally.wrong > 0 ? 1 : 0;
    for (unsigned i = 0; i < c->opened; i++) {
        line_close(&c->watchers[i].playlists);
        line_close(&c->watchers[i].parts);
    }
    close(c->epoll);
    mem_drop(&c->watchers);
    mem_drop(&c->buffer);
    mem_drop(&c);
    return status;
}
