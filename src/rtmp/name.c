/*
 * Resolves a client's app, tcUrl and stream name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/name.h"

#include <string.h>

#include "base/utf8.h"

/* A place in out->text that is being written. */
struct part {
    char *start;
    size_t len, max;
    const char *what; /* for messages */
};

bool
rtmp_name_is_clean(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return utf8_valid(s);
}

static int
put(struct part *p, struct str s, struct errmsg *err)
{
    if (s.len > p->max - p->len) {
        return errmsg_set(err, "the %s is longer than %zu bytes", p->what,
                          p->max);
    }
    memcpy(p->start + p->len, s.ptr, s.len);
    p->len += s.len;
    return 0;
}

static struct str
part_str(const struct part *p)
{
    return str_of(p->start, p->len);
}

/* Adds a segment behind a slash, except the first. */
static int
put_segment(struct part *p, struct str segment, struct errmsg *err)
{
    if (p->len > 0 && put(p, STR("/"), err) == -1) {
        return -1;
    }
    return put(p, segment, err);
}

/* The next segment that counts; false when there is none. */
static bool
next_segment(struct str *path, struct str *segment)
{
    while (path->len > 0) {
        *segment = str_cut(path, '/');
        if (segment->len > 0 && !str_eq(*segment, STR("_definst_"))) {
            return true;
        }
    }
    return false;
}

static int
check_segment(struct str segment, struct errmsg *err)
{
    if (str_eq(segment, STR(".")) || str_eq(segment, STR(".."))) {
        return errmsg_set(err, "\".\" and \"..\" cannot be part of a name");
    }
    return 0;
}

static int
put_path(struct part *p, struct str path, struct errmsg *err)
{
    struct str segment;
    while (next_segment(&path, &segment)) {
        if (check_segment(segment, err) == -1 ||
            put_segment(p, segment, err) == -1) {
            return -1;
        }
    }
    return 0;
}

/* Is this very piece ("k=v") in args already? */
static bool
has_piece(struct str args, struct str piece)
{
    while (args.len > 0) {
        if (str_eq(str_cut(&args, '&'), piece)) {
            return true;
        }
    }
    return false;
}

static int
put_query(struct part *args, struct str query, struct errmsg *err)
{
    while (query.len > 0) {
        struct str piece = str_cut(&query, '&');
        if (piece.len == 0 || has_piece(part_str(args), piece)) {
            continue;
        }
        if (args->len > 0 && put(args, STR("&"), err) == -1) {
            return -1;
        }
        if (put(args, piece, err) == -1) {
            return -1;
        }
    }
    return 0;
}

int
rtmp_name_check(struct str s, bool one_segment, struct errmsg *err)
{
    if (s.len == 0 || s.len > RTMP_NAME_MAX) {
        return errmsg_set(err, "must be 1 to %d bytes long", RTMP_NAME_MAX);
    }
    if (!rtmp_name_is_clean(s)) {
        return errmsg_set(err, "must be UTF-8 without control characters");
    }
    if (str_find(s, '?', 0) < s.len ||
        (one_segment && str_find(s, '/', 0) < s.len)) {
        return errmsg_set(err, "must not contain %s",
                          one_segment ? "'/' or '?'" : "'?'");
    }
    if (s.ptr[s.len - 1] == '/') {
        return errmsg_set(err, "must not end with '/'");
    }
    while (s.len > 0) {
        struct str segment = str_cut(&s, '/');

        if (segment.len == 0 || str_eq(segment, STR("_definst_")) ||
            str_eq(segment, STR(".")) || str_eq(segment, STR(".."))) {
            return errmsg_set(err, "must not %s \".\", \"..\"%s \"_definst_\"",
                              one_segment ? "be" : "have segments",
                              one_segment ? " or" : ", nothing or");
        }
    }
    return 0;
}

/* ---- files that are none ---- */

static bool
is_at(struct str s, size_t at, const char *word)
{
    struct str w = str_from(word);

    return str_eq_nocase(str_first(str_skip(s, at), w.len), w);
}

/* The first segment that begins with the kind of a file; name.len: none does.
 * All kinds are equally long. */
