/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pipe_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"

struct pipe_reader {
    struct io io;
    struct later destroy;
    struct loop *loop;              /* borrowed */
    const struct pipe_taker *taker; /* borrowed */
    void *arg;                      /* of the taker */
    uint64_t bytes;                 /* given so far */
    int fd;                         /* owned; -1 once it is closed */
    bool waits;                     /* the taker has no room */
};

/* All readers of the process read into it, each on its turn. */
static uint8_t piece[PIPE_PIECE];

static void
close_pipe(struct pipe_reader *r)
{
    if (r->fd != -1) {
        io_stop(r->loop, &r->io);
        close(r->fd);
        r->fd = -1;
    }
}

static void
end(struct pipe_reader *r, bool broken)
{
    close_pipe(r);
    r->taker->on_end(r->arg, broken);
}

/* A pipe whose writer is gone wakes the loop even when nothing is wanted of it:
 * it is not watched while the taker waits. */
static void
wait_for_room(struct pipe_reader *r)
{
    r->waits = true;
    io_stop(r->loop, &r->io);
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct pipe_reader *r = LIST_ITEM(io, struct pipe_reader, io);
    ssize_t n = read(r->fd, piece, sizeof(piece));

    (void)ready;
    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        end(r, n == -1);
        return;
    }
    r->bytes += (uint64_t)n;
    if (!r->taker->on_bytes(r->arg, str_of(piece, (size_t)n)) && r->fd != -1) {
        wait_for_room(r);
    }
}

static int
watch(struct pipe_reader *r)
{
    return io_start(r->loop, &r->io, r->fd, IO_READ, on_ready);
}

static void
destroy(struct later *later)
{
    struct pipe_reader *r = LIST_ITEM(later, struct pipe_reader, destroy);

    mem_free(&r);
}

struct pipe_reader *
pipe_reader_new(struct loop *l, int fd, const struct pipe_taker *taker,
                void *arg)
{
    struct pipe_reader *r = mem_zero(sizeof(*r));
    int flags = fcntl(fd, F_GETFL);

    r->loop = l;
    r->fd = fd;
    r->taker = taker;
    r->arg = arg;
    io_init(&r->io);
    later_init(&r->destroy, destroy);
    if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1 ||
        watch(r) == -1) {
        close(fd);
        mem_free(&r);
    }
    return r;
}

void
pipe_reader_go_on(struct pipe_reader *r)
{
    if (!r->waits || r->fd == -1) {
        return;
    }
    r->waits = false;
    if (watch(r) == -1) {
        end(r, true);
    }
}

uint64_t
pipe_reader_bytes(const struct pipe_reader *r)
{
    return r->bytes;
}

void
pipe_reader_free(struct pipe_reader **r)
{
    if (*r != NULL) {
        close_pipe(*r);
        loop_later((*r)->loop, &(*r)->destroy);
        *r = NULL;
    }
}
