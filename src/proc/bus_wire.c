/*
 * One message of the bus as it crosses a mailbox.
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

static void
attach(struct msghdr *m, union control *c, const struct bus_wire *w)
{
    size_t n = w->fd_count * sizeof(int);

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
    memcpy(CMSG_DATA(h), w->fds, n);
}

int
bus_wire_send(int fd, const struct bus_wire *w)
{
    struct bus_head head = w->head;
    size_t n = (head.flags & BUS_BIG) ? 0 : (size_t)head.len;
    struct iovec iov[2] = { { &head, sizeof(head) },
                            { (void *)(uintptr_t)w->data, n } };
    struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
    union control c;
    ssize_t sent;

    head.magic = MAGIC;
    attach(&m, &c, w);
    do {
        sent = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent == -1 && errno == EINTR);
    return sent == -1 ? -1 : 0;
}

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

static bool
is_whole(const struct msghdr *m, const struct bus_wire *w, size_t n)
{
    const struct bus_head *h = &w->head;
    size_t data = n - sizeof(*h);
    unsigned fds = !!(h->flags & BUS_BIG) + !!(h->flags & BUS_WITH_FD);

    return (m->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
           h->magic == MAGIC && fds == w->fd_count &&
           data == ((h->flags & BUS_BIG) ? 0 : h->len);
}

enum bus_came
bus_wire_recv(int fd, uint8_t *buffer, struct bus_wire *w)
{
    struct iovec iov = { buffer, BUS_INLINE + sizeof(w->head) };
    union control_in c;
    struct msghdr m = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = c.bytes,
                        .msg_controllen = sizeof(c.bytes) };
    ssize_t n;

    *w = (struct bus_wire){ .data = buffer + sizeof(w->head) };
    do {
        n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n == -1 && errno == EINTR);
    if (n == -1) {
        return BUS_NOTHING;
    }
    if (n == 0 && m.msg_controllen == 0) {
        return BUS_ENDED; /* no writer is left, or one ended it for all */
    }
    bool good = detach(&m, w);

    if ((size_t)n >= sizeof(w->head)) {
        memcpy(&w->head, buffer, sizeof(w->head));
        if (good && is_whole(&m, w, (size_t)n)) {
            return BUS_MESSAGE;
        }
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
