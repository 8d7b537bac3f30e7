/*
 * Sockets and bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "socket_line.h"

#include "common.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

void
bytes_add(struct bytes *b, const void *from, size_t n)
{
    if (b->room - b->size < n) {
        b->room = b->size + n;
        b->start = mem_grow(b->start, b->room);
    }
    memcpy(b->start + b->size, from, n);
    b->size += n;
}

void
bytes_cut(struct bytes *b, size_t n)
{
    b->size -= n;
    if (b->size == 0) {
        bytes_clear(b);
    } else if (n > 0) {
        memmove(b->start, b->start + n, b->size);
    }
}

void
bytes_clear(struct bytes *b)
{
    mem_drop(&b->start);
    b->size = b->room = 0;
}

void
line_init(struct socket_line *l)
{
    l->fd = -1;
    l->connecting = l->deaf = false;
    l->in = l->out = (struct bytes){ 0 };
}

static int
watch(struct socket_line *l, int operation)
{
    struct epoll_event event = { .data.ptr = l };

    event.events = l->deaf ? EPOLLRDHUP : EPOLLIN;
    if (l->connecting || l->out.size > 0) {
        event.events = l->connecting ? EPOLLOUT : event.events | EPOLLOUT;
    }
    return epoll_ctl(l->epoll, operation, l->fd, &event);
}

int
line_open(struct socket_line *l, const struct target *t)
{
    l->fd = target_connect(t, l->deaf);
    l->connecting = true;
    if (l->fd == -1) {
        return -1;
    }
    return watch(l, EPOLL_CTL_ADD);
}

/* With a reset, so that no port stays busy. */
void
line_close(struct socket_line *l)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };

    if (l->fd != -1) {
        setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(l->fd);
    }
    l->fd = -1;
    l->connecting = false;
    bytes_clear(&l->in);
    bytes_clear(&l->out);
}

int
line_connected(struct socket_line *l)
{
    int error = 0;
    socklen_t size = sizeof(error);

    getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) {
        l->connecting = false;
        error = watch(l, EPOLL_CTL_MOD) == -1 ? errno : 0;
    }
    return error;
}

int
line_flush(struct socket_line *l)
{
    bool waited = l->out.size > 0;
    ssize_t n = l->out.size == 0
                    ? 0
                    : send(l->fd, l->out.start, l->out.size, MSG_NOSIGNAL);

    if (n == -1 && errno != EAGAIN && errno != EINTR) {
        return -1;
    }
    bytes_cut(&l->out, n > 0 ? (size_t)n : 0);
    return waited ? watch(l, EPOLL_CTL_MOD) : 0;
}

int
line_send(struct socket_line *l, const void *from, size_t n)
{
    ssize_t sent = 0;

    if (l->out.size == 0) {
        sent = send(l->fd, from, n, MSG_NOSIGNAL);
    }
    if (sent == -1 && errno != EAGAIN && errno != EINTR) {
        return -1;
    }
    sent = sent > 0 ? sent : 0;
    if ((size_t)sent == n) {
        return 0;
    }
    bytes_add(&l->out, (const uint8_t *)from + sent, n - (size_t)sent);
    return watch(l, EPOLL_CTL_MOD);
}

ssize_t
line_receive(struct socket_line *l, uint8_t *buffer, size_t room)
{
    ssize_t n = recv(l->fd, buffer, room, 0);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        errno = n == 0 ? 0 : errno;
        return -1;
    }
    bytes_add(&l->in, buffer, (size_t)n);
    return n;
}
