/*
 * Directory listings: read and sorted on a thread, written on the loop.
 *
 * The job outlives its request when the client goes while a thread is at
 * work; the one that ends second frees it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "listing.h"
#include "http/page.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/escape.h"
#include "http/file/beneath.h"
#include "http/path.h"

#define PAGE_MAX ((size_t)8 << 20)

struct name {
    char *text; /* owned */
    int64_t size, modified_ms;
    bool directory, link;
};

struct job {
    struct task task;
    struct http_request *r; /* NULL: the client went */
    int fd;                 /* owned; the directory */
    bool ready;
    struct name *names; /* owned */
    size_t count;
    bool cut; /* there are more */
};

static void
free_job(struct job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        mem_free(&j->names[i].text);
    }
    mem_free(&j->names);
    if (j->fd != -1) {
        close(j->fd);
    }
    mem_free(&j);
}

/* ---- on a thread ---- */

static int
directories_first(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->directory != y->directory) {
        return x->directory ? -1 : 1;
    }
    return strcmp(x->text, y->text);
}

/* Adds a name that clients can ask for: no hidden names, no devices. */
static void
add(struct job *j, const char *name)
{
    struct stat st;

    if (name[0] == '.' ||
        fstatat(j->fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
        (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
         !S_ISLNK(st.st_mode))) {
        return;
    }
    j->names[j->count++] = (struct name){
        .text = mem_dup(name, strlen(name)),
        .size = st.st_size,
        .modified_ms = st.st_mtim.tv_sec * 1000,
        .directory = S_ISDIR(st.st_mode),
        .link = S_ISLNK(st.st_mode),
    };
}

static void
work(struct task *task)
{
    struct job *j = LIST_ITEM(task, struct job, task);
    int copy = openat(j->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy == -1 ? NULL : fdopendir(copy);
    const struct dirent *d;

    if (dir == NULL) {
        if (copy != -1) {
            close(copy);
        }
        return;
    }
    while ((d = readdir(dir)) != NULL) {
        if (j->count == LISTING_MAX) {
            j->cut = true;
            break;
        }
        add(j, d->d_name);
    }
    closedir(dir);
    qsort(j->names, j->count, sizeof(j->names[0]), directories_first);
}

/* ---- on the loop ---- */

static void
done(struct task *task)
{
    struct job *j = LIST_ITEM(task, struct job, task);

    j->ready = true;
    if (j->r == NULL) {
        free_job(j);
    } else {
        http_resume(j->r);
    }
}

static void
on_cancel(void *arg)
{
    struct job *j = arg;

    j->r = NULL;
    if (j->ready) {
        free_job(j);
    }
}

static void
write_name(struct buf *b, struct pool *pool, const struct name *n)
{
    struct str text = str_from(n->text);
    struct str url = http_path_encode(pool, text);
    const char *slash = n->directory ? "/" : "";
    char date[32];

    clock_iso8601(date, sizeof(date), n->modified_ms);
    /* "./": a name with a colon is no scheme. */
    buf_printf(b, "<tr><td><a href=\"./");
    http_html_text(b, url);
    buf_printf(b, "%s\">", slash);
    http_html_text(b, text);
    buf_printf(b, "%s</a></td><td class=\"date\">%.10s %.5s</td><td>", slash,
               date, date + 11);
    if (n->directory || n->link) {
        buf_printf(b, "-</td></tr>\n");
    } else {
        buf_printf(b, "%lld</td></tr>\n", (long long)n->size);
    }
}

static void
write_page(struct buf *b, struct http_request *r, const struct job *j)
{
    http_page_begin(b, r->path);
    buf_printf(b, "<table>\n");
    if (r->route_path.len > 1) {
        buf_printf(b, "<tr><td colspan=\"3\"><a href=\"../\">../</a></td>"
                      "</tr>\n");
    }
    for (size_t i = 0; i < j->count; i++) {
        write_name(b, r->pool, &j->names[i]);
    }
    buf_printf(b, "</table>\n%s", j->cut ? "<p>There are more.</p>\n" : "");
    http_page_end(b, r);
}

static enum http_result
answer(struct http_request *r, struct job *j)
{
    struct buf b;

    buf_init(&b, PAGE_MAX);
    write_page(&b, r, j);
    http_on_cancel(r, NULL, NULL);
    r->context = NULL;
    free_job(j);
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_reply(r, 200, "text/html; charset=utf-8", buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

/* A job for the directory at fd, which it owns. */
static enum http_result
start(struct http_request *r, int fd, struct task_threads *threads)
{
    struct job *j = mem_zero(sizeof(*j));

    j->task = (struct task){ .work = work, .done = done };
    list_init(&j->task.link);
    j->r = r;
    j->fd = fd;
    j->names = try_zero(LISTING_MAX * sizeof(j->names[0]));
    if (j->names == NULL || task_run(threads, &j->task) == -1) {
        free_job(j);
        http_note(r, "static: too much to do to list a directory");
        http_set_header(r, "Retry-After", STR("1"));
        return http_error(r, 503, "too busy to list the directory");
    }
    r->context = j;
    http_on_cancel(r, on_cancel, j);
    return HTTP_WAIT;
}

enum http_result
listing_answer(struct http_request *r, int root, struct task_threads *threads)
{
    struct stat st;
    int fd;

    if (r->context != NULL) {
        return answer(r, r->context);
    }
    fd =
        http_open_beneath(root, pool_cstr(r->pool, str_skip(r->route_path, 1)));
    if (fd == -1) {
        return HTTP_PASS;
    }
    if (fstat(fd, &st) == -1 || !S_ISDIR(st.st_mode)) {
        close(fd);
        return HTTP_PASS;
    }
    return start(r, fd, threads);
}
