/*
 * Two folders, two listeners and a sibling; tries in a child that entered the
 * sandbox with certain rights.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_PROC_SANDBOX_TRIES_H
#define UNIT_PROC_SANDBOX_TRIES_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/life.h"
#include "proc/sandbox.h"

#define NEW_USER 0x10000000

/* TOP/mine may be written to, TOP/other may not; each has a file. */
static char top[] = "/tmp/weir-rights-XXXXXX";
static char mine[64], other[64], my_file[96], other_file[96];
static int sibling;       /* a process that only waits */
static uint16_t port;     /* of a listener */
static uint16_t not_ours; /* of another */
static int listener;      /* a third, from before */

static struct sandbox sandbox = {
    .seccomp = SANDBOX_SECCOMP_ENFORCE,
    .landlock = true,
    .capabilities = true,
};
static struct rights rights;

/* ---- a try in the sandbox ---- */

static inline void
enter(void)
{
    struct errmsg err;

    sandbox.rights = &rights;
    sandbox_prepare(&sandbox);
    if (sandbox_enter(&sandbox, &err) == -1) {
        fprintf(stderr, "%s\n", err.text);
        _exit(99);
    }
}

static inline int
run(int (*try)(void))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        enter();
        _exit(try());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The call said -1: the errno of it; else 0, as if it were done. */
static inline int
refusal(long rc)
{
    return rc == -1 ? errno : 0;
}

struct call {
    const char *name;
    int (*try)(void);
    int said; /* what it has to say; -1: either of EACCES and EXDEV */
};

static inline bool
is_as_said(const struct call *c, int said)
{
    return c->said == -1 ? said == EACCES || said == EXDEV : said == c->said;
}

static inline void
check(const struct call *calls, size_t count)
{
    bool bad = false;

    for (size_t i = 0; i < count; i++) {
        int said = run(calls[i].try);

        if (!is_as_said(&calls[i], said)) {
            print_error("%s: %s\n", calls[i].name, strerror(said));
            bad = true;
        }
    }
    assert_false(bad);
}

#define CHECK(calls) check(calls, sizeof(calls) / sizeof((calls)[0]))

/* Not run, and told so, where nothing could refuse it. */
static inline void
need_landlock(int version)
{
    if (sandbox_is_wide() || sandbox_landlock_version() < version) {
        print_message("Landlock %d is needed, without sanitizers\n", version);
        skip();
    }
}

static inline void
give(struct rights r, enum sandbox_kind kind)
{
    rights_clear(&rights);
    rights = r;
    sandbox.kind = kind;
}

static const struct rights none;

/* ---- tries of both kinds of tests ---- */

static inline const char *
path_in(const char *folder, const char *name)
{
    static char paths[4][128];
    static int turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static inline int
make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd == -1) {
        return errno;
    }
    (void)!write(fd, "x", 1);
    close(fd);
    return 0;
}

static inline int
try_write(void)
{
    return refusal(open(other_file, O_WRONLY | O_CLOEXEC));
}

/* TOP/mine/out leads to TOP/other. */
static inline int
try_through_link(void)
{
    return make_file(path_in(mine, "out/new"));
}

static inline int
try_rename_out(void)
{
    return refusal(rename(my_file, path_in(other, "new")));
}

static inline int
try_exec_own(void)
{
    char *args[] = { NULL };

    return refusal(execve(my_file, args, args));
}

static inline int
fork_and_wait(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(7);
    }
    return pid != -1 && waitpid(pid, &status, 0) == pid &&
                   WEXITSTATUS(status) == 7
               ? 0
               : 1;
}

static inline int
try_kill(void)
{
    return refusal(kill(sibling, SIGURG));
}

static inline int
try_ptrace(void)
{
    return refusal(ptrace(PTRACE_ATTACH, sibling, NULL, NULL));
}

static inline int
try_limits(void)
{
    struct rlimit l = { 64, 64 };

    return refusal(prlimit(sibling, RLIMIT_NOFILE, &l, NULL));
}

static inline int
try_new_names(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, NEW_USER | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        _exit(0);
    }
    return refusal(pid);
}

static inline int
exec(const char *path)
{
    char name[] = "true", *args[] = { name, NULL }, *no_env[] = { NULL };

    return refusal(execve(path, args, no_env));
}

static inline int
try_exec(void)
{
    return exec("/bin/true");
}

static inline int
connect_to(uint16_t to)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(to) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return fd == -1 ? errno
                    : refusal(connect(fd, (struct sockaddr *)&at, sizeof(at)));
}

static inline int
try_port(void)
{
    return connect_to(port);
}

static inline int
try_other_port(void)
{
    return connect_to(not_ours);
}

/* ---- connections by sending ---- */

