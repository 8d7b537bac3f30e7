/*
 * Reading configuration files: files, includes, mistakes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/source.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errmsg.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/others.h"

#define BYTES_MAX (4 * 1024 * 1024) /* of all files */
#define FILES_MAX 1000
#define READ_SIZE (16 * 1024)
#define PIPE_WAIT_MS 1000 /* for the next bytes of what is no file */
#define INCLUDE_DEPTH 10

void
source_init(struct source *s, struct pool *keep)
{
    *s = (struct source){ .keep = keep };
    s->pool = pool_new(4096);
    source_add(s, &(struct token){ .line = 1 });
}

void
source_clear(struct source *s)
{
    mem_free(&s->files);
    mem_free(&s->tokens);
    mem_free(&s->mistakes);
    pool_free(&s->pool);
}

/* Room for one more item at the end of an array. */
static void *
make_room(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return items;
    }
    *room = *room > 0 ? *room * 2 : 64;
    return mem_resize(items, *room * size);
}

size_t
source_add(struct source *s, const struct token *t)
{
    s->tokens = make_room(s->tokens, s->count, &s->room, sizeof(*t));
    s->tokens[s->count] = *t;
    return s->count++;
}

struct str
source_text(const struct source *s, size_t token)
{
    const struct token *t = &s->tokens[token];

    if (t->len == 0) {
        return STR_NONE;
    }
    return str_first(str_skip(s->files[t->file].text, t->start), t->len);
}

struct str
source_line(const struct source *s, size_t token)
{
    const struct token *t = &s->tokens[token];
    struct str text;
    size_t from = t->start;

    if (t->len == 0) {
        return STR_NONE;
    }
    text = s->files[t->file].text;
    while (from > 0 && text.ptr[from - 1] != '\n') {
        from--;
    }
    text = str_skip(text, from);
    return str_trim(str_first(text, str_find(text, '\n', 0)));
}

void
source_show(char *dst, size_t size, struct str s)
{
    size_t len = 0;

    while (s.len > 0) {
        size_t n = utf8_char(s);
        bool shown =
            n > 0 && (unsigned char)s.ptr[0] >= ' ' && s.ptr[0] != 0x7f;

        n = n > 0 ? n : 1;
        if (size - len <= n) {
            break;
        }
        memcpy(dst + len, shown ? s.ptr : "?", shown ? n : 1);
        len += shown ? n : 1;
        s = str_skip(s, n);
    }
    dst[len] = '\0';
}

void
source_render(const struct source *s, bool strings, struct buf *out)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];

        if (t->twice) { /* a name of its own, so that parsing goes on */
            buf_printf(out, "*%zu", i);
        } else if (t->joined || t->is_include) {
            /* nothing, but a line of its own */
        } else if (t->bad != NULL || (t->is_string && !strings)) {
            buf_add_str(out, t->is_string && strings ? STR("\"\"") : STR("0"));
        } else {
            buf_add_str(out, source_text(s, i));
        }
        buf_add_str(out, STR("\n"));
    }
}

static void
note(struct source *s, size_t at, const char *text)
{
    s->mistakes = make_room(s->mistakes, s->mistake_count, &s->mistake_room,
                            sizeof(*s->mistakes));
    s->mistakes[s->mistake_count] =
        (struct mistake){ at, s->mistake_count, text };
    s->mistake_count++;
}

void
source_say(struct source *s, size_t at, const char *format, ...)
{
    const struct token *t = &s->tokens[at];
    struct buf text;
    va_list args;

    buf_init(&text, 64 * 1024);
    buf_printf(&text, "%s:%u: ", s->files[t->file].path, t->line);
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    note(s, at, pool_cstr(s->pool, buf_str(&text)));
    buf_clear(&text);
}

