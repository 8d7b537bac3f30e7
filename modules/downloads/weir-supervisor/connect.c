/*
 * Connections of the engine: the supervisor makes them.  Landlock, from version
 * 4 on, holds a port, and another server may have that at another address.
 *
 * socket() returns a socket that the supervisor has connected to the proxy
 * already, and connect() connects nothing: it says whether the address was the
 * proxy's, as Landlock would.  So nothing that the engine names is ever
 * connected to, however its memory changes meanwhile.
 *
 * A socket that takes the engine's place at connect() would lose its options,
 * its place in epoll and whether it blocks.  To use the engine's own
 * (pidfd_getfd) its process has to be traced, which containers and yama refuse,
 * and found, where the kernel names a thread: /proc is closed to both.
 *
 * Nothing here waits: the connection is begun, and a socket that is not
 * connected yet makes the engine wait at its first byte.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "supervise.h"

#define FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* Whichever of the two it is. */
union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* ---- socket() ---- */

/* The proxy's, of that family; its size. */
static socklen_t
fill_address(union address *a, int family, uint16_t port)
{
    memset(a, 0, sizeof(*a));
    if (family == AF_INET) {
        a->in.sin_family = AF_INET;
        a->in.sin_port = htons(port);
        a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof(a->in);
    }
    a->in6.sin6_family = AF_INET6;
    a->in6.sin6_port = htons(port);
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &a->in6.sin6_addr);
    return sizeof(a->in6);
}

/* A connection that is made, or about to be; -1: errno says why. */
static int
begin(int family, uint16_t port)
{
    int fd = socket(family, SOCK_STREAM | FLAGS, 0), off = 0;
    union address to;
    socklen_t size = fill_address(&to, family, port);

    if (fd == -1) {
        return -1;
    }
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (connect(fd, &to.any, size) == -1 && errno != EINPROGRESS) {
        int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* As the engine wants it; the options of others are refused by its filter. */
static bool
is_of_tcp(const struct sandbox_call *call)
{
    int family = (int)call->arguments[0], type = (int)call->arguments[1],
        protocol = (int)call->arguments[2];

    return (family == AF_INET || family == AF_INET6) &&
           (type & ~FLAGS) == SOCK_STREAM &&
           (protocol == 0 || protocol == IPPROTO_TCP);
}

static void
give_socket(int listener, const struct sandbox_call *call, uint16_t port)
{
    int type = (int)call->arguments[1], fd;

    if (port == 0 || !is_of_tcp(call)) {
        sandbox_answer(listener, call, EACCES, 0);
        return;
    }
    fd = begin((int)call->arguments[0], port);
    if (fd == -1) {
        sandbox_answer(listener, call, errno, 0);
        return;
    }
    fcntl(fd, F_SETFL, type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
    sandbox_give(listener, call, fd, (type & SOCK_CLOEXEC) != 0);
    close(fd);
}

/* ---- connect() ---- */

/* Another thread of the engine may change it at any time. */
static int
read_address(const struct sandbox_call *call, union address *a, size_t size)
{
    const struct iovec here = { a, size };
    const struct iovec there = { (void *)(uintptr_t)call->arguments[1], size };

    memset(a, 0, sizeof(*a));
    return (int)process_vm_readv(call->pid, &here, 1, &there, 1, 0);
}

/* The errno of connect() to that address; 0: none. */
static int
judge(const union address *a, size_t size, uint16_t port)
{
    static const struct in6_addr own = IN6ADDR_LOOPBACK_INIT;
    union address proxy;

    if (a->any.sa_family == AF_INET && size >= sizeof(a->in)) {
        fill_address(&proxy, AF_INET, port);
        return a->in.sin_port == proxy.in.sin_port &&
                       a->in.sin_addr.s_addr == proxy.in.sin_addr.s_addr
                   ? 0
                   : EACCES;
    }
    if (a->any.sa_family != AF_INET6 || size < sizeof(a->in6)) {
        return EACCES;
    }
    fill_address(&proxy, AF_INET6, port);
    if (a->in6.sin6_port != proxy.in6.sin6_port) {
        return EACCES;
    }
    if (IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &proxy.in6.sin6_addr)) {
        return 0;
    }
    return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &own) ? ECONNREFUSED : EACCES;
}

/* Where the memory of the engine cannot be looked at, it is told that it is
 * connected: it is, to the proxy. */
static int
errno_of(const struct sandbox_call *call, uint16_t port)
{
    size_t size = (uint32_t)call->arguments[2];
    union address a;

    if (port == 0) {
        return EACCES;
    }
    if (size > sizeof(struct sockaddr_storage)) {
        return EINVAL;
    }
    if (read_address(call, &a, size < sizeof(a) ? size : sizeof(a)) == -1) {
        return errno == EFAULT ? EFAULT : 0;
    }
    return judge(&a, size, port);
}

bool
supervise_connect(int listener, const struct sandbox_call *call, uint16_t port)
{
    if (call->number == SYS_socket) {
        give_socket(listener, call, port);
        return true;
    }
    if (call->number == SYS_connect) {
        sandbox_answer(listener, call, errno_of(call, port), 0);
        return true;
    }
    return false;
}
