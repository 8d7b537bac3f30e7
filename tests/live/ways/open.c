/*
 * Ways by files that are open already, and by programs to execute.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define READABLE told("readable")

extern char **environ;

/* ---- open files ---- */

static int
readable(void)
{
    return open(READABLE, O_RDONLY);
}

/* As they are: the owner's are hers to change. */
TRY(mode_of_open, fchmod(readable(), 0640))
TRY(times_of_open, futimens(readable(), NULL))
TRY(bits_of_open, fchmod(readable(), S_ISUID | 0755))
TRY(owner_of_open, fchown(readable(), getuid(), getgid()))
TRY(attribute_of_open, syscall(SYS_fsetxattr, readable(), "user.x", "x", 1, 0))
TRY(size_of_open, ftruncate(readable(), 0))
TRY(hole_in_open, fallocate(readable(), 3, 0, 1))
TRY(lease, fcntl(readable(), F_SETLEASE, F_RDLCK))
TRY(notes, fcntl(open(".", O_RDONLY), F_NOTIFY, 4))
TRY(owner_of_signals, fcntl(readable(), F_SETOWN, number("target")))
TRY(signal_of_file, fcntl(readable(), F_SETSIG, SIGURG))
TRY(asynchronous, fcntl(0, F_SETFL, O_ASYNC))
TRY(lock_to_write,
    fcntl(readable(), F_SETLK, &(struct flock){ .l_type = F_WRLCK }))

static int
flags_of_inode(void)
{
    int flags = FS_IMMUTABLE_FL;

    return tried(ioctl(readable(), FS_IOC_SETFLAGS, &flags));
}

/* A path of a descriptor that was opened as a path alone. */
static int
mode_by_descriptor(void)
{
    char path[64];
    int fd = open(path_in("outside", "file"), O_PATH);

    if (fd == -1) {
        return errno;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return tried(chmod(path, 0600));
}

static int
read_by_descriptor(void)
{
    char path[64];
    int fd = open(told("secret"), O_PATH);

    if (fd == -1) {
        return errno;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return tried(open(path, O_RDONLY));
}

static int
with_pair(unsigned long what, void *value)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1) {
        return errno;
    }
    return tried(ioctl(ends[0], what, value));
}

static int
asynchronous_pair(void)
{
    int on = 1;

    return with_pair(FIOASYNC, &on);
}

static int
owner_of_pair(void)
{
    int target = number("target");

    return with_pair(FIOSETOWN, &target);
}

static int
type_ahead(void)
{
    char byte = 'x';

    return tried(ioctl(0, TIOCSTI, &byte));
}

TRY(terminal, ioctl(0, TIOCSCTTY, 0))
TRY(hang_up, syscall(SYS_vhangup))

/* Those that its role gives: standard ones, and weir-speaker's two.  /dev/null
 * stands where there is none. */
static int
descriptors(void)
{
    int most = strcmp(told("place"), "speaker") == 0 ? 4 : 2;

    for (int fd = most + 1; fd < 1024; fd++) {
        struct stat st;

        if (fstat(fd, &st) == 0 && st.st_rdev != makedev(1, 3)) {
            return 0;
        }
    }
    return EBADF;
}

/* ---- programs ---- */

