/*
 * Reading single values: types, bounds, words.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/value.h"

#include <stdlib.h>

#include "conf/decimal.h"
#include "conf/expand.h"

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit time_units[] = {
    { "ms", 1 },      { "s", 1000 },     { "m", 60000 },
    { "h", 3600000 }, { "d", 86400000 },
};

static const struct unit size_units[] = {
    { "", 1 },
    { "K", 1 << 10 },
    { "M", 1 << 20 },
    { "G", 1 << 30 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void
near_start(struct near_name *n, struct str wanted)
{
    size_t slips = (wanted.len + 1) / 4; /* more is another word */

    *n = (struct near_name){ wanted, NULL, slips > 0 ? slips + 1 : 2 };
}

void
near_try(struct near_name *n, const char *name)
{
    size_t distance = str_distance(n->wanted, str_from(name), n->distance);

    if (distance < n->distance) {
        n->best = name;
        n->distance = distance;
    }
}

/* A number with a unit; false if it is none or does not fit.  "same" says
 * whether two units are one: 5M is a size, but no time. */
static bool
parse_units(struct str s, const struct unit *units, size_t count,
            bool (*same)(struct str, struct str), int64_t *out)
{
    size_t digits = 0;
    struct str unit;
    int64_t n;

    while (digits < s.len && s.ptr[digits] >= '0' && s.ptr[digits] <= '9') {
        digits++;
    }
    unit = str_skip(s, digits);
    for (size_t i = 0; i < count; i++) {
        if (same(unit, str_from(units[i].name)) &&
            str_to_int(str_first(s, digits), 0, INT64_MAX / units[i].factor,
                       &n)) {
            *out = n * units[i].factor;
            return true;
        }
    }
    return false;
}

static void
quote(char *dst, size_t size, struct str s)
{
    str_escape(dst, size, str_first(s, 80));
}

static bool
parse_time(struct str s, int64_t *ms)
{
    if (str_eq(s, STR("0"))) {
        *ms = 0;
        return true;
    }
    return parse_units(s, time_units, COUNT(time_units), str_eq, ms);
}

int
conf_parse_time(struct str s, int64_t *ms, struct errmsg *err)
{
    char shown[128];

    if (parse_time(s, ms)) {
        return 0;
    }
    quote(shown, sizeof(shown), s);
    return errmsg_set(err,
                      "\"%s\" is no time: a whole number with its unit is "
                      "one, such as \"500ms\", \"10s\", \"5m\", \"2h\", "
                      "\"1d\"",
                      shown);
}

int
conf_parse_size(struct str s, int64_t *bytes, struct errmsg *err)
{
    char shown[128];

    if (parse_units(s, size_units, COUNT(size_units), str_eq_nocase, bytes)) {
        return 0;
    }
    quote(shown, sizeof(shown), s);
    return errmsg_set(err,
                      "\"%s\" is no size: whole bytes are one, or with k, m "
                      "or g, such as \"64k\", \"16M\"",
                      shown);
}

bool
value_has_max(const struct conf_key *key)
{
    return key->max > key->min;
}

static bool
in_bounds(const struct conf_key *key, int64_t n)
{
    if (n == 0 && key->or_zero) {
        return true;
    }
    return n >= key->min && (!value_has_max(key) || n <= key->max);
}

/* Position of a word, or -1. */
static int
find_word(const struct conf_key *key, struct str s)
{
    for (int i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        if (str_eq(s, str_from(key->words[i]))) {
            return i;
        }
    }
    return -1;
}

/* ---- what is allowed, in words ---- */

static void
say_words(const struct conf_key *key, const char *before, struct buf *out)
{
    for (size_t i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        bool last = key->words[i + 1] == NULL;

        buf_printf(out, "%s\"%s\"",
                   i == 0 ? before
                   : last ? " or "
                          : ", ",
                   key->words[i]);
    }
}

