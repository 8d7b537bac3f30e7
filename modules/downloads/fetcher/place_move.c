/*
 * Results: from the folder of a run to the name that weir has computed, and
 * their removal.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define SAME_NAMES 10000 /* " (2)" to " (10000)" are tried */
#define ENDING_MAX 16    /* bytes */
#define RESULT_MODE 0644
#define NAME_SIZE (PLACE_PART_MAX + 1)

/* ---- paths ---- */

/* The folder in front of the last part, which is left in *path. */
static struct str
cut_folder(struct str *path)
{
    struct str folder = STR_NONE;

    for (size_t i = path->len; i > 0; i--) {
        if (path->ptr[i - 1] == '/') {
            folder = str_first(*path, i - 1);
            *path = str_skip(*path, i);
            break;
        }
    }
    return folder;
}

/* "a" and "b" make "a/b"; -1: too long. */
static int
join(char *out, size_t size, struct str a, struct str b)
{
    int n = snprintf(out, size, "%.*s%s%.*s", STR_ARGS(a),
                     a.len > 0 && b.len > 0 ? "/" : "", STR_ARGS(b));

    return n >= 0 && (size_t)n < size ? 0 : -1;
}

/* ---- the file of a run; on a thread ---- */

struct taking {
    struct place_work work;
    int64_t number;
    char run[PLACE_RUN_NAME];
    char file[PLACE_PATH_MAX + 1];
    char folder[PLACE_PATH_MAX + 1]; /* of the client */
    char above[PLACE_PATH_MAX + 1];  /* folders of the template, safe */
    char stem[PLACE_PATH_MAX + 1];   /* the name wanted, not safe yet */
    char result[2 * PLACE_PATH_MAX]; /* above and the name */
    bool bad;                        /* why says it */
    struct errmsg left;              /* the run's folder could not be removed */
};

/* The file, as it is found and as it goes. */
struct source {
    int folder, fd; /* owned; -1: none */
    char name[NAME_MAX + 1];
    struct stat st;
};

static void
close_source(struct source *s)
{
    if (s->fd != -1) {
        close(s->fd);
    }
    if (s->folder != -1) {
        close(s->folder);
    }
}

/* Everybody may read a result, and its owner alone write.  That of a program
 * with another user cannot be changed. */
static int
set_mode(const struct source *s, struct errmsg *err)
{
    mode_t mode = s->st.st_mode & 07777;

    if (s->st.st_uid == geteuid()) {
        return mode != RESULT_MODE && fchmod(s->fd, RESULT_MODE) == -1
                   ? errmsg_sys(err, "the mode of the file cannot be set")
                   : 0;
    }
    return (mode & RESULT_MODE) == RESULT_MODE && (mode & 07022) == 0
               ? 0
               : errmsg_set(err,
                            "the engine's file has mode %04o, which weir may "
                            "not change",
                            (unsigned)mode);
}

/* No link, neither a symbolic one nor another name of something else. */
static int
check_source(struct source *s, struct errmsg *err)
{
    if (s->fd == -1 || fstat(s->fd, &s->st) == -1) {
        return errmsg_sys(err, "the engine's file");
    }
    if (!S_ISREG(s->st.st_mode) || s->st.st_nlink != 1) {
        return errmsg_set(err, "the engine has made no file, but a link or "
                               "the like");
    }
    return set_mode(s, err);
}

static int
open_source(int hidden, const struct taking *t, struct source *s,
            struct errmsg *err)
{
    struct str file = str_from(t->file);
    struct str above = cut_folder(&file);
    int run = place_step(hidden, t->run);

