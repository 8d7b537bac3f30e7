/*
 * Where a sentence ends, as far as one can tell without knowing the language:
 * behind . ! ? or an ellipsis and what closes it, when a blank follows and then
 * no small letter; behind the signs of Chinese and Japanese; at an empty line.
 * A full stop behind up to three letters may be an abbreviation ("Dr."), so the
 * sentence goes on.  One that is missed is spoken with the next.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/utf8.h"
#include "wyoming.h"

#define SHORT_WORD 3 /* letters of an abbreviation, at most */

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}

static bool
is_one_of(struct str sign, const char *const *signs)
{
    for (size_t i = 0; signs[i] != NULL; i++) {
        if (str_eq(sign, str_from(signs[i]))) {
            return true;
        }
    }
    return false;
}

/* Quotes and brackets that belong to the sentence before them. */
static size_t
skip_closing(struct str text, size_t at)
{
    static const char *const signs[] = { "\"", "'",  ")",  "]",  "”", "’",
                                         "»",  "」", "』", "）", NULL };
    size_t n;

    while ((n = utf8_char(str_skip(text, at))) > 0 &&
           is_one_of(str_of(text.ptr + at, n), signs)) {
        at += n;
    }
    return at;
}

static bool
is_abbreviation(struct str text, size_t stop)
{
    size_t letters = 0;

    while (letters < stop && is_letter(text.ptr[stop - 1 - letters])) {
        letters++;
    }
    return letters > 0 && letters <= SHORT_WORD;
}

/* Whether the text goes on with a new sentence: 1; 0 no, or not known yet. */
static size_t
end_behind(struct str text, size_t at)
{
    size_t next = at;

    while (next < text.len && is_blank(text.ptr[next])) {
        next++;
    }
    if (next == at || next == text.len ||
        (text.ptr[next] >= 'a' && text.ptr[next] <= 'z')) {
        return 0;
    }
    return next;
}

/* The end of a sentence whose last sign is n bytes at `at`; 0: it is none. */
static size_t
end_at(struct str text, size_t at, size_t n)
{
    static const char *const stops[] = { ".", "!", "?", "…", NULL };
    static const char *const wide[] = { "。", "！", "？", NULL };
    struct str sign = str_of(text.ptr + at, n);

    if (is_one_of(sign, wide)) {
        size_t end = skip_closing(text, at + n);

        return end < text.len ? end : 0; /* more may close it */
    }
    if (str_eq(sign, STR("\n")) && at + 1 < text.len &&
        text.ptr[at + 1] == '\n') {
        return at + 2;
    }
    if (!is_one_of(sign, stops) ||
        (str_eq(sign, STR(".")) && is_abbreviation(text, at))) {
        return 0;
    }
    return end_behind(text, skip_closing(text, at + n));
}

size_t
wyoming_sentence(struct str text)
{
    for (size_t at = 0; at < text.len;) {
        size_t n = utf8_char(str_skip(text, at));
        size_t end;

        if (n == 0) {
            return 0;
        }
        end = end_at(text, at, n);
        if (end > 0) {
            return end;
        }
        at += n;
    }
    return 0;
}
