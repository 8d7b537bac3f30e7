/*
 * Fuzz target: messages of the bus that another process sent.
 *
 * The first byte says how many descriptors go along, the second whether the
 * magic number is the right one; the rest is the packet as it is sent.  Each
 * message that is taken has the descriptors that its flags tell of and the data
 * that its length tells of, and no descriptor is left over in any case.
 *
 * covers: src/proc/bus_wire.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/bus_wire.h"

#define MAGIC 0x77656972
#define FDS 4 /* more than a message may have */

static int pair[2];
static int file; /* has the bytes of one input */
static uint8_t buffer[BUS_BUFFER];

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
set_up(void)
{
    log_set_sink(drop_line, NULL);
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                       0, pair) == 0);
}

/* false: the kernel did not take it. */
static bool
send_raw(const void *data, size_t n, unsigned fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FDS)];
    } control = { .bytes = { 0 } };
    struct iovec iov = { (void *)(uintptr_t)data, n };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (fds > 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * fds);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);

        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(sizeof(int) * fds);
        for (unsigned i = 0; i < fds; i++) {
            memcpy(CMSG_DATA(h) + i * sizeof(int), &file, sizeof(int));
        }
    }
    return sendmsg(pair[0], &m, MSG_NOSIGNAL) >= 0;
}

static void
load(const struct bus_wire *w, struct str bytes)
{
    size_t len = w->head.len < 1 << 20 ? (size_t)w->head.len : 1 << 20;
    char *data = bus_wire_load(w->fds[0], len);

    require((data != NULL) == (len <= bytes.len) || len == 0);
    require(data == NULL || memcmp(data, bytes.ptr, len) == 0);
    mem_free(&data);
}

/* It comes in as what was taken. */
static void
comes_again(const struct bus_wire *w)
{
    static uint8_t other[BUS_BUFFER];
    struct bus_wire again;

    require(bus_wire_recv(pair[1], other, &again) == BUS_MESSAGE);
    require(memcmp(&again.head, &w->head, sizeof(w->head)) == 0 &&
            again.fd_count == w->fd_count);
    require((w->head.flags & BUS_BIG) != 0 ||
            memcmp(again.data, w->data, w->head.len) == 0);
    require(!bus_wire_next(&again));
    bus_wire_close(&again);
}

/* What was taken goes out by our own senders. */
static void
send_on(const struct bus_wire *w)
{
    static uint8_t packed[BUS_BUFFER + 8];
    size_t n = bus_wire_size(w);

    require(bus_wire_send(pair[0], w) == 0);
    comes_again(w);
    require(bus_wire_pack(packed, w) == n);
    require(n > BUS_BUFFER ||
            bus_wire_send_packed(pair[0], packed, n, w->fds, w->fd_count) == 0);
    if (n <= BUS_BUFFER) {
        comes_again(w);
    }
}

static void
look_at(const struct bus_wire *w, struct str bytes)
{
    bool big = (w->head.flags & BUS_BIG) != 0;

    require(w->fd_count ==
            (unsigned)big + ((w->head.flags & BUS_WITH_FD) != 0));
    require(big || w->head.len <= BUS_INLINE);
    for (unsigned i = 0; i < w->fd_count; i++) {
        require((fcntl(w->fds[i], F_GETFD) & FD_CLOEXEC) != 0);
    }
    if (big) {
        load(w, bytes);
    }
    send_on(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t magic = MAGIC;
    struct str input = str_of(data, size);
    unsigned fds = take_byte(&input) % (FDS + 1);
    bool right = take_byte(&input) % 8 != 0;
    char *copy = mem_dup(input.ptr, input.len);
    struct bus_wire w;

    if (pair[1] == 0) {
        set_up();
    }
    size_t before = open_descriptors();

    if (right && input.len >= sizeof(magic)) {
        memcpy(copy, &magic, sizeof(magic));
    }
    file = bus_wire_store(input.ptr, input.len);
    require(file != -1);
    if (send_raw(copy, input.len, fds)) {
        if (bus_wire_recv(pair[1], buffer, &w) == BUS_MESSAGE) {
            do {
                look_at(&w, input);
                bus_wire_close(&w);
            } while (bus_wire_next(&w));
        }
        require(bus_wire_recv(pair[1], buffer, &w) == 0);
    }
    close(file);
    mem_free(&copy);
    require(open_descriptors() == before);
    return 0;
}
