/*
 * Files as answers, a piece at a time.
 *
 * A piece that the page cache has is read at once (RWF_NOWAIT); one that
 * would wait for the disk is read by a task thread.  The next piece is read
 * when the socket has taken the one before.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "event/task.h"
#include "http/exchange.h"
#include "http/metrics.h"

#define PIECE (64 * 1024)
#define PIECES_A_TURN 8 /* then others have their turn */
#define BUSY_MS 10      /* until a full queue of tasks is tried again */

struct http_file {
    struct task task;   /* in work: nobody else touches result, bytes */
    struct timer again; /* the queue of tasks was full */
    struct exchange *x; /* borrowed; NULL: the exchange went first */
    struct loop *loop;
    int fd;         /* owned */
    int64_t offset; /* of the next byte to read */
    int64_t left;   /* bytes to read */
    ssize_t result; /* of a task: bytes, or -errno */
    bool working;   /* the task runs */
    uint8_t bytes[PIECE];
};

static void
free_file(struct http_file *f)
{
    timer_stop(f->loop, &f->again);
    close(f->fd);
    mem_free(&f);
}

static size_t
piece_size(const struct http_file *f)
{
    return f->left < PIECE ? (size_t)f->left : PIECE;
}

/* Length was promised: the client must see that the rest does not come. */
static void
fail(struct http_file *f, const char *what)
{
    log_limited(LOG_ERROR, "http: %.*s: %s", STR_ARGS(f->x->pub.path), what);
    metric_add(&http_metrics[HTTP_FILE_ERRORS], 0, 1);
    http_note(&f->x->pub, "%s", what);
    f->x->broken = true;
    http_settle_later(f->x->c);
}

static void
send_piece(struct http_file *f, ssize_t n)
{
    struct exchange *x = f->x;
    struct iovec iov = { f->bytes, (size_t)n };

    f->offset += n;
    f->left -= n;
    x->body_sent += (uint64_t)n;
    http_send_bytes(x, &iov, 1);
    if (f->left == 0) {
        x->ended = true;
    }
}

/* n as from a read: bytes, or -errno.  False when it failed. */
static bool
take_result(struct http_file *f, ssize_t n)
{
    if (n > 0) {
        send_piece(f, n);
        return !f->x->broken;
    }
    fail(f, n == 0 ? "the file became shorter" : strerror((int)-n));
    return false;
}

/* ---- on a thread ---- */

static ssize_t
read_waiting(struct http_file *f)
{
    ssize_t n;

    do {
        n = pread(f->fd, f->bytes, piece_size(f), f->offset);
    } while (n == -1 && errno == EINTR);
    return n == -1 ? -errno : n;
}

static void
work(struct task *task)
{
    struct http_file *f = LIST_ITEM(task, struct http_file, task);

    f->result = read_waiting(f);
}

static void
done(struct task *task)
{
    struct http_file *f = LIST_ITEM(task, struct http_file, task);

    f->working = false;
    if (f->x == NULL) {
        free_file(f);
    } else if (take_result(f, task->cancelled ? -EIO : f->result)) {
        http_settle_later(f->x->c);
    }
}

static void
read_later(struct http_file *f)
{
    struct task_threads *threads = f->x->c->server->threads;

    f->task = (struct task){ .work = work, .done = done };
    list_init(&f->task.link);
    if (task_run(threads, &f->task) == 0) {
        f->working = true;
    } else {
        timer_set(f->loop, &f->again, BUSY_MS);
    }
}

static void
on_again(struct timer *t)
{
    struct http_file *f = LIST_ITEM(t, struct http_file, again);

    read_later(f);
}

/* ---- on the loop ---- */

static ssize_t
read_now(struct http_file *f)
{
    struct iovec iov = { f->bytes, piece_size(f) };
    ssize_t n;

    if (f->x->c->server->threads == NULL) {
        return read_waiting(f);
    }
    do {
        n = preadv2(f->fd, &iov, 1, f->offset, RWF_NOWAIT);
    } while (n == -1 && errno == EINTR);
    if (n == -1 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
        return -EAGAIN;
    }
    return n == -1 ? -errno : n;
}

void
http_file_pump(struct exchange *x)
{
    struct http_file *f = x->file;

    if (f->working || timer_is_set(&f->again)) {
        return;
    }
    for (int i = 0; i < PIECES_A_TURN && f->left > 0; i++) {
        ssize_t n = read_now(f);

        if (n == -EAGAIN) {
            read_later(f);
            return;
        }
        if (!take_result(f, n) || buf_len(&x->out) > 0) {
            return;
        }
    }
    if (f->left > 0) {
        http_settle_later(x->c);
    }
}

void
http_file_drop(struct exchange *x)
{
    struct http_file *f = x->file;

    if (f == NULL) {
        return;
    }
    x->file = NULL;
    if (f->working) {
        f->x = NULL;
        task_cancel(x->c->server->threads, &f->task);
    } else {
        free_file(f);
    }
}

enum http_result
http_send_file(struct http_request *r, int status, const char *content_type,
               int fd, int64_t offset, int64_t len)
{
    struct exchange *x = exchange_of(r);

    http_begin_answer(x, status, content_type, len);
    if (len == 0 || x->no_body) {
        close(fd);
        x->ended = true;
        http_settle_later(x->c);
        return HTTP_DONE;
    }
    struct http_file *f = try_alloc(sizeof(*f));

    if (f == NULL) {
        close(fd);
        x->broken = true;
        http_settle_later(x->c);
        return HTTP_DONE;
    }
    f->x = x;
    f->loop = r->loop;
    f->fd = fd;
    f->offset = offset;
    f->left = len;
    f->working = false;
    timer_init(&f->again, on_again);
    x->file = f;
    http_settle_later(x->c);
    return HTTP_DONE;
}
