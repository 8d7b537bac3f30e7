/*
 * Results: GET and HEAD of download/NAME, with ranges and conditions.
 *
 * The directory is opened for each request, so that one that was moved or
 * mounted meanwhile is the right one.  Nothing is kept in memory: results are
 * large, and asked for once.  "%2F" is a '/' like any other.  Names that begin
 * with a dot are hidden, .weir before all; folders are not listed.
 *
 * A stranger has made the bytes.  They are shown in the origin of weir's own
 * pages, so what can run a script there is shown without one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "downloads.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "http/file/content.h"
#include "http/path.h"
#include "proc/reach.h"

#define BELOW STR("/download/")

/* ---- names ---- */

static bool
is_hidden(struct str name)
{
    bool hidden = false;

    while (name.len > 0 && !hidden) {
        hidden = str_starts(str_cut(&name, '/'), STR("."));
    }
    return hidden;
}

/* The last part. */
static struct str
last_part(struct str name)
{
    while (str_find(name, '/', 0) < name.len) {
        str_cut(&name, '/');
    }
    return name;
}

/* ---- headers ---- */

/* Types that a browser shows without running anything of them. */
static bool
is_quiet(struct str type)
{
    return str_starts(type, STR("video/")) || str_starts(type, STR("audio/")) ||
           str_starts(type, STR("application/pdf")) ||
           (str_starts(type, STR("image/")) &&
            !str_starts(type, STR("image/svg")));
}

/* RFC 6266, 4.3; RFC 8187 for names that are not ASCII. */
static void
set_attachment(struct http_request *r, struct str name)
{
    struct str encoded = http_query_encode(r->pool, last_part(name));

    http_set_header(r, "Content-Disposition",
                    pool_printf(r->pool, "attachment; filename*=UTF-8''%.*s",
                                STR_ARGS(encoded)));
}

static void
set_headers(struct http_request *r, struct str name, const char *type)
{
    struct str ignored;

    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_set_header(r, "Cache-Control", STR("no-cache"));
    if (!is_quiet(str_from(type))) {
        http_set_header(r, "Content-Security-Policy", STR("sandbox"));
    }
    if (http_query(r, "attachment", &ignored)) {
        set_attachment(r, name);
    }
}

/* ---- answers ---- */

static enum http_result
not_there(struct http_request *r)
{
    return http_error(r, 404, "there is no such file");
}

static enum http_result
busy(struct http_request *r)
{
    http_note(r, "downloads: %s", strerror(errno));
    http_set_header(r, "Retry-After", STR("1"));
    return http_error(r, 503, "too busy to open the file");
}

static enum http_result
failed(struct http_request *r)
{
    http_note(r, "downloads: %s", strerror(errno));
    return http_error(r, 500, "the file cannot be read");
}

static enum http_result
answer(struct http_request *r, struct http_files *f, struct str name)
{
    struct http_content c = { .file = NULL };

    switch (http_files_open(f, name, loop_now(r->loop), &c.file)) {
    case HTTP_FILE_OPEN:
        set_headers(r, name, c.file->type);
        return http_send_content(r, &c);
    case HTTP_FILE_DIRECTORY:
    case HTTP_FILE_NONE:
        return not_there(r);
    case HTTP_FILE_DENIED:
        return http_error(r, 403, "the file may not be read");
    case HTTP_FILE_BUSY:
        return busy(r);
    case HTTP_FILE_FAILED:
        break;
    }
    return failed(r);
}

enum http_result
downloads_on_file(struct http_request *r, void *state)
{
    static const struct http_files_limits no_cache = { .entries = 0 };
    const struct downloads_instance *i =
        downloads_layer(state)->instance.settings;
    struct str name = pool_str(r->pool, str_skip(r->route_path, BELOW.len));
    struct http_files *files;
    enum http_result result;
    int root;

    if (name.len == 0 || is_hidden(name)) {
        return not_there(r);
    }
    root = reach_open(pool_cstr(r->pool, i->directory), O_PATH | O_DIRECTORY);
    if (root == -1) {
        return errno == EMFILE || errno == ENFILE ? busy(r) : failed(r);
    }
    files = http_files_new(root, &no_cache);
    result = answer(r, files, name);
    http_files_free(&files);
    return result;
}
