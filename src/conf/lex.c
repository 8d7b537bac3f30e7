/*
 * Cutting a configuration file into tokens, and the check of what libconfig
 * 1.5 reads silently wrong: whole numbers over 32 bits without an L (and
 * over 64 bits with one), strings side by side (it joins them: a forgotten
 * comma), strings over the end of a line (a forgotten quote), a comment that
 * never ends, NUL bytes and "\x00", "." as a number.  Brackets are paired
 * here as well, because the parser can only say where it gave up.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/source.h"

#include <string.h>

struct lexer {
    struct source *source;
    struct str text;
    size_t at;
    uint32_t file, line;
    bool blank; /* nothing but blanks in this line so far */
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '*' || c == '-' || c == '_';
}

static bool
is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '.' || c == '+' || c == '-' ||
           c == '_';
}

/* A byte behind the position; '\0' at the end. */
static char
peek(const struct lexer *l, size_t ahead)
{
    return ahead < l->text.len - l->at ? l->text.ptr[l->at + ahead] : '\0';
}

static bool
at_end(const struct lexer *l)
{
    return l->at >= l->text.len;
}

static bool
looking_at(const struct lexer *l, struct str s)
{
    return str_starts(str_skip(l->text, l->at), s);
}

/* Makes the next len bytes a token and goes on behind them. */
static size_t
take(struct lexer *l, size_t len)
{
    struct token t = { .file = l->file,
                       .line = l->line,
                       .start = (uint32_t)l->at,
                       .len = (uint32_t)len };

    l->at += len;
    l->blank = false;
    return source_add(l->source, &t);
}

static void
skip_line(struct lexer *l)
{
    l->at = str_find(l->text, '\n', l->at);
}

static int
lex_comment(struct lexer *l)
{
    size_t from = l->at, line = l->line;

    for (l->at += 2; !looking_at(l, STR("*/")); l->at++) {
        if (at_end(l)) {
            l->at = from;
            l->line = (uint32_t)line;
            source_say(l->source, take(l, 2), "this comment never ends");
            return -1;
        }
        l->line += peek(l, 0) == '\n';
    }
    l->at += 2;
    return 0;
}

/* Length of a string with its quotes, 0 if its line ends first. */
static size_t
string_length(const struct lexer *l)
{
    size_t n = 1;

    while (n < l->text.len - l->at && peek(l, n) != '\n') {
        if (peek(l, n) == '"') {
            return n + 1;
        }
        n += peek(l, n) == '\\' && peek(l, n + 1) != '\n' ? 2 : 1;
    }
    return 0;
}

static bool
has_nul(struct str s)
{
    if (str_find(s, '\0', 0) < s.len) {
        return true;
    }
    for (size_t at = str_find(s, '\\', 0); at < s.len;
         at = str_find(s, '\\', at + 2)) {
        struct str escape = str_first(str_skip(s, at + 1), 3);

        if (str_eq_nocase(escape, STR("x00"))) {
            return true;
        }
    }
    return false;
}

static bool
follows_string(const struct source *s, size_t token)
{
    do {
        token--;
    } while (s->tokens[token].is_include);
    return s->tokens[token].is_string;
}

static int
lex_string(struct lexer *l)
{
    size_t len = string_length(l), token;
    struct token *t;
    char line[128];

    if (len == 0) {
        token = take(l, 1);
        source_show(line, sizeof(line), source_line(l->source, token));
        source_say(l->source, token, "this string does not end in: %s", line);
        return -1;
    }
    token = take(l, len);
    t = &l->source->tokens[token];
    t->is_string = true;
    if (follows_string(l->source, token)) {
        t->joined = true;
        t->bad = "two strings side by side, is a comma missing?";
    } else if (has_nul(source_text(l->source, token))) {
        t->bad = "a string cannot hold a NUL byte";
    }
    return 0;
}

static bool
is_float(struct str s)
{
    size_t digits = 0, i = 0;

    i += i < s.len && (s.ptr[i] == '+' || s.ptr[i] == '-');
    for (; i < s.len && is_digit(s.ptr[i]); i++) {
        digits++;
    }
    i += i < s.len && s.ptr[i] == '.';
    for (; i < s.len && is_digit(s.ptr[i]); i++) {
        digits++;
    }
    if (i < s.len && (s.ptr[i] == 'e' || s.ptr[i] == 'E')) {
        i++;
        i += i < s.len && (s.ptr[i] == '+' || s.ptr[i] == '-');
        digits = i < s.len ? digits : 0;
        while (i < s.len && is_digit(s.ptr[i])) {
            i++;
        }
    }
    return i == s.len && digits > 0;
}

/* The value of hexadecimal digits; false if it is none or over 63 bits. */
static bool
hex_value(struct str s, int64_t *out)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        int digit = str_hex_digit(s.ptr[i]);

        if (digit == -1 || n > INT64_MAX / 16) {
            return false;
        }
        n = n * 16 + (unsigned)digit;
    }
    *out = (int64_t)n;
    return s.len > 0;
}

static bool
only(struct str s, bool (*is)(char c))
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is(s.ptr[i])) {
            return false;
        }
    }
    return s.len > 0;
}

static bool
is_hex_digit(char c)
{
    return str_hex_digit(c) != -1;
}

