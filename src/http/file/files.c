/*
 * The table of files: hashed by name; small ones are listed by when they were
 * asked for last, open ones by when they were opened.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/files.h"

#include <assert.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "event/loop.h"
#include "http/file/beneath.h"
#include "http/file/gzip.h"
#include "http/http.h"

/* A file changed so shortly before it was read may change again without that
 * its times tell (they are as coarse as the clock's tick; some file systems
 * count whole seconds). */
#define FRESH_MS 2000

struct entry {
    struct list bucket;       /* of its hash */
    struct list use;          /* in the table's list of its kind */
    struct http_opened *file; /* held */
    struct str name;          /* owned */
    struct stat st;
    int64_t checked_ms;
    bool fresh; /* see FRESH_MS */
};

struct http_files {
    int root; /* owned */
    struct http_files_limits limits;
    struct list *buckets; /* owned; bucket_count of them, a power of two */
    size_t bucket_count;
    struct list use;  /* struct entry in memory, used last first */
    struct list open; /* the same with a descriptor, opened last first */
    size_t count, memory, open_count;
    struct timer close; /* the first of these is due */
    dev_t device;       /* of the file that was opened last; 0: none */
    bool in_memory;     /* that device */
};

static size_t all_open; /* of the process */

/* ---- an opened file ---- */

static struct str
copy(const char *text)
{
    size_t len = strlen(text);

    return (struct str){ mem_dup(text, len), len };
}

static void
free_text(struct str *s)
{
    void *mem = (void *)(uintptr_t)s->ptr;

    mem_free(&mem);
    *s = (struct str){ NULL, 0 };
}

static void
describe(struct http_opened *o, const struct stat *st)
{
    char tag[64], date[32], head[512];
    long long modified = (long long)st->st_mtim.tv_sec * 1000000000 +
                         (long long)st->st_mtim.tv_nsec;

    snprintf(tag, sizeof(tag), "\"%llx-%llx\"", modified,
             (long long)st->st_size);
    clock_http_date(date, sizeof(date), st->st_mtim.tv_sec * 1000);
    snprintf(head, sizeof(head),
             "Content-Type: %s\r\nContent-Length: %lld\r\n"
             "Last-Modified: %s\r\nETag: %s\r\nAccept-Ranges: bytes\r\n",
             o->type, (long long)st->st_size, date, tag);
    o->tag = copy(tag);
    o->date = copy(date);
    o->head = copy(head);
}

static struct http_opened *
new_opened(int fd, const struct stat *st, struct str name)
{
    struct http_opened *o = mem_zero(sizeof(*o));

    o->holds = 1;
    o->fd = fd;
    o->size = st->st_size;
    o->modified = st->st_mtim.tv_sec;
    o->type = http_mime_type(name);
    describe(o, st);
    return o;
}

struct http_opened *
http_opened_hold(struct http_opened *o)
{
    o->holds++;
    return o;
}

void
http_opened_drop(struct http_opened *o)
{
    assert(o->holds > 0);
    if (--o->holds > 0) {
        return;
    }
    if (o->fd != -1) {
        close(o->fd);
    }
    free_text(&o->tag);
    free_text(&o->date);
    free_text(&o->head);
    free_text(&o->bytes);
    free_text(&o->gzip);
    mem_free(&o);
}

struct str
http_files_gzip(struct http_opened *o, int level)
{
    struct buf out;

    if (!o->gzip_tried && o->fd == -1) {
        o->gzip_tried = true;
        buf_init(&out, o->bytes.len + 4096);
        if (gzip_whole(o->bytes, level, &out) == 0 &&
            buf_len(&out) < o->bytes.len) {
            o->gzip = (struct str){ mem_dup((const char *)buf_data(&out),
                                            buf_len(&out)),
                                    buf_len(&out) };
        }
        buf_clear(&out);
    }
    return o->gzip.ptr != NULL ? o->gzip : STR_NONE;
}

/* ---- the table ---- */

/* Its gzip, if there will be one, is shorter than the file. */
static size_t
memory_of(const struct entry *e)
{
    return sizeof(*e) + sizeof(*e->file) + 512 + 2 * e->file->bytes.len;
}

static bool
is_open(const struct entry *e)
{
    return e->file->fd != -1;
}

static void
forget(struct http_files *f, struct entry *e)
{
    list_remove(&e->bucket);
    list_remove(&e->use);
    if (is_open(e)) {
        f->open_count--;
        all_open--;
    } else {
        f->count--;
        f->memory -= memory_of(e);
    }
    http_opened_drop(e->file);
    free_text(&e->name);
    mem_free(&e);
}

