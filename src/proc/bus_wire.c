/*
 * Messages of the bus as they cross a mailbox.
 *
 * A sender is another process of ours, but an attacker may control it: the
 * receiver checks each message, asks the kernel for its sender, and closes
 * unexpected descriptors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/bus_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/metrics.h"

#define MAGIC 0x77656972 /* "weir" */

#define SCM_MOST 253 /* descriptors that the kernel takes in one message */

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * BUS_FDS)];
};

/* Room for all that can come, so that nothing is dropped but by us. */
union control_in {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * SCM_MOST) +
               CMSG_SPACE(sizeof(struct ucred))];
};

/* ---- sending ---- */

static void
attach(struct msghdr *m, union control *c, const int *fds, unsigned count)
{
    size_t n = count * sizeof(int);

    if (n == 0) {
        return;
    }
    memset(c, 0, sizeof(*c));
    m->msg_control = c->bytes;
    m->msg_controllen = CMSG_SPACE(n);
    struct cmsghdr *h = CMSG_FIRSTHDR(m);

    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(n);
    memcpy(CMSG_DATA(h), fds, n);
}

static int
send_parts(int fd, struct iovec *parts, size_t count, const int *fds,
           unsigned fd_count)
{
    struct msghdr m = { .msg_iov = parts, .msg_iovlen = count };
    union control c;
    ssize_t sent;

    attach(&m, &c, fds, fd_count);
    do {
        sent = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent == -1 && errno == EINTR);
    return sent == -1 ? -1 : 0;
}

/* Bytes of the data that cross the mailbox with the head. */
static uint64_t
inline_len(const struct bus_head *h)
{
    return (h->flags & BUS_BIG) ? 0 : h->len;
}

int
bus_wire_send(int fd, const struct bus_wire *w)
{
    struct bus_head head = w->head;
    struct iovec parts[2] = { { &head, sizeof(head) },
                              { (void *)(uintptr_t)w->data,
                                (size_t)inline_len(&head) } };

    head.magic = MAGIC;
    return send_parts(fd, parts, 2, w->fds, w->fd_count);
}

int
bus_wire_send_packed(int fd, const uint8_t *bytes, size_t len, const int *fds,
                     unsigned fd_count)
{
    struct iovec all = { (void *)(uintptr_t)bytes, len };

    return send_parts(fd, &all, 1, fds, fd_count);
}

static size_t
padded(size_t len)
{
    return (len + 7) / 8 * 8;
}

size_t
bus_wire_size(const struct bus_wire *w)
{
    return sizeof(w->head) + padded((size_t)inline_len(&w->head));
}

size_t
bus_wire_pack(uint8_t *dst, const struct bus_wire *w)
{
    size_t n = (size_t)inline_len(&w->head);
    struct bus_head head = w->head;

    head.magic = MAGIC;
    memcpy(dst, &head, sizeof(head));
    if (n > 0) {
        memcpy(dst + sizeof(head), w->data, n);
    }
    memset(dst + sizeof(head) + n, 0, padded(n) - n);
    return sizeof(head) + padded(n);
}

/* ---- receiving ---- */

/* Keeps as many of the descriptors as can be meant; false: there were more. */
static bool
take_fds(const struct cmsghdr *h, struct bus_wire *w)
{
    size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    bool all = true;

    for (size_t i = 0; i < n; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
        if (w->fd_count < BUS_FDS) {
            w->fds[w->fd_count++] = fd;
        } else {
            bus_wire_close_fd(fd);
            all = false;
        }
    }
    return all;
}

/* Takes what came beside the bytes: descriptors, and who sent it.  false: more
 * than can be meant. */
static bool
detach(struct msghdr *m, struct bus_wire *w)
{
    bool all = true;

    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL;
         h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS) {
            all &= take_fds(h, w);
        } else if (h->cmsg_level == SOL_SOCKET &&
                   h->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;

            memcpy(&sender, CMSG_DATA(h), sizeof(sender));
            w->pid = sender.pid;
        }
    }
    return all;
}

/* Takes the message at the front of w->rest; false: there is no whole one. */
static bool
take(struct bus_wire *w)
{
    struct bus_head *h = &w->head;
    size_t size;

    if (w->rest.len < sizeof(*h)) {
        return false;
    }
    memcpy(h, w->rest.ptr, sizeof(*h));
    if (h->magic != MAGIC || inline_len(h) > w->rest.len - sizeof(*h)) {
        return false;
    }
    w->data = w->rest.ptr + sizeof(*h);
    size = sizeof(*h) + padded((size_t)inline_len(h));
    w->rest = str_skip(w->rest, size < w->rest.len ? size : w->rest.len);
    return true;
}

bool
bus_wire_next(struct bus_wire *w)
{
    return w->rest.len > 0 && take(w);
}

/* Takes the first message; false: any of them is not whole, or the
 * descriptors are others than it tells of. */
static bool
take_packet(struct bus_wire *w, struct str bytes)
{
    struct bus_wire next;
    unsigned fds;

    w->rest = bytes;
    if (!take(w)) {
        return false;
    }
    fds = !!(w->head.flags & BUS_BIG) + !!(w->head.flags & BUS_WITH_FD);
    if (fds != w->fd_count || (fds > 0 && w->rest.len > 0)) {
        return false;
    }
    next = *w;
    while (bus_wire_next(&next)) {
        if (next.head.flags != 0) {
            return false;
        }
    }
    return next.rest.len == 0;
}

enum bus_came
bus_wire_recv(int fd, uint8_t *buffer, struct bus_wire *w)
{
    struct iovec iov = { buffer, BUS_BUFFER };
    union control_in c;
    struct msghdr m = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = c.bytes,
                        .msg_controllen = sizeof(c.bytes) };
    ssize_t n;

    *w = (struct bus_wire){ .data = NULL };
    do {
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n == -1 && errno == EINTR);
    if (n == -1) {
        return BUS_NOTHING;
    }
    if (n == 0 && m.msg_controllen == 0) {
        return BUS_ENDED; /* no writer is left, or one ended it for all */
    }
    if (detach(&m, w) && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
        take_packet(w, str_of((const char *)buffer, (size_t)n))) {
        return BUS_MESSAGE;
    }
    log_limited(LOG_ERROR,
                "a damaged message of %zd bytes came over the bus from process "
                "%d",
                n, (int)w->pid);
    metric_add(&proc_metrics[PROC_BUS_LOST], 2, 1);
    bus_wire_close(w);
    return BUS_DAMAGED;
}

/* The last close of a socket waits for its peer if it was told to linger. */
void
bus_wire_close_fd(int fd)
{
    static const struct linger none = { 0, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    close(fd);
}

void
bus_wire_close(struct bus_wire *w)
{
    for (unsigned i = 0; i < w->fd_count; i++) {
        bus_wire_close_fd(w->fds[i]);
    }
    w->fd_count = 0;
}

int
bus_wire_store(const void *data, size_t len)
{
    const uint8_t *p = data;
    int fd = memfd_create("weir message", MFD_CLOEXEC);
    size_t done = 0;

    while (fd != -1 && done < len) {
        ssize_t n = write(fd, p + done, len - done);

        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

void *
bus_wire_load(int fd, size_t len)
{
    struct stat st;
    uint8_t *data;
    size_t done = 0;

    /* Seals are for memory alone, whose reading never waits. */
    if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size < len || fcntl(fd, F_GET_SEALS) == -1) {
        return NULL;
    }
    data = try_alloc(len);
    while (data != NULL && done < len) {
        ssize_t n = pread(fd, data + done, len - done, (off_t)done);

        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            mem_free(&data);
        }
    }
    return data;
}
