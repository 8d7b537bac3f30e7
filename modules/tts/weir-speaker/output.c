/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define FULL_MS 100 /* a pipe that is not half free then pauses the child */
#define FIRST_LOOK_MS 2
#define LOOK_MS 20 /* how soon it looks again whether half is free */
#define LOOK_MOST_MS 200
#define COPY 65536   /* bytes in one piece from the file to the pipe */
#define AT_ONCE 8192 /* bytes of a stream that are not collected */

/* ---- what is said to the speaker ---- */

int
output_record(const struct output *o, const struct speech_record *r)
{
    struct buf bytes;
    struct pack p = { .to = &bytes };
    ssize_t n = -1;

    buf_init(&bytes, SPEECH_RECORD_MAX);
    speech_pack_record(&p, r);
    if (!p.full) {
        n = send(o->fds[SPEECH_STATUS], buf_data(&bytes), buf_len(&bytes),
                 MSG_NOSIGNAL);
    }
    buf_clear(&bytes);
    return n == -1 ? -1 : 0;
}

static int
say(const struct output *o, enum speech_record_kind kind)
{
    struct speech_record r = { .kind = kind, .bytes = o->piped };

    return output_record(o, &r);
}

static bool
is_wanted(const struct output *o)
{
    struct pollfd status = { .fd = o->fds[SPEECH_STATUS], .events = POLLRDHUP };

    return poll(&status, 1, 0) == 0;
}

/* ---- the pipe ---- */

enum room { ROOM, NO_ROOM, NOBODY };

/* Waits for room in the pipe; ms -1: for ever. */
static enum room
wait_for_room(const struct output *o, int ms)
{
    struct pollfd wait[] = {
        { .fd = o->fds[SPEECH_PIPE], .events = POLLOUT },
        { .fd = o->fds[SPEECH_STATUS], .events = POLLRDHUP },
    };
    int n = poll(wait, 2, ms);

    if (n == -1) {
        return errno == EINTR ? NO_ROOM : NOBODY;
    }
    if (wait[1].revents != 0 || (wait[0].revents & POLLERR) != 0) {
        return NOBODY;
    }
    return n > 0 ? ROOM : NO_ROOM;
}

static bool
half_is_free(const struct output *o)
{
    int size = fcntl(o->fds[SPEECH_PIPE], F_GETPIPE_SZ), used = 0;

    return ioctl(o->fds[SPEECH_PIPE], FIONREAD, &used) == -1 ||
           used <= size / 2;
}

/* The reader takes little at a time: a slot for each little would be asked for
 * more often than it is worth. */
static int
wait_for_half(const struct output *o)
{
    int ms = LOOK_MS;

    while (!half_is_free(o)) {
        struct pollfd wait[] = {
            { .fd = o->fds[SPEECH_PIPE], .events = 0 },
            { .fd = o->fds[SPEECH_STATUS], .events = POLLRDHUP },
        };

        if (poll(wait, 2, ms) > 0) {
            return -1;
        }
        ms = 2 * ms < LOOK_MOST_MS ? 2 * ms : LOOK_MOST_MS;
    }
    return 0;
}

/* The byte that the speaker sends; nothing else comes from there. */
static int
wait_for_slot(const struct output *o)
{
    char byte;
    ssize_t n;

    do {
        struct pollfd status = { .fd = o->fds[SPEECH_STATUS],
                                 .events = POLLIN };

        poll(&status, 1, -1);
        n = recv(o->fds[SPEECH_STATUS], &byte, 1, MSG_DONTWAIT);
    } while (n == -1 && (errno == EAGAIN || errno == EINTR));
    return n == 1 ? 0 : -1;
}

static int
pause_for_room(const struct output *o)
{
    enum room room;

    if (say(o, SPEECH_PAUSED) == -1) {
        return -1;
    }
    do {
        room = wait_for_room(o, -1);
    } while (room == NO_ROOM);
    if (room == NOBODY || wait_for_half(o) == -1 ||
        say(o, SPEECH_WANTS) == -1) {
        return -1;
    }
    return wait_for_slot(o);
}

