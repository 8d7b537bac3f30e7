/*
 * Watching: any event in the folder leads to a look at the file, because
 * editors rename and mounted configurations are links.  Some file systems tell
 * nothing, so there is a look every few seconds, too.  Several writes at once
 * lead to one look.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/options_parse.h"
#include "net/sha256.h"
#include "proc/reach.h"

#define SETTLE_MS 100
#define LOOK_MS 5000

/* A state of the file: the next one differs in one of these. */
struct seen {
    bool there;
    dev_t device;
    ino_t inode;
    struct timespec modified;
    off_t size;
    uint8_t digest[DIGEST_SHA256];
};

struct options {
    struct loop *loop; /* borrowed */
    char *path;        /* owned; NULL: there is no file */
    char *folder;      /* owned */
    const char *name;  /* in path */
    void (*on_change)(void *arg);
    void *arg;
    int inotify; /* owned; -1: there is none */
    struct io io;
    struct timer settle, look;
    struct seen seen;
    struct pool *pool;           /* owned: of words */
    struct options_words *words; /* the last that were right; NULL: none */
    const char *arguments[OPTIONS_ARGUMENTS + 1];
    size_t count;
    struct options_told told;
    struct errmsg msg;
};

/* ---- reading ---- */

/* All of a file into *to, which the caller clears; *st says what was read.
 * -1 with errno. */
static int
read_all(int fd, size_t max, struct stat *st, struct buf *to)
{
    ssize_t n = 0;

    buf_init(to, max);
    if (fd == -1 || fstat(fd, st) == -1) {
        return -1;
    }
    if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size > max) {
        errno = S_ISREG(st->st_mode) ? EFBIG : EINVAL;
        return -1;
    }
    size_t size = (size_t)st->st_size;
    uint8_t *room = size == 0 ? NULL : buf_reserve(to, size);

    while (room != NULL && buf_len(to) < size &&
           (n = read(fd, room + buf_len(to), size - buf_len(to))) > 0) {
        buf_commit(to, (size_t)n);
    }
    if (room == NULL && size > 0) {
        errno = ENOMEM;
    }
    return n == -1 || (room == NULL && size > 0) ? -1 : 0;
}

static int
fail(struct options *o, int why)
{
    if (why == ENOENT) {
        return errmsg_set(&o->msg, "File \"%.200s\" not found", o->name);
    }
    if (why == EFBIG) {
        return errmsg_set(&o->msg, "File \"%.200s\" is larger than %d KB",
                          o->name, OPTIONS_FILE_MAX >> 10);
    }
    return errmsg_set(&o->msg, "File \"%.200s\" cannot be read: %s", o->name,
                      strerror(why));
}

/* Words are of use beside those for the files in the folder of a run. */
static void
keep_words(struct options *o, struct pool *pool, struct options_words *words)
{
    pool_free(&o->pool);
    o->pool = pool;
    o->words = words;
    o->count = 0;
    if (words->secret_count > 0) {
        o->arguments[o->count++] = "--config-locations=" OPTIONS_SECRETS;
    }
    memcpy(o->arguments + o->count, words->items,
           words->count * sizeof(*words->items));
    o->count += words->count;
}

/* -1 with o->msg; the last good words stay. */
static int
take(struct options *o, struct str text)
{
    struct pool *pool = pool_new(4096);
    struct options_words *words = pool_alloc(pool, sizeof(*words));

    if (engine_options_parse(pool, text, str_from(o->folder), words, &o->msg) ==
        -1) {
        pool_free(&pool);
        return -1;
    }
    o->msg.text[0] = '\0';
    keep_words(o, pool, words);
    return 0;
}

static bool
is_as_seen(const struct seen *a, const struct seen *b)
{
    return a->there == b->there && a->device == b->device &&
           a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec &&
           a->modified.tv_nsec == b->modified.tv_nsec &&
           memcmp(a->digest, b->digest, sizeof(a->digest)) == 0;
}

static void
tell(struct options *o, bool success, const struct seen *now)
{
    o->seen = *now;
    o->told.success = success;
    o->told.msg = o->msg.text;
    o->told.modified_us = now->there ? (int64_t)now->modified.tv_sec * 1000000 +
                                           now->modified.tv_nsec / 1000
                                     : -1;
    if (success) {
        log_info("downloads: engine options of %s: %zu", o->path, o->count);
    } else {
        log_warn("downloads: engine options: %s", o->msg.text);
    }
}

