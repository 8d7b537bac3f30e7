/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errmsg.h"
#include "conf/value.h"

#define SHOWN_MAX 160    /* bytes of a name or path in a message */
#define SOURCES_MAX 4096 /* bytes that tell where a text came from */

static const struct str env_begin = { "${env:", 6 };
static const struct str file_begin = { "${file:", 7 };

static int
refuse(struct expansion *e, const struct errmsg *err)
{
    e->mistake(e->arg, err->text);
    return -1;
}

static int
put(struct expansion *e, struct str s, struct errmsg *err)
{
    if (s.len > e->room) {
        return errmsg_set(err, "more than %d bytes are put in for ${...}",
                          EXPAND_ALL_MAX);
    }
    e->room -= s.len;
    buf_add_str(&e->text, s);
    return 0;
}

/* ---- variables ---- */

static bool
is_variable(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && !(i > 0 && c >= '0' && c <= '9')) {
            return false;
        }
    }
    return s.len > 0;
}

/* NULL: it is not set. */
static const char *
value_of(struct str name)
{
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        struct str entry = str_from(*e);

        if (str_starts(entry, name) && entry.len > name.len &&
            entry.ptr[name.len] == '=') {
            return entry.ptr + name.len + 1;
        }
    }
    return NULL;
}

/* The name of a variable that is set and nearest; false: none is
 * near, which is less than for keys: there are names of all kinds. */
static bool
nearest(struct str wanted, char *dst, size_t size)
{
    struct near_name near;
    char name[64];
    bool found = false;

    near_start(&near, str_first(wanted, sizeof(name)));
    near.distance = wanted.len / 4 + 1;
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        struct str entry = str_from(*e);

        near.best = NULL;
        str_copy(name, sizeof(name), str_first(entry, str_find(entry, '=', 0)));
        near_try(&near, name);
        if (near.best != NULL) {
            str_copy(dst, size, str_from(name));
            found = true;
        }
    }
    return found;
}

static int
say_unset(struct str name, struct errmsg *err)
{
    char shown[SHOWN_MAX], near[64];

    str_escape(shown, sizeof(shown), name);
    errmsg_set(err, "${env:%s}: there is no such variable in the environment",
               shown);
    if (nearest(name, near, sizeof(near))) {
        struct errmsg first = *err;

        return errmsg_set(err, "%s; did you mean \"%s\"?", first.text, near);
    }
    struct errmsg first = *err;

    return errmsg_set(err, "%s: set it, or write a default, ${env:%s:-DEFAULT}",
                      first.text, shown);
}

/* inner stands between "${env:" and "}". */
static int
put_variable(struct expansion *e, struct str inner, struct errmsg *err)
{
    size_t colon = str_find(inner, ':', 0);
    struct str name = str_first(inner, colon);
    bool has_default = str_starts(str_skip(inner, colon), STR(":-"));
    const char *value;

    if (!is_variable(name) || (colon < inner.len && !has_default)) {
        return errmsg_set(err, "${env:...} takes the name of a variable, of "
                               "letters, digits and \"_\", and a default "
                               "behind \":-\"");
    }
    value = value_of(name);
    if (has_default && (value == NULL || *value == '\0')) {
        return put(e, str_skip(inner, colon + 2), err);
    }
    if (value == NULL) {
        return say_unset(name, err);
    }
    return put(e, str_from(value), err);
}

/* ---- files ---- */

static int
check_file(const struct expansion *e, const struct stat *st, struct errmsg *err)
{
    if (!S_ISREG(st->st_mode)) {
        return errmsg_set(err, "it is not a file");
    }
    if (e->secret && (st->st_mode & (S_IROTH | S_IWOTH)) != 0) {
        return errmsg_set(err, "everybody can read or write it, and this is a "
                               "secret: chmod o= it");
    }
    return 0;
}

/* Reads to the end, into size bytes; -1: there is more, or it cannot. */
static int
read_all(int fd, char *dst, size_t size, size_t *len, struct errmsg *err)
{
    *len = 0;
    while (*len < size) {
        ssize_t n = read(fd, dst + *len, size - *len);

        if (n == 0) {
            return 0;
        }
        if (n == -1 && errno != EINTR) {
            return errmsg_sys(err, "cannot read");
        }
        *len += n > 0 ? (size_t)n : 0;
    }
    return errmsg_set(err, "it is larger than %d bytes", EXPAND_FILE_MAX);
}

