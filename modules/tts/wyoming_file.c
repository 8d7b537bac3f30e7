/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/unsent.h"
#include "wyoming.h"

struct wyoming_file {
    struct later turn; /* a piece each, others run between them */
    struct later destroy;
    struct loop *loop;              /* borrowed */
    const struct pipe_taker *taker; /* borrowed */
    void *arg;                      /* of the taker */
    int64_t offset, left;           /* bytes */
    int fd;                         /* owned; -1: it was freed */
    struct unsent unsent;           /* the file lies in memory */
    size_t length;                  /* bytes of it */
};

/* All of the process read into it, each on its turn. */
static uint8_t piece[PIPE_PIECE];

static void
on_turn(struct later *later)
{
    struct wyoming_file *f = LIST_ITEM(later, struct wyoming_file, turn);
    size_t want = f->left < (int64_t)PIPE_PIECE ? (size_t)f->left : PIPE_PIECE;
    ssize_t n;

    if (f->fd == -1) {
        return;
    }
    n = want > 0 ? pread(f->fd, piece, want, f->offset) : 0;
    if (n <= 0) {
        f->taker->on_end(f->arg, f->left > 0);
        return;
    }
    f->offset += n;
    f->left -= n;
    unsent_set(&f->unsent, f->length, (uint64_t)f->offset);
    if (f->taker->on_bytes(f->arg, str_of(piece, (size_t)n)) && f->fd != -1) {
        wyoming_file_go_on(f);
    }
}

/* The memory of all such answers together has a bound. */
static void
cut(struct unsent *u)
{
    struct wyoming_file *f = LIST_ITEM(u, struct wyoming_file, unsent);

    unsent_set(u, 0, 0);
    f->taker->on_end(f->arg, true);
}

static void
destroy(struct later *later)
{
    struct wyoming_file *f = LIST_ITEM(later, struct wyoming_file, destroy);

    mem_free(&f);
}

struct wyoming_file *
wyoming_file_new(struct loop *l, int fd, int64_t length,
                 const struct pipe_taker *taker, void *arg)
{
    struct wyoming_file *f = mem_zero(sizeof(*f));

    f->loop = l;
    f->fd = fd;
    f->left = length;
    f->length = (size_t)length;
    f->taker = taker;
    f->arg = arg;
    unsent_init(&f->unsent, cut);
    later_init(&f->turn, on_turn);
    later_init(&f->destroy, destroy);
    wyoming_file_go_on(f);
    return f;
}

void
wyoming_file_go_on(struct wyoming_file *f)
{
    loop_later(f->loop, &f->turn);
}

void
wyoming_file_free(struct wyoming_file **f)
{
    if (*f != NULL) {
        later_cancel(&(*f)->turn);
        unsent_set(&(*f)->unsent, 0, 0);
        close((*f)->fd);
        (*f)->fd = -1;
        loop_later((*f)->loop, &(*f)->destroy);
        *f = NULL;
    }
}