static struct list *
bucket_of(struct http_files *f, struct str name)
{
    return &f->buckets[hash_str(name) & (f->bucket_count - 1)];
}

static struct entry *
find(struct http_files *f, struct str name)
{
    LIST_EACH (node, bucket_of(f, name)) {
        struct entry *e = LIST_ITEM(node, struct entry, bucket);

        if (str_eq(e->name, name)) {
            return e;
        }
    }
    return NULL;
}

static struct entry *
last(const struct list *entries)
{
    return LIST_ITEM(entries->prev, struct entry, use);
}

static struct entry *
add_entry(struct http_files *f, struct str name, const struct entry *what)
{
    struct entry *e = mem_zero(sizeof(*e));

    *e = *what;
    e->name = (struct str){ mem_dup(name.ptr, name.len), name.len };
    list_init(&e->bucket);
    list_init(&e->use);
    list_append(bucket_of(f, name), &e->bucket);
    http_opened_hold(e->file);
    return e;
}

static void
keep(struct http_files *f, struct str name, const struct entry *what)
{
    struct entry *e = add_entry(f, name, what);

    list_prepend(&f->use, &e->use);
    f->count++;
    f->memory += memory_of(e);
    while (f->count > f->limits.entries || f->memory > f->limits.memory) {
        forget(f, last(&f->use));
    }
}

static void
use(struct http_files *f, struct entry *e)
{
    if (!is_open(e) && f->use.next != &e->use) {
        list_remove(&e->use);
        list_prepend(&f->use, &e->use);
    }
}

/* ---- reading ---- */

/* Whether nothing that tells files apart is different. */
static bool
same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Whether a file system lies in memory; asked once for those in a row. */
static bool
in_memory(struct http_files *f, int fd, dev_t device)
{
    struct statfs st;

    if (device != f->device) {
        f->device = device;
        f->in_memory = fstatfs(fd, &st) == 0 &&
                       (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC);
    }
    return f->in_memory;
}

/* Reads all of it, if that needs no waiting for the disk. */
static char *
read_all(const struct http_opened *o, size_t size)
{
    char *mem = try_alloc(size > 0 ? size : 1);
    int flags = o->in_memory ? 0 : RWF_NOWAIT;
    size_t got = 0;

    while (mem != NULL && got < size) {
        struct iovec iov = { mem + got, size - got };
        ssize_t n = preadv2(o->fd, &iov, 1, (off_t)got, flags);

        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            mem_free(&mem);
        } else {
            got += (size_t)n;
        }
    }
    return mem;
}

/* ---- open ones ---- */

static void
keep_open(struct http_files *f, struct str name, const struct entry *what)
{
    struct entry *e;

    if (f->limits.loop == NULL || f->limits.open == 0 ||
        f->limits.valid_ms == 0 || all_open == HTTP_FILES_OPEN) {
        return;
    }
    e = add_entry(f, name, what);
    list_prepend(&f->open, &e->use);
    all_open++;
    if (++f->open_count > f->limits.open) {
        forget(f, last(&f->open));
    }
    if (!timer_is_set(&f->close)) {
        timer_set(f->limits.loop, &f->close, f->limits.valid_ms);
    }
}

static void
close_all(struct http_files *f)
{
    while (!list_empty(&f->open)) {
        forget(f, last(&f->open));
    }
}

/* Those that are due, which stand last. */
static void
on_close(struct timer *t)
{
    struct http_files *f = LIST_ITEM(t, struct http_files, close);
    int64_t now = loop_now(f->limits.loop), left = 0;

    while (!list_empty(&f->open)) {
        left = last(&f->open)->checked_ms + f->limits.valid_ms - now;
        if (left > 0) {
            timer_set(f->limits.loop, t, left);
            return;
        }
        forget(f, last(&f->open));
    }
}

/* Whether its name still leads to it, and it is as it was. */
static bool
is_there(const struct http_files *f, const struct entry *e)
{
    struct stat st;

    return fstatat(f->root, e->name.ptr, &st, 0) == 0 && same(&e->st, &st);
}

/* Takes a small file into memory and into the table; if that cannot be, its
 * descriptor serves.  A larger one stays open. */
static void
take_in(struct http_files *f, struct str name, struct http_opened *o,
        const struct stat *st, int64_t now_ms)
{
    struct entry e = { .file = o, .st = *st, .checked_ms = now_ms };
    struct stat after;

    if (f->limits.entries == 0 || (uint64_t)st->st_size > f->limits.small) {
        keep_open(f, name, &e);
        return;
    }
    char *mem = read_all(o, (size_t)st->st_size);

    if (mem == NULL || fstat(o->fd, &after) == -1 || !same(st, &after)) {
        mem_free(&mem);
        return;
    }
    e.fresh = clock_wall_ms() - (int64_t)st->st_ctim.tv_sec * 1000 < FRESH_MS;
    close(o->fd);
    o->fd = -1;
    o->bytes = (struct str){ mem, (size_t)st->st_size };
    keep(f, name, &e);
}

