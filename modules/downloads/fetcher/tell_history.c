/*
 * All entries of a queue as one text, for /history and for the snapshot "all".
 *
 * The texts are sealed memfds, which are kept until the lists change.  The
 * object form of "all" is the text of /history.
 *
 * A snapshot has 16 MB at most (sio/sio.h).  Where the entries have more, the
 * oldest of done are left out, then those of pending, then those of queue.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "fetcher/tell_impl.h"
#include "http/escape.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define HISTORY_MAX ((size_t)512 << 20) /* bytes of a text */
#define ALL_MAX ((int64_t)15 << 20)     /* of a snapshot */

static int
write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n <= 0) {
            return -1;
        }
        bytes = str_skip(bytes, (size_t)n);
    }
    return 0;
}

int
tell_memory(struct str bytes, struct errmsg *err)
{
    int fd = memfd_create("downloads", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd == -1) {
        return errmsg_sys(err, "cannot make a memory file");
    }
    if (write_all(fd, bytes) == -1 || fcntl(fd, F_ADD_SEALS, SEALS) == -1) {
        errmsg_sys(err, "cannot fill a memory file");
        close(fd);
        return -1;
    }
    return fd;
}

static void
drop_text(struct tell_text *text)
{
    if (text->fd != -1) {
        close(text->fd);
    }
    text->fd = -1;
}

static int
keep_text(struct told *t, enum tell_kept kind, struct str bytes,
          struct errmsg *err)
{
    struct tell_text *text = &t->kept[kind];

    drop_text(text);
    text->fd = tell_memory(bytes, err);
    text->length = (int64_t)bytes.len;
    text->change = t->queue->change;
    return text->fd == -1 ? -1 : 0;
}

static bool
is_kept(const struct told *t, enum tell_kept kind)
{
    const struct tell_text *text = &t->kept[kind];

    return text->fd != -1 && text->change == t->queue->change;
}

/* ---- entries ---- */

static const struct entry *
entry_at(struct list *node)
{
    return LIST_ITEM(node, struct entry, link);
}

/* How many of each list, the oldest, are not in a text. */
struct skipped {
    size_t of[ENTRY_LISTS];
};

/* [OBJECT,...], without the first of them. */
static int
write_objects(const struct list *entries, size_t skip, struct buf *to)
{
    int bad = buf_add(to, "[", 1);
    bool more = false;

    LIST_EACH (node, entries) {
        if (skip > 0) {
            skip--;
            continue;
        }
        bad |= more ? buf_add(to, ",", 1) : 0;
        bad |= entry_write_json(entry_at(node), to);
        more = true;
    }
    return bad | buf_add(to, "]", 1);
}

static int
write_history(const struct queue *q, const struct skipped *s, struct buf *to)
{
    int bad = buf_add_str(to, STR("{\"done\":"));

    bad |= write_objects(&q->lists[LIST_DONE], s->of[LIST_DONE], to);
    bad |= buf_add_str(to, STR(",\"queue\":"));
    bad |= write_objects(&q->lists[LIST_QUEUE], s->of[LIST_QUEUE], to);
    bad |= buf_add_str(to, STR(",\"pending\":"));
    bad |= write_objects(&q->lists[LIST_PENDING], s->of[LIST_PENDING], to);
    return bad | buf_add_str(to, STR("}"));
}

/* [URL,OBJECT],... of a list. */
static int
write_pairs(const struct list *entries, size_t skip, bool *more, struct buf *to)
{
    int bad = 0;

    LIST_EACH (node, entries) {
        const struct entry *e = entry_at(node);

        if (skip > 0) {
            skip--;
            continue;
        }
        bad |= buf_add_str(to, *more ? STR(",[") : STR("["));
        bad |= http_json_string(to, e->facts->url);
        bad |= buf_add(to, ",", 1);
        bad |= entry_write_json(e, to);
        bad |= buf_add(to, "]", 1);
        *more = true;
    }
    return bad;
}

/* The original's form: what is active, then pending; what is done. */
static int
write_original(const struct queue *q, const struct skipped *s, struct buf *to)
{
    bool more = false;
    int bad = buf_add(to, "[[", 2);

    bad |= write_pairs(&q->lists[LIST_QUEUE], s->of[LIST_QUEUE], &more, to);
    bad |= write_pairs(&q->lists[LIST_PENDING], s->of[LIST_PENDING], &more, to);
    bad |= buf_add(to, "],[", 3);
    more = false;
    bad |= write_pairs(&q->lists[LIST_DONE], s->of[LIST_DONE], &more, to);
    return bad | buf_add(to, "]]", 2);
}

