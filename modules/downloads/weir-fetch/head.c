/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "head.h"

#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

#define DIGEST_TEXT 64 /* letters of a digest */

/* ---- texts ---- */

static void
copy_whole(char out[HEAD_TEXT], struct str s)
{
    str_copy(out, HEAD_TEXT, s.len < HEAD_TEXT ? s : STR_NONE);
}

static void
copy_lower(char out[HEAD_TEXT], struct str s)
{
    copy_whole(out, s);
    for (char *c = out; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    }
}

static bool
is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* The last part of a path, in bytes that may be shown. */
static void
copy_name(char out[HEAD_TEXT], struct str s)
{
    size_t from = s.len;

    while (from > 0 && s.ptr[from - 1] != '/' && s.ptr[from - 1] != '\\') {
        from--;
    }
    s = str_trim(str_skip(s, from));
    if (s.len >= HEAD_TEXT) {
        s = str_first(s, utf8_length(str_first(s, HEAD_TEXT - 1)));
    }
    str_copy(out, HEAD_TEXT, utf8_valid(s) ? s : STR_NONE);
    for (char *c = out; *c != '\0'; c++) {
        *c = is_control(*c) ? '_' : *c;
    }
    if (out[strspn(out, ".")] == '\0') {
        out[0] = '\0';
    }
}

/* "%41" to "A"; what is no such code stays. */
static struct str
decode(struct str s, char out[HEAD_TEXT])
{
    size_t n = 0;

    for (size_t i = 0; i < s.len && n < HEAD_TEXT - 1; n++) {
        int high = i + 2 < s.len ? str_hex_digit(s.ptr[i + 1]) : -1;
        int low = i + 2 < s.len ? str_hex_digit(s.ptr[i + 2]) : -1;
        bool coded =
            s.ptr[i] == '%' && high != -1 && low != -1 && (high | low) != 0;

        out[n] = coded ? (char)(high << 4 | low) : s.ptr[i];
        i += coded ? 3 : 1;
    }
    return str_of(out, n);
}

/* ---- Content-Disposition (RFC 6266) ---- */

/* The value of a parameter that begins here; *s is behind it. */
static struct str
take_value(struct str *s, char room[HEAD_TEXT])
{
    size_t n = 0, i = 1;

    if (s->len == 0 || s->ptr[0] != '"') {
        return str_trim(str_cut(s, ';'));
    }
    while (i < s->len && s->ptr[i] != '"') {
        i += s->ptr[i] == '\\' && i + 1 < s->len;
        if (n < HEAD_TEXT - 1) {
            room[n++] = s->ptr[i];
        }
        i++;
    }
    *s = str_skip(*s, i);
    str_cut(s, ';');
    return str_of(room, n);
}

/* UTF-8''a%20b (RFC 8187).  Other letters than UTF-8's are not read. */
static void
take_extended(struct head *h, struct str value)
{
    char room[HEAD_TEXT];
    struct str charset = str_cut(&value, '\'');

    str_cut(&value, '\'');
    if (str_eq_nocase(charset, STR("UTF-8"))) {
        copy_name(h->name, decode(value, room));
    }
}

static void
take_disposition(struct head *h, struct str value)
{
    bool extended = false;

    str_cut(&value, ';'); /* "attachment" */
    while (value.len > 0) {
        struct str key;
        char room[HEAD_TEXT];
        size_t equals = str_find(value, '=', 0);

        key = str_trim(str_first(value, equals));
        value = str_trim(str_skip(value, equals + 1));
        if (str_eq_nocase(key, STR("filename*"))) {
            take_extended(h, str_trim(str_cut(&value, ';')));
            extended = h->name[0] != '\0';
            continue;
        }
        struct str text = take_value(&value, room);

        if (str_eq_nocase(key, STR("filename")) && !extended) {
            copy_name(h->name, text);
        }
    }
}

/* ---- numbers ---- */

/* -1: it is none. */
static int64_t
to_count(struct str s)
{
    int64_t n;

    return str_to_int(str_trim(s), 0, INT64_MAX / 2, &n) ? n : -1;
}