    if (run == -1) {
        return errmsg_sys(err, "the folder of the run");
    }
    s->folder = place_open_folder(run, above, false, err);
    close(run);
    if (s->folder == -1) {
        return -1;
    }
    str_copy(s->name, sizeof(s->name), file);
    s->fd = openat(s->folder, s->name,
                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return check_source(s, err);
}

/* ---- its name ---- */

/* ".mp4" of "media.mp4"; "" if it has none that is one. */
static struct str
ending_of(struct str file)
{
    size_t at = file.len;

    while (at > 0 && file.ptr[at - 1] != '.' && file.ptr[at - 1] != '/') {
        unsigned char c = (unsigned char)file.ptr[--at] | 0x20;

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) {
            return STR_NONE;
        }
    }
    if (at < 2 || file.ptr[at - 1] != '.' || file.len == at ||
        file.len - at > ENDING_MAX) {
        return STR_NONE;
    }
    return str_skip(file, at - 1);
}

/* "Title (2).mp4". */
static void
name_of(const struct taking *t, unsigned n, char name[static NAME_SIZE])
{
    struct str ending = ending_of(str_from(t->file));
    char again[16] = "";
    struct buf b;

    if (n > 1) {
        snprintf(again, sizeof(again), " (%u)", n);
    }
    buf_init(&b, PLACE_PART_MAX);
    place_safe(str_from(t->stem), PLACE_PART_MAX - ending.len - strlen(again),
               &b);
    buf_add_str(&b, str_from(again));
    buf_add_str(&b, ending);
    str_copy(name, NAME_SIZE, buf_str(&b));
    buf_clear(&b);
}

/* A file system without RENAME_NOREPLACE (NFS): the name is taken by an empty
 * file first. */
static int
rename_slowly(const struct source *s, int folder, const char *name)
{
    int fd = openat(folder, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd == -1) {
        return -1;
    }
    close(fd);
    if (renameat(s->folder, s->name, folder, name) == -1) {
        int why = errno;

        unlinkat(folder, name, 0);
        errno = why;
        return -1;
    }
    return 0;
}

static int
rename_once(const struct source *s, int folder, const char *name)
{
    int rc = renameat2(s->folder, s->name, folder, name, RENAME_NOREPLACE);

    return rc == -1 && errno == EINVAL ? rename_slowly(s, folder, name) : rc;
}

/* Whether the very file is there, and not another one that was put in its
 * place. */
static int
check_result(const struct source *s, int folder, const char *name,
             struct errmsg *err)
{
    struct stat st;

    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        return errmsg_sys(err, "the result");
    }
    if (st.st_dev != s->st.st_dev || st.st_ino != s->st.st_ino) {
        unlinkat(folder, name, 0);
        return errmsg_set(err, "the engine's file was exchanged for another");
    }
    return 0;
}

/* ---- marks ---- */

#define MARK_SIZE (2 * PLACE_PATH_MAX + 32)

static void
mark_name(const char *run, char name[static PLACE_MARK_NAME])
{
    snprintf(name, PLACE_MARK_NAME, "%s" PLACE_MARK, run);
}

