/*
 * TCP keep-alive.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/sockopt.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

void
socket_keep_alive(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, 60 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 15 },
        { IPPROTO_TCP, TCP_KEEPCNT, 4 },
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                   sizeof(options[i].value));
    }
}
