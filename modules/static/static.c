/*
 * Files below a directory.
 *
 * The root is opened when a worker starts, and every file beneath it by
 * http/file/files.h: nothing leads out of it, and small files are answered from
 * memory.  Paths that do not exist, and names that begin with a dot (except
 * ".well-known", RFC 8615), go to the next layer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/module.h"
#include "app/worker.h"
#include "base/clock.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "http/accept.h"
#include "http/file/content.h"
#include "http/path.h"
#include "http/text.h"
#include "listing.h"
#include "proc/life.h"
#include "proc/reach.h"
#include "types.h"

#define EXPIRES_OFF -1
#define CONSOLE "console/main.js" /* html/ has it */
#define DEFAULT_TYPE "application/octet-stream"
#define DEFAULT_CHARSET "utf-8" /* weir's own types name it */
#define DAYS(n) ((int64_t)(n)*24 * 3600 * 1000)

struct static_settings {
    struct str root;
    struct str alias;
    struct str index;
    struct str fallback;
    bool autoindex;
    bool gzip_static;
    int64_t expires; /* ms, or EXPIRES_OFF */
    struct str cache_control;
    int64_t cache_files;
    int64_t cache_open;
    int64_t cache_memory, cache_max_size; /* bytes */
    int64_t cache_valid;                  /* ms */
    struct conf_strings types;
    struct str types_file;
    struct str default_type;
    struct str charset;
};

struct site {
    const struct static_settings *settings; /* borrowed */
    struct http_files *files;               /* owned */
    struct task_threads *threads;           /* borrowed */
    const struct http_text *alias;          /* NULL: the path is the name */
    struct types *types;                    /* owned; NULL: weir's own */
    struct str max_age;                     /* of Cache-Control; empty: none */
    bool console;                           /* its root has the console */
};

static const char *const expires_words[] = { "off", NULL };

static int
check_header(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (c < ' ' || c >= 0x7f) {
            return errmsg_set(err, "must be printable ASCII");
        }
    }
    return 0;
}

static int
check_fallback(struct str value, struct errmsg *err)
{
    if (str_starts(value, STR("/"))) {
        return errmsg_set(err, "is below the root and does not begin with "
                               "'/'");
    }
    return 0;
}

static int
check_type(struct str value, struct errmsg *err)
{
    return str_find(value, '/', 0) < value.len
               ? check_header(value, err)
               : errmsg_set(err, "must be a media type, like text/plain");
}

static int
check_charset(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (str_find(STR(" ;,\"\\"), value.ptr[i], 0) < 5) {
            return errmsg_set(err, "must be a name, like utf-8");
        }
    }
    return check_header(value, err);
}

static const struct conf_key keys[] = {
    ROW(static_settings, root, CONF_STRING, .min = 1, .max = 4096,
        .help = "The directory that the files lie in."),
    ROW(static_settings, alias, CONF_STRING, .max = 1024, .preset = "",
        .check = check_fallback,
        .help = "The file below the root that is meant, in place of the path: "
                "a name, or a text with variables and the groups of the "
                "location's pattern: \"$1/pictures/$2\"."),
    ROW(static_settings, index, CONF_STRING, .max = 255, .preset = "index.html",
        .help = "The file that stands for its directory."),
    ROW(static_settings, fallback, CONF_STRING, .max = 1024, .preset = "",
        .check = check_fallback,
        .help = "The file that answers where there is none: the page of an "
                "application that routes by itself."),
    ROW(static_settings, autoindex, CONF_BOOL, .preset = "false",
        .help = "Lists directories that have no index."),
    ROW(static_settings, gzip_static, CONF_BOOL, .preset = "false",
        .help = "Sends NAME.gz, if it lies beside NAME and is not older, to "
                "clients that accept gzip."),
    ROW(static_settings, expires, CONF_TIME, .max = DAYS(3650), .preset = "off",
        .words = expires_words,
        .help = "How long clients may keep a file without asking: sets Expires "
                "and Cache-Control."),
    ROW(static_settings, cache_control, CONF_STRING, .max = 255, .preset = "",
        .check = check_header,
        .help = "The Cache-Control of files, instead of that of expires."),
    ROW(static_settings, cache_files, CONF_INT, .min = 0, .max = 1000000,
        .preset = "1024",
        .help = "How many small files a worker keeps in memory; 0: none."),
    ROW(static_settings, cache_memory, CONF_SIZE, .min = 0,
        .max = (int64_t)1 << 36, .preset = "16M",
        .help = "The most memory of a worker for them."),
    ROW(static_settings, cache_max_size, CONF_SIZE, .min = 0,
        .max = 256 * 1024, /* it is compressed in one go */
        .preset = "64k", .help = "The largest file that is kept in memory."),
    ROW(static_settings, cache_open, CONF_INT, .min = 0, .max = HTTP_FILES_OPEN,
        .preset = "32",
        .help = "How many larger files a worker keeps open; 0: none."),
    ROW(static_settings, cache_valid, CONF_TIME, .min = 0, .max = DAYS(1),
        .preset = "1s",
        .help = "How long a file in memory is trusted to be the one on disk, "
                "and a larger one stays open; 0: not at all."),
    ROW(static_settings, types, CONF_STRINGS, .max = 256, .preset = "",
        .check = types_check,
        .help = "Media types, each with the endings of names that have it: "
                "\"application/x-foo foo\"."),
    ROW(static_settings, types_file, CONF_STRING, .max = 4096, .preset = "",
        .help = "A file of such types, in the form of nginx or of "
                "/etc/mime.types."),
    ROW(static_settings, default_type, CONF_STRING, .max = 255,
        .preset = DEFAULT_TYPE, .check = check_type,
        .help = "The type of files whose ending nobody knows."),
    ROW(static_settings, charset, CONF_STRING, .min = 1, .max = 64,
        .preset = DEFAULT_CHARSET, .check = check_charset,
        .help = "The charset of text/* and application/javascript that name "
                "none; off: they get none."),
    CONF_END,
};

