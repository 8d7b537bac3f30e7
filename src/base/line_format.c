/*
 * Compiling and writing lines of access logs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/line_format.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define NEAR 3 /* edits that still count as a slip */
#define JSON_PREFIX "json:"

struct part {
    struct part *next;
    struct str text; /* in front of the variable; JSON: the member's name */
    const struct line_variable *variable; /* NULL: the end of the format */
    struct str rest;                      /* of a name that ends in '_' */
};

struct line_format {
    struct part *parts; /* in the pool */
    bool json;
};

/* ---- compiling ---- */

static bool
is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static const struct line_variable *
find(const struct line_variable *table, struct str name, struct str *rest)
{
    for (; table->name != NULL; table++) {
        struct str known = str_from(table->name);

        bool takes_rest = str_ends(known, STR("_"));

        *rest = STR_NONE;
        if (known.len == 0) {
            *rest = name;
            return table;
        }
        if (!takes_rest && str_eq(known, name)) {
            return table;
        }
        if (takes_rest && name.len > known.len && str_starts(name, known)) {
            *rest = str_skip(name, known.len);
            return table;
        }
    }
    return NULL;
}

/* Each once, behind the message that is there. */
static void
add_names(const struct line_variable *table, struct errmsg *err)
{
    struct errmsg names = { "" };
    size_t n = 0;

    for (const struct line_variable *v = table; v->name != NULL; v++) {
        struct str rest, name = str_from(v->name);
        bool all = str_ends(name, STR("_"));

        if (name.len > 0 && (all || find(table, name, &rest) == v)) {
            n += (size_t)snprintf(names.text + n, sizeof(names.text) - n,
                                  "%s$%s%s", n > 0 ? ", " : "", v->name,
                                  all ? "NAME" : "");
            n = n < sizeof(names.text) ? n : sizeof(names.text) - 1;
        }
    }
    n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, "; there are %s",
             names.text);
}

static int
unknown(const struct line_variable *table, struct str name, struct errmsg *err)
{
    const char *nearest = NULL;
    size_t best = NEAR + 1;

    for (const struct line_variable *v = table; v->name != NULL; v++) {
        size_t d = str_distance(name, str_from(v->name), NEAR);

        if (d < best) {
            best = d;
            nearest = v->name;
        }
    }
    if (nearest == NULL) {
        errmsg_set(err, "there is no variable \"$%.*s\"", STR_ARGS(name));
    } else {
        errmsg_set(err, "there is no variable \"$%.*s\"; did you mean \"$%s\"?",
                   STR_ARGS(name), nearest);
    }
    add_names(table, err);
    return -1;
}

/* The name behind a '$', taken off *text. */
static int
take_name(struct str *text, struct str *name, struct errmsg *err)
{
    size_t n = 0;

    if (str_starts(*text, STR("{"))) {
        n = str_find(*text, '}', 0);
        *name = str_first(str_skip(*text, 1), n > 0 ? n - 1 : 0);
        if (n == text->len || name->len == 0) {
            return errmsg_set(err, "\"${\" needs a name and a \"}\"");
        }
        *text = str_skip(*text, n + 1);
        return 0;
    }
    while (n < text->len && is_name_byte(text->ptr[n])) {
        n++;
    }
    *name = str_first(*text, n);
    *text = str_skip(*text, n);
    return n > 0 ? 0
                 : errmsg_set(err, "\"$\" needs the name of a variable behind "
                                   "it (\"$$\" is a dollar sign)");
}

static struct part *
add_part(struct pool *pool, struct part ***end, struct str text)
{
    struct part *p = pool_zero(pool, sizeof(*p));

    p->text = text;
    p->rest = STR_NONE;
    **end = p;
    *end = &p->next;
    return p;
}

/* Compiles "text $name text"; what is not a variable stands as it is. */
static int
compile_text(struct pool *pool, struct str text, struct line_format *f,
             const struct line_variable *table, struct errmsg *err)
{
    struct part **end = &f->parts;

    while (text.len > 0) {
        size_t at = str_find(text, '$', 0);
        struct part *p = add_part(pool, &end, str_first(text, at));
        struct str name;

        if (at == text.len) {
            break;
        }
        text = str_skip(text, at + 1);
        if (str_starts(text, STR("$"))) {
            p->text.len++;
            text = str_skip(text, 1);
            continue;
        }
        if (take_name(&text, &name, err) == -1) {
            return -1;
        }
        p->variable = find(table, name, &p->rest);
        if (p->variable == NULL) {
            return unknown(table, name, err);
        }
    }
    return 0;
}