static int
write_quoted(const struct queue *q, const struct skipped *s, struct buf *to)
{
    struct buf plain;
    int bad;

    buf_init(&plain, HISTORY_MAX);
    bad = write_original(q, s, &plain);
    bad |= tell_quote(buf_str(&plain), to);
    buf_clear(&plain);
    return bad;
}

/* Bytes that an entry adds to a text. */
static int64_t
size_of(const struct entry *e, enum tell_kept kind, struct buf *room)
{
    size_t quotes = 0;
    struct str text;

    buf_take(room, buf_len(room));
    if (kind == KEPT_STRING) {
        http_json_string(room, e->facts->url);
    }
    entry_write_json(e, room);
    text = buf_str(room);
    for (size_t i = 0; kind == KEPT_STRING && i < text.len; i++) {
        quotes += text.ptr[i] == '"' || text.ptr[i] == '\\';
    }
    return (int64_t)(text.len + quotes);
}

/* How many of a list have so many bytes, which are taken from *bytes. */
static size_t
count_bytes(const struct list *entries, enum tell_kept kind, int64_t *bytes)
{
    struct buf room;
    size_t count = 0;

    buf_init(&room, HISTORY_MAX);
    LIST_EACH (node, entries) {
        if (*bytes <= 0) {
            break;
        }
        *bytes -= size_of(entry_at(node), kind, &room);
        count++;
    }
    buf_clear(&room);
    return count;
}

static int
make_text(struct told *t, enum tell_kept kind, const struct skipped *s,
          struct errmsg *err)
{
    const struct queue *q = t->queue;
    struct buf b;
    int rc;

    buf_init(&b, HISTORY_MAX);
    rc = kind == KEPT_STRING ? write_quoted(q, s, &b) : write_history(q, s, &b);
    rc = rc == 0 ? keep_text(t, kind, buf_str(&b), err)
                 : errmsg_set(err, "no memory for %zu entries",
                              q->counts[LIST_DONE] + q->counts[LIST_QUEUE] +
                                  q->counts[LIST_PENDING]);
    buf_clear(&b);
    return rc;
}

static const struct skipped none;

int
tell_history(struct queue *q, int64_t *length, struct errmsg *err)
{
    struct told *t = q->told;

    if (!is_kept(t, KEPT_HISTORY) &&
        make_text(t, KEPT_HISTORY, &none, err) == -1) {
        return -1;
    }
    *length = t->kept[KEPT_HISTORY].length;
    return t->kept[KEPT_HISTORY].fd;
}

/* Leaves out the oldest of done, then of pending, then of queue, until it fits.
 */
static int
make_fit(struct told *t, enum tell_kept kind, int64_t excess,
         struct errmsg *err)
{
    static const enum entry_list order[] = { LIST_DONE, LIST_PENDING,
                                             LIST_QUEUE };
    struct skipped s = { { 0 } };

    for (size_t i = 0; i < ENTRY_LISTS; i++) {
        s.of[order[i]] = count_bytes(&t->queue->lists[order[i]], kind, &excess);
    }
    log_limited(LOG_WARN,
                "downloads \"%.*s\": clients are not told of the oldest %zu in "
                "done, %zu in pending and %zu in queue: they would be too much "
                "at once",
                STR_ARGS(t->queue->plan.name), s.of[LIST_DONE],
                s.of[LIST_PENDING], s.of[LIST_QUEUE]);
    return make_text(t, kind, &s, err);
}

const struct tell_text *
tell_all(struct told *t, int payload, struct errmsg *err)
{
    enum tell_kept kind = payload == PAYLOAD_STRING ? KEPT_STRING : KEPT_OBJECT;
    struct tell_text *text = &t->kept[kind];
    int64_t length;

    if (is_kept(t, kind)) {
        return text;
    }
    if (payload == PAYLOAD_OBJECT) {
        if (tell_history(t->queue, &length, err) == -1) {
            return NULL;
        }
        if (length <= ALL_MAX) {
            return &t->kept[KEPT_HISTORY];
        }
    } else if (make_text(t, kind, &none, err) == -1) {
        return NULL;
    } else {
        length = text->length;
    }
    if (length > ALL_MAX && make_fit(t, kind, length - ALL_MAX, err) == -1) {
        drop_text(text);
        return NULL;
    }
    return text;
}

/* ---- life ---- */

void
tell_texts_start(struct told *t)
{
    for (int i = 0; i < KEPT_TEXTS; i++) {
        t->kept[i].fd = -1;
    }
}

void
tell_texts_stop(struct told *t)
{
    for (int i = 0; i < KEPT_TEXTS; i++) {
        drop_text(&t->kept[i]);
    }
}
