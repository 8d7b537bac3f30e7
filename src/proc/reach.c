/*
 * The descriptors that are held, by absolute path.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/descriptors.h"

struct held {
    char *path; /* owned; absolute, without a slash at its end */
    size_t len;
    int fd; /* owned: O_PATH, of a directory */
};

static struct {
    struct held *items; /* owned */
    size_t count, room;
} all;

/* ---- paths ---- */

/* False: it is too long, or the process has no directory any more. */
static bool
absolute(struct str path, char whole[static PATH_MAX])
{
    char here[PATH_MAX] = "";
    int n;

    if (!str_starts(path, STR("/")) && getcwd(here, sizeof(here)) == NULL) {
        return false;
    }
    while (str_starts(path, STR("./"))) {
        path = str_skip(path, 2);
    }
    while (str_ends(path, STR("/"))) {
        path.len--;
    }
    n = snprintf(whole, PATH_MAX, "%s%s%.*s", here, here[0] != '\0' ? "/" : "",
                 STR_ARGS(path));
    return n >= 0 && n < PATH_MAX;
}

static const struct held *
find(const char *whole)
{
    const struct held *best = NULL;

    for (size_t i = 0; i < all.count; i++) {
        const struct held *h = &all.items[i];

        if (strncmp(whole, h->path, h->len) == 0 &&
            (whole[h->len] == '\0' || whole[h->len] == '/') &&
            (best == NULL || h->len > best->len)) {
            best = h;
        }
    }
    return best;
}

/* ---- holding ---- */

/* The users for whom paths are looked at, and the groups of root itself, which
 * it has back behind each look. */
struct lookers {
    const struct privilege_ids *users;
    size_t count;
    gid_t *groups; /* owned */
    int group_count;
};

static void
keep_groups(struct lookers *who)
{
    int n = getgroups(0, NULL);

    who->group_count = n > 0 ? n : 0;
    who->groups = mem_alloc((size_t)who->group_count * sizeof(gid_t) + 1);
    if (getgroups(who->group_count, who->groups) != who->group_count) {
        log_alert("cannot read the groups of root");
        abort();
    }
}

/* Whether the way to it is open to a user of that group alone: as one by whom
 * files are looked for. */
static bool
is_open_to(const char *path, const struct privilege_ids *user,
           const struct lookers *who)
{
    int fd, why;

    if (setgroups(1, &user->gid) == -1) {
        return false;
    }
    setfsgid(user->gid);
    setfsuid(user->uid);
    fd = open(path, O_PATH | O_CLOEXEC);
    why = errno;
    setfsuid(geteuid());
    setfsgid(getegid());
    if (setgroups((size_t)who->group_count, who->groups) == -1) {
        log_alert("cannot have the groups of root back");
        abort();
    }
    if (fd != -1) {
        close(fd);
    }
    return fd != -1 || why != EACCES;
}

static void
add(const char *whole, int fd)
{
    if (all.count == all.room) {
        all.room = 2 * all.room + 8;
        all.items = mem_resize(all.items, all.room * sizeof(*all.items));
    }
    all.items[all.count++] =
        (struct held){ mem_dup(whole, strlen(whole)), strlen(whole), fd };
}

/* Cuts the name of what is no directory off: its folder is to be held. */
static void
cut_name(char *whole)
{
    struct stat st;

    if (stat(whole, &st) == -1 || !S_ISDIR(st.st_mode)) {
        char *slash = strrchr(whole, '/');

        *slash = '\0';
    }
}

static void
hold(struct str path, const struct lookers *who)
{
    const struct held *before;
    char whole[PATH_MAX];
    bool open_to_all = true;
    int fd, high;

    if (!absolute(path, whole)) {
        return;
    }
    for (size_t i = 0; i < who->count; i++) {
        open_to_all = open_to_all && is_open_to(whole, &who->users[i], who);
    }
    if (open_to_all) {
        return;
    }
    cut_name(whole);
    before = find(whole);
    if (before != NULL && before->len == strlen(whole)) {
        return; /* one above it has no need to be the way to it */
    }
    fd = open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
    high = fd == -1 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, REACH_FIRST);
    if (high != -1) {
        add(whole, high);
    }
    if (fd != -1) {
        close(fd);
    }
}

static void
hold_all(const struct rights_paths *paths, const struct lookers *who)
{
    for (size_t i = 0; i < paths->count; i++) {
        hold(paths->items[i], who);
    }
}

void
reach_hold(const struct rights *r, const struct privilege_ids *users,
           size_t count)
{
    struct lookers who = { .users = users, .count = count };

    if (geteuid() != 0) {
        return;
    }
    keep_groups(&who);
    hold_all(&r->programs, &who);
    hold_all(&r->write, &who);
    hold_all(&r->read, &who);
    mem_free(&who.groups);
}

/* ---- reaching ---- */

/* The end of path that stands for rest, which is "" or slashes and names; NULL:
 * it is more than path. */
static const char *
rest_of(const char *path, const char *rest)
{
    size_t len = strlen(path), names;

    while (len > 0 && path[len - 1] == '/') {
        len--;
    }
    while (*rest == '/') {
        rest++;
    }
    names = strlen(rest);
    if (names > len) {
        return NULL;
    }
    return names > 0 ? path + len - names : ".";
}

struct reach
reach_of(const char *path)
{
    struct reach usual = { AT_FDCWD, path };
    const struct held *h;
    const char *rest;
    char whole[PATH_MAX];

    if (all.count == 0 || faccessat(AT_FDCWD, path, F_OK, 0) == 0 ||
        errno != EACCES || !absolute(str_from(path), whole)) {
        return usual;
    }
    h = find(whole);
    rest = h == NULL ? NULL : rest_of(path, whole + h->len);
    return rest == NULL ? usual : (struct reach){ h->fd, rest };
}

const char *
reach_name(const char *path, char *room)
{
    struct reach way = reach_of(path);

    if (way.at == AT_FDCWD || snprintf(room, PATH_MAX, "/proc/self/fd/%d/%s",
                                       way.at, way.path) >= PATH_MAX) {
        return path;
    }
    return room;
}

void
reach_execute(struct reach way, char *const *arguments,
              char *const *environment)
{
    bool held = way.at != AT_FDCWD;

    if (held) {
        fcntl(way.at, F_SETFD, FD_CLOEXEC);
    }
    syscall(SYS_execveat, way.at, way.path, arguments, environment, 0);
    if (held && errno == ENOENT) {
        fcntl(way.at, F_SETFD, 0);
        syscall(SYS_execveat, way.at, way.path, arguments, environment, 0);
    }
}

void
reach_close_others(unsigned first)
{
    unsigned next = first;

    while (next != UINT_MAX) {
        next = UINT_MAX;
        for (size_t i = 0; i < all.count; i++) {
            unsigned fd = (unsigned)all.items[i].fd;

            next = fd >= first && fd < next ? fd : next;
        }
        descriptors_close_range(first, next != UINT_MAX ? next - 1 : next);
        first = next + 1;
    }
}

int
reach_open(const char *path, int flags)
{
    struct reach way = reach_of(path);

    return openat(way.at, way.path, flags | O_CLOEXEC);
}
