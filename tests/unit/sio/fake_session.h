/*
 * Sessions of Engine.IO for tests of Socket.IO: they keep what they are sent.
 *
 * A session whose `holds` is set sends nothing: its frames wait.  One whose
 * `room` is used up is full: what can be told again may be dropped, else it
 * ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_SIO_FAKE_SESSION_H
#define TESTS_UNIT_SIO_FAKE_SESSION_H

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sio/sio_impl.h"

#define FAKE_FRAMES 512

struct fake {
    struct session session;
    bool open, holds, awaits_room;
    size_t room; /* frames that it still takes */
    enum session_end why;
    struct ws_frame *frames[FAKE_FRAMES]; /* held */
    struct engine_mark marks[FAKE_FRAMES];
    size_t count, taken; /* taken: by fake_next() */
};

/* ---- ws/frame.h ---- */

static size_t fake_frames; /* that are alive */

struct ws_frame *
ws_frame_new(size_t len, bool binary)
{
    struct ws_frame *f = mem_zero(sizeof(*f));

    *f = (struct ws_frame){ .holders = 1, .binary = binary, .len = len };
    f->data = mem_alloc(len + 1);
    fake_frames++;
    return f;
}

struct ws_frame *
ws_frame_hold(struct ws_frame *f)
{
    f->holders++;
    return f;
}

void
ws_frame_let_go(struct ws_frame **frame)
{
    struct ws_frame *f = *frame;

    *frame = NULL;
    if (f != NULL && --f->holders == 0) {
        mem_free(&f->data);
        mem_free(&f);
        fake_frames--;
    }
}

/* ---- engine/engine.h ---- */

static struct fake *
fake_of(const struct session *s)
{
    return (struct fake *)(uintptr_t)s;
}

void
session_close(struct session *s, enum session_end why)
{
    struct fake *f = fake_of(s);

    if (f->open) {
        f->open = false;
        f->why = why;
        s->protocol->on_close(s, why);
    }
}

static inline bool
fake_is_full(const struct fake *f)
{
    return f->room == 0 || f->count == FAKE_FRAMES;
}

static inline int
fake_put(struct fake *f, struct ws_frame *frame, const struct engine_mark *mark)
{
    f->room--;
    f->marks[f->count] = *mark;
    f->frames[f->count++] = ws_frame_hold(frame);
    return 0;
}

int
session_send(struct session *s, struct ws_frame *frame, uint64_t key)
{
    const struct engine_mark mark = { .key = key };
    struct fake *f = fake_of(s);

    if (!f->open) {
        return -1;
    }
    if (fake_is_full(f)) {
        s->protocol->on_full(s);
    }
    if (fake_is_full(f)) {
        session_close(s, SESSION_TOO_SLOW);
        return -1;
    }
    return fake_put(f, frame, &mark);
}

int
session_offer(struct session *s, struct ws_frame *frame,
              const struct engine_mark *mark)
{
    struct fake *f = fake_of(s);

    if (!f->open) {
        return -1;
    }
    return fake_is_full(f) ? 1 : fake_put(f, frame, mark);
}

uint32_t
session_drop(struct session *s, uint32_t group)
{
    struct fake *f = fake_of(s);
    size_t kept = f->taken;
    uint32_t bits = 0;

    for (size_t i = f->taken; i < f->count; i++) {
        if (f->holds && f->marks[i].group == group) {
            bits |= f->marks[i].bits;
            ws_frame_let_go(&f->frames[i]);
            f->room++;
        } else {
            f->marks[kept] = f->marks[i];
            f->frames[kept++] = f->frames[i];
        }
    }
    f->count = kept;
    return bits;
}

void
session_await_room(struct session *s)
{
    fake_of(s)->awaits_room = true;
}

size_t
session_queued(const struct session *s)
{
    const struct fake *f = fake_of(s);

    return f->holds ? f->count - f->taken : 0;
}

bool
session_is_idle(const struct session *s)
{
    return session_queued(s) == 0;
}

bool
session_holds(const struct session *s, const struct ws_frame *frame)
{
    const struct fake *f = fake_of(s);

    for (size_t i = f->taken; f->holds && i < f->count; i++) {
        if (f->frames[i] == frame) {
            return true;
        }
    }
    return false;
}

bool
session_is_websocket(const struct session *s)
{
    (void)s;
    return true;
}

/* ---- for tests ---- */

static struct str fake_user = { "mary", 4 }; /* of those that come */

static inline struct fake *
fake_open(struct sio_point *p)
{
    static uint64_t numbers;
    struct fake *f = mem_zero(sizeof(*f));

    f->session.protocol = &sio_protocol;
    f->session.endpoint = p;
    f->session.settings = &p->engine_settings;
    f->session.client.user = fake_user;
    f->session.number = ++numbers;
    f->open = true;
    f->room = SIZE_MAX;
    sio_protocol.on_open(&f->session);
    return f;
}

/* The client says: a text, without Engine.IO's '4'. */
static inline void
fake_say(struct fake *f, const char *text)
{
    char *copy = mem_dup(text, strlen(text));

    if (f->open) {
        sio_protocol.on_message(&f->session, str_from(copy), false);
    }
    mem_free(&copy);
}

static inline void
fake_say_bytes(struct fake *f, const char *bytes)
{
    if (f->open) {
        sio_protocol.on_message(&f->session, str_from(bytes), true);
    }
}

/* The next message, as a text that lives until the next call: a text message,
 * or "b:" and an attachment; "": there is none. */
static inline const char *
fake_next(struct fake *f)
{
    static char text[65536];
    struct ws_frame **frame = &f->frames[f->taken];

    text[0] = '\0';
    if (f->taken < f->count) {
        str_copy(text, sizeof(text), (*frame)->binary ? STR("b:") : STR_NONE);
        str_append(text, sizeof(text), strlen(text), ws_frame_str(*frame));
        ws_frame_let_go(frame);
        f->taken++;
    }
    if (f->taken == f->count) {
        f->taken = f->count = 0;
    }
    return text;
}

static inline void
fake_forget(struct fake *f)
{
    while (f->count > 0) {
        fake_next(f);
    }
}

/* The client has read all, and takes so many frames more. */
static inline void
fake_take_more(struct fake *f, size_t room)
{
    fake_forget(f);
    f->room = room;
    if (f->open && f->awaits_room) {
        f->awaits_room = false;
        sio_protocol.on_room(&f->session);
    }
}

static inline void
fake_free(struct fake **f)
{
    session_close(&(*f)->session, SESSION_TRANSPORT_LOST);
    fake_forget(*f);
    mem_free(f);
}

/* Lets deferred calls be made, and timers of so many ms. */
static inline void
fake_turns(struct loop *l, int64_t ms)
{
    int64_t end = clock_ms() + ms;

    do {
        loop_turn(l, 1);
    } while (clock_ms() < end);
}

/* An endpoint "main" of a module. */
static inline void
fake_point(struct sio_point *p, struct loop *l, const struct sio_module *m)
{
    hash_init();
    *p = (struct sio_point){ .loop = l, .module = "mine", .what = m };
    p->endpoint =
        (struct sio_endpoint){ STR("main"), STR("plain"), &p->settings };
    p->settings.connect_timeout = 60000;
    sio_halls_start(p);
}

#endif