/* errno of the execution; 0: it ran and said so. */
static int
runs(int (*execute)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        execute();
        _exit(errno);
    }
    if (child == -1 || waitpid(child, &status, 0) == -1) {
        return errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

/* Whatever it is: it does nothing. */
static char *const quiet[] = { "true", "--does-nothing", NULL };
static char *const nothing[] = { "sh", "-c", "exit 0", NULL };

#define RUNS(name, call)         \
    static int name##_now(void)  \
    {                            \
        return call;             \
    }                            \
    static int name(void)        \
    {                            \
        return runs(name##_now); \
    }

RUNS(shell, execv("/bin/sh", nothing))
RUNS(other_user, execl("/bin/su", "su", "--help", NULL))
RUNS(mounter, execl("/bin/mount", "mount", "--version", NULL))
RUNS(weir, execl(told("weir"), "weir", "-v", NULL))
RUNS(outside,
     execl(path_in("outside", "program"), "program", "--does-nothing", NULL))

/* A copy of that file, in its own folder. */
static int
copy(const char *from, int to)
{
    static char room[65536];
    int fd = open(from, O_RDONLY);
    ssize_t n = -1;

    if (fd == -1 || to == -1) {
        return -1;
    }
    while ((n = read(fd, room, sizeof(room))) > 0) {
        if (write(to, room, (size_t)n) != n) {
            return -1;
        }
    }
    close(fd);
    return (int)n;
}

static int
made(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

    if (fd == -1) {
        return -1;
    }
    fchmod(fd, 0755);
    if ((text != NULL ? (int)write(fd, text, strlen(text))
                      : copy(told("program"), fd)) == -1) {
        return -1;
    }
    return close(fd);
}

RUNS(own_copy,
     made("./p", NULL) == -1 ? -1 : execl("./p", "p", "--does-nothing", NULL))
RUNS(own_script,
     made("./s", "#!/bin/sh\n") == -1 ? -1 : execl("./s", "s", NULL))
RUNS(own_by_descriptor, made("./d", NULL) == -1
                            ? -1
                            : fexecve(open("./d", O_RDONLY), quiet, environ))

static int
own_by_empty_path_now(void)
{
    int fd = made("./e", NULL) == -1 ? -1 : open("./e", O_RDONLY);

    return fd == -1 ? -1
                    : (int)syscall(SYS_execveat, fd, "", quiet, environ,
                                   AT_EMPTY_PATH);
}
WHY(own_by_empty_path, runs(own_by_empty_path_now))

/* Of a file that it may read and execute: without a path it is unknown. */
static int
open_program_now(void)
{
    int fd = open(told("program"), O_RDONLY);
    char *const names[] = { "p", "--does-nothing", NULL };

    return fd == -1 ? -1
                    : (int)syscall(SYS_execveat, fd, "", names, environ,
                                   AT_EMPTY_PATH);
}
WHY(open_program, runs(open_program_now))

/* The loader runs what it can read: in this sandbox. */
static int
loader_connects(void)
{
    pid_t child;
    int status;

    if (access("/lib64/ld-linux-x86-64.so.2", F_OK) == -1) {
        return ENOSYS;
    }
    child = fork();
    if (child == 0) {
        execl("/lib64/ld-linux-x86-64.so.2", "ld.so",
              made("./l", NULL) == -1 ? told("program") : "./l", "--connect",
              NULL);
        _exit(errno);
    }
    if (child == -1 || waitpid(child, &status, 0) == -1) {
        return errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

/* ---- files of memory ---- */

static int
run_memory(unsigned flags)
{
    char path[64];
    int fd = memfd_create("program", flags);

    if (fd == -1 || copy(told("program"), fd) == -1) {
        return -1;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    execl(path, "p", "--does-nothing", NULL);
    fchmod(fd, 0755);
    execl(path, "p", "--does-nothing", NULL);
    return fexecve(fd, quiet, environ);
}

RUNS(memory, run_memory(0))
RUNS(memory_to_execute, run_memory(MFD_ALLOW_SEALING | 0x10U))
RUNS(memory_sealed, run_memory(0x8U))
TRY(memory_of_huge_pages, memfd_create("x", MFD_HUGETLB))
TRY(memory_secret, syscall(SYS_memfd_secret, 0))

const struct way ways_of_open[] = {
    WAY(mode_of_open),
    WAY(times_of_open),
    WAY(bits_of_open),
    WAY(owner_of_open),
    WAY(attribute_of_open),
    WAY(size_of_open),
    WAY(hole_in_open),
    WAY(lease),
    WAY(notes),
    WAY(owner_of_signals),
    WAY(signal_of_file),
    WAY(asynchronous),
    WAY(lock_to_write),
    WAY(flags_of_inode),
    WAY(mode_by_descriptor),
    WAY(read_by_descriptor),
    WAY(asynchronous_pair),
    WAY(owner_of_pair),
    WAY(type_ahead),
    WAY(terminal),
    WAY(hang_up),
    WAY(descriptors),
    WAY(shell),
    WAY(other_user),
    WAY(mounter),
    WAY(weir),
    WAY(outside),
    WAY(own_copy),
    WAY(own_script),
    WAY(own_by_descriptor),
    WAY(own_by_empty_path),
    WAY(open_program),
    WAY(loader_connects),
    WAY(memory),
    WAY(memory_to_execute),
    WAY(memory_sealed),
    WAY(memory_of_huge_pages),
    WAY(memory_secret),
    { NULL, NULL },
};
