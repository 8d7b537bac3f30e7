/*
 * The life of a directory, and the folders of its runs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rand.h"
#include "proc/life.h"
#include "proc/reach.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* A run whose folder this process has made and not removed. */
struct begun {
    struct list link;
    int64_t number;
    char name[PLACE_RUN_NAME];
    int lock; /* owned; of an extraction's folder; -1: none */
};

/* ---- life ---- */

static int
open_root(struct place_base *b, const char *path, struct errmsg *err)
{
    struct reach way = reach_of(path);

    if (mkdirat(way.at, way.path, 0755) == -1 && errno != EEXIST) {
        return errmsg_sys(err, "cannot make the directory \"%s\"", path);
    }
    b->root = openat(way.at, way.path, FOLDER);
    return b->root == -1 ? errmsg_sys(err,
                                      "%s cannot open the directory "
                                      "\"%s\"",
                                      privilege_who(), path)
                         : 0;
}

/* Nobody but the role reaches what lies there by its name. */
static int
open_hidden(struct place_base *b, const char *path, struct errmsg *err)
{
    struct stat st;

    if (mkdirat(b->root, PLACE_HIDDEN, 0700) == -1 && errno != EEXIST) {
        return errmsg_sys(err, "%s cannot make \"%s/" PLACE_HIDDEN "\"",
                          privilege_who(), path);
    }
    b->hidden = place_step(b->root, PLACE_HIDDEN);
    if (b->hidden == -1 || fstat(b->hidden, &st) == -1) {
        return errmsg_sys(err, "cannot open \"%s/" PLACE_HIDDEN "\"", path);
    }
    if (st.st_uid != geteuid()) {
        return errmsg_set(err,
                          "\"%s/" PLACE_HIDDEN "\" belongs to user %u and not "
                          "to %s: remove it",
                          path, (unsigned)st.st_uid, privilege_who());
    }
    if ((st.st_mode & 07777) != 0700 && fchmod(b->hidden, 0700) == -1) {
        return errmsg_sys(err, "cannot close \"%s/" PLACE_HIDDEN "\" to others",
                          path);
    }
    return 0;
}

static struct place_base *
base_new(struct str directory, struct errmsg *err)
{
    struct place_base *b = mem_zero(sizeof(*b));
    char *path = mem_dup(directory.ptr, directory.len);

    b->holds = 1;
    b->root = b->hidden = -1;
    if (open_root(b, path, err) == -1 || open_hidden(b, path, err) == -1) {
        place_base_drop(b);
        b = NULL;
    }
    mem_free(&path);
    return b;
}

struct place *
place_new(struct loop *l, struct task_threads *t, struct str directory,
          struct errmsg *err)
{
    struct place_base *b = base_new(directory, err);
    struct place *p;

    if (b == NULL) {
        return NULL;
    }
    p = mem_zero(sizeof(*p));
    p->loop = l;
    p->threads = t;
    p->base = b;
    list_init(&p->begun);
    list_init(&p->waiting);
    place_folders_init(p);
    return p;
}

static void
free_begun(struct begun *b)
{
    list_remove(&b->link);
    if (b->lock != -1) {
        close(b->lock);
    }
    mem_free(&b);
}

void
place_free(struct place **p)
{
    if (*p == NULL) {
        return;
    }
    place_work_stop_all(*p);
    place_folders_clear(*p);
    LIST_EACH (node, &(*p)->begun) {
        free_begun(LIST_ITEM(node, struct begun, link));
    }
    place_base_drop((*p)->base);
    mem_free(p);
}

int64_t
place_free_bytes(const struct place *p)
{
    struct statvfs v;

    if (fstatvfs(p->base->root, &v) == -1) {
        return -1;
    }
    return (int64_t)(v.f_bavail * v.f_frsize);
}

int
place_check_folder(struct place *p, struct str folder, bool make,
                   struct errmsg *err)
{
    int fd;

    if (place_check_path(folder, err) == -1) {
        return -1;
    }
    fd = place_open_folder(p->base->root, folder, false, err);
    if (fd != -1) {
        close(fd);
        return 0;
    }
    if (errno != ENOENT) {
        return -1;
    }
    return make ? 0
                : errmsg_set(err,
                             "folder \"%.*s\" is not there, and "
                             "create_custom_dirs is off",
                             STR_ARGS(str_first(folder, 200)));
}

/* ---- runs ---- */

static struct begun *
find_begun(const struct place *p, int64_t number)
{
    LIST_EACH (node, &p->begun) {
        struct begun *b = LIST_ITEM(node, struct begun, link);

        if (b->number == number) {
            return b;
        }
    }
    return NULL;
}

bool
place_has_begun(const struct place *p, int64_t number)
{
    return find_begun(p, number) != NULL;
}

void
place_run_name(struct place *p, int64_t number,
               char name[static PLACE_RUN_NAME])
{
    const struct begun *b = find_begun(p, number);

    if (b != NULL) {
        memcpy(name, b->name, PLACE_RUN_NAME);
    } else if (number < 0) {
        name[0] = '\0'; /* of another process, if there is one */
    } else {
        snprintf(name, PLACE_RUN_NAME, "%" PRId64, number);
    }
}

void
place_run_over(struct place *p, int64_t number)
{
    struct begun *b = find_begun(p, number);

    if (b != NULL) {
        free_begun(b);
    }
}

/* Several weirs may have the directory, and count their extractions alike. */
static struct begun *
begun_new(struct place *p, int64_t number)
{
    struct begun *b = mem_zero(sizeof(*b));
    uint64_t random;

    list_init(&b->link);
    b->number = number;
    b->lock = -1;
    place_run_name(p, number, b->name);
    if (number < 0) {
        rand_bytes(&random, sizeof(random));
        snprintf(b->name, sizeof(b->name), "x%016" PRIx64, random);
    }
    return b;
}

/* As long as this process lives, no sweep of another one takes it away. */
static int
lock_folder(const struct place *p, struct begun *b)
{
    if (b->number >= 0 || b->lock != -1) {
        return 0;
    }
    b->lock = place_step(p->base->hidden, b->name);
    return b->lock == -1 ? -1 : flock(b->lock, LOCK_EX | LOCK_NB);
}

/* A descriptor of its folder, or -1 with errno. */
static int
make_run(const struct place *p, struct begun *b)
{
    int fd = -1;

    if (mkdirat(p->base->hidden, b->name, 0700) == -1 && errno != EEXIST) {
        return -1;
    }
    fd = place_step(p->base->hidden, b->name);
    if (fd != -1 && (fchmod(fd, 0777) == -1 || lock_folder(p, b) == -1)) {
        int why = errno;

        close(fd);
        fd = -1;
        errno = why;
    }
    return fd;
}

int
place_begin(struct place *p, int64_t number, struct errmsg *err)
{
    struct begun *b = find_begun(p, number);
    int fd;

    if (b == NULL) {
        b = begun_new(p, number);
    }
    fd = make_run(p, b);
    if (fd == -1) {
        errmsg_sys(err, "cannot make the folder of a run");
        free_begun(b);
    } else if (list_empty(&b->link)) {
        list_append(&p->begun, &b->link);
    }
    return fd;
}