static int
by_position(const void *left, const void *right)
{
    const struct mistake *a = left, *b = right;

    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

void
source_break(struct source *s)
{
    s->broken = true;
    s->fatal = s->mistakes[s->mistake_count - 1].at;
}

/* Does the file that cannot be parsed look like one of another server?  Then
 * tells whose. */
static bool
tell_whose(const struct source *s, struct buf *out)
{
    const struct token *t = &s->tokens[s->fatal];
    const struct other_server *server =
        s->broken && s->file_count > 0 ? others_guess(s->files[t->file].text)
                                       : NULL;

    if (server != NULL) {
        buf_printf(out,
                   "%s:%u: this looks like a configuration of %s; docs/%s "
                   "puts some beside those of weir\n",
                   s->files[t->file].path, t->line, server->name, server->page);
    }
    return server != NULL;
}

char *
source_report(struct source *s)
{
    struct buf all;
    char *text;
    bool others;

    if (s->mistake_count == 0) {
        return NULL;
    }
    qsort(s->mistakes, s->mistake_count, sizeof(*s->mistakes), by_position);
    buf_init(&all, SIZE_MAX / 2);
    others = tell_whose(s, &all);
    for (size_t i = 0; i < s->mistake_count; i++) {
        if (!others || s->mistakes[i].at == s->fatal) {
            buf_printf(&all, "%s\n", s->mistakes[i].text);
        }
    }
    text = mem_dup((const char *)buf_data(&all), buf_len(&all));
    buf_clear(&all);
    return text;
}

/* A reload must not wait for ever for the writer of a pipe. */
static int
wait_for_bytes(int fd, struct errmsg *err)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    if (poll(&p, 1, PIPE_WAIT_MS) == 0) {
        return errmsg_set(err, "cannot read: it is no file, and nothing "
                               "comes from it");
    }
    return 0;
}

static int
read_all(int fd, struct buf *out, struct errmsg *err)
{
    for (;;) {
        uint8_t *to = buf_reserve(out, READ_SIZE);
        ssize_t n;

        if (to == NULL) {
            return errmsg_set(err, "the configuration is larger than %d MB",
                              BYTES_MAX >> 20);
        }
        n = read(fd, to, READ_SIZE);
        if (n == 0) {
            return 0;
        }
        if (n == -1 && errno == EAGAIN) {
            if (wait_for_bytes(fd, err) == -1) {
                return -1;
            }
        } else if (n == -1 && errno != EINTR) {
            return errmsg_sys(err, "cannot read");
        }
        buf_commit(out, n > 0 ? (size_t)n : 0);
    }
}

/* ---- the file that is none ---- */

static struct {
    const char *name;
    char *text; /* owned; NULL: there is none */
} builtin;

void
conf_builtin(const char *name, struct str text)
{
    mem_free(&builtin.text);
    builtin.name = name;
    builtin.text = text.len > 0 ? mem_dup(text.ptr, text.len) : NULL;
}

static bool
load_builtin(struct source *s, struct source_file *f)
{
    if (builtin.text == NULL || strcmp(f->path, builtin.name) != 0) {
        return false;
    }
    f->text = pool_str(s->pool, str_from(builtin.text));
    s->bytes += f->text.len;
    return true;
}

/* ---- files ---- */

/* Reads a file into the pool. */
static int
load(struct source *s, struct source_file *f, struct errmsg *err)
{
    struct buf content;
    struct stat st;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result;

    if (fd == -1 || fstat(fd, &st) == -1) {
        errmsg_sys(err, "cannot open");
        if (fd != -1) {
            close(fd);
        }
        return -1;
    }
    f->device = st.st_dev;
    f->inode = st.st_ino;
    buf_init(&content, BYTES_MAX + READ_SIZE - s->bytes);
    result = read_all(fd, &content, err);
    close(fd);
    if (result == 0 && S_ISFIFO(st.st_mode) && buf_len(&content) == 0) {
        result = errmsg_set(err, "cannot read: it is a pipe that nobody "
                                 "writes to");
    }
    if (result == 0) {
        f->text = pool_str(s->pool, buf_str(&content));
        s->bytes += f->text.len;
    }
    buf_clear(&content);
    return result;
}

/* Is f one of the files that brought it here?  Counts these. */
static bool
includes_itself(const struct source *s, const struct source_file *f,
                unsigned *depth)
{
    uint32_t i = f->parent;

    for (*depth = 1;; ++*depth) {
        const struct source_file *up = &s->files[i];

        if (up->device == f->device && up->inode == f->inode) {
            return true;
        }
        if (up->parent == i) {
            return false;
        }
        i = up->parent;
    }
}

static void
add_file(struct source *s, const struct source_file *f)
{
    s->files =
        make_room(s->files, s->file_count, &s->file_room, sizeof(*s->files));
    s->files[s->file_count++] = *f;
}

