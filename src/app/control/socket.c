/*
 * Making the control socket.
 *
 * It is made under another name and moved to its place when it has its mode
 * and group and somebody listens: nobody ever meets one that is half made, and
 * the place of a socket that a killed weir left is taken in one step.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/life.h"

#define BACKLOG 64
#define SOCKET_TYPE (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

static struct sockaddr_un
address_of(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    str_copy(un.sun_path, sizeof(un.sun_path), str_from(path));
    return un;
}

/* ---- the place ---- */

static void
folder_of(const char *path, char *dst, size_t size)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL) {
        str_copy(dst, size, STR("."));
    } else if (slash == path) {
        str_copy(dst, size, STR("/"));
    } else {
        str_copy(dst, size, str_of(path, (size_t)(slash - path)));
    }
}

/* Where anybody may put things in the place of others, somebody else's socket
 * could stand in ours. */
static int
check_folder(const char *path, struct errmsg *err)
{
    char folder[PATH_MAX];
    struct stat st;

    folder_of(path, folder, sizeof(folder));
    if (mkdir(folder, 0755) == -1 && errno != EEXIST) {
        return errmsg_sys(err, "cannot make the folder %s", folder);
    }
    if (stat(folder, &st) == -1) {
        return errmsg_sys(err, "cannot look at the folder %s", folder);
    }
    if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0) {
        return errmsg_set(err,
                          "everybody may write to the folder %s: choose "
                          "another for the control socket, or chmod o-w it",
                          folder);
    }
    return 0;
}

/* The place is free, or has a socket that nobody listens on. */
static int
check_place(const char *path, struct errmsg *err)
{
    struct sockaddr_un un = address_of(path);
    struct stat st;

    if (lstat(path, &st) == -1) {
        return errno == ENOENT ? 0 : errmsg_sys(err, "cannot look at %s", path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return errmsg_set(err, "%s is there and is no socket", path);
    }
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd == -1) {
        return errmsg_sys(err, "cannot make a socket");
    }
    int dead = connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1 &&
               (errno == ECONNREFUSED || errno == ENOENT);

    close(fd);
    if (!dead) {
        return errmsg_set(err, "another process listens on %s", path);
    }
    return 0;
}

/* ---- the socket ---- */

static int
set_rights(const char *path, const struct control_settings *s,
           struct errmsg *err)
{
    gid_t group;

    if (s->group.len > 0) {
        if (privilege_group_id(s->group, &group, err) == -1) {
            return -1;
        }
        if (lchown(path, (uid_t)-1, group) == -1) {
            return errmsg_sys(err, "cannot give %s to group \"%s\"", path,
                              s->group.ptr);
        }
    }
    if (chmod(path, settings_control_mode(s)) == -1) {
        return errmsg_sys(err, "cannot set the mode of %s", path);
    }
    return 0;
}

/* On a name beside the place; its descriptor. */
static int
make(const char *making, const struct control_settings *s, struct errmsg *err)
{
    struct sockaddr_un un = address_of(making);
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd == -1) {
        return errmsg_sys(err, "cannot make the control socket");
    }
    unlink(making); /* of one that was killed half way */
    if (bind(fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
        errmsg_sys(err, "cannot make %s", making);
    } else if (set_rights(making, s, err) == 0) {
        if (listen(fd, BACKLOG) == 0) {
            return fd;
        }
        errmsg_sys(err, "cannot listen on %s", making);
    }
    unlink(making);
    close(fd);
    return -1;
}

static void
note_place(struct control_socket *s)
{
    struct stat st;

    if (lstat(s->path, &st) == 0) {
        s->device = st.st_dev;
        s->inode = st.st_ino;
    }
}

int
control_socket_open(struct control_socket *s,
                    const struct control_settings *settings, struct errmsg *err)
{
    const char *path = settings->socket.ptr;
    char making[ADDR_PATH_MAX + sizeof(".new")];

    *s = (struct control_socket){ .fd = -1 };
    snprintf(making, sizeof(making), "%.*s.new", ADDR_PATH_MAX, path);
    if (check_folder(path, err) == -1) {
        return errmsg_prefix(err, "control.socket: ");
    }
    s->fd = make(making, settings, err);
    if (s->fd == -1) {
        return errmsg_prefix(err, "control.socket: ");
    }
    if (check_place(path, err) == -1 ||
        (rename(making, path) == -1 &&
         errmsg_sys(err, "cannot make %s", path) == -1)) {
        unlink(making);
        control_socket_forget(s);
        return errmsg_prefix(err, "control.socket: ");
    }
    s->path = mem_dup(path, strlen(path));
    note_place(s);
    return 0;
}

int
control_socket_change(const struct control_socket *s,
                      const struct control_settings *settings,
                      struct errmsg *err)
{
    return set_rights(s->path, settings, err);
}

void
control_socket_forget(struct control_socket *s)
{
    if (s->fd != -1) {
        close(s->fd);
        s->fd = -1;
    }
    mem_free(&s->path);
}

bool
control_socket_is_there(const struct control_socket *s)
{
    struct stat st;

    return lstat(s->path, &st) == 0 && st.st_dev == s->device &&
           st.st_ino == s->inode;
}

void
control_socket_close(struct control_socket *s)
{
    /* Another weir may have its own there by now. */
    if (s->fd != -1 && control_socket_is_there(s)) {
        unlink(s->path);
    }
    control_socket_forget(s);
}