static void
say_bounds(const struct conf_key *key, struct buf *out)
{
    if (key->or_zero) {
        buf_printf(out, " 0 or");
    }
    if (value_has_max(key)) {
        buf_printf(out, " from ");
        value_print_number(key->type, key->min, out);
        buf_printf(out, " to ");
        value_print_number(key->type, key->max, out);
    } else if (key->min > 0) {
        buf_printf(out, " of at least ");
        value_print_number(key->type, key->min, out);
    }
}

static void
say_length(const struct conf_key *key, struct buf *out)
{
    if (value_has_max(key)) {
        buf_printf(out, " of %lld to %lld bytes", (long long)key->min,
                   (long long)key->max);
    } else if (key->min > 0) {
        buf_printf(out, " of at least %lld bytes", (long long)key->min);
    }
}

static void
say_allowed(const struct conf_key *key, struct buf *out)
{
    switch (key->type) {
    case CONF_INT:
        buf_printf(out, "a whole number");
        say_bounds(key, out);
        say_words(key, " or ", out);
        return;
    case CONF_TIME:
        buf_printf(out, "a time in ms, s, m, h or d, such as \"10s\",");
        say_bounds(key, out);
        say_words(key, " or ", out);
        return;
    case CONF_SIZE:
        buf_printf(out, "a size in bytes, or with k, m or g, such as "
                        "\"16M\",");
        say_bounds(key, out);
        say_words(key, " or ", out);
        return;
    case CONF_DECIMAL:
        buf_printf(out, "a number");
        say_bounds(key, out);
        say_words(key, " or ", out);
        return;
    case CONF_ENUM:
        say_words(key, "", out);
        return;
    case CONF_BOOL:
        buf_printf(out, "true or false");
        return;
    case CONF_STRING:
        if (key->words != NULL) {
            say_words(key, "", out);
            return;
        }
        buf_printf(out, "a string");
        say_length(key, out);
        return;
    case CONF_EXTRA:
    case CONF_INSTANCE:
        buf_printf(out, "a string");
        say_length(key, out);
        return;
    case CONF_STRINGS:
        buf_printf(out, "a string or a list of strings");
        return;
    case CONF_GROUP:
        buf_printf(out, "a group { ... }");
        return;
    case CONF_GROUPS:
        buf_printf(out, "a list of groups ( { ... }, { ... } )");
        return;
    case CONF_WHERE:
    case CONF_PARTS:
        return;
    }
}

static void
say_value(const struct conf_key *key, const struct scalar *v, struct buf *out)
{
    char shown[128];

    switch (v->kind) {
    case SCALAR_STRING:
        quote(shown, sizeof(shown), v->text);
        buf_printf(out, ", not \"%s\"", shown);
        return;
    case SCALAR_INT:
        buf_printf(out, ", not %lld", (long long)v->number);
        return;
    case SCALAR_BOOL:
        buf_printf(out, ", not %s", v->number != 0 ? "true" : "false");
        return;
    case SCALAR_OTHER:
        buf_printf(out, ", not ");
        if (v->is_fraction && key->type == CONF_DECIMAL) {
            decimal_print(v->number, out);
        } else {
            buf_add_str(out, v->text);
        }
        return;
    }
}

static void
say_near(const struct conf_key *key, struct str s, struct buf *out)
{
    struct near_name near;

    near_start(&near, s);
    for (size_t i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        near_try(&near, key->words[i]);
    }
    if (near.best != NULL) {
        buf_printf(out, "; did you mean \"%s\"?", near.best);
    }
}

int
value_refuse(const struct conf_key *key, const struct scalar *v,
             struct errmsg *err)
{
    struct buf text;