static bool
write_mark(int hidden, const char *at, struct str text)
{
    int fd = openat(hidden, at,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    ssize_t n = fd == -1 ? -1 : write(fd, text.ptr, text.len);

    if (fd != -1) {
        close(fd);
    }
    return n == (ssize_t)text.len;
}

/* Says in .weir which name the file is about to get.  One that a death left
 * empty is none: the file has not been moved then.  Where the disk is full
 * there is none: a move needs no room, and a death just now is rare. */
static void
mark(int hidden, const struct taking *t, const struct source *s,
     const char *name)
{
    char text[MARK_SIZE], at[PLACE_MARK_NAME];

    snprintf(text, sizeof(text), "%ju %s%s%s", (uintmax_t)s->st.st_ino,
             t->above, t->above[0] != '\0' ? "/" : "", name);
    mark_name(t->run, at);
    unlinkat(hidden, at, 0);
    if (!write_mark(hidden, at, str_from(text))) {
        unlinkat(hidden, at, 0);
    }
}

static int
move_to(int hidden, const struct taking *t, const struct source *s, int folder,
        char name[static NAME_SIZE], struct errmsg *err)
{
    for (unsigned n = 1; n <= SAME_NAMES; n++) {
        name_of(t, n, name);
        mark(hidden, t, s, name);
        if (rename_once(s, folder, name) == 0) {
            return check_result(s, folder, name, err);
        }
        if (errno == EXDEV) {
            return errmsg_set(err,
                              "folder \"%s\" is on another file system than "
                              "the directory of downloads",
                              t->folder);
        }
        if (errno != EEXIST) {
            return errmsg_sys(err, "cannot move the result to \"%s\"", name);
        }
    }
    return errmsg_set(err, "%d files have that name", SAME_NAMES);
}

static int
move(const struct place_base *base, struct taking *t, const struct source *s,
     struct errmsg *err)
{
    char path[2 * PLACE_PATH_MAX], name[NAME_SIZE];
    int folder, rc = -1;

    if (join(path, sizeof(path), str_from(t->folder), str_from(t->above)) ==
        -1) {
        return errmsg_set(err, "the name of the result is too long");
    }
    folder = place_open_folder(base->root, str_from(path), true, err);
    if (folder == -1) {
        return -1;
    }
    rc = move_to(base->hidden, t, s, folder, name, err);
    close(folder);
    if (rc == 0) {
        join(t->result, sizeof(t->result), str_from(t->above), str_from(name));
    }
    return rc;
}

static void
run_take(struct place_work *w)
{
    struct taking *t = LIST_ITEM(w, struct taking, work);
    struct source s = { .folder = -1, .fd = -1 };

    w->ok = !t->bad && open_source(w->base->hidden, t, &s, &w->why) == 0 &&
            move(w->base, t, &s, &w->why) == 0;
    close_source(&s);
    if (w->ok) {
        w->size = s.st.st_size;
        w->name = str_from(t->result);
        place_clear(w->base->hidden, t->run, &t->left);
    }
}

/* ---- place_take() ---- */

static void
end_take(struct place_work *w)
{
    const struct taking *t = LIST_ITEM(w, struct taking, work);

    if (w->ok) {
        place_run_over(w->place, t->number);
        place_folders_changed(w->place);
    }
    if (t->left.text[0] != '\0') {
        log_warn("downloads: run %" PRId64 ": %s", t->number, t->left.text);
    }
}

/* The folders of a template, each made safe. */
static int
write_above(struct taking *t, struct str above)
{
    struct buf b;
    int rc = 0;

    buf_init(&b, PLACE_PATH_MAX);
    while (above.len > 0 && rc == 0) {
        struct str part = str_cut(&above, '/');

        if (part.len == 0) {
            continue;
        }
        if (buf_room(&b) < PLACE_PART_MAX + 1) {
            rc = -1;
            break;
        }
        if (buf_len(&b) > 0) {
            buf_add(&b, "/", 1);
        }
        place_safe_part(part, &b);
    }
    str_copy(t->above, sizeof(t->above), buf_str(&b));
    buf_clear(&b);
    return rc;
}

static int
prepare(struct taking *t, const struct place_move *m)
{
    struct str wanted = m->wanted;
    struct str above = cut_folder(&wanted);

    if (m->file.len == 0 || m->file.len > PLACE_PATH_MAX ||
        m->folder.len > PLACE_PATH_MAX || write_above(t, above) == -1) {
        return errmsg_set(&t->work.why, "the name of the result is too long");
    }
    str_copy(t->file, sizeof(t->file), m->file);
    str_copy(t->folder, sizeof(t->folder), m->folder);
    str_copy(t->stem, sizeof(t->stem), wanted);
    return 0;
}

struct place_work *
place_take(struct place *p, const struct place_move *m, place_done *done,
           void *arg)
{
    struct taking *t = place_work_new(p, sizeof(*t), run_take, done, arg);

    t->work.end = end_take;
    t->number = m->number;
    place_run_name(p, m->number, t->run);
    t->bad = prepare(t, m) == -1;
    place_work_start(&t->work);
    return &t->work;
}

/* ---- place_find() ---- */

/* The file of the mark, if it is the one that was moved. */
static int
find_marked(const struct taking *t, int root, ino_t inode, struct stat *st,
            struct errmsg *err)
{
    char path[2 * PLACE_PATH_MAX], last[NAME_MAX + 1];
    struct str name, above;
    int folder, rc;

    if (join(path, sizeof(path), str_from(t->folder), str_from(t->result)) ==
        -1) {
        return -1;
    }
    name = str_from(path);
    above = cut_folder(&name);
    str_copy(last, sizeof(last), name);
    folder = place_open_folder(root, above, false, err);
    if (folder == -1) {
        return -1;
    }
    rc = fstatat(folder, last, st, AT_SYMLINK_NOFOLLOW);
    close(folder);
    return rc == 0 && S_ISREG(st->st_mode) && st->st_ino == inode ? 0 : -1;
}

static struct str
read_mark(int hidden, const char *at, char *text, size_t size)
{
    int fd = openat(hidden, at, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, text, size);

    if (fd != -1) {
        close(fd);
    }
    return str_of(text, n > 0 ? (size_t)n : 0);
}

static void
run_find(struct place_work *w)
{
    struct taking *t = LIST_ITEM(w, struct taking, work);
    char text[MARK_SIZE], at[PLACE_MARK_NAME];
    struct str rest, inode;
    struct stat st;
    int64_t number;

    mark_name(t->run, at);
    rest = read_mark(w->base->hidden, at, text, sizeof(text));
    inode = str_cut(&rest, ' ');
    str_copy(t->result, sizeof(t->result), rest);
    w->ok = str_to_int(inode, 1, INT64_MAX, &number) &&
            find_marked(t, w->base->root, (ino_t)number, &st, &w->why) == 0;
    if (w->ok) {
        w->size = st.st_size;
        w->name = str_from(t->result);
    }
}

struct place_work *
place_find(struct place *p, int64_t number, struct str folder, place_done *done,
           void *arg)
{
    struct taking *t = place_work_new(p, sizeof(*t), run_find, done, arg);

    place_run_name(p, number, t->run);
    str_copy(t->folder, sizeof(t->folder), folder);
    place_work_start(&t->work);
    return &t->work;
}

/* ---- place_remove() ---- */

struct removing {
    struct place_work work;
    char path[2 * PLACE_PATH_MAX]; /* "": too long */
};

static void
run_remove(struct place_work *w)
{
    const struct removing *r = LIST_ITEM(w, struct removing, work);
    struct str name = str_from(r->path);
    struct str above = cut_folder(&name);
    char last[NAME_MAX + 1];
    int folder;

    str_copy(last, sizeof(last), name);
    if (name.len == 0 || name.len > NAME_MAX ||
        place_check_path(str_from(r->path), &w->why) == -1) {
        errmsg_set(&w->why, "the file has a name that is none of a result");
        return;
    }
    folder = place_open_folder(w->base->root, above, false, &w->why);
    if (folder == -1) {
        w->ok = errno == ENOENT;
        return;
    }
    w->ok = unlinkat(folder, last, 0) == 0 || errno == ENOENT;
    if (!w->ok) {
        errmsg_sys(&w->why, "cannot remove \"%s\"", last);
    }
    close(folder);
}

struct place_work *
place_remove(struct place *p, struct str folder, struct str name,
             place_done *done, void *arg)
{
    struct removing *r = place_work_new(p, sizeof(*r), run_remove, done, arg);

    if (name.len == 0 || join(r->path, sizeof(r->path), folder, name) == -1) {
        r->path[0] = '\0';
    }
    place_work_start(&r->work);
    return &r->work;
}
