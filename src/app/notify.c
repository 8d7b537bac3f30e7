/*
 * sd_notify(3): one datagram to a unix socket, "@" stands for the abstract
 * name space.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
notify_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t len = path != NULL ? strlen(path) : 0;
    int fd;

    if (len < 2 || len >= sizeof(to.sun_path)) {
        return;
    }
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') {
        to.sun_path[0] = '\0';
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        return;
    }
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                 (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}
