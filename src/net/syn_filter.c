/*
 * Five instructions for the kernel.
 *
 * A connection that is accepted later has the filter too, where it never
 * drops anything but a SYN, which has no business there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/syn_filter.h"

#include <linux/filter.h>
#include <stddef.h>
#include <sys/socket.h>

#define FLAGS_AT                                                \
    13 /* in the TCP header, where filters of TCP sockets begin \
        */
#define SYN 0x02
#define ACK 0x10
#define DROP 0
#define TAKE 0xffffffff

int
syn_filter_attach(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN | ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, DROP),
        BPF_STMT(BPF_RET | BPF_K, TAKE),
    };
    const struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]),
                                       .filter = code };

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter,
                      sizeof(filter));
}

void
syn_filter_detach(int fd)
{
    int nothing = 0;

    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof(nothing));
}

bool
syn_filter_is_there(int fd)
{
    socklen_t instructions = 0;

    /* Asked with no room for the filter it tells how long that is. */
    return getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &instructions) ==
               0 &&
           instructions > 0;
}
