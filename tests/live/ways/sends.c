/*
 * Ways by calls that send, options of sockets, rings, and calls of another
 * architecture.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UPPER_LAYER 31 /* TCP_ULP */

/* ---- to send is to connect ---- */

static struct msghdr *
message(int flags)
{
    static union address to;
    static struct iovec piece = { "GET / HTTP/1.0\r\n\r\n", 18 };
    static struct msghdr m;

    m = (struct msghdr){
        .msg_name = &to, .msg_iov = &piece, .msg_iovlen = 1, .msg_flags = flags
    };
    m.msg_namelen = to_inet(&to, "127.0.0.1", number("port"));
    return &m;
}

static int
fast_sendto(void)
{
    const struct msghdr *m = message(0);
    int fd = tcp();

    return fd == -1 ? errno
                    : judge(sendto(fd, "x", 1, MSG_FASTOPEN, m->msg_name,
                                   m->msg_namelen));
}

static int
fast_sendmsg(void)
{
    int fd = tcp();

    return fd == -1 ? errno : judge(sendmsg(fd, message(0), MSG_FASTOPEN));
}

static int
fast_sendmmsg(void)
{
    struct mmsghdr m = { .msg_hdr = *message(0) };
    int fd = tcp();

    return fd == -1 ? errno : judge(sendmmsg(fd, &m, 1, MSG_FASTOPEN));
}

/* No kernel looks at these flags. */
static int
fast_flags(void)
{
    struct mmsghdr m = { .msg_hdr = *message(MSG_FASTOPEN) };
    int fd = tcp();

    if (fd == -1 || sendmmsg(fd, &m, 1, MSG_NOSIGNAL) == -1) {
        return errno;
    }
    return reached(fd, number("port"));
}

static int
fast_option(void)
{
    const struct msghdr *m = message(0);
    int fd = tcp(), on = 1;

    if (fd == -1 || setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on,
                               sizeof(on)) == -1) {
        return errno;
    }
    return judge(connect(fd, m->msg_name, m->msg_namelen));
}

static int
send_unconnected(void)
{
    const struct msghdr *m = message(0);
    int fd = tcp();

    if (fd == -1 ||
        sendto(fd, "x", 1, MSG_NOSIGNAL, m->msg_name, m->msg_namelen) == -1) {
        return errno;
    }
    return reached(fd, number("port"));
}

/* ---- options ---- */

static int
sets(int level, int name, const void *value, size_t size)
{
    int fd = tcp();

    if (fd == -1) { /* any socket has options */
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1) {
            return errno;
        }
        fd = ends[0];
    }
    return tried(setsockopt(fd, level, name, value, (socklen_t)size));
}

static int
sets_one(int level, int name)
{
    int on = 1;

    return sets(level, name, &on, sizeof(on));
}

static struct sock_fprog *
pass_all(void)
{
    static struct sock_filter code = { BPF_RET | BPF_K, 0, 0, 0xffff };
    static struct sock_fprog program = { 1, &code };

    return &program;
}

WHY(fast_server, sets_one(IPPROTO_TCP, TCP_FASTOPEN))
WHY(upper_layer, sets(IPPROTO_TCP, UPPER_LAYER, "tls", 4))
WHY(repair, sets_one(IPPROTO_TCP, TCP_REPAIR))
WHY(signatures, sets_one(IPPROTO_TCP, TCP_MD5SIG))
WHY(congestion, sets(IPPROTO_TCP, TCP_CONGESTION, "reno", 4))
WHY(defers, sets_one(IPPROTO_TCP, TCP_DEFER_ACCEPT))
WHY(socket_filter,
    sets(SOL_SOCKET, SO_ATTACH_FILTER, pass_all(), sizeof(struct sock_fprog)))
WHY(socket_program, sets_one(SOL_SOCKET, SO_ATTACH_BPF))
WHY(port_filter, sets(SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, pass_all(),
                      sizeof(struct sock_fprog)))