void
source_read(struct source *s, const char *path)
{
    struct source_file f = { .path = pool_cstr(s->keep, str_from(path)) };
    struct errmsg err;

    s->broken = true;
    if (!load_builtin(s, &f) && load(s, &f, &err) == -1) {
        note(s, 0, pool_printf(s->pool, "%s: %s", path, err.text).ptr);
        return;
    }
    s->broken = false;
    add_file(s, &f);
    if (source_lex(s, 0) == -1) {
        source_break(s);
    }
    if (!s->broken && s->depth > 0) {
        size_t at = s->open[s->depth - 1];

        source_say(s, at, "this \"%.*s\" is never closed",
                   STR_ARGS(source_text(s, at)));
        source_break(s);
    }
    if (!s->broken && s->count == 1) { /* the root */
        source_say(s, 0, "there is no setting in this file");
        s->broken = true;
    }
}

/* Where the name of an included file stands on: the folder of the file that
 * includes it. */
static struct str
folder_of(const struct source *s, struct str name, uint32_t from)
{
    struct str path = str_from(s->files[from].path);

    while (path.len > 0 && path.ptr[path.len - 1] != '/') {
        path.len--;
    }
    return str_starts(name, STR("/")) ? STR_NONE : path;
}

/* Reads an included file; why not in err. */
static int
read_included(struct source *s, struct source_file *f, struct errmsg *err)
{
    unsigned depth;

    if (s->file_count >= FILES_MAX) {
        return errmsg_set(err, "more than %d files are included", FILES_MAX);
    }
    if (load(s, f, err) == -1) {
        return -1;
    }
    if (includes_itself(s, f, &depth)) {
        return errmsg_set(err, "it would include itself");
    }
    if (depth > INCLUDE_DEPTH) {
        return errmsg_set(err, "includes are more than %d deep", INCLUDE_DEPTH);
    }
    add_file(s, f);
    return 0;
}

static int
include_one(struct source *s, const char *path, size_t at)
{
    struct source_file f = { .path = path, .parent = s->tokens[at].file };
    struct errmsg err;

    if (read_included(s, &f, &err) == -1) {
        source_say(s, at, "cannot include \"%s\": %s", f.path, err.text);
        s->broken = true;
        return s->file_count < FILES_MAX ? 0 : -1;
    }
    return source_lex(s, (uint32_t)(s->file_count - 1));
}

/* ---- patterns ---- */

static bool
is_pattern_char(char c)
{
    return c == '*' || c == '?' || c == '[';
}

static bool
is_pattern(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (is_pattern_char(name.ptr[i])) {
            return true;
        }
    }
    return false;
}

/* For glob(), to which the folder is not to be a pattern. */
static const char *
pattern_of(const struct source *s, struct str folder, struct str name)
{
    struct buf text;
    const char *pattern;

    buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < folder.len; i++) {
        if (is_pattern_char(folder.ptr[i]) || folder.ptr[i] == '\\') {
            buf_add(&text, "\\", 1);
        }
        buf_add(&text, &folder.ptr[i], 1);
    }
    buf_add_str(&text, name);
    pattern = pool_cstr(s->pool, buf_str(&text));
    buf_clear(&text);
    return pattern;
}

/* A folder that is not there has no files; one that is closed may have some. */
static int
on_unreadable(const char *path, int error)
{
    (void)path;
    return error != ENOENT && error != ENOTDIR;
}

/* Every file that the pattern fits, by name; there may be none.  Names that
 * begin with a dot are not meant by "*". */
static int
include_all(struct source *s, struct str folder, struct str name, size_t at)
{
    glob_t found = { .gl_pathc = 0 };
    int rc = glob(pattern_of(s, folder, name), 0, on_unreadable, &found);

    if (rc != 0 && rc != GLOB_NOMATCH) {
        source_say(s, at,
                   "cannot include \"%.*s%.*s\": a folder of it cannot be "
                   "read",
                   STR_ARGS(folder), STR_ARGS(name));
        s->broken = true;
    }
    rc = 0;
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) {
        rc =
            include_one(s, pool_cstr(s->keep, str_from(found.gl_pathv[i])), at);
    }
    globfree(&found);
    return rc;
}

int
source_include(struct source *s, struct str name, size_t at)
{
    struct str folder = folder_of(s, name, s->tokens[at].file);

    if (is_pattern(name)) {
        return include_all(s, folder, name, at);
    }
    return include_one(
        s,
        pool_printf(s->keep, "%.*s%.*s", STR_ARGS(folder), STR_ARGS(name)).ptr,
        at);
}