/* ---- names ---- */

/* Whether a segment begins with a dot: ".git", and whatever hides so. */
static bool
is_hidden(struct str path)
{
    static const char known[] = "/.well-known/";

    for (size_t i = 0; i + 1 < path.len; i++) {
        if (path.ptr[i] == '/' && path.ptr[i + 1] == '.' &&
            !str_starts(str_skip(path, i), STR(known))) {
            return true;
        }
    }
    return false;
}

/* The file's name relative to the root, with the index's if the path is a
 * directory's. */
static struct str
name_of(struct http_request *r, const struct site *s)
{
    struct str path = str_skip(r->route_path, 1);

    if (str_ends(r->route_path, STR("/"))) {
        return pool_printf(r->pool, "%.*s%.*s", STR_ARGS(path),
                           STR_ARGS(s->settings->index));
    }
    return pool_str(r->pool, path);
}

/* ---- answering ---- */

/* "/dir" to "/dir/": so that what its page refers to is found. */
static enum http_result
redirect_to_slash(struct http_request *r)
{
    http_set_header(r, "Location", http_slash_location(r));
    return http_reply(r, 301, NULL, STR_NONE);
}

static void
set_caching(struct http_request *r, const struct site *s)
{
    int64_t expires = s->settings->expires;
    char date[32];

    if (expires != EXPIRES_OFF) {
        clock_http_date(date, sizeof(date), clock_wall_ms() + expires);
        http_set_header(r, "Expires", str_from(date));
    }
    if (s->settings->cache_control.len > 0) {
        http_set_header(r, "Cache-Control", s->settings->cache_control);
    } else if (s->max_age.len > 0) {
        http_set_header(r, "Cache-Control", s->max_age);
    }
}

/* The gzip of a file that lies beside it, if it may be sent; NULL else. */
static struct http_opened *
open_gzip(struct http_request *r, const struct site *s, struct str name,
          const struct http_opened *file)
{
    struct str beside = pool_printf(r->pool, "%.*s.gz", STR_ARGS(name));
    struct http_opened *gzip = NULL;

    if (!http_accepts_gzip(r) ||
        http_files_open(s->files, beside, loop_now(r->loop), &gzip) !=
            HTTP_FILE_OPEN) {
        return NULL;
    }
    if (gzip->modified < file->modified) {
        http_opened_drop(gzip);
        return NULL;
    }
    return gzip;
}

/* Asked for by the location's own path, without the slash that a directory
 * ends in. */
static bool
lacks_slash(const struct http_request *r)
{
    return str_ends(r->route_path, STR("/")) && !str_ends(r->path, STR("/"));
}

/* Takes file over. */
static enum http_result
send_file(struct http_request *r, const struct site *s, struct str name,
          struct http_opened *file)
{
    struct http_content c = { .file = file };

