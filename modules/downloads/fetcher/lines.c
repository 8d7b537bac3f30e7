/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fetcher/entry.h"

/* ---- cutting ---- */

void
line_reader_init(struct line_reader *r)
{
    buf_init(&r->part, LINE_MAX_BYTES);
    r->dropping = false;
}

void
line_reader_clear(struct line_reader *r)
{
    buf_clear(&r->part);
}

/* A piece of a line, which does not end with it. */
static void
keep_piece(struct line_reader *r, struct str piece)
{
    if (!r->dropping && buf_add_str(&r->part, piece) == -1) {
        r->dropping = true;
        buf_clear(&r->part);
    }
}

static void
end_line(struct line_reader *r, struct str piece, line_handler *on_line,
         void *arg)
{
    if (buf_len(&r->part) > 0 || r->dropping) {
        keep_piece(r, piece);
        piece = buf_str(&r->part);
    }
    if (piece.len > 0 && piece.len <= LINE_MAX_BYTES && !r->dropping) {
        on_line(arg, piece);
    }
    r->dropping = false;
    buf_take(&r->part, buf_len(&r->part));
}

void
line_reader_take(struct line_reader *r, struct str bytes, line_handler *on_line,
                 void *arg)
{
    size_t from = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.ptr[i] == '\n' || bytes.ptr[i] == '\r') {
            end_line(r, str_of(bytes.ptr + from, i - from), on_line, arg);
            from = i + 1;
        }
    }
    if (from < bytes.len) {
        keep_piece(r, str_skip(bytes, from));
    }
}

void
line_reader_end(struct line_reader *r, line_handler *on_line, void *arg)
{
    end_line(r, STR_NONE, on_line, arg);
    buf_clear(&r->part);
}

/* ---- texts ---- */

/* Bytes of an escape sequence of a terminal (ECMA-48, 5.4), 0: there is
 * none. */
static size_t
escape_length(struct str s)
{
    size_t i = 1;

    if (s.len == 0 || s.ptr[0] != 0x1b) {
        return 0;
    }
    if (s.len > 1 && s.ptr[1] == '[') {
        for (i = 2; i < s.len && s.ptr[i] >= 0x20 && s.ptr[i] < 0x40;) {
            i++;
        }
    }
    return i < s.len ? i + 1 : s.len;
}

/* A path that begins here, if it leads into a folder of weir; else 0. */
static size_t
own_path_length(struct str s)
{
    static const char own[] = "/.weir/";
    size_t n = 0;

    while (n < s.len && strchr("'\"` \t:;,()<>", s.ptr[n]) == NULL) {
        n++;
    }
    return memmem(s.ptr, n, own, sizeof(own) - 1) != NULL ? n : 0;
}

static struct str
last_part(struct str path)
{
    size_t at = path.len;

    while (at > 0 && path.ptr[at - 1] != '/') {
        at--;
    }
    return str_skip(path, at);
}

static bool
begins_word(struct str s, size_t i)
{
    return i == 0 || strchr("'\"` \t(=<", s.ptr[i - 1]) != NULL;
}

/* The text at i, as it is shown; *taken bytes of s. */
static struct str
shown_at(struct str s, size_t i, size_t *taken)
{
    struct str rest = str_skip(s, i);
    size_t n = escape_length(rest);

    *taken = 1;
    if (n > 0) {
        *taken = n;
        return STR_NONE;
    }
    if (rest.ptr[0] == '/' && begins_word(s, i) &&
        (n = own_path_length(rest)) > 0) {
        *taken = n;
        return last_part(str_first(rest, n));
    }
    if ((unsigned char)rest.ptr[0] < 0x20 || rest.ptr[0] == 0x7f) {
        return STR(" ");
    }
    n = utf8_char(rest);
    *taken = n > 0 ? n : 1;
    return n > 0 ? str_first(rest, n) : STR("?");
}

void
line_clean(char *dst, size_t size, struct str s)
{
    size_t len = 0, taken;

    s = str_trim(s);
    for (size_t i = 0; i < s.len; i += taken) {
        struct str part = shown_at(s, i, &taken);

        if (part.len > size - 1 - len) {
            break;
        }
        /* A part of a path is not checked yet. */
        for (size_t k = 0; k < part.len;) {
            size_t n = utf8_char(str_skip(part, k));
            bool plain = n > 0 && (unsigned char)part.ptr[k] >= 0x20 &&
                         part.ptr[k] != 0x7f;

            n = n > 0 ? n : 1;
            memcpy(dst + len, plain ? part.ptr + k : "?", plain ? n : 1);
            len += plain ? n : 1;
            k += n;
        }
    }
    dst[len] = '\0';
}

void
line_take_error(char *msg, size_t size, struct str line)
{
    static const char error[] = "ERROR:", warning[] = "WARNING:";
    bool has = strncmp(msg, error, sizeof(error) - 1) == 0;
    bool begun = strcmp(msg, error) == 0 && size > sizeof(error);
    char text[RUN_TEXT_MAX];
    size_t keep = 0;
    struct str s;

    line_clean(text, sizeof(text), line);
    s = str_from(text);
    if (s.len == 0 || str_starts(s, str_from(warning))) {
        return;
    }
    if (!str_starts(s, str_from(error))) {
        if (has && !begun) {
            return;
        }
        if (begun) {
            msg[sizeof(error) - 1] = ' ';
            keep = sizeof(error);
        }
    }
    s = str_first(s, utf8_length(str_first(s, size - keep - 1)));
    str_copy(msg + keep, size - keep, s);
}

int64_t
line_number(struct str text)
{
    char copy[64];
    double n;

    if (text.len == 0 || text.len >= sizeof(copy)) {
        return -1;
    }
    str_copy(copy, sizeof(copy), text);
    n = strtod(copy, NULL);
    return n >= 0 && n < 4e18 ? (int64_t)n : -1;
}

bool
line_file_name(char dst[static 256], struct str path)
{
    struct str name = last_part(path);

    if (name.len == 0 || name.len > 255 || name.ptr[0] == '.' ||
        !utf8_valid(name)) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f) {
            return false;
        }
    }
    str_copy(dst, 256, name);
    return true;
}

/* ---- state ---- */

void
run_state_init(struct run_state *s)
{
    memset(s, 0, sizeof(*s));
    s->status = STATUS_PREPARING;
    s->percent = s->speed = s->eta = s->fetched = s->total = s->items = -1;
}

void
run_state_count(struct run_state *s, int64_t fetched, int64_t total)
{
    s->fetched = fetched < 0 ? -1 : fetched;
    s->total = total < 0 ? -1 : total;
    s->percent = -1;
    if (s->fetched >= 0 && s->total > 0) {
        double part = (double)s->fetched / (double)s->total;

        s->percent = part >= 1 ? 100000 : (int64_t)(part * 100000);
    }
    if (s->eta < 0 && s->percent >= 0 && s->speed > 0 &&
        s->total >= s->fetched) {
        s->eta = (s->total - s->fetched) / s->speed;
    }
}
