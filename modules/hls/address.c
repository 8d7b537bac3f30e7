/*
 * Paths and queries of streams.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "address.h"

#include <string.h>

#define PLAYLIST ".m3u8"
#define ENDLESS ".mp4"
#define STILL ".still.mp4"
#define WORD_DIGITS 16u
#define SUFFIX_MAX 8u /* with its dot */
/* Segments that may be waited for, beyond the newest (6.2.5.2). */
#define SEGMENTS_AHEAD 2u

/* Position behind the last c in s; 0: there is none. */
static size_t
behind_last(struct str s, char c)
{
    const char *at = s.len > 0 ? memrchr(s.ptr, c, s.len) : NULL;

    return at != NULL ? (size_t)(at - s.ptr) + 1 : 0;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* A whole decimal number in its only spelling. */
static bool
read_number(struct str s, uint64_t max, uint64_t *number)
{
    uint64_t n = 0;

    if (s.len == 0 || (s.len > 1 && s.ptr[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        uint64_t digit = (uint64_t)(s.ptr[i] - '0');

        if (!is_digit(s.ptr[i]) || n > (max - digit) / 10) {
            return false;
        }
        n = n * 10 + digit;
    }
    *number = n;
    return true;
}

static bool
read_number32(struct str s, uint32_t *number)
{
    uint64_t n;

    if (!read_number(s, UINT32_MAX, &n)) {
        return false;
    }
    *number = (uint32_t)n;
    return true;
}

/* ---- objects ---- */

static bool
read_word(struct str s, uint64_t *word)
{
    uint64_t n = 0;

    if (s.len != WORD_DIGITS) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) && !(s.ptr[i] >= 'a' && s.ptr[i] <= 'f')) {
            return false;
        }
        n = n << 4 | (uint64_t)str_hex_digit(s.ptr[i]);
    }
    *word = n;
    return true;
}

/* A letter, then letters and digits; "init" is another thing. */
static bool
is_rendition(struct str s)
{
    if (s.len == 0 || s.len > HLS_RENDITION_MAX || !is_lower(s.ptr[0]) ||
        str_eq(s, STR("init"))) {
        return false;
    }
    for (size_t i = 1; i < s.len; i++) {
        if (!is_lower(s.ptr[i]) && !is_digit(s.ptr[i])) {
            return false;
        }
    }
    return true;
}

/* "NUMBER" or "NUMBER.PART". */
static enum hls_kind
read_segment(struct hls_address *a, struct str rest)
{
    size_t dot = str_find(rest, '.', 0);

    if (!read_number(str_first(rest, dot), HLS_SEGMENT_MAX, &a->segment)) {
        return HLS_NOTHING;
    }
    if (dot == rest.len) {
        return HLS_SEGMENT;
    }
    return read_number32(str_skip(rest, dot + 1), &a->part) ? HLS_PART
                                                            : HLS_NOTHING;
}

/* The name of an object without its suffix. */
static enum hls_kind
read_object(struct hls_address *a, struct str rest)
{
    size_t dash = str_find(rest, '-', 0);

    if (dash < rest.len && is_rendition(str_first(rest, dash))) {
        a->rendition = str_first(rest, dash);
        rest = str_skip(rest, dash + 1);
    }
    if (!str_starts(rest, STR("init-"))) {
        return read_segment(a, rest);
    }
    return read_number32(str_skip(rest, 5), &a->header) ? HLS_INIT
                                                        : HLS_NOTHING;
}

/* ---- paths ---- */

/* "APP/NAME"; a name ends with something behind its last slash, because
 * addresses in playlists are relative to that. */
static bool
read_stream(struct hls_address *a, struct str stream)
{
    struct str rest = stream;

    a->stream = stream;
    a->app = str_cut(&rest, '/');
    a->name = rest;
    return a->app.len > 0 && rest.len > 0 && rest.ptr[rest.len - 1] != '/';
}

/* file: where what follows the last slash begins; dot: its last one. */
static enum hls_kind
read_path(struct hls_address *a, struct str path, size_t file, size_t dot)
{
    struct str folder = str_first(path, file > 0 ? file - 1 : 0);
    size_t word = behind_last(folder, '/');
    enum hls_kind kind;

    if (word == 0 || !read_word(str_skip(folder, word), &a->word)) {
        return HLS_NOTHING;
    }
    a->suffix = str_skip(path, dot);
    kind = read_object(a, str_of(path.ptr + file, dot - file));
    return read_stream(a, str_first(path, word - 1)) ? kind : HLS_NOTHING;
}