static int
compile_json(struct pool *pool, struct str text, struct line_format *f,
             const struct line_variable *table, struct errmsg *err)
{
    struct part **end = &f->parts;

    f->json = true;
    for (text = str_trim(text); text.len > 0; text = str_trim(text)) {
        struct str word = str_cut(&text, ' ');
        struct str member = str_cut(&word, '=');
        struct str name;
        struct part *p;

        if (member.len == 0 || !str_starts(word, STR("$"))) {
            return errmsg_set(err,
                              "a JSON format is made of member=$variable, "
                              "not \"%.*s\"",
                              STR_ARGS(member));
        }
        for (size_t i = 0; i < member.len; i++) {
            if (!is_name_byte(member.ptr[i])) {
                return errmsg_set(err, "\"%.*s\" cannot be a member",
                                  STR_ARGS(member));
            }
        }
        word = str_skip(word, 1);
        if (take_name(&word, &name, err) == -1) {
            return -1;
        }
        p = add_part(pool, &end, member);
        p->variable = find(table, name, &p->rest);
        if (p->variable == NULL || word.len > 0) {
            return unknown(table, name, err);
        }
    }
    return 0;
}

const struct line_format *
line_format_compile(struct pool *pool, struct str text,
                    const struct line_variable *variables,
                    const struct line_preset *presets, struct errmsg *err)
{
    struct line_format *f = pool_zero(pool, sizeof(*f));
    int rc;

    for (; presets->name != NULL; presets++) {
        if (str_eq(text, str_from(presets->name))) {
            text = str_from(presets->format);
            break;
        }
    }
    if (str_starts(text, STR(JSON_PREFIX))) {
        rc = compile_json(pool, str_skip(text, sizeof(JSON_PREFIX) - 1), f,
                          variables, err);
    } else {
        rc = compile_text(pool, text, f, variables, err);
    }
    return rc == 0 ? f : NULL;
}

/* ---- texts ---- */

const struct line_format *
line_text_compile(struct pool *pool, struct str text,
                  const struct line_variable *variables, struct errmsg *err)
{
    struct line_format *f = pool_zero(pool, sizeof(*f));

    return compile_text(pool, text, f, variables, err) == 0 ? f : NULL;
}

void
line_text_each(const struct line_format *f, const void *subject,
               void (*put)(void *arg, struct str text,
                           const struct line_value *v),
               void *arg)
{
    struct line_value v;

    v.open = true;
    for (const struct part *p = f->parts; p != NULL; p = p->next) {
        put(arg, p->text, NULL);
        if (p->variable != NULL) {
            v.kind = LINE_MISSING;
            v.text = STR_NONE;
            p->variable->get(subject, p->rest, &v);
            put(arg, STR_NONE, &v);
        }
    }
}

struct str
line_text_stranger(const struct line_format *f, const struct line_variable *row,
                   bool (*takes)(const void *arg, struct str rest),
                   const void *arg)
{
    for (const struct part *p = f->parts; p != NULL; p = p->next) {
        if (p->variable == row && !takes(arg, p->rest)) {
            return p->rest;
        }
    }
    return STR_NONE;
}

/* ---- writing ---- */

struct out {
    char *dst;
    size_t len, size;
};

static bool
put(struct out *o, const void *data, size_t n)
{
    if (n > o->size - o->len) {
        return false;
    }
    memcpy(o->dst + o->len, data, n);
    o->len += n;
    return true;
}

static bool
is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') {
            return false;
        }
    }
    return true;
}

static bool
put_text(struct out *o, struct str s)
{
    char escaped[LINE_FIELD_MAX];

    s = str_first(s, LINE_FIELD_MAX - 1);
    if (is_plain(s)) {
        return put(o, s.ptr, s.len);
    }
    return put(o, escaped, str_escape(escaped, sizeof(escaped), s));
}

/* The character at the front of s as it stands in JSON; its length in s. */
static size_t
json_char(struct str s, char *dst, size_t *len)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = utf8_char(s);
    unsigned char c = (unsigned char)s.ptr[0];

    if (n == 0) {
        memcpy(dst, "\\ufffd", *len = 6);
        return 1;
    }
    if (c == '"' || c == '\\') {
        dst[0] = '\\';
        dst[1] = (char)c;
        *len = 2;
    } else if (c < 0x20 || c == 0x7f) {
        memcpy(dst, "\\u00", 4);
        dst[4] = digits[c >> 4];
        dst[5] = digits[c & 15];
        *len = 6;
    } else {
        memcpy(dst, s.ptr, *len = n);
    }
    return n;
}

static bool
put_json(struct out *o, struct str s)
{
    char one[8];
    size_t len;
    bool room = put(o, "\"", 1);

    s = str_first(s, LINE_FIELD_MAX - 1);
    while (room && s.len > 0) {
        s = str_skip(s, json_char(s, one, &len));
        room = put(o, one, len);
    }
    return room && put(o, "\"", 1);
}

static bool
put_member(struct out *o, const struct part *p, const struct line_value *v)
{
    size_t before = o->len;
    bool room = (o->len == 1 || put(o, ",", 1)) && put(o, "\"", 1) &&
                put(o, p->text.ptr, p->text.len) && put(o, "\":", 2);

    room = room && (v->kind == LINE_NUMBER ? put(o, v->text.ptr, v->text.len)
                                           : put_json(o, v->text));
    if (!room) {
        o->len = before; /* a whole object, with less in it */
    }
    return room;
}

