/*
 * Files as answers, a piece at a time, whole or in parts.
 *
 * A piece that the page cache has goes to a plain socket by sendfile(), or is
 * read at once (RWF_NOWAIT) where TLS or gzip have to change it; one that would
 * wait for the disk is read by a task thread.  A file in memory is sent or read
 * at once, too, though tmpfs knows no RWF_NOWAIT.  A piece is read when the
 * socket has room, into memory that all files of the process share or, for a
 * thread, that lasts until the piece is sent.  Bytes that the socket does not
 * take are dropped and read again: a client that does not read costs no memory
 * of ours.
 *
 * Whether the page cache has a piece is seen from one byte of each LOOK bytes,
 * and of a file that stays open remembered for a moment (seen.h).  The kernel
 * reads ahead and drops in longer runs; where it dropped a page amid such a run
 * nevertheless, the worker waits for that page.
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
#include "http/file/coding.h"
#include "http/file/parts.h"
#include "http/metrics.h"

#define PIECE (64 * 1024)
#define PIECE_DIRECT (1024 * 1024) /* not copied, and a turn has one */
#define UNSENT (2 * 1024 * 1024)   /* in the place of CONN_UNSENT */
#define LOOK (128 * 1024)          /* as the kernel reads ahead */
/* Compressing takes some 20 us a KB, and each of GZIP_STREAMS_MAX gets a piece
 * in a turn. */
#define GZIP_PIECE (16 * 1024)
#define PIECES_A_TURN 16 /* then others have their turn */
#define BUSY_MS 10       /* until a full queue of tasks is tried again */

struct http_file {
    struct task task;   /* in work: nobody else touches result, bytes */
    struct timer again; /* the queue of tasks was full */
    struct exchange *x; /* borrowed; NULL: the exchange went first */
    struct loop *loop;
    int fd;                       /* owned, or the opened file's */
    struct http_opened *opened;   /* held, or NULL */
    const struct http_part *part; /* what comes next; in the request's pool */
    size_t parts;                 /* parts to come, with that one */
    int64_t offset;               /* of the next byte to read */
    int64_t left;                 /* bytes to read of this part */
    ssize_t result;               /* of a task: bytes, or -errno */
    bool working;                 /* the task runs */
    bool small;                   /* pieces of GZIP_PIECE */
    bool in_memory;               /* no read of it waits */
    uint8_t *bytes;               /* owned while a thread reads into it */
};

/* Where pieces are read to on the loop; made by the first. */
static uint8_t *piece;

static void
free_file(struct http_file *f)
{
    timer_stop(f->loop, &f->again);
    if (f->opened != NULL) {
        http_opened_drop(f->opened);
    } else {
        close(f->fd);
    }
    mem_free(&f->bytes);
    mem_free(&f);
}

