/*
 * Ways by files that have a path: those of the test's folder outside, to which
 * the program's user has all rights, and those of the machine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#define FCHMODAT2 452
#define SETXATTRAT 463

#define OUTSIDE path_in("outside", "file")
#define NEW path_in("outside", "new")
#define READABLE told("readable") /* its own, which it may read */

/* ---- reading ---- */

static int
reads(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK);

    return fd == -1 ? errno : tried(read(fd, &byte, 1));
}

WHY(read_readable, reads(READABLE))
WHY(read_secret, reads(told("secret")))
WHY(read_outside, reads(OUTSIDE))
WHY(read_store, reads(told("store")))
WHY(read_settings, reads(told("conf")))
WHY(read_log, reads(told("log")))
WHY(read_users, reads("/etc/passwd"))
WHY(read_passwords, reads("/etc/shadow"))
WHY(read_host, reads("/etc/hostname"))
WHY(read_kernel, reads("/proc/version"))
WHY(read_mounts, reads("/proc/self/mountinfo"))
WHY(read_own_memory, reads("/proc/self/environ"))
WHY(read_connections, reads("/proc/net/tcp"))
WHY(read_devices, reads("/sys/class/net/lo/ifindex"))
WHY(read_disk, reads("/dev/mem"))

/* ".." from what it may open, and the folder that it is in. */
static int
read_through_dots(void)
{
    char path[600];
    int folder = open(".", O_PATH | O_DIRECTORY);

    snprintf(path, sizeof(path), "../../../../../../../../../../../../../..%s",
             told("secret"));
    return folder == -1                           ? errno
           : openat(folder, path, O_RDONLY) != -1 ? 0
                                                  : errno;
}

static int
read_through_root(void)
{
    char path[600];

    snprintf(path, sizeof(path), "/proc/self/root%s", told("secret"));
    return reads(path);
}

static int
read_by_openat2(void)
{
    struct open_how how = { .flags = O_RDONLY };

    return tried(
        syscall(SYS_openat2, AT_FDCWD, told("secret"), &how, sizeof(how)));
}

static int
read_by_handle(void)
{
    struct {
        struct file_handle head;
        unsigned char more[128];
    } h = { .head.handle_bytes = 128 };
    int mount;

    return tried(
        name_to_handle_at(AT_FDCWD, told("secret"), &h.head, &mount, 0));
}

static int
open_a_handle(void)
{
    struct {
        struct file_handle head;
        unsigned char more[128];
    } h = { .head.handle_bytes = 8 };

    return tried(open_by_handle_at(AT_FDCWD, &h.head, O_RDONLY));
}

static int
lists(const char *path)
{
    DIR *d = opendir(path);

    return d == NULL || readdir(d) == NULL ? errno : 0;
}

WHY(list_outside, lists(told("outside")))
WHY(list_root, lists("/"))
WHY(list_tmp, lists("/tmp"))
WHY(list_processes, lists("/proc"))
WHY(list_memory, lists("/dev/shm"))

/* Names and facts: the text says that these are seen. */
static int
look(void)
{
    struct stat st;

    return tried(stat(told("secret"), &st));
}

/* ---- writing ---- */

static int
writes(const char *path, int flags)
{
    int fd = open(path, flags, 0666);

    return fd == -1 ? errno : tried(write(fd, "x", 1));
}

WHY(write_inside, writes("./mine", O_WRONLY | O_CREAT))
WHY(write_outside, writes(OUTSIDE, O_WRONLY))
WHY(append_outside, writes(OUTSIDE, O_WRONLY | O_APPEND))
WHY(change_outside, writes(OUTSIDE, O_RDWR))
WHY(empty_outside, writes(OUTSIDE, O_WRONLY | O_TRUNC))
WHY(make_outside, writes(NEW, O_WRONLY | O_CREAT))
WHY(make_unnamed, writes(told("outside"), O_WRONLY | O_TMPFILE))
WHY(make_in_tmp, writes(told("tmp"), O_WRONLY | O_CREAT))
WHY(make_in_memory, writes(told("shm"), O_WRONLY | O_CREAT))
WHY(make_beside, writes(told("beside"), O_WRONLY | O_CREAT))
WHY(write_program, writes(told("program"), O_WRONLY))
WHY(write_readable, writes(READABLE, O_WRONLY | O_APPEND))
WHY(write_terminal, writes("/dev/tty", O_RDWR))
WHY(write_console, writes("/dev/ptmx", O_RDWR))
WHY(write_random, writes("/dev/urandom", O_WRONLY))
WHY(write_host, writes("/proc/sys/kernel/hostname", O_WRONLY))
WHY(write_trigger, tried(open("/proc/sysrq-trigger", O_WRONLY)))
WHY(write_badness, writes("/proc/self/oom_score_adj", O_WRONLY))
TRY(make_old, creat(NEW, 0666))
TRY(empty_by_reading, open(READABLE, O_RDONLY | O_TRUNC))
TRY(empty_by_neither, open(READABLE, O_ACCMODE | O_TRUNC))
TRY(truncate_outside, truncate(OUTSIDE, 0))
TRY(truncate_readable, truncate(READABLE, 0))
TRY(folder_outside, mkdir(path_in("outside", "folder"), 0777))
TRY(pipe_outside, mkfifo(NEW, 0666))
TRY(device_inside, mknod("./null", S_IFCHR | 0666, makedev(1, 3)))
TRY(remove_outside, unlink(path_in("outside", "victim")))
TRY(remove_folder, rmdir(path_in("outside", "empty")))
TRY(link_outside, symlink("/etc/passwd", NEW))
TRY(link_out, link(READABLE, NEW))
TRY(link_in, link(OUTSIDE, "./linked"))
TRY(rename_in, rename(path_in("outside", "victim"), "./stolen"))