    if (s->types != NULL) {
        c.type = types_find(s->types, r->pool, name);
    }
    set_caching(r, s);
    if (s->settings->gzip_static && !str_ends(name, STR(".gz"))) {
        struct http_opened *gzip = open_gzip(r, s, name, file);

        c.varies = true;
        if (gzip != NULL) {
            c.type = c.type != NULL ? c.type : file->type;
            c.gzipped = true;
            c.file = gzip;
            http_opened_drop(file);
        }
    }
    return http_send_content(r, &c);
}

static enum http_result
failed(struct http_request *r)
{
    http_note(r, "static: %s", strerror(errno));
    return http_error(r, 500, "the file cannot be read");
}

static enum http_result
too_busy(struct http_request *r)
{
    http_note(r, "static: %s", strerror(errno));
    http_set_header(r, "Retry-After", STR("1"));
    return http_error(r, 503, "too busy to open the file");
}

/* Nothing of that name: the page that stands for all others, if there is
 * one. */
static enum http_result
fall_back(struct http_request *r, const struct site *s)
{
    struct http_opened *file;

    if (s->settings->fallback.len > 0 &&
        http_files_open(s->files, s->settings->fallback, loop_now(r->loop),
                        &file) == HTTP_FILE_OPEN) {
        return send_file(r, s, s->settings->fallback, file);
    }
    return HTTP_PASS;
}

/* Nothing of that name; it may be a directory without an index. */
static enum http_result
not_there(struct http_request *r, const struct site *s)
{
    if (s->settings->autoindex && lacks_slash(r)) {
        return redirect_to_slash(r);
    }
    if (s->settings->autoindex && str_ends(r->route_path, STR("/"))) {
        enum http_result result =
            listing_answer(r, http_files_root(s->files), s->threads);

        if (result != HTTP_PASS) {
            return result;
        }
    }
    return fall_back(r, s);
}

static enum http_result
answer_file(struct http_request *r, const struct site *s)
{
    struct http_opened *file = NULL;

    if (is_hidden(r->route_path)) {
        return HTTP_PASS;
    }
    if (r->context != NULL) { /* its listing is there */
        return listing_answer(r, http_files_root(s->files), s->threads);
    }
    struct str name = name_of(r, s);

    switch (http_files_open(s->files, name, loop_now(r->loop), &file)) {
    case HTTP_FILE_OPEN:
        if (lacks_slash(r)) {
            http_opened_drop(file);
            return redirect_to_slash(r);
        }
        return send_file(r, s, name, file);
    case HTTP_FILE_DIRECTORY:
        if (!str_ends(r->path, STR("/"))) {
            return redirect_to_slash(r);
        }
        return not_there(r, s);
    case HTTP_FILE_NONE:
        return not_there(r, s);
    case HTTP_FILE_DENIED:
        return http_error(r, 403, "the file may not be read");
    case HTTP_FILE_BUSY:
        return too_busy(r);
    case HTTP_FILE_FAILED:
        break;
    }
    return failed(r);
}

/* Of a file: what may be asked of it.  Without this, the route below would
 * say so of every path. */
static enum http_result
answer_options(struct http_request *r, const struct site *s)
{
    struct http_opened *file = NULL;
    enum http_found found;

    if (is_hidden(r->route_path)) {
        return HTTP_PASS;
    }
    found = http_files_open(s->files, name_of(r, s), loop_now(r->loop), &file);
    if (found == HTTP_FILE_OPEN) {
        http_opened_drop(file);
    } else if (found == HTTP_FILE_NONE && s->settings->fallback.len == 0 &&
               !str_ends(r->route_path, STR("/"))) {
        return HTTP_PASS;
    }
    http_set_header(r, "Allow", STR("GET, HEAD, OPTIONS"));
    return http_reply(r, 204, NULL, STR_NONE);
}

/* Calls it with the path that the alias stands for. */
static enum http_result
at_alias(struct http_request *r, const struct site *s,
         enum http_result (*answer)(struct http_request *r,
                                    const struct site *s))
{
    struct str whole = r->route_path, name;
    enum http_result result;

    if (s->alias == NULL) {
        return answer(r, s);
    }
    if (!http_text_of(r, s->alias, HTTP_IN_TEXT, &name) ||
        memchr(name.ptr, '\0', name.len) != NULL) {
        return HTTP_PASS; /* no file has such a name */
    }
    r->route_path = pool_join(r->pool, STRS(STR("/"), name));
    result = answer(r, s);
    r->route_path = whole; /* for the next layer */
    return result;
}