static size_t
find_kind(struct str name)
{
    size_t at = 0;

    while (at < name.len && !is_at(name, at, "mp4:") &&
           !is_at(name, at, "flv:") && !is_at(name, at, "mp3:")) {
        at = str_find(name, '/', at) + 1;
    }
    return at < name.len ? at : name.len;
}

static bool
has_ending(struct str name)
{
    static const char *const endings[] = { ".mp4", ".f4v", ".flv", ".mp3" };

    for (size_t i = 0; name.len > 4 && i < 4; i++) {
        if (is_at(name, name.len - 4, endings[i])) {
            return true;
        }
    }
    return false;
}

bool
rtmp_name_meaning(struct rtmp_meaning *out, struct str name, unsigned n)
{
    bool kind = n == 0 || n == 2, ending = n == 1 || n == 2;
    size_t at = kind ? find_kind(name) : 0;

    if ((kind && at == name.len) || (ending && !has_ending(name)) ||
        name.len > RTMP_NAME_MAX) {
        return false;
    }
    struct str rest = str_skip(name, at + (kind ? 4 : 0));

    rest.len -= ending ? 4 : 0;
    memcpy(out->text, name.ptr, at);
    memcpy(out->text + at, rest.ptr, rest.len);
    out->len = at + rest.len;
    return rest.len > 0 && rest.ptr[0] != '/' && rest.ptr[rest.len - 1] != '/';
}

/* Some senders quote the URL. */
static struct str
unquote(struct str s)
{
    while (s.len > 0 && (s.ptr[0] == '\'' || s.ptr[0] == '"')) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == '\'' || s.ptr[s.len - 1] == '"')) {
        s.len--;
    }
    return s;
}

struct str
rtmp_name_tc_url(struct str tc_url)
{
    tc_url = unquote(tc_url);
    return str_cut(&tc_url, '?');
}

/* The part behind SCHEME://HOST/, or nothing. */
static struct str
url_path(struct str url)
{
    for (size_t i = 0; i + 3 <= url.len; i++) {
        if (memcmp(url.ptr + i, "://", 3) == 0) {
            url = str_skip(url, i + 3);
            str_cut(&url, '/');
            return url;
        }
    }
    return STR_NONE;
}

/* The first segment is the application, the rest begins the name. */
static int
put_app(struct part *app, struct part *name, struct str path,
        struct errmsg *err)
{
    struct str segment;
    if (!next_segment(&path, &segment)) {
        return errmsg_set(err, "no application is named");
    }
    if (check_segment(segment, err) == -1 || put(app, segment, err) == -1) {
        return -1;
    }
    return put_path(name, path, err);
}

static int
check_clean(struct str app, struct str tc_url, struct str name,
            struct errmsg *err)
{
    if (!rtmp_name_is_clean(app) || !rtmp_name_is_clean(name) ||
        !rtmp_name_is_clean(tc_url)) {
        return errmsg_set(err, "a control character or a byte that is not "
                               "UTF-8 in the URL");
    }
    return 0;
}

int
rtmp_name_resolve(struct rtmp_name *out, struct str app, struct str tc_url,
                  struct str name, bool wants_name, struct errmsg *err)
{
    char *at = out->text;
    struct part apps = { at, 0, RTMP_NAME_MAX, "application" };
    at += RTMP_NAME_MAX;
    struct part names = { at, 0, RTMP_NAME_MAX, "stream name" };
    at += RTMP_NAME_MAX;
    struct part args = { at, 0, RTMP_ARGS_MAX, "query" };

    if (check_clean(app, tc_url, name, err) == -1) {
        return -1;
    }
    tc_url = unquote(tc_url);
    /* str_cut() leaves the query in what it cuts from. */
    struct str name_path = str_cut(&name, '?');
    struct str app_path = str_cut(&app, '?');
    struct str url = str_cut(&tc_url, '?');
    if (app_path.len == 0) {
        app_path = url_path(url);
    }
    if (put_app(&apps, &names, app_path, err) == -1 ||
        put_path(&names, name_path, err) == -1 ||
        put_query(&args, name, err) == -1 || put_query(&args, app, err) == -1 ||
        put_query(&args, tc_url, err) == -1) {
        return -1;
    }
    if (wants_name && names.len == 0) {
        return errmsg_set(err, "no stream is named");
    }
    out->app = part_str(&apps);
    out->name = part_str(&names);
    out->args = part_str(&args);
    return 0;
}