/* ---- opening ---- */

static enum http_found
why_not(void)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EXDEV:
    case ENAMETOOLONG:
    case ENXIO:
    case ENODEV:
        return HTTP_FILE_NONE;
    case EACCES:
    case EPERM:
        return HTTP_FILE_DENIED;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
        return HTTP_FILE_BUSY;
    default:
        return HTTP_FILE_FAILED;
    }
}

/* A descriptor of a regular file, or why there is none. */
static enum http_found
open_regular(struct http_files *f, struct str name, int *fd, struct stat *st)
{
    enum http_found found = HTTP_FILE_OPEN;

    *fd = http_open_beneath(f->root, name.ptr);
    if (*fd == -1 && errno == EMFILE && f->open_count > 0) {
        close_all(f);
        *fd = http_open_beneath(f->root, name.ptr);
    }
    if (*fd == -1) {
        return why_not();
    }
    if (fstat(*fd, st) == -1) {
        found = HTTP_FILE_FAILED;
    } else if (S_ISDIR(st->st_mode)) {
        found = HTTP_FILE_DIRECTORY;
    } else if (!S_ISREG(st->st_mode)) {
        found = HTTP_FILE_NONE;
    }
    if (found != HTTP_FILE_OPEN) {
        close(*fd);
    }
    return found;
}

/* The entry of that name, which an open file's has to deserve. */
static struct entry *
find_good(struct http_files *f, struct str name, int64_t now_ms, bool *valid)
{
    struct entry *e = f->count + f->open_count > 0 ? find(f, name) : NULL;

    *valid = e != NULL && now_ms - e->checked_ms < f->limits.valid_ms;
    if (e != NULL && is_open(e) && !(*valid && is_there(f, e))) {
        forget(f, e);
        *valid = false;
        return NULL;
    }
    return e;
}

enum http_found
http_files_open(struct http_files *f, struct str name, int64_t now_ms,
                struct http_opened **out)
{
    struct stat st = { 0 };
    bool valid;
    int fd;
    struct entry *e = find_good(f, name, now_ms, &valid);

    if (valid) {
        use(f, e);
        *out = http_opened_hold(e->file);
        return HTTP_FILE_OPEN;
    }
    enum http_found found = open_regular(f, name, &fd, &st);

    if (found == HTTP_FILE_OPEN && e != NULL && !e->fresh &&
        same(&e->st, &st)) {
        close(fd);
        e->checked_ms = now_ms;
        use(f, e);
        *out = http_opened_hold(e->file);
        return HTTP_FILE_OPEN;
    }
    if (e != NULL) {
        forget(f, e);
    }
    if (found == HTTP_FILE_OPEN) {
        *out = new_opened(fd, &st, name);
        (*out)->in_memory = in_memory(f, fd, st.st_dev);
        take_in(f, name, *out, &st, now_ms);
    }
    return found;
}

/* ---- life ---- */

struct http_files *
http_files_new(int root, const struct http_files_limits *limits)
{
    struct http_files *f = mem_zero(sizeof(*f));

    f->root = root;
    f->limits = *limits;
    f->bucket_count = 1;
    while (f->bucket_count < limits->entries) {
        f->bucket_count *= 2;
    }
    f->buckets = mem_alloc(f->bucket_count * sizeof(*f->buckets));
    for (size_t i = 0; i < f->bucket_count; i++) {
        list_init(&f->buckets[i]);
    }
    list_init(&f->use);
    list_init(&f->open);
    timer_init(&f->close, on_close);
    return f;
}

void
http_files_free(struct http_files **f)
{
    LIST_EACH (node, &(*f)->use) {
        forget(*f, LIST_ITEM(node, struct entry, use));
    }
    close_all(*f);
    if ((*f)->limits.loop != NULL) {
        timer_stop((*f)->limits.loop, &(*f)->close);
    }
    close((*f)->root);
    mem_free(&(*f)->buckets);
    mem_free(f);
}

int
http_files_root(const struct http_files *f)
{
    return f->root;
}

size_t
http_files_count(const struct http_files *f)
{
    return f->count;
}

size_t
http_files_open_count(const struct http_files *f)
{
    return f->open_count;
}

size_t
http_files_memory(const struct http_files *f)
{
    return f->memory;
}