static enum http_result
on_file(struct http_request *r, void *state)
{
    return at_alias(r, state, answer_file);
}

static enum http_result
on_options(struct http_request *r, void *state)
{
    return at_alias(r, state, answer_options);
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_file },
    { .method = "OPTIONS", .path = "/*", .handler = on_options },
    { .path = NULL },
};

/* ---- life ---- */

static int
open_root(const struct static_settings *s, struct errmsg *err)
{
    int fd = reach_open(s->root.ptr, O_PATH | O_DIRECTORY);

    if (fd != -1 && faccessat(fd, ".", X_OK, 0) == 0) {
        return fd;
    }
    errmsg_sys(err, "%s cannot enter root \"%.*s\"", privilege_who(),
               STR_ARGS(s->root));
    if (fd != -1) {
        close(fd);
    }
    return -1;
}

/* *types: NULL where weir's own are all. */
static int
make_types(const struct static_settings *s, struct types **types,
           struct errmsg *err)
{
    bool off = str_eq(s->charset, STR("off"));
    const struct types_rules rules = {
        .file = s->types_file,
        .own = &s->types,
        .fallback = s->default_type,
        .charset = off ? STR_NONE : s->charset,
    };

    *types = NULL;
    if (s->types_file.len == 0 && s->types.count == 0 &&
        str_eq(s->default_type, STR(DEFAULT_TYPE)) &&
        str_eq(s->charset, STR(DEFAULT_CHARSET))) {
        return 0;
    }
    *types = types_new(&rules, err);
    return *types == NULL ? -1 : 0;
}

static int
check(const void *settings, struct errmsg *err)
{
    int fd = open_root(settings, err);
    struct types *types;

    if (fd == -1) {
        return -1;
    }
    close(fd);
    if (make_types(settings, &types, err) == -1) {
        return -1;
    }
    types_free(&types);
    return 0;
}

static int
check_at(const void *settings, struct str location, const struct regex *pattern,
         struct errmsg *err)
{
    const struct static_settings *s = settings;
    struct pool *pool = pool_new(1024);
    int result = 0;

    (void)location;
    if (http_text_new(pool, s->alias, pattern, err) == NULL) {
        result = errmsg_prefix(err, "alias: ");
    }
    pool_free(&pool);
    return result;
}

static void
stop(void *state)
{
    struct site *s = state;

    http_files_free(&s->files);
    types_free(&s->types);
    mem_free(&s);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    const struct static_settings *s = layer->settings;
    struct types *types;
    int fd;

    (void)r;
    if (make_types(s, &types, err) == -1) {
        return -1;
    }
    fd = open_root(s, err);
    if (fd == -1) {
        types_free(&types);
        return -1;
    }
    struct http_files_limits limits = {
        .entries = (size_t)s->cache_files,
        .small = (size_t)s->cache_max_size,
        .memory = (size_t)s->cache_memory,
        .valid_ms = s->cache_valid,
        .open = (size_t)s->cache_open,
        .loop = layer->worker->loop,
    };
    struct site *site = mem_zero(sizeof(*site));

    site->settings = s;
    site->types = types;
    site->files = http_files_new(fd, &limits);
    site->threads = layer->worker->threads;
    site->console = faccessat(fd, CONSOLE, R_OK, 0) == 0;
    site->max_age = STR_NONE;
    if (s->expires != EXPIRES_OFF) {
        site->max_age = pool_printf(layer->worker->pool, "max-age=%lld",
                                    (long long)(s->expires / 1000));
    }
    *state = site;
    if (s->alias.len > 0) {
        site->alias =
            http_text_new(layer->worker->pool, s->alias, layer->pattern, err);
        if (site->alias == NULL) {
            stop(site);
            return errmsg_prefix(err, "alias: ");
        }
    }
    return 0;
}

static void
describe(const void *state, struct http_layer *layer)
{
    const struct site *s = state;

    layer->console = s->console && s->alias == NULL;
}

static void
paths(const void *settings, void (*add)(void *arg, struct str path), void *arg)
{
    const struct static_settings *s = settings;

    add(arg, s->root);
    if (s->types_file.len > 0) {
        add(arg, s->types_file);
    }
}

const struct module static_module = {
    .name = "static",
    .about = "files below a directory",
    .keys = keys,
    .settings_size = sizeof(struct static_settings),
    .check = check,
    .check_at = check_at,
    .start = start,
    .stop = stop,
    .adds_slash = true,
    .paths = paths,
    .describe = describe,
    .routes = routes,
};