    buf_init(&text, sizeof(err->text));
    say_allowed(key, &text);
    if (text.tail > 0 && text.mem[text.tail - 1] == ',') {
        text.tail--; /* no bounds came */
    }
    if (v != NULL && !key->secret) {
        say_value(key, v, &text);
    }
    if (v != NULL && v->kind == SCALAR_INT && key->shorthand != NULL) {
        buf_printf(&text, ", or a text in quotes: \"%lld\"",
                   (long long)v->number);
    }
    if (v != NULL && v->kind == SCALAR_STRING && key->type == CONF_ENUM) {
        say_near(key, v->text, &text);
    }
    errmsg_set(err, "must be %.*s", STR_ARGS(buf_str(&text)));
    buf_clear(&text);
    return -1;
}

/* ---- reading ---- */

/* A time or size from its text, or from a number where that is allowed. */
static bool
number_of(const struct conf_key *key, const struct scalar *v, int64_t *out)
{
    struct errmsg unused;

    if (key->type == CONF_DECIMAL) {
        return decimal_of_scalar(v, out);
    }
    if (v->kind == SCALAR_INT) {
        *out = v->number;
        return key->type != CONF_TIME || v->number == 0;
    }
    if (v->kind != SCALAR_STRING || key->type == CONF_INT) {
        return false;
    }
    if (key->type == CONF_TIME) {
        return parse_time(v->text, out);
    }
    return conf_parse_size(v->text, out, &unused) == 0;
}

static int
read_number(const struct conf_key *key, const struct scalar *v, int64_t *out,
            struct errmsg *err)
{
    int64_t n;
    int word = v->kind == SCALAR_STRING ? find_word(key, v->text) : -1;

    if (word >= 0) {
        *out = -1 - word;
        return 0;
    }
    if (!number_of(key, v, &n) || !in_bounds(key, n)) {
        return value_refuse(key, v, err);
    }
    *out = n;
    return 0;
}

/* An empty string that is the default says "nothing" and is not checked. */
static bool
says_nothing(const struct conf_key *key, struct str s)
{
    return s.len == 0 && key->type == CONF_STRING && key->preset != NULL &&
           key->preset[0] == '\0';
}

int
value_read_string(const struct conf_key *key, const struct scalar *v,
                  struct pool *pool, struct str *out, struct errmsg *err)
{
    bool is_one = key->type == CONF_STRING;

    if (v->kind != SCALAR_STRING) {
        return value_refuse(key, v, err);
    }
    *out = pool_str(pool, v->text);
    if (says_nothing(key, v->text)) {
        return 0;
    }
    if (is_one && key->words != NULL && find_word(key, v->text) == -1) {
        return value_refuse(key, v, err);
    }
    if (is_one && !in_bounds(key, (int64_t)v->text.len)) {
        return value_refuse(key, v, err);
    }
    return key->check != NULL ? key->check(*out, err) : 0;
}

static int
read_enum(const struct conf_key *key, const struct scalar *v, int *out,
          struct errmsg *err)
{
    int word = -1;

    if (v->kind == SCALAR_STRING) {
        word = find_word(key, v->text);
    } else if (v->kind == SCALAR_BOOL) {
        word = find_word(key, v->number != 0 ? STR("true") : STR("false"));
    }
    if (word == -1) {
        return value_refuse(key, v, err);
    }
    *out = word;
    return 0;
}

static int
read_bool(const struct conf_key *key, const struct scalar *v, bool *out,
          struct errmsg *err)
{
    if (v->kind != SCALAR_BOOL) {
        return value_refuse(key, v, err);
    }
    *out = v->number != 0;
    return 0;
}

int
value_read(const struct conf_key *key, const struct scalar *v,
           struct pool *pool, void *field, struct errmsg *err)
{
    switch (key->type) {
    case CONF_STRING:
    case CONF_INSTANCE: /* whose name comes first */
        return value_read_string(key, v, pool, field, err);
    case CONF_INT:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
        return read_number(key, v, field, err);
    case CONF_BOOL:
        return read_bool(key, v, field, err);
    case CONF_ENUM:
        return read_enum(key, v, field, err);
    case CONF_STRINGS:
    case CONF_GROUP:
    case CONF_GROUPS:
    case CONF_WHERE:
    case CONF_EXTRA:
    case CONF_PARTS:
        break;
    }
    abort(); /* not a single value */
}