static bool
put_part(struct out *o, const struct part *p, const struct line_value *v)
{
    if (!put(o, p->text.ptr, p->text.len)) {
        return false;
    }
    if (p->variable == NULL) {
        return true;
    }
    switch (v->kind) {
    case LINE_TEXT:
        return put_text(o, v->text);
    case LINE_NUMBER:
    case LINE_WRITTEN:
        return put(o, v->text.ptr, v->text.len);
    case LINE_MISSING:
        break;
    }
    return put(o, "-", 1);
}

size_t
line_format_write(const struct line_format *f, const void *subject, char *dst,
                  size_t size)
{
    struct out o = { .dst = dst, .size = size - 2 }; /* room for "}\n" */
    struct line_value v;
    bool room = !f->json || put(&o, "{", 1);

    v.open = false;
    for (const struct part *p = f->parts; room && p != NULL; p = p->next) {
        v.kind = LINE_MISSING;
        v.text = STR_NONE;
        if (p->variable != NULL) {
            p->variable->get(subject, p->rest, &v);
        }
        if (!f->json) {
            room = put_part(&o, p, &v);
        } else if (v.kind != LINE_MISSING) {
            room = put_member(&o, p, &v);
        }
    }
    if (f->json) {
        dst[o.len++] = '}';
    }
    dst[o.len++] = '\n';
    return o.len;
}

/* ---- values ---- */

void
line_value_text(struct line_value *v, struct str text)
{
    v->kind = text.len > 0 ? LINE_TEXT : LINE_MISSING;
    v->text = text;
}

/* Digits from the end of the room to its front. */
static char *
write_digits(char *end, uint64_t n, int least)
{
    do {
        *--end = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0 || --least > 0);
    return end;
}

static void
number_is(struct line_value *v, const char *at)
{
    v->kind = LINE_NUMBER;
    v->text = str_of(at, (size_t)(v->room + sizeof(v->room) - at));
}

void
line_value_number(struct line_value *v, int64_t n)
{
    uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    char *at = write_digits(v->room + sizeof(v->room), size, 1);

    if (n < 0) {
        *--at = '-';
    }
    number_is(v, at);
}

void
line_value_seconds(struct line_value *v, int64_t ms)
{
    uint64_t n = ms > 0 ? (uint64_t)ms : 0;
    char *at = write_digits(v->room + sizeof(v->room), n % 1000, 3);

    *--at = '.';
    number_is(v, write_digits(at, n / 1000, 1));
}

void
line_value_local(struct line_value *v)
{
    static _Thread_local struct {
        int64_t second;
        char text[32];
    } made = { .second = -1 };
    int64_t now = clock_wall_ms();

    if (made.second != now / 1000) {
        made.second = now / 1000;
        clock_log_date(made.text, sizeof(made.text), now);
    }
    line_value_text(v, str_from(made.text));
}

void
line_value_iso8601(struct line_value *v)
{
    clock_iso8601(v->room, sizeof(v->room), clock_wall_ms());
    line_value_text(v, str_from(v->room));
}

/* ---- secrets ---- */

static bool
is_secret(const struct line_mask *mask, struct str name)
{
    for (size_t i = 0; i < mask->count; i++) {
        if (str_eq_nocase(mask->names[i], name)) {
            return true;
        }
    }
    return false;
}

static bool
is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static size_t
span(struct str s, const char *stop)
{
    size_t n = 0;

    while (n < s.len && !is_one_of(s.ptr[n], stop)) {
        n++;
    }
    return n;
}

void
line_value_masked(struct line_value *v, const struct line_mask *mask,
                  struct str text, bool is_args)
{
    struct out o = { .dst = v->room, .size = sizeof(v->room) };
    bool at_name = is_args;
    bool room = true;

    while (room && text.len > 0) {
        if (at_name) {
            struct str name = str_first(text, span(text, "=&;# \""));

            room = put(&o, name.ptr, name.len);
            text = str_skip(text, name.len);
            if (str_starts(text, STR("=")) && is_secret(mask, name)) {
                room = room && put(&o, "=***", 4);
                text = str_skip(text, span(text, "&;# \""));
            }
            at_name = false;
            continue;
        }
        at_name = is_one_of(text.ptr[0], "?&;");
        room = put(&o, text.ptr, 1);
        text = str_skip(text, 1);
    }
    line_value_text(v, str_of(v->room, o.len));
}

/* ---- for tables ---- */

void
line_get_time_local(const void *subject, struct str rest, struct line_value *v)
{
    (void)subject;
    (void)rest;
    line_value_local(v);
}

void
line_get_time_iso8601(const void *subject, struct str rest,
                      struct line_value *v)
{
    (void)subject;
    (void)rest;
    line_value_iso8601(v);
}

void
line_get_msec(const void *subject, struct str rest, struct line_value *v)
{
    (void)subject;
    (void)rest;
    line_value_seconds(v, clock_wall_ms());
}

void
line_get_pid(const void *subject, struct str rest, struct line_value *v)
{
    (void)subject;
    (void)rest;
    line_value_number(v, getpid());
}