/* "bytes 5-9/10", "bytes 5-9/ *", "bytes * /10" (RFC 9110, 14.4). */
static void
take_range(struct head *h, struct str value)
{
    struct str unit = str_cut(&value, ' ');
    struct str range = str_trim(str_cut(&value, '/'));

    if (!str_eq_nocase(unit, STR("bytes"))) {
        return;
    }
    h->total = to_count(value);
    if (!str_eq(range, STR("*"))) {
        h->first = to_count(str_cut(&range, '-'));
        h->last = to_count(range);
    }
    if (h->first < 0 || h->last < h->first ||
        (h->total >= 0 && h->last >= h->total)) {
        h->first = h->last = -1;
    }
}

/* ---- digests ---- */

static bool
take_digest(struct str text, uint8_t *out, size_t size)
{
    uint8_t bytes[DIGEST_TEXT / 4 * 3 + 3];
    size_t n;

    if (text.len > DIGEST_TEXT || !base64_decode_to(BASE64, text, bytes, &n) ||
        n != size) {
        return false;
    }
    memcpy(out, bytes, size);
    return true;
}

/* sha-256=BASE64 (RFC 3230), sha-256=:BASE64: (RFC 9530), several with
 * commas. */
static void
take_digests(struct head *h, struct str value, bool of_content)
{
    if (of_content && (h->has_sha256 || h->has_md5)) {
        return; /* that of the whole is better */
    }
    while (value.len > 0) {
        struct str one = str_cut(&value, ',');
        struct str key = str_trim(str_cut(&one, '='));

        one = str_trim(one);
        if (one.len >= 2 && one.ptr[0] == ':' && str_ends(one, STR(":"))) {
            one = str_of(one.ptr + 1, one.len - 2);
        }
        if (str_eq_nocase(key, STR("sha-256")) &&
            take_digest(one, h->sha256, DIGEST_SHA256)) {
            h->has_sha256 = true;
            h->of_content = of_content;
        } else if (str_eq_nocase(key, STR("md5")) &&
                   take_digest(one, h->md5, DIGEST_MD5)) {
            h->has_md5 = true;
            h->of_content = of_content;
        }
    }
}

static void
take_content_md5(struct head *h, struct str value)
{
    if (!h->has_md5 && !h->has_sha256 &&
        take_digest(value, h->md5, DIGEST_MD5)) {
        h->has_md5 = h->of_content = true;
    }
}

bool
head_digests_file(const struct head *h)
{
    return (h->has_sha256 || h->has_md5) &&
           (!h->of_content || h->status == 200);
}

/* ---- lines ---- */

static void
begin(struct head *h, struct str line)
{
    int64_t status = 0;

    *h = (struct head){ .length = -1, .first = -1, .last = -1, .total = -1 };
    str_cut(&line, ' ');
    if (str_to_int(str_cut(&line, ' '), 100, 999, &status)) {
        h->status = (int)status;
    }
}

static void
take_field(struct head *h, struct str key, struct str value)
{
    if (str_eq_nocase(key, STR("Content-Length"))) {
        h->length = to_count(value);
    } else if (str_eq_nocase(key, STR("Content-Range"))) {
        take_range(h, value);
    } else if (str_eq_nocase(key, STR("Content-Type"))) {
        copy_lower(h->type, str_trim(str_cut(&value, ';')));
    } else if (str_eq_nocase(key, STR("Content-Disposition"))) {
        take_disposition(h, value);
    } else if (str_eq_nocase(key, STR("ETag"))) {
        copy_whole(h->etag,
                   value.len > 1 && value.ptr[0] == '"' ? value : STR_NONE);
    } else if (str_eq_nocase(key, STR("Last-Modified"))) {
        copy_whole(h->modified, value);
    } else if (str_eq_nocase(key, STR("Location"))) {
        h->moved = value.len > 0;
    } else if (str_eq_nocase(key, STR("Repr-Digest")) ||
               str_eq_nocase(key, STR("Digest"))) {
        take_digests(h, value, false);
    } else if (str_eq_nocase(key, STR("Content-Digest"))) {
        take_digests(h, value, true);
    } else if (str_eq_nocase(key, STR("Content-MD5"))) {
        take_content_md5(h, value);
    }
}

void
head_line(struct head *h, struct str line)
{
    struct str key;

    if (str_starts(line, STR("HTTP/"))) {
        begin(h, line);
        return;
    }
    for (size_t i = 0; i < line.len; i++) {
        if (is_control(line.ptr[i]) && line.ptr[i] != '\t') {
            return;
        }
    }
    key = str_trim(str_cut(&line, ':'));
    take_field(h, key, str_trim(line));
}

