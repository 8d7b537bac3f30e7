/*
 * Members of a body are taken one by one, each with its bounds; null counts as
 * absent.  The same rules are asked again of bytes that come from another
 * process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request.h"

#include <stdio.h>

#include "base/utf8.h"
#include "fetcher/selection.h"
#include "json/read.h"

#define SHOWN 60 /* bytes of a value that an error shows */

/* ---- errors ---- */

/* A text as it is shown, cut between characters. */
static struct str
shown(struct str s)
{
    return str_first(s, utf8_length(str_first(s, SHOWN)));
}

static int
refuse_text(struct errmsg *err, const char *field, const char *must,
            struct str text)
{
    struct str cut = shown(text);

    return errmsg_set(err, "%s must be %s, not \"%.*s%s\"", field, must,
                      STR_ARGS(cut), cut.len < text.len ? "..." : "");
}

static int
refuse(struct errmsg *err, const char *field, const char *must,
       const struct json_value *v)
{
    static const char *const kinds[] = {
        [JSON_NULL] = "null",       [JSON_BOOL] = "true or false",
        [JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
        [JSON_ARRAY] = "an array",  [JSON_OBJECT] = "an object",
    };

    if (v->kind == JSON_STRING) {
        return refuse_text(err, field, must, v->text);
    }
    if (v->kind == JSON_NUMBER) {
        return errmsg_set(err, "%s must be %s, not %.*s", field, must,
                          STR_ARGS(v->text));
    }
    return errmsg_set(err, "%s must be %s, not %s", field, must,
                      v->kind == JSON_BOOL ? v->truth ? "true" : "false"
                                           : kinds[v->kind]);
}

/* ---- rules ---- */

static bool
has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < ' ' || c == 0x7f) {
            return true;
        }
    }
    return false;
}

static int
check_text(const char *field, struct str s, size_t most, struct errmsg *err)
{
    if (s.len > most) {
        return errmsg_set(err, "%s must have at most %zu bytes, not %zu", field,
                          most, s.len);
    }
    if (has_control(s)) {
        return errmsg_set(err, "%s must have no control characters", field);
    }
    return 0;
}

static bool
starts_nocase(struct str s, struct str prefix)
{
    return str_eq_nocase(str_first(s, prefix.len), prefix);
}

static bool
has_text(struct str s, struct str wanted)
{
    for (size_t i = 0; i + wanted.len <= s.len; i++) {
        if (str_starts(str_skip(s, i), wanted)) {
            return true;
        }
    }
    return false;
}

/* Behind the user and in front of the port. */
static bool
has_host(struct str rest)
{
    size_t end = 0, at;

    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?' &&
           rest.ptr[end] != '#') {
        end++;
    }
    for (at = end; at > 0 && rest.ptr[at - 1] != '@'; at--) {
    }
    return at < end && rest.ptr[at] != ':';
}

/* Engines take much more for an address than what is one: options, search
 * words, files of this host. */
static int
check_url(struct str s, struct errmsg *err)
{
    struct str rest = STR_NONE;

    if (s.len == 0) {
        return errmsg_set(err, "url must not be empty");
    }
    if (check_text("url", s, DOWNLOAD_URL_MAX, err) == -1) {
        return -1;
    }
    if (starts_nocase(s, STR("http://"))) {
        rest = str_skip(s, 7);
    } else if (starts_nocase(s, STR("https://"))) {
        rest = str_skip(s, 8);
    }
    if (!has_host(rest)) {
        return refuse_text(err, "url", "an http:// or https:// address", s);
    }
    if (has_text(s, STR("__youtubedl_smuggle"))) {
        return errmsg_set(err, "url must not have \"__youtubedl_smuggle\" in "
                               "it, by which engines hand on data");
    }
    return 0;
}

static int
check_selection(struct str quality, struct str format, struct errmsg *err)
{
    if (check_text("quality", quality, DOWNLOAD_WORD_MAX, err) == -1 ||
        check_text("format", format, DOWNLOAD_WORD_MAX, err) == -1) {
        return -1;
    }
    return selection_check(quality, format, err);
}