/* The mistake in a number; NULL: none. */
static const char *
number_mistake(struct str s)
{
    bool is_long = str_ends(s, STR("L"));
    bool is_hex = str_starts(s, STR("0x")) || str_starts(s, STR("0X"));
    bool sign = !is_hex && (s.ptr[0] == '+' || s.ptr[0] == '-');
    struct str digits;
    int64_t n;

    if (is_float(s) && !only(str_skip(s, sign), is_digit)) {
        return NULL;
    }
    digits = str_first(s, s.len - is_long - str_ends(s, STR("LL")));
    digits = str_skip(digits, is_hex ? 2 : sign);
    if (!only(digits, is_hex ? is_hex_digit : is_digit)) {
        return "this is no number; text, times and sizes with a unit, and "
               "addresses stand in quotes";
    }
    if (!(is_hex ? hex_value(digits, &n)
                 : str_to_int(digits, 0, INT64_MAX, &n))) {
        return "this number is too large";
    }
    if (!is_long && (s.ptr[0] == '-' ? -n < INT32_MIN : n > INT32_MAX)) {
        return "a whole number over 32 bits needs an L behind it";
    }
    return NULL;
}

static void
lex_number(struct lexer *l)
{
    size_t n = 1, token;

    while (is_word(peek(l, n))) {
        n++;
    }
    token = take(l, n);
    l->source->tokens[token].bad =
        number_mistake(source_text(l->source, token));
}

static void
lex_name(struct lexer *l)
{
    size_t n = 1;

    while (is_name(peek(l, n))) {
        n++;
    }
    take(l, n);
}

/* The name in @include "NAME"; false if that is not all of the line. */
static bool
include_name(const struct lexer *l, struct str *name)
{
    struct str rest = str_skip(l->text, l->at);
    struct str line = str_first(rest, str_find(rest, '\n', 0));
    size_t quote;

    line = str_skip(line, sizeof("@include") - 1);
    rest = str_trim(line);
    quote = str_find(rest, '"', 1);
    if (rest.len == line.len || rest.len < 3 || rest.ptr[0] != '"' ||
        quote == rest.len || quote == 1) {
        return false;
    }
    *name = str_skip(str_first(rest, quote), 1);
    rest = str_skip(rest, quote + 1);
    if (str_ends(rest, STR("\r"))) {
        rest.len--;
    }
    rest = str_trim(rest);
    return rest.len == 0 || rest.ptr[0] == '#' || str_starts(rest, STR("//"));
}

static int
lex_include(struct lexer *l)
{
    bool alone = l->blank && looking_at(l, STR("@include"));
    struct str name;
    size_t token;

    if (!alone || !include_name(l, &name)) {
        source_say(l->source, take(l, 1),
                   "'@' can only begin a line @include \"FILE\"");
        return -1;
    }
    /* No token of it may reach libconfig: it counts as the last one. */
    token = take(l, sizeof("@include") - 1);
    l->source->tokens[token].is_include = true;
    skip_line(l);
    return source_include(l->source, name, token);
}

static int
open_bracket(struct lexer *l)
{
    struct source *s = l->source;
    size_t token = take(l, 1);

    if (s->depth == SOURCE_NESTING) {
        source_say(s, token, "brackets are more than %d deep", SOURCE_NESTING);
        return -1;
    }
    s->open[s->depth++] = token;
    return 0;
}

static int
close_bracket(struct lexer *l, char opener)
{
    struct source *s = l->source;
    size_t token = take(l, 1), last;
    char c = source_text(s, token).ptr[0];

    if (s->depth == 0) {
        source_say(s, token, "this \"%c\" closes nothing", c);
        return -1;
    }
    last = s->open[--s->depth];
    if (source_text(s, last).ptr[0] != opener) {
        source_say(s, token, "this \"%c\" cannot close the \"%.*s\" of line %u",
                   c, STR_ARGS(source_text(s, last)), s->tokens[last].line);
        return -1;
    }
    return 0;
}

static int
lex_mark(struct lexer *l)
{
    switch (peek(l, 0)) {
    case '@':
        return lex_include(l);
    case '{':
    case '(':
    case '[':
        return open_bracket(l);
    case '}':
        return close_bracket(l, '{');
    case ')':
        return close_bracket(l, '(');
    case ']':
        return close_bracket(l, '[');
    case '\0':
        source_say(l->source, take(l, 1), "a NUL byte");
        return -1;
    default:
        take(l, 1);
        return 0;
    }
}

static int
step(struct lexer *l)
{
    char c = peek(l, 0);

    if (c == '\n') {
        l->line++;
        l->blank = true;
        l->at++;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
        l->at++;
    } else if (c == '#' || looking_at(l, STR("//"))) {
        skip_line(l);
    } else if (looking_at(l, STR("/*"))) {
        return lex_comment(l);
    } else if (c == '"') {
        return lex_string(l);
    } else if (is_letter(c) || c == '*') {
        lex_name(l);
    } else if (is_digit(c) || c == '+' || c == '-' || c == '.') {
        lex_number(l);
    } else {
        return lex_mark(l);
    }
    return 0;
}

int
source_lex(struct source *s, uint32_t i)
{
    struct lexer l = { .source = s,
                       .text = s->files[i].text,
                       .file = i,
                       .line = 1,
                       .blank = true };

    if (looking_at(&l, STR("\xef\xbb\xbf"))) {
        l.at += 3; /* a byte order mark, which some editors write */
    }
    while (!at_end(&l)) {
        if (step(&l) == -1) {
            return -1;
        }
    }
    return 0;
}