static int
put_content(struct expansion *e, int fd, struct errmsg *err)
{
    char content[EXPAND_FILE_MAX + 1];
    size_t len;
    int rc = read_all(fd, content, sizeof(content), &len, err);

    if (rc == 0 && memchr(content, '\0', len) != NULL) {
        rc = errmsg_set(err, "it has a NUL byte");
    }
    if (rc == 0) {
        len -= len > 0 && content[len - 1] == '\n';
        rc = put(e, str_of(content, len), err);
    }
    explicit_bzero(content, sizeof(content));
    return rc;
}

static int
put_file_at(struct expansion *e, const char *path, struct errmsg *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    int rc = -1;

    if (fd == -1 || fstat(fd, &st) == -1) {
        errmsg_sys(err, "cannot open");
    } else if (check_file(e, &st, err) == 0) {
        rc = put_content(e, fd, err);
    }
    if (fd != -1) {
        close(fd);
    }
    return rc;
}

/* path stands between "${file:" and "}". */
static int
put_file(struct expansion *e, struct str path, struct errmsg *err)
{
    char name[4096], shown[SHOWN_MAX];

    if (path.len == 0 || path.len >= sizeof(name)) {
        return errmsg_set(err, "${file:...} takes the path of a file");
    }
    str_copy(name, sizeof(name), path);
    if (put_file_at(e, name, err) == -1) {
        str_escape(shown, sizeof(shown), path);
        return errmsg_prefix(err, "${file:%s}: ", shown);
    }
    return 0;
}

/* ---- texts ---- */

/* Notes that "${...}" was put in; a default may be a secret. */
static void
note_source(struct expansion *e, struct str whole)
{
    size_t cut = str_find(whole, ':', env_begin.len);
    bool hidden = e->secret && str_starts(whole, env_begin) && cut < whole.len;
    char shown[1024];

    str_escape(shown, sizeof(shown), hidden ? str_first(whole, cut) : whole);
    buf_printf(&e->sources, "%s%s%s", buf_len(&e->sources) > 0 ? ", " : "",
               shown, hidden ? ":-***}" : "");
}

/* One "${env:" or "${file:" at the begin of *rest, which is taken off. */
static int
put_one(struct expansion *e, struct str *rest)
{
    bool is_file = str_starts(*rest, file_begin);
    size_t begin = is_file ? file_begin.len : env_begin.len;
    size_t end = str_find(*rest, '}', begin);
    struct str whole = str_first(*rest, end + 1);
    struct str inner = str_skip(str_first(*rest, end), begin);
    struct errmsg err;
    int rc;

    *rest = str_skip(*rest, end + 1);
    if (whole.len == end) {
        errmsg_set(&err, "a \"%s\" has no \"}\"",
                   is_file ? file_begin.ptr : env_begin.ptr);
        return refuse(e, &err);
    }
    rc = is_file ? put_file(e, inner, &err) : put_variable(e, inner, &err);
    if (rc == -1) {
        return refuse(e, &err);
    }
    note_source(e, whole);
    return 0;
}

/* How much of rest begins with dollars that mean a dollar; what they come to
 * in *out. */
static size_t
literal(const struct expansion *e, struct str rest, struct str *out)
{
    if (e->dollars && str_starts(rest, STR("$$"))) {
        *out = STR("$$");
        return 2;
    }
    if (!e->dollars && str_starts(rest, STR("$${"))) {
        *out = STR("${");
        return 3;
    }
    *out = str_first(rest, 1);
    return 1;
}

int
expand(struct expansion *e, struct str text)
{
    int rc = 0;

    buf_init(&e->text, text.len + e->room);
    buf_init(&e->sources, SOURCES_MAX);
    while (text.len > 0) {
        size_t dollar = str_find(text, '$', 0);
        struct str plain;

        buf_add_str(&e->text, str_first(text, dollar));
        text = str_skip(text, dollar);
        if (str_starts(text, env_begin) || str_starts(text, file_begin)) {
            rc = put_one(e, &text) == -1 ? -1 : rc;
        } else if (text.len > 0) {
            text = str_skip(text, literal(e, text, &plain));
            buf_add_str(&e->text, plain);
        }
    }
    return rc;
}

void
expand_clear(struct expansion *e)
{
    if (e->secret && e->text.mem != NULL) {
        explicit_bzero(e->text.mem, e->text.size);
    }
    buf_clear(&e->text);
    buf_clear(&e->sources);
}

void
expand_escape(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        struct str rest = str_skip(s, i);
        bool meant =
            str_starts(rest, env_begin) || str_starts(rest, file_begin) ||
            (i > 0 && s.ptr[i - 1] == '$' && str_starts(rest, STR("${")));

        buf_add(out, meant ? "$$" : rest.ptr, meant ? 2 : 1);
    }
}
