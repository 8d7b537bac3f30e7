/*
 * Masking, in one pass over the text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/mask.h"

#include <string.h>

/* Where a secret ends. */
enum end { END_WORD, END_LINE };

static const struct {
    struct str word; /* lower case */
    enum end end;
} words[] = {
    { { "authorization:", 14 }, END_LINE },
    { { "cookie:", 7 }, END_LINE }, /* set-cookie: too */
    { { "x-api-key:", 10 }, END_LINE },
    { { "x-auth-token:", 13 }, END_LINE },
    { { "password", 8 }, END_WORD },
    { { "passwd", 6 }, END_WORD },
    { { "secret", 6 }, END_WORD },
    { { "token", 5 }, END_WORD },
    { { "key", 3 }, END_WORD },
};

static bool
is_end(char c, enum end end)
{
    if (c == '\r' || c == '\n' || c == '\0') {
        return true;
    }
    return end == END_WORD && (c == ' ' || c == '\t' || c == '&' || c == '"' ||
                               c == ';' || c == ',');
}

static size_t
hide(char *text, size_t len, size_t at, enum end end)
{
    while (at < len && (text[at] == ' ' || text[at] == '\t')) {
        at++;
    }
    if (at < len && text[at] == '"') {
        at++;
    }
    while (at < len && !is_end(text[at], end)) {
        text[at++] = '*';
    }
    return at;
}

/* Where the value begins that follows the word at this place; 0: there is
 * none. */
static size_t
value_after(const char *text, size_t len, size_t at, enum end *end)
{
    struct str rest = str_of(text + at, len - at);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct str w = words[i].word;
        struct str here = str_first(rest, w.len);
        size_t next = at + w.len;

        if (here.len < w.len || !str_eq_nocase(here, w)) {
            continue;
        }
        *end = words[i].end;
        if (words[i].end == END_LINE) {
            return next;
        }
        if (next < len && (text[next] == '=' || text[next] == ':')) {
            return next + 1;
        }
    }
    return 0;
}

/* The whole query, up to the blank behind it. */
static size_t
hide_query(char *text, size_t len, size_t at)
{
    while (at < len && text[at] != ' ' && text[at] != '\t' &&
           text[at] != '\r' && text[at] != '\n' && text[at] != '"') {
        text[at++] = '*';
    }
    return at;
}

void
mask_secrets(char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        enum end end = END_WORD;
        size_t value;

        if (text[at] == '?') {
            at = hide_query(text, len, at + 1);
            continue;
        }
        value = value_after(text, len, at, &end);
        at = value != 0 ? hide(text, len, value, end) : at + 1;
    }
}
