/*
 * Masking, in one pass over the text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/mask.h"

#include <string.h>

/* Where a secret ends. */
enum end { END_WORD, END_QUERY, END_QUOTE, END_LINE };

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
    static const char *const ends[] = {
        [END_WORD] = " \t&\";,",
        [END_QUERY] = " \t\"",
        [END_QUOTE] = "\"",
        [END_LINE] = "",
    };

    return c == '\r' || c == '\n' || c == '\0' || strchr(ends[end], c) != NULL;
}

/* Whether a value follows the word that rest begins with: *end, and where in
 * rest it may begin. */
static bool
is_word(struct str rest, enum end *end, size_t *begin)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct str w = words[i].word;
        struct str here = str_first(rest, w.len);
        bool line = words[i].end == END_LINE;

        if (here.len == w.len && str_eq_nocase(here, w) &&
            (line || (rest.len > w.len &&
                      (rest.ptr[w.len] == '=' || rest.ptr[w.len] == ':')))) {
            *end = words[i].end;
            *begin = w.len + !line;
            return true;
        }
    }
    return false;
}

/* A stretch of the text, and what ends it. */
struct secret {
    size_t begin, until;
    enum end end;
};

/* Whether a secret is announced at this place; sets its begin and end. */
static bool
find(struct str text, size_t at, struct secret *s)
{
    struct str rest = str_skip(text, at);

    if (text.ptr[at] == '?') {
        *s = (struct secret){ at + 1, 0, END_QUERY };
        return true;
    }
    if (!is_word(rest, &s->end, &s->begin)) {
        return false;
    }
    for (s->begin += at; s->begin < text.len && (text.ptr[s->begin] == ' ' ||
                                                 text.ptr[s->begin] == '\t');
         s->begin++) {
    }
    if (s->begin < text.len && text.ptr[s->begin] == '"') {
        s->begin++;
        s->end = s->end == END_LINE ? END_LINE : END_QUOTE;
    }
    return true;
}

/* Joins two secrets, one of which begins within the other or right behind
 * it. */
static struct secret
join(struct secret outer, struct secret inner)
{
    return (struct secret){
        outer.begin,
        inner.begin > outer.until ? inner.begin : outer.until,
        inner.end > outer.end ? inner.end : outer.end,
    };
}

/* One that begins within another and ends no later is not looked at: each byte
 * is passed few times. */
void
mask_secrets(char *text, size_t len)
{
    struct secret hidden = { 0, 0, END_WORD }, s;

    for (size_t at = 0; at < len; at++) {
        if (find(str_of(text, len), at, &s) &&
            (s.begin >= hidden.until || s.end > hidden.end)) {
            s.until = s.begin;
            hidden = at < hidden.until ? join(hidden, s) : s;
            while (hidden.until < len &&
                   !is_end(text[hidden.until], hidden.end)) {
                hidden.until++;
            }
        }
        if (at >= hidden.begin && at < hidden.until) {
            text[at] = '*';
        }
    }
}
