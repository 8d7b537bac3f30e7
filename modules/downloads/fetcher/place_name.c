/*
 * Names: templates filled in, and parts of a path that are safe.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define NUMBER_MAX 18 /* digits that a number is filled up to */
#define CHARACTERS_MAX 1000
#define NO_LIMIT SIZE_MAX

/* ---- a part that is safe ---- */

/* Characters that do not stand in a name: controls, those that write the text
 * in another direction, separators of lines and of folders. */
static bool
is_bad(struct str c)
{
    const unsigned char *u = (const unsigned char *)c.ptr;

    switch (c.len) {
    case 1:
        return u[0] < ' ' || u[0] == 0x7f || u[0] == '/' || u[0] == '\\';
    case 2:
        return u[0] == 0xc2 && u[1] < 0xa0;
    case 3:
        return u[0] == 0xe2 && ((u[1] == 0x80 && u[2] >= 0xa8 && u[2] < 0xaf) ||
                                (u[1] == 0x81 && u[2] >= 0xa6 && u[2] < 0xaa));
    default:
        return false;
    }
}

/* The next character, which is taken away; of bytes that are none, "_". */
static struct str
next_character(struct str *s)
{
    size_t n = utf8_char(*s);
    struct str c = str_first(*s, n);

    *s = str_skip(*s, n > 0 ? n : 1);
    return n == 0 || is_bad(c) ? STR("_") : c;
}

static bool
ends_badly(struct str s)
{
    return s.len > 0 && (s.ptr[s.len - 1] == '.' || s.ptr[s.len - 1] == ' ');
}

void
place_safe(struct str s, size_t most, struct buf *to)
{
    char part[PLACE_PART_MAX];
    size_t len = 0;

    most = most < sizeof(part) ? most : sizeof(part);
    while (str_starts(s, STR(" "))) {
        s = str_skip(s, 1);
    }
    while (s.len > 0) {
        struct str c = next_character(&s);

        if (len + c.len > most) {
            break;
        }
        memcpy(part + len, c.ptr, c.len);
        len += c.len;
    }
    while (ends_badly(str_of(part, len))) {
        len--;
    }
    if (len == 0) {
        part[len++] = '_';
    }
    if (part[0] == '.' || part[0] == '-') { /* hidden; an option */
        part[0] = '_';
    }
    buf_add(to, part, len);
}

void
place_safe_part(struct str s, struct buf *to)
{
    place_safe(s, PLACE_PART_MAX, to);
}

/* ---- templates ---- */

/* "%(name)04d", "%(name).20s". */
struct place_form {
    struct str name;
    size_t digits;     /* a number is filled up to so many */
    size_t characters; /* at most */
    char kind;         /* 's', 'd' */
};

static bool
take_number(struct str *s, size_t most, size_t *n)
{
    size_t len = 0;
    int64_t value;

    while (len < s->len && s->ptr[len] >= '0' && s->ptr[len] <= '9') {
        len++;
    }
    if (!str_to_int(str_first(*s, len), 0, (int64_t)most, &value)) {
        return false;
    }
    *n = (size_t)value;
    *s = str_skip(*s, len);
    return true;
}

/* Takes one from the front, behind its '%'. */
static bool
take_form(struct str *s, struct place_form *f)
{
    *f = (struct place_form){ .characters = NO_LIMIT };
    if (!str_starts(*s, STR("(")) || str_find(*s, ')', 0) == s->len) {
        return false;
    }
    *s = str_skip(*s, 1);
    f->name = str_cut(s, ')');
    if (str_starts(*s, STR(".")) || str_starts(*s, STR("0"))) {
        bool cuts = s->ptr[0] == '.';

        *s = str_skip(*s, 1);
        if (!take_number(s, cuts ? CHARACTERS_MAX : NUMBER_MAX,
                         cuts ? &f->characters : &f->digits)) {
            return false;
        }
    }
    f->kind = s->len > 0 ? s->ptr[0] : '\0';
    *s = str_skip(*s, 1);
    return f->kind == 's' ? f->digits == 0
                          : f->kind == 'd' && f->characters == NO_LIMIT;
}

