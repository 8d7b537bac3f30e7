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
#include "json/json.h"

#define LINE_LIMIT (16 * 1024 * 1024) /* of an answer: JSON is one line */
#define READ_SIZE 65536

/* The bytes of answers that were read. */
struct reading {
    struct buf in;
    bool json;
    struct buf failure; /* the text of this one, in JSON: it may have lines */
    char code[32];
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
        errmsg_sys(err, "cannot connect to %s", path);
        if (why == EACCES) { /* the operator of weir can change that */
            errmsg_set(err,
                       "cannot connect to %s: Permission denied: this user "
                       "needs root, or control.group and control.users in "
                       "weir.conf",
                       path);
        }
        return -1;
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

void
link_print_failure(bool json, struct str code, struct str text)
{
    struct json_out o;
    struct buf line;

    if (!json) {
        fprintf(stderr, "weirctl: %.*s\n", STR_ARGS(text));
        return;
    }
    buf_init(&line, LINE_LIMIT);
    json_begin(&o, &line, false);
    json_open(&o);
    json_put_bool(&o, "ok", false);
    json_put_str(&o, "code", code);
    json_put_str(&o, "text", text);
    json_close(&o);
    json_end(&o);
    printf("%.*s\n", STR_ARGS(buf_str(&line)));
    buf_clear(&line);
}

static void
take_failure(struct reading *r, struct str line)
{
    struct str rest = str_skip(line, strlen("ERR "));
    struct str code = str_cut(&rest, ' ');
    int status = status_of(code);

    r->failed = true;
    if (r->status == ASK_OK) {
        r->status = status;
    }
    if (r->json) {
        str_copy(r->code, sizeof(r->code), code);
        buf_add_str(&r->failure, rest);
    } else {
        link_print_failure(false, code, rest);
    }
}

/* Another line of a failure. */
static void
take_more(struct reading *r, struct str line)
{
    if (r->json) {
        buf_printf(&r->failure, "\n%.*s", STR_ARGS(line));
    } else {
        fprintf(stderr, "%.*s\n", STR_ARGS(line));
    }
}

static void
end_failure(struct reading *r)
{
    if (r->json && r->failed) {
        if (r->gap) {
            putchar('\n');
        }
        link_print_failure(true, str_from(r->code), buf_str(&r->failure));
        buf_clear(&r->failure);
        r->gap = true;
    }
}

static void
take_line(struct reading *r, struct str line)
{
    if (line.len == 0) {
        end_failure(r);
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
    if (r->failed) {
        take_more(r, line);
        return;
    }
    if (!r->inside && r->gap) {
        putchar('\n');
    }
    r->inside = true;
    printf("%.*s\n", STR_ARGS(line));
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
            link_print_failure(r->json, STR("long"),
                               STR("the answer is too large"));
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
        link_print_failure(r->json, STR("timeout"), STR("no answer in time"));
        return status;
    }
    /* A refusal may be followed by anything. */
    if (r->status != ASK_OK ||
        (status == ASK_OK && r->answers >= ask->commands)) {
        return r->status;
    }
    link_print_failure(r->json, STR("connect"),
                       STR("the connection was cut off"));
    return ASK_NO_LINK;
}

int
link_ask(const struct ask *ask, struct errmsg *err)
{
    struct reading r = { .status = ASK_OK, .json = ask->json };
    int fd = connect_to(ask->path, err);
    int status;

    if (fd == -1) {
        return errno == EACCES || errno == EPERM ? ASK_DENIED : ASK_NO_LINK;
    }
    err->text[0] = '\0';
    buf_init(&r.in, LINE_LIMIT);
    buf_init(&r.failure, LINE_LIMIT);
    status = talk(fd, ask, &r);
    buf_clear(&r.failure);
    buf_clear(&r.in);
    close(fd);
    return status;
}