/* Reads it; true: it is another than before. */
static bool
read_file(struct options *o)
{
    int fd = reach_open(o->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct seen now = { .there = fd != -1 };
    struct stat st = { .st_size = 0 };
    struct buf text;
    int rc = read_all(fd, OPTIONS_FILE_MAX, &st, &text), why = errno;
    bool changed;

    now.device = st.st_dev;
    now.inode = st.st_ino;
    now.modified = st.st_mtim;
    now.size = st.st_size;
    digest_sha256(buf_data(&text), buf_len(&text), now.digest);
    changed = !is_as_seen(&o->seen, &now);
    if (changed) {
        rc = rc == -1 ? fail(o, why) : take(o, buf_str(&text));
        tell(o, rc == 0, &now);
    }
    buf_clear(&text);
    if (fd != -1) {
        close(fd);
    }
    return changed;
}

/* ---- watching ---- */

static void
look(struct options *o)
{
    timer_set(o->loop, &o->look, LOOK_MS);
    if (read_file(o)) {
        o->on_change(o->arg);
    }
}

static void
on_look(struct timer *t)
{
    look(LIST_ITEM(t, struct options, look));
}

static void
on_settled(struct timer *t)
{
    look(LIST_ITEM(t, struct options, settle));
}

static void
on_event(struct io *io, unsigned ready)
{
    struct options *o = LIST_ITEM(io, struct options, io);
    char events[4096];

    (void)ready;
    while (read(o->inotify, events, sizeof(events)) > 0) {
    }
    if (!timer_is_set(&o->settle)) {
        timer_set(o->loop, &o->settle, SETTLE_MS);
    }
}

/* Without it, the looks remain. */
static void
watch(struct options *o)
{
    const uint32_t mask = IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE |
                          IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
    char name[PATH_MAX];

    o->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (o->inotify == -1 ||
        inotify_add_watch(o->inotify, reach_name(o->folder, name), mask) ==
            -1 ||
        io_start(o->loop, &o->io, o->inotify, IO_READ, on_event) == -1) {
        log_notice("downloads: %s is not watched (%s): weir looks every %d s",
                   o->folder, strerror(errno), LOOK_MS / 1000);
    }
}

/* "" of "name", "/" of "/name": the folder without a slash at its end. */
static void
split(struct options *o, struct str path)
{
    size_t slash = path.len;

    while (slash > 0 && path.ptr[slash - 1] != '/') {
        slash--;
    }
    o->path = mem_dup(path.ptr, path.len);
    o->name = o->path + slash;
    o->folder = slash == 0 ? mem_dup(".", 1)
                           : mem_dup(path.ptr, slash == 1 ? 1 : slash - 1);
}

struct options *
options_new(struct loop *l, struct str path, void (*on_change)(void *arg),
            void *arg)
{
    struct options *o = mem_zero(sizeof(*o));

    o->loop = l;
    o->on_change = on_change;
    o->arg = arg;
    o->inotify = -1;
    io_init(&o->io);
    timer_init(&o->settle, on_settled);
    timer_init(&o->look, on_look);
    if (path.len > 0) {
        split(o, path);
        watch(o);
        o->seen.size = -1; /* which no file has: the first look is told */
        read_file(o);
        timer_set(l, &o->look, LOOK_MS);
    }
    return o;
}

void
options_free(struct options **o)
{
    if (*o == NULL) {
        return;
    }
    timer_stop((*o)->loop, &(*o)->settle);
    timer_stop((*o)->loop, &(*o)->look);
    io_stop((*o)->loop, &(*o)->io);
    if ((*o)->inotify != -1) {
        close((*o)->inotify);
    }
    pool_free(&(*o)->pool);
    mem_free(&(*o)->path);
    mem_free(&(*o)->folder);
    mem_free(o);
}

/* ---- for a run ---- */

const char *const *
options_arguments(const struct options *o, size_t *count)
{
    *count = o->count;
    return o->arguments;
}

bool
options_last(const struct options *o, struct options_told *out)
{
    *out = o->told;
    return o->path != NULL;
}

bool
options_made(struct str name)
{
    return str_eq(name, STR(OPTIONS_SECRETS)) ||
           str_eq(name, STR(OPTIONS_COOKIES));
}

/* A new file of that name, whatever stands there. */
static int
make_file(int folder, const char *name, struct str text, struct errmsg *err)
{
    int fd;

    unlinkat(folder, name, 0);
    fd = openat(folder, name,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    /* Programs may have another user; nobody else comes into the folder. */
    if (fd == -1 || fchmod(fd, 0666) == -1 ||
        write(fd, text.ptr, text.len) != (ssize_t)text.len) {
        errmsg_sys(err, "the engine's options cannot be written");
        if (fd != -1) {
            close(fd);
        }
        return -1;
    }
    close(fd);
    return 0;
}

/* In the quotes of a shell. */
static void
add_quoted(struct buf *to, const char *word)
{
    buf_add(to, "'", 1);
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            buf_add(to, "'\\''", 4);
        } else {
            buf_add(to, word, 1);
        }
    }
    buf_add(to, "'\n", 2);
}

static int
place_secrets(const struct options_words *w, int folder, struct errmsg *err)
{
    struct buf text;
    int rc;

    buf_init(&text, (size_t)8 << 20);
    for (size_t i = 0; i < w->secret_count; i++) {
        add_quoted(&text, w->secrets[i]);
    }
    rc = make_file(folder, OPTIONS_SECRETS, buf_str(&text), err);
    buf_clear(&text);
    return rc;
}

/* Beneath the folder of the options, links included. */
static int
open_cookies(const struct options *o)
{
    const struct open_how how = {
        .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    int folder = reach_open(o->folder, O_RDONLY | O_DIRECTORY);
    int fd = folder == -1
                 ? -1
                 : (int)syscall(SYS_openat2, folder, o->words->cookies.ptr,
                                &how, sizeof(how));

    if (folder != -1) {
        int why = errno;

        close(folder);
        errno = why;
    }
    return fd;
}

static int
place_cookies(const struct options *o, int folder, struct errmsg *err)
{
    int fd = open_cookies(o), rc;
    struct stat st;
    struct buf text;

    rc = read_all(fd, OPTIONS_COOKIES_MAX, &st, &text);
    if (rc == -1) {
        errmsg_sys(err, "the file of cookies \"%.200s\"",
                   o->words->cookies.ptr);
    } else {
        rc = make_file(folder, OPTIONS_COOKIES, buf_str(&text), err);
    }
    buf_clear(&text);
    if (fd != -1) {
        close(fd);
    }
    return rc;
}

int
options_place(const struct options *o, int folder, struct errmsg *err)
{
    const struct options_words *w = o->words;

    if (w == NULL) {
        return 0;
    }
    if (w->secret_count > 0 && place_secrets(w, folder, err) == -1) {
        return -1;
    }
    return w->cookies.len > 0 ? place_cookies(o, folder, err) : 0;
}