struct scalar
value_preset(const struct conf_key *key)
{
    struct scalar v = { .kind = SCALAR_STRING, .text = str_from(key->preset) };

    if (key->type == CONF_INT &&
        str_to_int(v.text, INT64_MIN, INT64_MAX, &v.number)) {
        v.kind = SCALAR_INT;
    }
    if (key->type == CONF_BOOL) {
        v.kind = SCALAR_BOOL;
        v.number = str_eq(v.text, STR("true"));
    }
    return v;
}

/* ---- writing ---- */

/* The largest unit in which n is whole. */
static const struct unit *
unit_of(const struct unit *units, size_t count, int64_t n)
{
    const struct unit *best = &units[0];

    for (size_t i = 1; n != 0 && i < count; i++) {
        if (n % units[i].factor == 0) {
            best = &units[i];
        }
    }
    return best;
}

void
value_print_number(enum conf_type type, int64_t n, struct buf *out)
{
    const struct unit *unit;

    if (type == CONF_TIME && n != 0) {
        unit = unit_of(time_units, COUNT(time_units), n);
    } else if (type == CONF_SIZE) {
        unit = unit_of(size_units, COUNT(size_units), n);
    } else if (type == CONF_DECIMAL) {
        decimal_print(n, out);
        return;
    } else {
        buf_printf(out, "%lld", (long long)n);
        return;
    }
    buf_printf(out, "%lld%s", (long long)(n / unit->factor), unit->name);
}

static void
print_quoted(struct str s, struct buf *out)
{
    buf_printf(out, "\"");
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 || c == 0x7f) {
            buf_printf(out, "\\x%02x", c);
        } else if (c == '"' || c == '\\') {
            buf_printf(out, "\\%c", c);
        } else {
            buf_add(out, &c, 1);
        }
    }
    buf_printf(out, "\"");
}

void
value_print_string(const struct conf_key *key, struct str s, struct buf *out)
{
    struct buf text;

    if (key->secret && s.len > 0) {
        s = STR("***");
    }
    buf_init(&text, SIZE_MAX / 2);
    if (key->dollars) {
        buf_add_str(&text, s);
    } else {
        expand_escape(s, &text);
    }
    print_quoted(buf_str(&text), out);
    buf_clear(&text);
}

/* The word a negative number stands for, or NULL. */
static const char *
word_of(const struct conf_key *key, int64_t n)
{
    for (int64_t i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        if (n == -1 - i) {
            return key->words[i];
        }
    }
    return NULL;
}

static void
print_number(const struct conf_key *key, int64_t n, struct buf *out)
{
    const char *word = word_of(key, n);

    if (word != NULL) {
        buf_printf(out, "\"%s\"", word);
    } else if (key->type == CONF_INT) {
        buf_printf(out, "%lld%s", (long long)n,
                   n > INT32_MAX || n < INT32_MIN ? "L" : "");
    } else if (key->type == CONF_DECIMAL) {
        decimal_print(n, out);
    } else {
        buf_printf(out, "\"");
        value_print_number(key->type, n, out);
        buf_printf(out, "\"");
    }
}

void
value_print(const struct conf_key *key, const void *field, struct buf *out)
{
    switch (key->type) {
    case CONF_STRING:
    case CONF_INSTANCE:
        value_print_string(key, *(const struct str *)field, out);
        return;
    case CONF_INT:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
        print_number(key, *(const int64_t *)field, out);
        return;
    case CONF_BOOL:
        buf_printf(out, *(const bool *)field ? "true" : "false");
        return;
    case CONF_ENUM:
        buf_printf(out, "\"%s\"", key->words[*(const int *)field]);
        return;
    case CONF_STRINGS:
    case CONF_GROUP:
    case CONF_GROUPS:
    case CONF_WHERE:
    case CONF_EXTRA:
    case CONF_PARTS:
        break;
    }
    abort(); /* not a single value */
}
