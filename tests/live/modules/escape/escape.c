/*
 * GET /escape/GENERATIONS: a worker that was taken over asks the control
 * socket to stop weir, by itself (0) or by a descendant that has lost all its
 * parents; what it was answered.  For tests, without the sandbox, which
 * forbids all of it.
 *
 * GET /escape/hang?orphan and ?child: the number of a process, whose name is
 * a"b, that has lost its parents, or is a child of the worker, and stays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/module.h"
#include "app/worker.h"

static const struct sockaddr_un control = { .sun_family = AF_UNIX,
                                            .sun_path = "run/control.sock" };

/* Its answer up to the end of the connection. */
static size_t
ask(char *answer, size_t size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t n = 0;

    if (connect(fd, (const struct sockaddr *)&control, sizeof(control)) == -1) {
        close(fd);
        return str_copy(answer, size, STR("not connected"));
    }
    (void)!write(fd, "stop\n", 5); /* the answer may come first */
    while (len < size && (n = read(fd, answer + len, size - len)) > 0) {
        len += (size_t)n;
    }
    close(fd);
    return len;
}

/* Waits until its parent has ended, which is seen by who the new one is. */
static void
lose_parent(pid_t parent)
{
    while (getppid() == parent) {
        usleep(1000);
    }
}

static void
descend(int generations, int out)
{
    char answer[1024];

    while (generations-- > 0) {
        pid_t parent = getpid();

        if (fork() != 0) {
            _exit(0);
        }
        setsid();
        lose_parent(parent);
    }
    (void)!write(out, answer, ask(answer, sizeof(answer)));
    _exit(0);
}

static size_t
ask_from_below(int generations, char *answer, size_t size)
{
    size_t len = 0;
    ssize_t n;
    int ends[2];

    if (pipe(ends) == -1) {
        return 0;
    }
    if (fork() == 0) {
        descend(generations - 1, ends[1]);
    }
    close(ends[1]);
    while (len < size && (n = read(ends[0], answer + len, size - len)) > 0) {
        len += (size_t)n;
    }
    close(ends[0]);
    return len;
}

/* Tells its number and stays. */
static void __attribute__((noreturn)) hang(int generations, int out)
{
    char text[16];

    while (--generations > 0) {
        if (fork() != 0) {
            _exit(0);
        }
    }
    prctl(PR_SET_NAME, "a\"b");
    (void)!write(out, text,
                 (size_t)snprintf(text, sizeof(text), "%d", (int)getpid()));
    for (;;) {
        pause();
    }
}

static enum http_result
on_hang(struct http_request *r, void *state)
{
    struct str ignored;
    char text[16];
    ssize_t n = 0;
    int ends[2];

    (void)state;
    if (pipe(ends) == 0 && fork() == 0) {
        hang(http_query(r, "orphan", &ignored) ? 2 : 1, ends[1]);
    }
    n = read(ends[0], text, sizeof(text));
    close(ends[0]);
    close(ends[1]);
    return http_reply(r, 200, "text/plain",
                      str_of(text, n > 0 ? (size_t)n : 0));
}

static enum http_result
on_escape(struct http_request *r, void *state)
{
    struct str word = str_skip(r->path, r->path.len - 1);
    char answer[1024];
    int64_t depth = 0;
    size_t len;

    (void)state;
    if (!str_to_int(word, 0, 9, &depth)) {
        return http_reply(r, 404, NULL, STR_NONE);
    }
    len = depth == 0 ? ask(answer, sizeof(answer))
                     : ask_from_below((int)depth, answer, sizeof(answer));
    return http_reply(r, 200, "text/plain", str_of(answer, len));
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/hang", .handler = on_hang },
    { .method = "GET", .path = "/*", .handler = on_escape },
    { .path = NULL },
};

const struct module escape_module = {
    .name = "escape",
    .about = "asks the control socket to stop weir, for tests",
    .routes = routes,
};