/* A message to the listener that is not ours, on a socket of its own. */
struct message {
    struct sockaddr_in at;
    struct iovec byte;
    struct mmsghdr m;
    int fd;
};

static inline void
address(struct message *to)
{
    static char x = 'x';

    to->at = (struct sockaddr_in){ .sin_family = AF_INET,
                                   .sin_port = htons(not_ours) };
    to->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to->byte = (struct iovec){ &x, 1 };
    to->m = (struct mmsghdr){ .msg_hdr = { .msg_name = &to->at,
                                           .msg_namelen = sizeof(to->at),
                                           .msg_iov = &to->byte,
                                           .msg_iovlen = 1 } };
    to->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static inline int
try_fast_open(void)
{
    struct message to;

    address(&to);
    return refusal(sendto(to.fd, "x", 1, MSG_FASTOPEN,
                          (struct sockaddr *)&to.at, sizeof(to.at)));
}

static inline int
try_fast_open_message(void)
{
    struct message to;

    address(&to);
    return refusal(sendmsg(to.fd, &to.m.msg_hdr, MSG_FASTOPEN | MSG_NOSIGNAL));
}

static inline int
try_fast_open_messages(void)
{
    struct message to;

    address(&to);
    return refusal(sendmmsg(to.fd, &to.m, 1, MSG_FASTOPEN));
}

/* The kernel does not look at flags that a message itself has. */
static inline int
try_flags_of_a_message(void)
{
    struct message to;

    address(&to);
    to.m.msg_hdr.msg_flags = MSG_FASTOPEN;
    return refusal(sendmmsg(to.fd, &to.m, 1, MSG_NOSIGNAL));
}

static inline int
try_fast_open_option(void)
{
    struct message to;
    int on = 1;

    address(&to);
    if (setsockopt(to.fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)) ==
            -1 ||
        connect(to.fd, (struct sockaddr *)&to.at, sizeof(to.at)) == -1) {
        return errno;
    }
    return refusal(send(to.fd, "x", 1, MSG_NOSIGNAL));
}

/* Shut down, the listener of before could connect. */
static inline int
try_fast_open_of_a_listener(void)
{
    struct message to;

    address(&to);
    shutdown(listener, SHUT_RDWR);
    return refusal(sendto(listener, "x", 1, MSG_FASTOPEN,
                          (struct sockaddr *)&to.at, sizeof(to.at)));
}

/* ---- servers ---- */

static inline int
try_listen(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd == -1 ? 1 : refusal(listen(fd, 1));
}

static inline int
try_accept(void)
{
    return refusal(syscall(SYS_accept, -1, NULL, NULL));
}

static inline int
try_accept4(void)
{
    return refusal(accept4(-1, NULL, NULL, SOCK_CLOEXEC));
}

static inline int
try_bind(void)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd == -1 ? 1
                    : refusal(bind(fd, (struct sockaddr *)&any, sizeof(any)));
}

/* ---- around all of them ---- */

static inline int
listen_on(uint16_t *on)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(listen(fd, 64), 0);
    getsockname(fd, (struct sockaddr *)&at, &len);
    *on = ntohs(at.sin_port);
    return fd;
}

/* It may do no more than who tries: the kernel guards one that may. */
static inline int
start_sibling(void)
{
    int told[2];
    char byte;

    assert_int_equal(pipe(told), 0);
    sibling = fork();
    if (sibling == 0) {
        (void)!write(told[1], privilege_capabilities(0) == 0 ? "y" : "n", 1);
        for (;;) {
            pause();
        }
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(told[0]);
    close(told[1]);
    return 0;
}

static inline int
begin(void **state)
{
    uint16_t third;

    (void)state;
    assert_non_null(mkdtemp(top));
    snprintf(mine, sizeof(mine), "%s/mine", top);
    snprintf(other, sizeof(other), "%s/other", top);
    snprintf(my_file, sizeof(my_file), "%s/file", mine);
    snprintf(other_file, sizeof(other_file), "%s/file", other);
    assert_int_equal(mkdir(mine, 0700) | mkdir(other, 0700), 0);
    assert_int_equal(make_file(my_file) | make_file(other_file), 0);
    assert_int_equal(chmod(my_file, 0700) | chmod(other_file, 0700), 0);
    assert_int_equal(symlink(other, path_in(mine, "out")), 0);
    listen_on(&port);
    listen_on(&not_ours);
    listener = listen_on(&third);
    return start_sibling();
}

static inline int
finish(void **state)
{
    (void)state;
    kill(sibling, SIGKILL);
    waitpid(sibling, NULL, 0);
    rights_clear(&rights);
    unlink(path_in(mine, "out"));
    unlink(path_in(mine, "link"));
    unlink(my_file);
    unlink(other_file);
    rmdir(mine);
    rmdir(other);
    return rmdir(top);
}

#endif
