/*
 * Media types of files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "types.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/http.h"
#include "proc/reach.h"

#define WORD_MAX 255 /* bytes of a type or an ending */

struct entry {
    struct str ending, type;
    size_t order; /* of two, the later one counts */
};

struct types {
    struct types_rules rules;
    struct buf bytes;      /* of the file */
    struct entry *entries; /* owned; sorted */
    size_t count, room;
};

/* ---- words ---- */

/* "text/html", and parameters without spaces. */
static bool
is_type(struct str word)
{
    size_t slash = str_find(word, '/', 0);

    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];

        if (c <= ' ' || c >= 0x7f || c == '{' || c == '}' || c == ',') {
            return false;
        }
    }
    return slash > 0 && slash + 1 < word.len && word.len <= WORD_MAX;
}

static bool
is_ending(struct str word)
{
    struct str signs = STR("/;{}#");

    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];

        if (c <= ' ' || c >= 0x7f || str_find(signs, (char)c, 0) < signs.len) {
            return false;
        }
    }
    return word.len > 0 && word.len <= WORD_MAX;
}

static int
add(struct types *t, struct str type, struct str ending, struct errmsg *err)
{
    if (str_starts(ending, STR("."))) {
        ending = str_skip(ending, 1);
    }
    if (!is_ending(ending)) {
        return errmsg_set(err, "\"%.*s\" is no ending of a name",
                          STR_ARGS(str_first(ending, 40)));
    }
    if (t->count == TYPES_MAX) {
        return errmsg_set(err, "has more than %d endings", TYPES_MAX);
    }
    if (t->count == t->room) {
        t->room = 2 * t->room + 16;
        t->entries = mem_resize(t->entries, t->room * sizeof(*t->entries));
    }
    t->entries[t->count] = (struct entry){ ending, type, t->count };
    t->count++;
    return 0;
}

/* Cuts the next word off; empty: there is none. */
static struct str
next_word(struct str *rest)
{
    size_t n = 0;

    *rest = str_trim(*rest);
    while (n < rest->len && rest->ptr[n] != ' ' && rest->ptr[n] != '\t') {
        n++;
    }
    struct str word = str_first(*rest, n);

    *rest = str_trim(str_skip(*rest, n));
    return word;
}

/* "TYPE ENDING..."; endings: there must be some. */
static int
add_line(struct types *t, struct str line, bool endings, struct errmsg *err)
{
    struct str type = next_word(&line);

    if (!is_type(type)) {
        return errmsg_set(err, "\"%.*s\" is no media type",
                          STR_ARGS(str_first(type, 40)));
    }
    if (endings && line.len == 0) {
        return errmsg_set(err, "no ending of names stands behind \"%.*s\"",
                          STR_ARGS(type));
    }
    while (line.len > 0) {
        if (add(t, type, next_word(&line), err) == -1) {
            return -1;
        }
    }
    return 0;
}

/* ---- files ---- */

struct reader {
    struct str rest;
    int line;
    bool nginx; /* entries end with ';' and may go over lines */
};

static bool
ends_word(char c)
{
    struct str signs = STR(" \t\r\n;{}#");

    return str_find(signs, c, 0) < signs.len;
}

/* The next word or sign of nginx's form, comments left out. */
static struct str
next_token(struct reader *r)
{
    size_t n = 0;

    while (r->rest.len > 0) {
        char c = r->rest.ptr[0];

        if (c == '#') {
            r->rest = str_skip(r->rest, str_find(r->rest, '\n', 0));
            continue;
        }
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            break;
        }
        r->line += c == '\n';
        r->rest = str_skip(r->rest, 1);
    }
    while (n < r->rest.len && !ends_word(r->rest.ptr[n])) {
        n++;
    }
    n = n == 0 && r->rest.len > 0 ? 1 : n; /* a sign */
    struct str token = str_first(r->rest, n);

    r->rest = str_skip(r->rest, n);
    return token;
}

/* "text/html html htm;" behind its type. */
static int
read_endings(struct types *t, struct reader *r, struct str type,
             struct errmsg *err)
{
    for (;;) {
        struct str word = next_token(r);

        if (str_eq(word, STR(";"))) {
            return 0;
        }
        if (word.len == 0) {
            return errmsg_set(err, "';' is missing");
        }
        if (add(t, type, word, err) == -1) {
            return -1;
        }
    }
}