static int
check_folder(struct str s, struct errmsg *err)
{
    struct str rest = s;

    if (check_text("folder", s, DOWNLOAD_FOLDER_MAX, err) == -1) {
        return -1;
    }
    while (rest.len > 0) {
        struct str part = str_cut(&rest, '/');

        if (part.len == 0 || part.ptr[0] == '.') {
            return refuse_text(err, "folder",
                               "a path below the directory, without a part "
                               "that is empty or begins with \".\"",
                               s);
        }
    }
    return 0;
}

static int
check_prefix(struct str s, struct errmsg *err)
{
    struct str rest = s;

    if (check_text("custom_name_prefix", s, DOWNLOAD_WORD_MAX, err) == -1) {
        return -1;
    }
    if (str_starts(s, STR("/"))) {
        return refuse_text(err, "custom_name_prefix",
                           "text that does not begin with \"/\"", s);
    }
    while (rest.len > 0) {
        if (str_eq(str_cut(&rest, '/'), STR(".."))) {
            return refuse_text(err, "custom_name_prefix",
                               "text without a part \"..\"", s);
        }
    }
    return 0;
}

int
download_wish_check(const struct download_wish *w, struct errmsg *err)
{
    if (check_url(w->url, err) == -1 ||
        check_selection(w->quality, w->format, err) == -1) {
        return -1;
    }
    return check_folder(w->folder, err) == -1 ? -1
                                              : check_prefix(w->prefix, err);
}

/* ---- members ---- */

/* NULL: it is absent. */
static const struct json_value *
member(const struct json_value *body, const char *name)
{
    const struct json_value *v = json_member(body, name);

    return v == NULL || v->kind == JSON_NULL ? NULL : v;
}

static int
take_text(const struct json_value *body, const char *name, struct str *out,
          struct errmsg *err)
{
    const struct json_value *v = member(body, name);

    if (v == NULL) {
        return 0;
    }
    if (v->kind != JSON_STRING) {
        return refuse(err, name, "a string", v);
    }
    *out = v->text;
    return 0;
}

static int
take_needed(const struct json_value *body, const char *name, struct str *out,
            struct errmsg *err)
{
    const struct json_value *v = member(body, name);

    *out = STR_NONE;
    if (take_text(body, name, out, err) == -1) {
        return -1;
    }
    if (out->len == 0) {
        return errmsg_set(err, "%s %s: it must be a string that is not empty",
                          name, v == NULL ? "is missing" : "is empty");
    }
    return 0;
}

/* *out: 1, 0, or as it was. */
static int
take_bool(const struct json_value *body, const char *name, int *out,
          struct errmsg *err)
{
    const struct json_value *v = member(body, name);

    if (v == NULL) {
        return 0;
    }
    if (v->kind != JSON_BOOL) {
        return refuse(err, name, "true or false", v);
    }
    *out = v->truth;
    return 0;
}

static bool
read_limit(const struct json_value *v, bool in_texts, int64_t *out)
{
    if (v->kind == JSON_STRING) {
        return in_texts && str_to_int(v->text, 0, DOWNLOAD_LIMIT_MAX, out);
    }
    if (v->kind != JSON_NUMBER || !(v->number >= 0) ||
        !(v->number <= DOWNLOAD_LIMIT_MAX)) {
        return false;
    }
    *out = (int64_t)v->number;
    return (double)*out == v->number;
}

static int
take_limit(const struct json_value *body, bool in_texts, int64_t *out,
           struct errmsg *err)
{
    const struct json_value *v = member(body, "playlist_item_limit");

    if (v == NULL || read_limit(v, in_texts, out)) {
        return 0;
    }
    return refuse(err, "playlist_item_limit",
                  "a whole number from 0 to 1000000", v);
}

/* ---- bodies ---- */

static const struct json_value *
read_body(struct json_reader *body, struct errmsg *err)
{
    const struct json_value *v;

    if (json_reader_is_empty(body)) {
        errmsg_set(err, "the body is empty: it must be a JSON object");
        return NULL;
    }
    v = json_reader_end(body, err);
    if (v == NULL) {
        errmsg_prefix(err, "the body: ");
    } else if (v->kind != JSON_OBJECT) {
        refuse(err, "the body", "a JSON object", v);
        return NULL;
    }
    return v;
}

