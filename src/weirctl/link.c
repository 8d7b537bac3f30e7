/*
 * The client's side of the control socket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "weirctl/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define LINE_LIMIT (16 * 1024 * 1024) /* of an answer: JSON is one line */
#define READ_SIZE 65536

/* What has been read of the answers. */
struct reading {
    struct buf in;
    bool inside; /* of an answer: its first line was seen */
    bool failed; /* this answer is a failure */
    unsigned answers;
    bool gap; /* an answer came before: an empty line goes between */
    int status;
};

/* ---- time ---- */

static int
time_left(int64_t deadline)
{
    int64_t left = deadline - clock_ms();

    if (deadline == 0) {
        return -1;
    }
    return left > 0 ? (int)left : 0;
}

/* Waits for events of fd; 0, or -1 when time is over. */
static int
wait_for(int fd, short events, int64_t deadline)
{
    struct pollfd p = { .fd = fd, .events = events };
    int rc;

    do {
        rc = poll(&p, 1, time_left(deadline));
    } while (rc == -1 && errno == EINTR);
    return rc == 1 ? 0 : -1;
}

/* ---- connecting ---- */

static int
connect_to(const char *path, struct errmsg *err)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(path) >= sizeof(un.sun_path)) {
        return errmsg_set(err, "the path %s is too long for a socket", path);
    }
    str_copy(un.sun_path, sizeof(un.sun_path), str_from(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1) {
        return errmsg_sys(err, "cannot make a socket");
    }
    if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1) {
        int why = errno;

        close(fd);
        errno = why;
        return errmsg_sys(err, "cannot connect to %s", path);
    }
    return fd;
}

static int
send_all(int fd, struct str s, int64_t deadline)
{
    while (s.len > 0) {
        ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);

        if (n > 0) {
            s = str_skip(s, (size_t)n);
        } else if (n == -1 && errno == EAGAIN) {
            if (wait_for(fd, POLLOUT, deadline) == -1) {
                return ASK_TIMEOUT;
            }
        } else if (n == -1 && errno != EINTR) {
            return ASK_OK; /* it may have said why: read that */
        }
    }
    return ASK_OK;
}

/* ---- answers ---- */

static int
status_of(struct str code)
{
    if (str_eq(code, STR("denied"))) {
        return ASK_DENIED;
    }
    return str_eq(code, STR("timeout")) ? ASK_TIMEOUT : ASK_FAILED;
}

static void
take_failure(struct reading *r, struct str line)
{
    struct str rest = str_skip(line, strlen("ERR "));
    int status = status_of(str_cut(&rest, ' '));

    r->failed = true;
    if (r->status == ASK_OK) {
        r->status = status;
    }
    fprintf(stderr, "weirctl: %.*s\n", STR_ARGS(rest));
}

static void
take_line(struct reading *r, struct str line)
{
    if (line.len == 0) {
        r->answers += r->inside;
        r->gap = r->gap || (r->inside && !r->failed);
        r->inside = r->failed = false;
        return;
    }
    if (!r->inside && str_starts(line, STR("ERR "))) {
        r->inside = true;
        take_failure(r, line);
        return;
    }
    if (!r->inside && r->gap) {
        putchar('\n');
    }
    r->inside = true;
    fprintf(r->failed ? stderr : stdout, "%.*s\n", STR_ARGS(line));
}

/* Prints whole lines of what has come. */
static void
take_lines(struct reading *r)
{
    struct str s = buf_str(&r->in);
    size_t end;

    while ((end = str_find(s, '\n', 0)) < s.len) {
        take_line(r, str_first(s, end));
        s = str_skip(s, end + 1);
    }
    buf_take(&r->in, buf_len(&r->in) - s.len);
    fflush(stdout);
}

static int
read_answers(int fd, struct reading *r, int64_t deadline)
{
    for (;;) {
        uint8_t *dst = buf_reserve(&r->in, READ_SIZE);
        ssize_t n;

        if (dst == NULL) {
            fputs("weirctl: the answer is too large\n", stderr);
            return ASK_NO_LINK;
        }
        if (wait_for(fd, POLLIN, deadline) == -1) {
            return ASK_TIMEOUT;
        }
        n = read(fd, dst, READ_SIZE);
        if (n > 0) {
            buf_commit(&r->in, (size_t)n);
            take_lines(r);
        } else if (n == 0) {
            return ASK_OK;
        } else if (errno != EINTR && errno != EAGAIN) {
            return ASK_NO_LINK;
        }
    }
}

static int
talk(int fd, const struct ask *ask, struct reading *r)
{
    int64_t deadline = ask->timeout_ms > 0 ? clock_ms() + ask->timeout_ms : 0;
    int status = send_all(fd, ask->line, deadline);

    if (status == ASK_OK) {
        status = send_all(fd, STR("\n"), deadline);
    }
    if (status == ASK_OK) {
        shutdown(fd, SHUT_WR);
        status = read_answers(fd, r, deadline);
    }
    if (status == ASK_TIMEOUT) {
        fputs("weirctl: no answer in time\n", stderr);
        return status;
    }
    /* A refusal may be followed by anything. */
    if (r->status != ASK_OK ||
        (status == ASK_OK && r->answers >= ask->commands)) {
        return r->status;
    }
    fputs("weirctl: the connection was cut off\n", stderr);
    return ASK_NO_LINK;
}

int
link_ask(const struct ask *ask, struct errmsg *err)
{
    struct reading r = { .status = ASK_OK };
    int fd = connect_to(ask->path, err);
    int status;

    if (fd == -1) {
        return errno == EACCES || errno == EPERM ? ASK_DENIED : ASK_NO_LINK;
    }
    err->text[0] = '\0';
    buf_init(&r.in, LINE_LIMIT);
    status = talk(fd, ask, &r);
    buf_clear(&r.in);
    close(fd);
    return status;
}