static const struct place_field *
find_field(const struct place_field *fields, struct str name)
{
    for (; fields->name != NULL; fields++) {
        if (str_eq(str_from(fields->name), name)) {
            return fields;
        }
    }
    return NULL;
}

/* A slash of a value separates nothing. */
static int
add_value(struct str value, size_t characters, struct buf *to)
{
    int rc = 0;

    for (; value.len > 0 && characters > 0 && rc == 0; characters--) {
        size_t n = utf8_char(value);

        n = n > 0 ? n : 1;
        rc = value.ptr[0] == '/' ? buf_add(to, "_", 1)
                                 : buf_add(to, value.ptr, n);
        value = str_skip(value, n);
    }
    return rc;
}

static int
add_field(const struct place_form *f, const struct place_field *field,
          struct buf *to)
{
    struct str value = field->value.len > 0 ? field->value : STR("NA");
    int64_t number;

    if (f->kind == 'd' && str_to_int(value, 0, INT64_MAX, &number)) {
        return buf_printf(to, "%0*lld", (int)f->digits, (long long)number);
    }
    return add_value(value, f->characters, to);
}

static int
too_long(struct errmsg *err)
{
    return errmsg_set(err, "the name that the template makes is too long");
}

/* A field, or a second '%', behind the first one. */
static int
fill_one(struct str *rest, const struct place_field *fields, struct buf *to,
         struct errmsg *err)
{
    const struct place_field *field;
    struct place_form f;

    if (str_starts(*rest, STR("%"))) {
        *rest = str_skip(*rest, 1);
        return buf_add(to, "%", 1) == 0 ? 0 : too_long(err);
    }
    if (!take_form(rest, &f)) {
        return errmsg_set(err,
                          "after '%%' stands \"(title)s\", \"(title).50s\", "
                          "\"(playlist_index)03d\" or another '%%'");
    }
    field = find_field(fields, f.name);
    if (field == NULL) {
        return errmsg_set(err, "there is no field \"%.*s\"",
                          STR_ARGS(str_first(f.name, 64)));
    }
    return add_field(&f, field, to) == 0 ? 0 : too_long(err);
}

int
place_fill(struct str template, const struct place_field *fields,
           struct buf *to, struct errmsg *err)
{
    while (template.len > 0) {
        size_t at = str_find(template, '%', 0);

        if (buf_add(to, template.ptr, at) == -1) {
            return too_long(err);
        }
        if (at == template.len) {
            break;
        }
        template = str_skip(template, at + 1);
        if (fill_one(&template, fields, to, err) == -1) {
            return -1;
        }
    }
    return 0;
}

int
place_check_template(struct str template, struct errmsg *err)
{
    static const struct place_field fields[] = {
        { "title", { "", 0 } },
        { "id", { "", 0 } },
        { "ext", { "", 0 } },
        { "uploader", { "", 0 } },
        { "playlist", { "", 0 } },
        { "playlist_title", { "", 0 } },
        { "playlist_id", { "", 0 } },
        { "playlist_uploader", { "", 0 } },
        { "playlist_index", { "", 0 } },
        { NULL, { "", 0 } },
    };
    struct buf name;
    int rc;

    buf_init(&name, PLACE_PATH_MAX);
    rc = place_fill(template, fields, &name, err);
    if (rc == 0 && (buf_len(&name) == 0 || str_ends(template, STR("/")))) {
        rc = errmsg_set(err, "a template names a file");
    }
    if (rc == 0 && str_starts(template, STR("/"))) {
        rc = errmsg_set(err, "a template begins below the directory, and not "
                             "with '/'");
    }
    buf_clear(&name);
    return rc;
}