static int
take_texts(const struct json_value *v, struct download_wish *out,
           struct errmsg *err)
{
    if (take_needed(v, "url", &out->url, err) == -1) {
        return -1;
    }
    out->url = str_trim_space(out->url);
    if (check_url(out->url, err) == -1 ||
        take_needed(v, "quality", &out->quality, err) == -1 ||
        take_text(v, "format", &out->format, err) == -1 ||
        take_text(v, "folder", &out->folder, err) == -1 ||
        take_text(v, "custom_name_prefix", &out->prefix, err) == -1) {
        return -1;
    }
    if (out->format.len == 0) {
        out->format = STR("any");
    }
    while (out->folder.len > 1 && str_ends(out->folder, STR("/"))) {
        out->folder.len--;
    }
    return 0;
}

void
download_wish_defaults(struct download_wish *out)
{
    *out = (struct download_wish){
        .instance = STR_NONE,
        .url = STR_NONE,
        .quality = STR("best"),
        .format = STR("any"),
        .folder = STR_NONE,
        .prefix = STR_NONE,
        .strict = -1,
        .limit = -1,
        .auto_start = true,
    };
}

int
download_wish_parse(struct json_reader *body, bool in_texts,
                    struct download_wish *out, struct errmsg *err)
{
    const struct json_value *v = read_body(body, err);
    int auto_start = true;

    download_wish_defaults(out);
    if (v == NULL || take_texts(v, out, err) == -1 ||
        take_bool(v, "playlist_strict_mode", &out->strict, err) == -1 ||
        take_limit(v, in_texts, &out->limit, err) == -1 ||
        take_bool(v, "auto_start", &auto_start, err) == -1) {
        return -1;
    }
    out->auto_start = auto_start;
    return download_wish_check(out, err);
}

static int
take_where(const struct json_value *body, bool *done, struct errmsg *err)
{
    const struct json_value *v = member(body, "where");

    if (v == NULL) {
        return errmsg_set(err, "where is missing: it must be \"queue\" or "
                               "\"done\"");
    }
    *done = v->kind == JSON_STRING && str_eq(v->text, STR("done"));
    if (*done || (v->kind == JSON_STRING && str_eq(v->text, STR("queue")))) {
        return 0;
    }
    return refuse(err, "where", "\"queue\" or \"done\"", v);
}

static size_t
count_items(const struct json_value *list)
{
    size_t n = 0;

    for (const struct json_value *v = list->first; v != NULL; v = v->next) {
        n++;
    }
    return n;
}

static int
check_ids(const struct json_value *list, struct errmsg *err)
{
    size_t count =
        list != NULL && list->kind == JSON_ARRAY ? count_items(list) : 0;
    char name[32];
    size_t i = 0;

    if (list == NULL) {
        return errmsg_set(err, "ids is missing: it must be an array of "
                               "strings, the addresses of downloads");
    }
    if (list->kind != JSON_ARRAY) {
        return refuse(err, "ids", "an array of strings", list);
    }
    if (count == 0 || count > DOWNLOAD_IDS_MAX) {
        return errmsg_set(err, "ids must have 1 to %d items, not %zu",
                          DOWNLOAD_IDS_MAX, count);
    }
    for (const struct json_value *v = list->first; v != NULL; v = v->next) {
        snprintf(name, sizeof(name), "ids[%zu]", i++);
        if (v->kind != JSON_STRING) {
            return refuse(err, name, "a string", v);
        }
        if (v->text.len > DOWNLOAD_URL_MAX) {
            return errmsg_set(err, "%s must have at most %d bytes, not %zu",
                              name, DOWNLOAD_URL_MAX, v->text.len);
        }
    }
    return 0;
}

int
download_ids_parse(struct pool *p, struct json_reader *body, bool with_where,
                   struct download_ids *out, struct errmsg *err)
{
    const struct json_value *v = read_body(body, err);
    const struct json_value *list;
    struct str *ids;

    *out = (struct download_ids){ .instance = STR_NONE };
    if (v == NULL) {
        return -1;
    }
    list = member(v, "ids");
    if (check_ids(list, err) == -1 ||
        (with_where && take_where(v, &out->done, err) == -1)) {
        return -1;
    }
    ids = pool_alloc(p, count_items(list) * sizeof(*ids));
    for (v = list->first; v != NULL; v = v->next) {
        ids[out->count++] = v->text;
    }
    out->ids = ids;
    return 0;
}