WHY(port_program, sets_one(SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF))
WHY(port_shared, sets_one(SOL_SOCKET, SO_REUSEPORT))
WHY(to_a_device, sets(SOL_SOCKET, SO_BINDTODEVICE, "lo", 3))
WHY(mark, sets_one(SOL_SOCKET, SO_MARK))
WHY(zero_copy, sets_one(SOL_SOCKET, SO_ZEROCOPY))
WHY(foreign_address, sets_one(IPPROTO_IP, IP_TRANSPARENT))
WHY(free_bind, sets_one(IPPROTO_IP, IP_FREEBIND))
WHY(own_header, sets_one(IPPROTO_IP, IP_HDRINCL))
WHY(source_route, sets(IPPROTO_IP, IP_OPTIONS, "\x83\x7\x4\x7f\0\0\1", 7))
WHY(packet_filter, sets(IPPROTO_IP, 64, pass_all(), 16))
WHY(other_family, sets_one(IPPROTO_IPV6, IPV6_ADDRFORM))

static int
group_of_many(void)
{
    struct ip_mreqn group = { .imr_ifindex = 1 };

    group.imr_multiaddr.s_addr = htonl(0xe0000001);
    return sets(IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
}

/* ---- rings ---- */

static int
ring(void)
{
    struct io_uring_params p;

    memset(&p, 0, sizeof(p));
    return tried(syscall(SYS_io_uring_setup, 4, &p));
}

TRY(ring_enters, syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0))
TRY(ring_registers, syscall(SYS_io_uring_register, -1, 0, NULL, 0))

static int
ring_of_files(void)
{
    unsigned long context = 0;

    return tried(syscall(SYS_io_setup, 4, &context));
}

/* ---- calls of others ---- */

/* A socket by calls of x32, and by those of 32 bits, both by their numbers. */
static int
calls_of_x32(void)
{
#ifdef __x86_64__
    return tried(syscall(0x40000000 + SYS_socket, AF_INET, SOCK_DGRAM, 0));
#else
    return ENOSYS;
#endif
}

static int
calls_of_32_bits(void)
{
#ifdef __x86_64__
    int rc;

    __asm__ volatile("int $0x80"
                     : "=a"(rc)
                     : "a"(359), "b"(AF_INET), "c"(SOCK_DGRAM), "d"(0)
                     : "memory", "r8", "r9", "r10", "r11");
    return rc < 0 ? -rc : 0;
#else
    return ENOSYS;
#endif
}

static int
many_calls_of_32_bits(void)
{
#ifdef __x86_64__
    int rc;

    __asm__ volatile("int $0x80"
                     : "=a"(rc)
                     : "a"(102), "b"(1), "c"(0), "d"(0)
                     : "memory", "r8", "r9", "r10", "r11");
    return rc < 0 ? -rc : 0;
#else
    return ENOSYS;
#endif
}

/* ---- programs of the kernel ---- */

static int
bpf(void)
{
    union bpf_attr a;

    memset(&a, 0, sizeof(a));
    a.map_type = BPF_MAP_TYPE_ARRAY;
    a.key_size = a.value_size = 4;
    a.max_entries = 1;
    return tried(syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)));
}

/* It would answer calls of its own filter, in the place of weir's. */
static int
own_listener(void)
{
    static struct sock_filter code = { BPF_RET | BPF_K, 0, 0, 0x7fff0000 };
    static struct sock_fprog program = { 1, &code };

    return tried(syscall(SYS_seccomp, 1, 8, &program));
}

const struct way ways_of_sends[] = {
    WAY(fast_sendto),
    WAY(fast_sendmsg),
    WAY(fast_sendmmsg),
    WAY(fast_flags),
    WAY(fast_option),
    WAY(send_unconnected),
    WAY(fast_server),
    WAY(upper_layer),
    WAY(repair),
    WAY(signatures),
    WAY(congestion),
    WAY(defers),
    WAY(socket_filter),
    WAY(socket_program),
    WAY(port_filter),
    WAY(port_program),
    WAY(port_shared),
    WAY(to_a_device),
    WAY(mark),
    WAY(zero_copy),
    WAY(foreign_address),
    WAY(free_bind),
    WAY(own_header),
    WAY(source_route),
    WAY(packet_filter),
    WAY(other_family),
    WAY(group_of_many),
    WAY(ring),
    WAY(ring_enters),
    WAY(ring_registers),
    WAY(ring_of_files),
    WAY(calls_of_x32),
    WAY(calls_of_32_bits),
    WAY(many_calls_of_32_bits),
    WAY(bpf),
    WAY(own_listener),
    { NULL, NULL },
};