/* ---- names ---- */

void
head_name(const struct head *h, struct str url, char out[HEAD_TEXT])
{
    char room[HEAD_TEXT];
    size_t from;

    if (h->name[0] != '\0') {
        memcpy(out, h->name, HEAD_TEXT);
        return;
    }
    url = str_first(url, str_find(url, '#', 0));
    url = str_first(url, str_find(url, '?', 0));
    from = str_find(url, ':', 0);
    url = str_skip(url, from + 3); /* behind "://" */
    url = str_skip(url, str_find(url, '/', 0));
    for (from = url.len; from > 0 && url.ptr[from - 1] != '/';) {
        from--;
    }
    copy_name(out, decode(str_skip(url, from), room));
}

/* Where it begins in a name, behind its dot; 0: there is none. */
static size_t
find_ending(const char *name)
{
    size_t len = strlen(name), at = len;

    while (at > 0 &&
           ((name[at - 1] >= '0' && name[at - 1] <= '9') ||
            ((name[at - 1] | 0x20) >= 'a' && (name[at - 1] | 0x20) <= 'z'))) {
        at--;
    }
    return at > 1 && name[at - 1] == '.' && at < len &&
                   len - at < HEAD_ENDING - 6
               ? at
               : 0;
}

void
head_cut_ending(char name[HEAD_TEXT])
{
    size_t at = find_ending(name);

    if (at > 0) {
        name[at - 1] = '\0';
    }
}

static bool
is_one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(text, *list) == 0) {
            return true;
        }
    }
    return false;
}

static const char *
ending_of_type(const char *type)
{
    static const char *const rows[][2] = {
        { "video/mp4", "mp4" },         { "video/webm", "webm" },
        { "video/x-matroska", "mkv" },  { "video/quicktime", "mov" },
        { "video/x-flv", "flv" },       { "video/mp2t", "ts" },
        { "video/x-msvideo", "avi" },   { "video/mpeg", "mpg" },
        { "video/ogg", "ogv" },         { "audio/mpeg", "mp3" },
        { "audio/mp3", "mp3" },         { "audio/mp4", "m4a" },
        { "audio/x-m4a", "m4a" },       { "audio/aac", "aac" },
        { "audio/ogg", "ogg" },         { "audio/opus", "opus" },
        { "audio/flac", "flac" },       { "audio/x-flac", "flac" },
        { "audio/wav", "wav" },         { "audio/x-wav", "wav" },
        { "audio/webm", "weba" },       { "application/ogg", "ogg" },
        { "image/jpeg", "jpg" },        { "image/png", "png" },
        { "image/gif", "gif" },         { "image/webp", "webp" },
        { "application/pdf", "pdf" },   { "application/zip", "zip" },
        { "application/gzip", "gz" },   { "application/x-tar", "tar" },
        { "application/json", "json" }, { "text/plain", "txt" },
        { "text/vtt", "vtt" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(type, rows[i][0]) == 0) {
            return rows[i][1];
        }
    }
    return NULL;
}

void
head_ending(const struct head *h, const char *name, char out[HEAD_ENDING])
{
    static const char *const scripts[] = { "php", "asp",  "aspx", "cgi", "pl",
                                           "jsp", "html", "htm",  "do",  NULL };
    const char *of_type = ending_of_type(h->type);
    size_t at = find_ending(name);
    char lower[HEAD_TEXT];

    copy_lower(lower, at > 0 ? str_from(name + at) : STR_NONE);
    if (lower[0] == '\0' || (is_one_of(lower, scripts) && of_type != NULL)) {
        str_copy(lower, sizeof(lower),
                 str_from(of_type != NULL ? of_type : "bin"));
    }
    str_copy(out, HEAD_ENDING, str_from(lower));
}

bool
head_is_page(const struct head *h)
{
    static const char *const types[] = {
        "text/html",
        "application/xhtml+xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/vnd.apple.mpegurl",
        "application/x-mpegurl",
        "audio/mpegurl",
        "audio/x-mpegurl",
        "application/dash+xml",
        NULL,
    };

    return is_one_of(h->type, types);
}
