/*
 * Lines of playlists.  A playlist is made for each part of each stream that is
 * watched, so numbers are not printed with formats.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lines.h"

void
lines_add(struct lines *l, struct str s)
{
    l->full = buf_add_str(l->out, s) != 0 || l->full;
}

void
lines_number(struct lines *l, uint64_t number)
{
    char text[20]; /* 2^64 - 1 */
    size_t at = sizeof(text);

    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    lines_add(l, str_of(text + at, sizeof(text) - at));
}

void
lines_thousandths(struct lines *l, uint64_t thousandths)
{
    char text[4] = { '.', (char)('0' + thousandths / 100 % 10),
                     (char)('0' + thousandths / 10 % 10),
                     (char)('0' + thousandths % 10) };

    lines_number(l, thousandths / 1000);
    lines_add(l, str_of(text, sizeof(text)));
}

static bool
can_be_quoted(char c)
{
    return (unsigned char)c >= ' ' && c != '"' && c != 0x7f;
}

void
lines_quoted(struct lines *l, struct str s)
{
    size_t from = 0;

    lines_add(l, STR("\""));
    for (size_t i = 0; i < s.len; i++) {
        if (!can_be_quoted(s.ptr[i])) {
            lines_add(l, str_of(s.ptr + from, i - from));
            lines_add(l, s.ptr[i] == '"' ? STR("'") : STR(" "));
            from = i + 1;
        }
    }
    lines_add(l, str_skip(s, from));
    lines_add(l, STR("\""));
}
