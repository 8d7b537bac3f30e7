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

/* Goes past quotes and brackets that belong to the sentence before them; false:
 * more of them may follow. */
static bool
skip_closing(struct str text, size_t *at)
{
    static const char *const signs[] = { "\"", "'",  ")",  "]",  "”", "’",
                                         "»",  "」", "』", "）", NULL };
    size_t n;

    while ((n = utf8_char(str_skip(text, *at))) > 0) {
        if (!is_one_of(str_of(text.ptr + *at, n), signs)) {
            return true;
        }
        *at += n;
    }
    return false;
}

static bool
is_abbreviation(struct str text, size_t stop)
{
    size_t letters = 0;

    while (letters <= SHORT_WORD && letters < stop &&
           is_letter(text.ptr[stop - 1 - letters])) {
        letters++;
    }
    return letters > 0 && letters <= SHORT_WORD;
}

enum verdict { NO_END, END, UNDECIDED };

/* Goes past the blanks behind a sign: whether a new sentence follows, or an
 * empty line. */
static enum verdict
skip_blanks(struct str text, size_t *at)
{
    for (; *at < text.len && is_blank(text.ptr[*at]); (*at)++) {
        if (text.ptr[*at] == '\n' && text.ptr[*at - 1] == '\n') {
            (*at)++;
            return END;
        }
    }
    if (*at == text.len) {
        return UNDECIDED;
    }
    return is_blank(text.ptr[*at - 1]) &&
                   (text.ptr[*at] < 'a' || text.ptr[*at] > 'z')
               ? END
               : NO_END;
}

/* Behind the end of a line: whether an empty one follows. */
static enum verdict
skip_line(struct str text, size_t *at)
{
    if (*at == text.len) {
        return UNDECIDED;
    }
    return text.ptr[(*at)++] == '\n' ? END : NO_END;
}

/* Looks behind a sign that may end a sentence; it is n bytes at s->at. */
static enum verdict
look_behind(struct wyoming_scan *s, struct str text, size_t n, bool wide)
{
    if (s->behind == 0) {
        s->behind = s->at + n;
    }
    if (!is_blank(text.ptr[s->behind - 1]) && !skip_closing(text, &s->behind)) {
        return UNDECIDED;
    }
    return wide ? END : skip_blanks(text, &s->behind);
}

/* Whether a sentence ends behind the sign that is n bytes at s->at. */
static enum verdict
judge(struct wyoming_scan *s, struct str text, size_t n)
{
    static const char *const stops[] = { ".", "!", "?", "…", NULL };
    static const char *const wide[] = { "。", "！", "？", NULL };
    struct str sign = str_of(text.ptr + s->at, n);

    if (is_one_of(sign, wide)) {
        return look_behind(s, text, n, true);
    }
    if (str_eq(sign, STR("\n"))) {
        s->behind = s->at + 1;
        return skip_line(text, &s->behind);
    }
    if (!is_one_of(sign, stops) ||
        (str_eq(sign, STR(".")) && is_abbreviation(text, s->at))) {
        return NO_END;
    }
    return look_behind(s, text, n, false);
}

size_t
wyoming_sentence(struct wyoming_scan *s, struct str text)
{
    size_t n;

    while ((n = utf8_char(str_skip(text, s->at))) > 0) {
        switch (judge(s, text, n)) {
        case END:
            return s->behind;
        case UNDECIDED:
            return 0;
        case NO_END:
            s->at += n;
            s->behind = 0;
        }
    }
    return 0;
}