static bool
is_suffix(struct str s)
{
    if (s.len < 2 || s.len > SUFFIX_MAX) {
        return false;
    }
    for (size_t i = 1; i < s.len; i++) {
        if (!is_lower(s.ptr[i]) && !is_digit(s.ptr[i])) {
            return false;
        }
    }
    return true;
}

/* A path that is no object: one of these suffixes behind the stream. */
static enum hls_kind
read_suffix(struct hls_address *a, struct str path)
{
    static const struct {
        struct str suffix;
        enum hls_kind kind;
    } suffixes[] = {
        { { PLAYLIST, sizeof(PLAYLIST) - 1 }, HLS_PLAYLIST },
        { { STILL, sizeof(STILL) - 1 }, HLS_STILL },
        { { ENDLESS, sizeof(ENDLESS) - 1 }, HLS_ENDLESS },
    };

    *a = (struct hls_address){ .kind = HLS_NOTHING };
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        struct str stream = path;

        if (str_ends(path, suffixes[i].suffix)) {
            stream.len -= suffixes[i].suffix.len;
            return read_stream(a, stream) ? suffixes[i].kind : HLS_NOTHING;
        }
    }
    return HLS_NOTHING;
}

enum hls_kind
hls_address_read(struct hls_address *a, struct str path)
{
    size_t dot = behind_last(path, '.');
    size_t file;
    enum hls_kind kind;

    *a = (struct hls_address){ .kind = HLS_NOTHING };
    if (dot == 0 || !is_suffix(str_skip(path, dot - 1))) {
        return HLS_NOTHING;
    }
    file = behind_last(path, '/');
    kind = read_path(a, path, file, dot - 1);
    if (kind == HLS_NOTHING) {
        kind = read_suffix(a, path);
    }
    if (kind == HLS_NOTHING) {
        *a = (struct hls_address){ .kind = HLS_NOTHING };
    }
    a->kind = kind;
    return kind;
}

/* ---- addresses in playlists ---- */

/* RFC 3986, 2.3; a colon would make a scheme of what is before it. */
static bool
is_unreserved(char c)
{
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

int
hls_address_last(struct buf *out, struct str name)
{
    struct str last = str_skip(name, behind_last(name, '/'));

    for (size_t i = 0; i < last.len; i++) {
        unsigned c = (unsigned char)last.ptr[i];
        int added = is_unreserved(last.ptr[i]) ? buf_add(out, last.ptr + i, 1)
                                               : buf_printf(out, "%%%02X", c);

        if (added != 0) {
            return -1;
        }
    }
    return 0;
}

int
hls_address_base(struct buf *out, struct str name, uint64_t word)
{
    if (hls_address_last(out, name) != 0) {
        return -1;
    }
    return buf_printf(out, "/%016llx/", (unsigned long long)word);
}

/* ---- directives ---- */

static const char *
read_directive(struct hls_directives *d, struct str name, struct str value)
{
    if (str_eq(name, STR("_HLS_msn"))) {
        if (d->has_segment || !read_number(value, UINT64_MAX, &d->segment)) {
            return "_HLS_msn is not one number";
        }
        d->has_segment = true;
    } else if (str_eq(name, STR("_HLS_part"))) {
        if (d->has_part || !read_number32(value, &d->part)) {
            return "_HLS_part is not one number";
        }
        d->has_part = true;
    } else if (str_eq(name, STR("_HLS_skip"))) {
        d->skip = str_eq(value, STR("YES")) || str_eq(value, STR("v2"));
    }
    return NULL;
}

const char *
hls_directives_read(struct hls_directives *d, struct str query)
{
    *d = (struct hls_directives){ .skip = false };
    while (query.len > 0) {
        struct str value = str_cut(&query, '&');
        struct str name = str_cut(&value, '=');
        const char *reason = read_directive(d, name, value);

        if (reason != NULL) {
            return reason;
        }
    }
    if (d->has_part && !d->has_segment) {
        return "_HLS_part needs _HLS_msn";
    }
    return NULL;
}

const char *
hls_directives_refused(const struct hls_directives *d, uint64_t last_segment,
                       int64_t last_part, uint32_t limit)
{
    uint64_t newest = last_part > 0 ? (uint64_t)last_part : 0;
    bool ended = last_part < 0;

    if (!d->has_segment || d->segment < last_segment ||
        (ended && d->segment == last_segment)) {
        return NULL;
    }
    if (d->segment - last_segment > SEGMENTS_AHEAD) {
        return "_HLS_msn is too far ahead";
    }
    if (d->segment > last_segment) {
        newest = 0; /* nothing of that one is there */
    }
    if (d->has_part && d->part > newest + limit) {
        return "_HLS_part is too far ahead";
    }
    return NULL;
}
