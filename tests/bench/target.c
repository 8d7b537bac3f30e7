/*
 * URLs and connecting.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "target.h"

#include "common.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_BUFFER = 4096, SMALL_SEGMENT = 536 };

static void
look_up(struct target *t)
{
    char host[sizeof(t->host)];
    const char *port = t->http ? "80" : "1935";
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found;

    snprintf(host, sizeof(host), "%s", t->host);
    char *colon = strrchr(host, ':');

    if (colon != NULL) {
        *colon = '\0';
        port = colon + 1;
    }
    int rc = getaddrinfo(host, port, &hints, &found);

    if (rc != 0) {
        fatal("%s: %s", t->host, gai_strerror(rc));
    }
    memcpy(&t->address, found->ai_addr, found->ai_addrlen);
    t->address_size = found->ai_addrlen;
    freeaddrinfo(found);
}

static void
copy_part(char *to, size_t room, const char *from, size_t n)
{
    if (n >= room) {
        fatal("a part of the URL is longer than %zu bytes", room - 1);
    }
    memcpy(to, from, n);
    to[n] = '\0';
}

void
target_parse(struct target *t, const char *url)
{
    *t = (struct target){ 0 };
    t->socket = strncmp(url, "ws://", 5) == 0;
    t->http = t->socket || strncmp(url, "http://", 7) == 0;
    if (!t->http && strncmp(url, "rtmp://", 7) != 0) {
        fatal("%s: is not an rtmp://, http:// or ws:// URL", url);
    }
    const char *host = strstr(url, "://") + 3;
    const char *path = strchr(host, '/');

    if (path == NULL) {
        fatal("%s: has no path", url);
    }
    copy_part(t->host, sizeof(t->host), host, (size_t)(path - host));
    if (!t->http) {
        const char *slash = strchr(path + 1, '/');

        if (slash == NULL) {
            fatal("%s: is not rtmp://HOST/APP/NAME", url);
        }
        copy_part(t->app, sizeof(t->app), path + 1, (size_t)(slash - path - 1));
        path = slash + 1;
    }
    copy_part(t->name, sizeof(t->name), path, strlen(path));
    look_up(t);
}

void
target_name(const struct target *t, unsigned stream, char *out, size_t room)
{
    const char *mark = strstr(t->name, "%d");

    if (mark == NULL) {
        snprintf(out, room, "%s", t->name);
        return;
    }
    snprintf(out, room, "%.*s%u%s", (int)(mark - t->name), t->name, stream,
             mark + 2);
}

int
target_connect(const struct target *t, bool small)
{
    int on = 1, bytes = SMALL_BUFFER, segment = SMALL_SEGMENT;
    int fd = socket(t->address.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd == -1) {
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (small) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
    }
    if (connect(fd, (const struct sockaddr *)&t->address, t->address_size) ==
            -1 &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}