/* Half of the pipe, so that one whose reader takes a little now and then does
 * not keep its slot. */
static int
make_room(const struct output *o)
{
    int64_t end = clock_ms() + FULL_MS;

    while (!half_is_free(o)) {
        struct pollfd status = { .fd = o->fds[SPEECH_STATUS],
                                 .events = POLLRDHUP };

        if (clock_ms() >= end) {
            return pause_for_room(o);
        }
        if (poll(&status, 1, FIRST_LOOK_MS) > 0) {
            return -1;
        }
    }
    return 0;
}

static int
write_pipe(struct output *o, const uint8_t *data, size_t n)
{
    while (n > 0) {
        ssize_t done = write(o->fds[SPEECH_PIPE], data, n);

        if (done > 0) {
            data += done;
            n -= (size_t)done;
            o->piped += done;
        } else if (errno == EPIPE || (errno != EAGAIN && errno != EINTR) ||
                   make_room(o) == -1) {
            return -1;
        }
    }
    return 0;
}

/* ---- the file in memory ---- */

static int
write_file(struct output *o, const uint8_t *data, size_t n)
{
    while (n > 0) {
        ssize_t done = pwrite(o->fds[SPEECH_MEMORY], data, n, o->filed);

        if (done <= 0) {
            return errmsg_sys(&o->why, "cannot keep the answer");
        }
        o->filed += done;
        data += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Its pages are given back as they have gone through the pipe: a reader may be
 * slow. */
static int
copy_file(struct output *o)
{
    static uint8_t piece[COPY];
    off_t at = 0;

    while (at < o->filed) {
        ssize_t n = pread(o->fds[SPEECH_MEMORY], piece, sizeof(piece), at);

        if (n <= 0) {
            return errmsg_sys(&o->why, "cannot read the answer again");
        }
        fallocate(o->fds[SPEECH_MEMORY],
                  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n);
        if (write_pipe(o, piece, (size_t)n) == -1) {
            return -1;
        }
        at += n;
    }
    return 0;
}

/* ---- both ---- */

static int
go_long(struct output *o)
{
    int flags = fcntl(o->fds[SPEECH_PIPE], F_GETFL);

    o->is_long = true;
    fcntl(o->fds[SPEECH_PIPE], F_SETFL, flags | O_NONBLOCK);
    return say(o, SPEECH_LONG) == -1 ? -1 : copy_file(o);
}

static int
write_piece(struct output *o, const uint8_t *data, size_t n)
{
    if (n == 0) {
        return 0;
    }
    if (!is_wanted(o)) {
        return -1;
    }
    return o->is_long ? write_pipe(o, data, n) : write_file(o, data, n);
}

static int
write_collected(struct output *o)
{
    size_t n = o->collected;

    o->collected = 0;
    return write_piece(o, o->piece, n);
}

/* Collects what is small, but for the first bytes of a stream. */
static int
add(struct output *o, const uint8_t *data, size_t n)
{
    if (n > sizeof(o->piece) - o->collected && write_collected(o) == -1) {
        return -1;
    }
    if (n > sizeof(o->piece)) {
        return write_piece(o, data, n);
    }
    memcpy(o->piece + o->collected, data, n);
    o->collected += n;
    return o->is_long && o->piped < AT_ONCE ? write_collected(o) : 0;
}

int
output_write(void *arg, const void *data, size_t n)
{
    struct output *o = arg;

    if (!o->is_long && (o->stream || o->bytes + (int64_t)n > o->buffer) &&
        go_long(o) == -1) {
        return -1;
    }
    o->bytes += (int64_t)n;
    return add(o, data, n);
}

int
output_end(struct output *o, struct str head)
{
    if (write_collected(o) == -1) {
        return -1;
    }
    if (o->is_long || head.len == 0) {
        return 0;
    }
    if ((int64_t)head.len > o->bytes) {
        return errmsg_set(&o->why, "the header is longer than the answer");
    }
    if (pwrite(o->fds[SPEECH_MEMORY], head.ptr, head.len, 0) !=
        (ssize_t)head.len) {
        return errmsg_sys(&o->why, "cannot finish the header");
    }
    return 0;
}