static int
read_nginx(struct types *t, struct reader *r, struct errmsg *err)
{
    struct str type;

    while (!str_eq(type = next_token(r), STR("}"))) {
        if (!is_type(type)) {
            return type.len == 0 ? errmsg_set(err, "'}' is missing")
                                 : errmsg_set(err, "\"%.*s\" is no media type",
                                              STR_ARGS(str_first(type, 40)));
        }
        if (read_endings(t, r, type, err) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
read_apache(struct types *t, struct reader *r, struct errmsg *err)
{
    while (r->rest.len > 0) {
        struct str line = str_cut(&r->rest, '\n');

        line = str_trim_space(str_cut(&line, '#'));
        if (line.len > 0 && add_line(t, line, false, err) == -1) {
            return -1;
        }
        r->line++;
    }
    return 0;
}

int
types_read(struct types *t, struct str name, struct str bytes,
           struct errmsg *err)
{
    struct reader r = { bytes, 1, false }, look = r;
    int result;

    r.nginx = str_eq(next_token(&look), STR("types")) &&
              str_eq(next_token(&look), STR("{"));
    if (r.nginx) {
        r = look;
        result = read_nginx(t, &r, err);
    } else {
        result = read_apache(t, &r, err);
    }
    return result == 0
               ? 0
               : errmsg_prefix(err, "%.*s:%d: ", STR_ARGS(name), r.line);
}

static int
load(struct types *t, struct errmsg *err)
{
    struct str name = t->rules.file;
    int fd = reach_open(name.ptr, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    uint8_t *to = NULL;
    ssize_t n = -1;

    if (fd == -1) {
        return errmsg_sys(err, "types_file %.*s", STR_ARGS(name));
    }
    buf_init(&t->bytes, TYPES_FILE_MAX + 1);
    while ((to = buf_reserve(&t->bytes, buf_room(&t->bytes))) != NULL &&
           (n = read(fd, to, buf_room(&t->bytes))) > 0) {
        buf_commit(&t->bytes, (size_t)n);
    }
    if (n == -1) {
        errmsg_sys(err, "types_file %.*s", STR_ARGS(name));
    }
    close(fd);
    if (n == -1) {
        return -1;
    }
    if (buf_len(&t->bytes) > TYPES_FILE_MAX) {
        return errmsg_set(err, "types_file %.*s has more than %d bytes",
                          STR_ARGS(name), TYPES_FILE_MAX);
    }
    return types_read(t, name, buf_str(&t->bytes), err);
}

/* ---- all of them ---- */

/* By endings, the later of two first. */
static int
by_ending(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = str_compare_nocase(x->ending, y->ending);

    return order != 0 ? order : x->order > y->order ? -1 : 1;
}

struct types *
types_new(const struct types_rules *rules, struct errmsg *err)
{
    struct types *t = mem_zero(sizeof(*t));

    t->rules = *rules;
    buf_init(&t->bytes, 0);
    int result = rules->file.len > 0 ? load(t, err) : 0;

    for (size_t i = 0; i < rules->own->count && result == 0; i++) {
        result = add_line(t, rules->own->items[i], true, err);
    }
    if (result == -1) {
        types_free(&t);
        return NULL;
    }
    if (t->count > 0) {
        qsort(t->entries, t->count, sizeof(*t->entries), by_ending);
    }
    return t;
}

void
types_free(struct types **t)
{
    if (*t != NULL) {
        buf_clear(&(*t)->bytes);
        mem_free(&(*t)->entries);
        mem_free(t);
    }
}

int
types_check(struct str value, struct errmsg *err)
{
    struct conf_strings one = { &value, 1 };
    const struct types_rules rules = { .own = &one };
    struct types *t = types_new(&rules, err);
    int result = t == NULL ? -1 : 0;

    types_free(&t);
    return result;
}

/* ---- looking up ---- */

/* STR_NONE: it is not among them. */
static struct str
find(const struct types *t, struct str ending)
{
    size_t low = 0, high = t->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (str_compare_nocase(t->entries[middle].ending, ending) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < t->count && ending.len > 0 &&
                   str_compare_nocase(t->entries[low].ending, ending) == 0
               ? t->entries[low].type
               : STR_NONE;
}

static bool
is_text(struct str type)
{
    return str_eq_nocase(str_first(type, 5), STR("text/")) ||
           str_eq_nocase(type, STR("application/javascript"));
}

/* "tar.gz" before "gz". */
static struct str
find_longest(const struct types *t, struct str name)
{
    struct str type = STR_NONE;

    while (str_find(name, '/', 0) < name.len) {
        str_cut(&name, '/');
    }
    while (type.len == 0 && name.len > 0) {
        str_cut(&name, '.');
        type = find(t, name);
    }
    return type;
}

const char *
types_find(const struct types *t, struct pool *pool, struct str name)
{
    struct str type = find_longest(t, name);
    const char *own =
        type.len == 0 ? http_mime_known(http_name_ending(name)) : NULL;

    if (own != NULL) {
        struct str all = str_from(own);

        type = str_cut(&all, ';'); /* its charset is that of the setting */
    } else if (type.len == 0) {
        type = t->rules.fallback;
    }
    if (t->rules.charset.len > 0 && is_text(type)) {
        return pool_join(pool, STRS(type, STR("; charset="), t->rules.charset))
            .ptr;
    }
    return pool_cstr(pool, type);
}
