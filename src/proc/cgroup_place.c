/*
 * Where a process is among the cgroups, and what controllers it hands on.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "proc/cgroup_impl.h"

#define LINE (PATH_MAX + 1024) /* a longer one of a mount is passed over */
#define SHORT 256              /* bytes of a file that is read at once */

/* ---- where it is ---- */

/* The field behind the one " - " of a line. */
static struct str
type_of(struct str rest)
{
    while (rest.len > 0 && !str_eq(str_cut(&rest, ' '), STR("-"))) {
    }
    return str_cut(&rest, ' ');
}

/* own without root, which is it or above it; false: it is neither. */
static bool
cut_root(struct str *own, struct str root)
{
    if (root.len == 1) {
        root.len = 0; /* "/" */
    }
    if (!str_starts(*own, root) ||
        (own->len > root.len && own->ptr[root.len] != '/')) {
        return false;
    }
    *own = str_skip(*own, root.len);
    return true;
}

bool
cgroup_path(struct str line, struct str own, char dst[static PATH_MAX])
{
    struct str root, point;
    int n;

    for (int i = 0; i < 3; i++) {
        str_cut(&line, ' ');
    }
    root = str_cut(&line, ' ');
    point = str_cut(&line, ' ');
    /* The path of a cgroup that is outside of the name space has "/..";
     * a space in a name is "\040". */
    if (!str_eq(type_of(line), STR("cgroup2")) || !str_starts(own, STR("/")) ||
        str_starts(own, STR("/..")) || !str_starts(root, STR("/")) ||
        str_find(point, '\\', 0) < point.len || !cut_root(&own, root)) {
        return false;
    }
    if (str_eq(own, STR("/"))) {
        own.len = 0;
    }
    n = snprintf(dst, PATH_MAX, "%.*s%.*s", STR_ARGS(point), STR_ARGS(own));
    return n > 0 && n < PATH_MAX;
}

/* The next whole line without its end; false: there is none. */
static bool
next_line(FILE *f, char line[static LINE], struct str *out)
{
    bool whole = true;

    while (fgets(line, LINE, f) != NULL) {
        size_t len = strlen(line);
        bool ends = len > 0 && line[len - 1] == '\n';

        if (ends && whole) {
            *out = str_of(line, len - 1);
            return true;
        }
        whole = ends;
    }
    return false;
}

static bool
find_own(char dst[static PATH_MAX])
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char room[LINE];
    struct str line = STR_NONE;
    bool found = false;

    while (f != NULL && !found && next_line(f, room, &line)) {
        found = str_starts(line, STR("0::")) && line.len < PATH_MAX;
    }
    if (found) {
        str_copy(dst, PATH_MAX, str_skip(line, 3));
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

static bool
find_mount(struct str own, char dst[static PATH_MAX])
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char room[LINE];
    struct str line;
    bool found = false;

    while (f != NULL && !found && next_line(f, room, &line)) {
        found = cgroup_path(line, own, dst);
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

/* The parent of "weir.main", which this process may be in. */
static void
leave_main(char path[static PATH_MAX])
{
    size_t len = strlen(path), own = strlen("/" CGROUP_MAIN);

    if (len > own && strcmp(path + len - own, "/" CGROUP_MAIN) == 0) {
        path[len - own] = '\0';
    }
}

int
cgroup_find(char dst[static PATH_MAX], struct errmsg *err)
{
    char own[PATH_MAX];
    struct statfs fs;

    if (!find_own(own) || !find_mount(str_from(own), dst)) {
        return errmsg_set(err, "no hierarchy of cgroups, version 2, shows "
                               "this process");
    }
    leave_main(dst);
    if (statfs(dst, &fs) == -1) {
        return errmsg_sys(err, "cannot look at %s", dst);
    }
    return fs.f_type == CGROUP2_SUPER_MAGIC
               ? 0
               : errmsg_set(err, "%s is no cgroup", dst);
}

/* ---- its controllers ---- */

bool
cgroup_write(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
    bool done = fd != -1 && write(fd, text, strlen(text)) != -1;

    if (fd != -1) {
        close(fd);
    }
    return done;
}

/* The text of a short file; "": it is not there. */
static struct str
read_file(int folder, const char *name, char room[static SHORT])
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, room, SHORT);

    if (fd != -1) {
        close(fd);
    }
    return str_of(room, n > 0 ? (size_t)n : 0);
}

static const char *const controllers[] = { "cpu", "memory", "pids" };
#define CONTROLLERS (sizeof(controllers) / sizeof(controllers[0]))

static bool
has_word(struct str words, struct str word)
{
    while (words.len > 0) {
        if (str_eq(str_cut(&words, ' '), word)) {
            return true;
        }
    }
    return false;
}

/* The controllers that it has, of any kind. */
static struct str
controllers_of(int folder, char room[static SHORT])
{
    struct str all = read_file(folder, "cgroup.controllers", room);

    return str_of(all.ptr, all.len > 0 ? all.len - 1 : 0); /* a line */
}

/* Whether there is something to hand on. */
static bool
has_ours(int folder)
{
    char room[SHORT];
    struct str all = controllers_of(folder, room);
    bool found = false;

    for (size_t i = 0; i < CONTROLLERS; i++) {
        found |= has_word(all, str_from(controllers[i]));
    }
    return found;
}

void
cgroup_hand_on(int folder, char told[static CGROUP_TOLD])
{
    char room[SHORT];
    struct str mine = controllers_of(folder, room);
    size_t len = 0;

    told[0] = '\0';
    for (size_t i = 0; i < CONTROLLERS; i++) {
        char asked[16];

        snprintf(asked, sizeof(asked), "+%s", controllers[i]);
        if (has_word(mine, str_from(controllers[i])) &&
            cgroup_write(folder, "cgroup.subtree_control", asked)) {
            len += (size_t)snprintf(told + len, CGROUP_TOLD - len, "%s%s",
                                    len > 0 ? ", " : "", controllers[i]);
        }
    }
}

/* Whether no other process is in it; those of other name spaces are "0". */
static bool
is_alone(int folder)
{
    char room[SHORT], own[16];

    snprintf(own, sizeof(own), "%d\n", (int)getpid());
    return str_eq(read_file(folder, "cgroup.procs", room), str_from(own));
}

static int
settle(int folder, const char *path, struct errmsg *err)
{
    char told[CGROUP_TOLD];

    if (mkdirat(folder, CGROUP_MAIN, 0755) == -1 && errno != EEXIST) {
        return errmsg_sys(err, "cannot make %s/" CGROUP_MAIN, path);
    }
    if (!cgroup_write(folder, CGROUP_MAIN "/cgroup.procs", "0")) {
        return errmsg_sys(err, "cannot go to %s/" CGROUP_MAIN, path);
    }
    cgroup_hand_on(folder, told);
    return told[0] != '\0'
               ? 0
               : errmsg_set(err, "%s hands no controllers on", path);
}

int
cgroup_settle(struct errmsg *err)
{
    char path[PATH_MAX];
    struct errmsg ignored;
    int folder = -1, rc = 0;

    if (cgroup_find(path, &ignored) == 0) {
        folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (folder != -1) {
        if (has_ours(folder) && is_alone(folder)) {
            rc = settle(folder, path, err);
        }
        close(folder);
    }
    return rc;
}