static int
moves_out(unsigned flags)
{
    writes("./goes", O_WRONLY | O_CREAT);
    return tried(renameat2(AT_FDCWD, "./goes", AT_FDCWD,
                           flags == 0 ? NEW : OUTSIDE, flags));
}

WHY(rename_out, moves_out(0))
WHY(exchange, moves_out(RENAME_EXCHANGE))

/* By a link that it made itself, where it can. */
static int
write_through_link(void)
{
    return symlink(OUTSIDE, "./way") == -1 ? errno : writes("./way", O_WRONLY);
}

static int
write_shared_memory(void)
{
    int fd = open(READABLE, O_RDONLY);
    void *at;

    if (fd == -1) {
        return errno;
    }
    at = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? errno : 0;
}

/* ---- modes, owners, times, attributes: Landlock does not look at them ---- */

TRY(mode, chmod(OUTSIDE, 0600))
TRY(mode_at, fchmodat(AT_FDCWD, OUTSIDE, 0600, 0))
TRY(mode_at_2, syscall(FCHMODAT2, AT_FDCWD, OUTSIDE, 0600, 0))
TRY(owner, chown(OUTSIDE, getuid(), getgid()))
TRY(owner_of_link, lchown(OUTSIDE, getuid(), getgid()))
TRY(owner_at, fchownat(AT_FDCWD, OUTSIDE, getuid(), getgid(), 0))
TRY(times, utime(OUTSIDE, NULL))
TRY(times_at, utimensat(AT_FDCWD, OUTSIDE, NULL, 0))
TRY(attribute, setxattr(OUTSIDE, "user.x", "x", 1, 0))
TRY(attribute_of_link, lsetxattr(OUTSIDE, "user.x", "x", 1, 0))
TRY(attribute_away, removexattr(OUTSIDE, "user.y"))
TRY(attribute_at, syscall(SETXATTRAT, AT_FDCWD, OUTSIDE, 0, "user.x", NULL, 0))

/* ---- watching ---- */

TRY(watch, syscall(SYS_inotify_init1, 0))
TRY(watch_all, syscall(SYS_fanotify_init, 0, 0))

const struct way ways_of_files[] = {
    WAY(read_readable),
    WAY(read_secret),
    WAY(read_outside),
    WAY(read_store),
    WAY(read_settings),
    WAY(read_log),
    WAY(read_users),
    WAY(read_passwords),
    WAY(read_host),
    WAY(read_kernel),
    WAY(read_mounts),
    WAY(read_own_memory),
    WAY(read_connections),
    WAY(read_devices),
    WAY(read_disk),
    WAY(read_through_dots),
    WAY(read_through_root),
    WAY(read_by_openat2),
    WAY(read_by_handle),
    WAY(open_a_handle),
    WAY(list_outside),
    WAY(list_root),
    WAY(list_tmp),
    WAY(list_processes),
    WAY(list_memory),
    WAY(look),
    WAY(write_inside),
    WAY(write_outside),
    WAY(append_outside),
    WAY(change_outside),
    WAY(empty_outside),
    WAY(make_outside),
    WAY(make_unnamed),
    WAY(make_in_tmp),
    WAY(make_in_memory),
    WAY(make_beside),
    WAY(write_program),
    WAY(write_readable),
    WAY(write_terminal),
    WAY(write_console),
    WAY(write_random),
    WAY(write_host),
    WAY(write_trigger),
    WAY(write_badness),
    WAY(make_old),
    WAY(empty_by_reading),
    WAY(empty_by_neither),
    WAY(truncate_outside),
    WAY(truncate_readable),
    WAY(folder_outside),
    WAY(pipe_outside),
    WAY(device_inside),
    WAY(remove_outside),
    WAY(remove_folder),
    WAY(link_outside),
    WAY(link_out),
    WAY(link_in),
    WAY(rename_in),
    WAY(rename_out),
    WAY(exchange),
    WAY(write_through_link),
    WAY(write_shared_memory),
    WAY(mode),
    WAY(mode_at),
    WAY(mode_at_2),
    WAY(owner),
    WAY(owner_of_link),
    WAY(owner_at),
    WAY(times),
    WAY(times_at),
    WAY(attribute),
    WAY(attribute_of_link),
    WAY(attribute_away),
    WAY(attribute_at),
    WAY(watch),
    WAY(watch_all),
    { NULL, NULL },
};
