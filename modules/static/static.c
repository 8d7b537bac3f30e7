/*
 * Files below a directory.
 *
 * The root is opened when a worker starts, and every file beneath it with
 * openat2(RESOLVE_BENEATH): neither "..", nor a link, nor a directory that is
 * renamed meanwhile leads out of it.  What is not there, and every name that
 * begins with a dot, is passed on to the next layer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/module.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/path.h"

struct settings {
    struct str root;
    struct str index;
};

struct files {
    int root;         /* owned; a directory */
    struct str index; /* borrowed from the settings */
};

static const struct conf_key keys[] = {
    { .name = "root",
      .type = CONF_STRING,
      .offset = offsetof(struct settings, root),
      .min = 1,
      .max = 4096,
      .help = "The directory that the files lie in." },
    { .name = "index",
      .type = CONF_STRING,
      .offset = offsetof(struct settings, index),
      .max = 255,
      .preset = "index.html",
      .help = "The file that stands for its directory." },
    CONF_END,
};

/* ---- finding the file ---- */

/* Opens path, relative to the root; -1 with errno. */
static int
open_beneath(const struct files *f, const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, f->root, path, &how, sizeof(how));
}

/* Whether a segment begins with a dot: ".git", and whatever hides so. */
static bool
is_hidden(struct str path)
{
    for (size_t i = 0; i + 1 < path.len; i++) {
        if (path.ptr[i] == '/' && path.ptr[i + 1] == '.') {
            return true;
        }
    }
    return false;
}

/* The file's name relative to the root, with the index's if the path is a
 * directory's. */
static struct str
name_of(struct http_request *r, const struct files *f)
{
    struct str path = str_skip(r->route_path, 1);

    if (str_ends(r->route_path, STR("/"))) {
        return pool_printf(r->pool, "%.*s%.*s", STR_ARGS(path),
                           STR_ARGS(f->index));
    }
    return pool_str(r->pool, path);
}

/* ---- answering ---- */

/* "/dir" to "/dir/": so that what its page refers to is found. */
static enum http_result
redirect_to_slash(struct http_request *r)
{
    struct str path = http_path_encode(r->pool, r->path);

    http_set_header(r, "Location",
                    pool_printf(r->pool, "%.*s/%s%.*s", STR_ARGS(path),
                                r->query.len > 0 ? "?" : "",
                                STR_ARGS(r->query)));
    return http_reply(r, 301, NULL, STR_NONE);
}

struct validators {
    struct str tag;
    char date[32]; /* Last-Modified */
};

static void
make_validators(struct http_request *r, const struct stat *st,
                struct validators *v)
{
    long long modified =
        (long long)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;

    v->tag =
        pool_printf(r->pool, "\"%llx-%llx\"", modified, (long long)st->st_size);
    clock_http_date(v->date, sizeof(v->date), st->st_mtim.tv_sec * 1000);
}

/* Whether the client has this very file (RFC 9110, 13.2.2).  A date is
 * compared as text: clients send back what they were told. */
static bool
client_has_it(const struct http_request *r, const struct validators *v)
{
    const struct str *tags = http_header(r, "If-None-Match");
    const struct str *since = http_header(r, "If-Modified-Since");

    if (tags == NULL) {
        return since != NULL && str_eq(*since, str_from(v->date));
    }
    for (struct str rest = *tags; rest.len > 0;) {
        struct str tag = str_trim(str_cut(&rest, ','));

        if (str_starts(tag, STR("W/"))) {
            tag = str_skip(tag, 2);
        }
        if (str_eq(tag, v->tag) || str_eq(tag, STR("*"))) {
            return true;
        }
    }
    return false;
}

/* Owns fd. */
static enum http_result
send_file(struct http_request *r, int fd, const struct stat *st,
          struct str name)
{
    struct validators v;

    make_validators(r, st, &v);
    http_set_header(r, "Last-Modified", str_from(v.date));
    http_set_header(r, "ETag", v.tag);
    if (client_has_it(r, &v)) {
        close(fd);
        return http_reply(r, 304, NULL, STR_NONE);
    }
    return http_send_file(r, 200, http_mime_type(name), fd, 0, st->st_size);
}

static enum http_result
cannot_open(struct http_request *r)
{
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        http_note(r, "static: %s", strerror(errno));
        return http_error(r, 503, "too busy to open the file");
    }
    if (errno == EACCES) {
        return http_error(r, 403, "the file may not be read");
    }
    return HTTP_PASS;
}

static enum http_result
on_file(struct http_request *r, void *state)
{
    const struct files *f = state;
    struct stat st = { .st_mode = 0 };

    if (is_hidden(r->route_path)) {
        return HTTP_PASS;
    }
    struct str name = name_of(r, f);
    int fd = open_beneath(f, name.len > 0 ? name.ptr : ".");

    if (fd == -1) {
        return cannot_open(r);
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        return send_file(r, fd, &st, name);
    }
    close(fd);
    if (S_ISDIR(st.st_mode) && !str_ends(r->path, STR("/"))) {
        return redirect_to_slash(r);
    }
    return HTTP_PASS;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_file },
    { .path = NULL },
};

/* ---- life ---- */

static int
open_root(const struct settings *s, struct errmsg *err)
{
    int fd = open(s->root.ptr, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1) {
        return errmsg_sys(err, "root \"%.*s\"", STR_ARGS(s->root));
    }
    return fd;
}

static int
check(const void *settings, struct errmsg *err)
{
    int fd = open_root(settings, err);

    if (fd == -1) {
        return -1;
    }
    close(fd);
    return 0;
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    const struct settings *s = layer->settings;
    int fd = open_root(s, err);

    (void)r;
    if (fd == -1) {
        return -1;
    }
    struct files *f = mem_zero(sizeof(*f));

    f->root = fd;
    f->index = s->index;
    *state = f;
    return 0;
}

static void
stop(void *state)
{
    struct files *f = state;

    close(f->root);
    mem_free(&f);
}

const struct module static_module = {
    .name = "static",
    .about = "files below a directory",
    .keys = keys,
    .settings_size = sizeof(struct settings),
    .check = check,
    .start = start,
    .stop = stop,
    .routes = routes,
};