static size_t
piece_size(const struct http_file *f)
{
    size_t most = f->small ? GZIP_PIECE : PIECE;

    return (uint64_t)f->left < most ? (size_t)f->left : most;
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

/* Goes on to the next part that has bytes, sending what stands before each;
 * behind the last one the answer is ended. */
static void
next_part(struct http_file *f)
{
    struct exchange *x = f->x;

    while (f->left == 0 && f->parts > 0) {
        struct iovec before = { (void *)(uintptr_t)f->part->before.ptr,
                                f->part->before.len };

        if (before.iov_len > 0) {
            x->body_sent += before.iov_len;
            http_send_bytes(x, &before, 1);
        }
        f->offset = f->part->offset;
        f->left = f->part->len;
        f->part++;
        f->parts--;
    }
    if (f->left == 0) {
        if (x->gzip != NULL) {
            http_send_end(x);
        }
        x->ended = true;
    }
}

/* bytes NULL: from the file itself. */
static void
send_piece(struct http_file *f, const uint8_t *bytes, size_t n)
{
    struct exchange *x = f->x;

    if (x->gzip != NULL) {
        http_send_piece(x, str_of(bytes, n), GZIP_MORE);
    } else {
        n = bytes == NULL ? http_send_from_file(x, f->fd, f->offset, n)
                          : http_send_unkept(x, str_of(bytes, n));
        x->body_sent += n;
    }
    if (n == 0 && f->opened != NULL) {
        seen_clear(&f->opened->seen); /* it may have become shorter */
    }
    f->offset += (int64_t)n;
    f->left -= (int64_t)n;
    if (f->left == 0) {
        next_part(f);
    }
}

/* n as from a read: bytes, or -errno.  False when it failed. */
static bool
take_result(struct http_file *f, const uint8_t *bytes, ssize_t n)
{
    if (n > 0) {
        send_piece(f, bytes, (size_t)n);
        return !f->x->broken;
    }
    fail(f, n == 0 ? "the file became shorter" : strerror((int)-n));
    return false;
}

/* ---- on a thread ---- */

static ssize_t
read_waiting(struct http_file *f, uint8_t *to)
{
    ssize_t n;

    do {
        n = pread(f->fd, to, piece_size(f), f->offset);
    } while (n == -1 && errno == EINTR);
    return n == -1 ? -errno : n;
}

static void
work(struct task *task)
{
    struct http_file *f = LIST_ITEM(task, struct http_file, task);

    f->result = read_waiting(f, f->bytes);
}

static void
done(struct task *task)
{
    struct http_file *f = LIST_ITEM(task, struct http_file, task);

    f->working = false;
    if (f->x == NULL) {
        free_file(f);
        return;
    }
    if (take_result(f, f->bytes, task->cancelled ? -EIO : f->result)) {
        http_settle_later(f->x->c);
    }
    mem_free(&f->bytes);
}

static void
read_later(struct http_file *f)
{
    struct task_threads *threads = f->x->c->server->threads;

    f->task = (struct task){ .work = work, .done = done };
    list_init(&f->task.link);
    f->bytes = try_alloc(piece_size(f));
    if (f->bytes != NULL && task_run(threads, &f->task) == 0) {
        f->working = true;
    } else {
        mem_free(&f->bytes);
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

/* As from a read; -EAGAIN: it would wait for the disk. */
static ssize_t
read_now(const struct http_file *f, int64_t offset, uint8_t *to, size_t count)
{
    bool may_wait = f->in_memory || f->x->c->server->threads == NULL;
    struct iovec iov = { to, count };
    ssize_t n;

    do {
        n = preadv2(f->fd, &iov, 1, offset, may_wait ? 0 : RWF_NOWAIT);
    } while (n == -1 && errno == EINTR);
    if (n == -1 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
        return -EAGAIN;
    }
    return n == -1 ? -errno : n;
}

/* Where a look at end is remembered; NULL: nowhere, for bytes amid a block do
 * not speak for those behind. */
static struct seen *
seen_of(const struct http_file *f, int64_t end)
{
    bool whole =
        f->opened != NULL && (end % LOOK == 0 || end == f->opened->size);

    return whole ? &f->opened->seen : NULL;
}

/* Whether the page cache has the bytes up to end of the block of LOOK bytes
 * that they end in: 1; else as read_now() of the last of them. */
static ssize_t
look(const struct http_file *f, int64_t end)
{
    struct seen *seen = seen_of(f, end);
    int64_t block = (end - 1) / LOOK, now = loop_now(f->loop);
    uint8_t last;
    ssize_t n;

    if (seen != NULL && seen_has(seen, block, now)) {
        return 1;
    }
    n = read_now(f, end - 1, &last, 1);
    if (n == 1 && seen != NULL) {
        seen_add(seen, block, now);
    }
    return n;
}

/* Bytes that could be sent from the page cache; else as read_now(). */
static ssize_t
look_ahead(const struct http_file *f)
{
    int64_t most = f->left < PIECE_DIRECT ? f->left : PIECE_DIRECT;
    int64_t end = f->offset + most, found = f->offset;

    if (f->in_memory) {
        return most;
    }
    while (found < end) {
        int64_t next = found - found % LOOK + LOOK;
        ssize_t n;

        next = next < end ? next : end;
        n = look(f, next);
        if (n != 1) {
            return found > f->offset ? found - f->offset : n;
        }
        found = next;
    }
    return most;
}

/* Few waits for a socket with much room cost the least.  A plain socket
 * holds pages of the file itself; for TLS the system has a copy.  The
 * socket is told once: a client that asks for one large file may ask for the
 * next. */
static void
raise_unsent(struct http_file *f)
{
    struct http_connection *c = f->x->c;

    if (!c->raised && f->left > CONN_UNSENT) {
        c->raised = true;
        conn_limit_unsent(c->conn, UNSENT);
    }
}

void
http_file_other_bytes(struct exchange *x)
{
    struct http_connection *c = x->c;

    if (c->raised && x->file == NULL) {
        c->raised = false;
        conn_limit_unsent(c->conn, CONN_UNSENT);
    }
}

/* Whether more may be sent now. */
static bool
pump_piece(struct http_file *f, bool direct)
{
    ssize_t n =
        direct ? look_ahead(f) : read_now(f, f->offset, piece, piece_size(f));

    if (n == -EAGAIN) {
        read_later(f);
        return false;
    }
    return take_result(f, direct ? NULL : piece, n) && http_has_room(f->x);
}

void
http_file_pump(struct exchange *x)
{
    struct http_file *f = x->file;

    if (f->working || timer_is_set(&f->again)) {
        return;
    }
    if (piece == NULL) {
        piece = mem_alloc(PIECE);
    }
    bool direct = x->gzip == NULL && conn_is_direct(x->c->conn);
    int pieces = direct || x->gzip != NULL ? 1 : PIECES_A_TURN;

    raise_unsent(f);
    for (int i = 0; i < pieces && f->left > 0; i++) {
        if (!pump_piece(f, direct)) {
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

/* ---- answers ---- */

/* The head was given; without memory the client sees the connection end. */
static struct http_file *
start(struct exchange *x, int fd)
{
    struct http_file *f = try_alloc(sizeof(*f));

    http_settle_later(x->c);
    if (f == NULL) {
        x->broken = true;
        return NULL;
    }
    f->x = x;
    f->loop = x->c->loop;
    f->fd = fd;
    f->opened = NULL;
    f->parts = 0;
    f->working = false;
    f->small = x->gzip != NULL;
    f->in_memory = false;
    f->bytes = NULL;
    timer_init(&f->again, on_again);
    x->file = f;
    return f;
}

static void
end_without_body(struct exchange *x)
{
    x->ended = true;
    http_settle_later(x->c);
}

enum http_result
http_send_file(struct http_request *r, int status, const char *content_type,
               int fd, int64_t offset, int64_t len)
{
    struct exchange *x = exchange_of(r);

    http_begin_answer(x, status, content_type, len);
    if (len == 0 || x->no_body) {
        close(fd);
        end_without_body(x);
        return HTTP_DONE;
    }
    struct http_file *f = start(x, fd);

    if (f == NULL) {
        close(fd);
        return HTTP_DONE;
    }
    f->offset = offset;
    f->left = len;
    return HTTP_DONE;
}

enum http_result
http_send_memory(struct http_request *r, int status, const char *content_type,
                 int fd, size_t len)
{
    struct exchange *x = exchange_of(r);

    http_send_file(r, status, content_type, fd, 0, (int64_t)len);
    x->memory = 0;
    if (x->file != NULL) {
        x->file->in_memory = true;
        x->memory = len;
    }
    return HTTP_DONE;
}

static void
start_parts(struct exchange *x, struct http_opened *file,
            const struct http_part *parts, size_t count)
{
    if (x->no_body || x->c->conn == NULL) {
        end_without_body(x);
        return;
    }
    struct http_file *f = start(x, file->fd);

    if (f == NULL) {
        return;
    }
    f->opened = http_opened_hold(file);
    f->in_memory = file->in_memory;
    f->part = parts;
    f->parts = count;
    f->left = 0;
    next_part(f);
}

/* The file lies in memory: what the socket does not take is copied. */
static void
send_from_memory(struct exchange *x, const struct http_opened *file,
                 const struct http_part *parts, size_t count)
{
    for (size_t i = 0; i < count && !x->no_body; i++) {
        const struct http_part *p = &parts[i];
        struct iovec iov[2] = {
            { (void *)(uintptr_t)p->before.ptr, p->before.len },
            { (void *)(uintptr_t)(file->bytes.ptr + p->offset),
              (size_t)p->len },
        };

        x->body_sent += iov[0].iov_len + iov[1].iov_len;
        http_send_bytes(x, iov, 2);
    }
    end_without_body(x);
}

enum http_result
http_send_parts(struct exchange *x, int status, const char *type,
                struct http_opened *file, const struct http_part *parts,
                size_t count)
{
    int64_t length = 0;

    for (size_t i = 0; i < count; i++) {
        length += (int64_t)parts[i].before.len + parts[i].len;
    }
    http_begin_answer(x, status, type, length);
    if (file->fd == -1) {
        send_from_memory(x, file, parts, count);
    } else {
        start_parts(x, file, parts, count);
    }
    return HTTP_DONE;
}

/* All of the file as its only part. */
static const struct http_part *
whole(struct exchange *x, const struct http_opened *file)
{
    struct http_part *part = pool_zero(x->pub.pool, sizeof(*part));

    part->before = STR_NONE;
    part->len = file->size;
    return part;
}

enum http_result
http_send_opened(struct exchange *x, int status, const char *type,
                 struct http_opened *file)
{
    return http_send_parts(x, status, type, file, whole(x, file), 1);
}

enum http_result
http_send_compressed(struct exchange *x, const char *type,
                     struct http_opened *file)
{
    if (!str_eq(x->head.method, STR("HEAD"))) {
        x->gzip = gzip_new((int)x->c->server->settings.gzip_level);
        x->broken |= x->gzip == NULL; /* memory is out */
    }
    http_begin_answer(x, 200, type, -1);
    start_parts(x, file, whole(x, file), 1);
    return HTTP_DONE;
}
