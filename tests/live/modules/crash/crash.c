/*
 * GET /crash/HOW: a worker that goes wrong, for tests; and what a worker that
 * was taken over would try, told by the name of its errno.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/module.h"
#include "app/worker.h"
#include "event/task.h"

struct way {
    const char *name;
    int (*go)(void); /* an errno, 0: it was done */
};

/* ---- crashes ---- */

static int *volatile nowhere;
static volatile int nothing;

__attribute__((noinline)) static int
write_to_nowhere(void)
{
    *nowhere = 1;
    return 0;
}

static int
jump_to_nowhere(void)
{
    int (*volatile f)(void) = NULL;

    return f() + nothing; /* so it is a call, no jump */
}

static int
give_up(void)
{
    abort();
}

/* Without an end, but the compiler must not know. */
__attribute__((noinline)) static int
go_deeper(volatile int *from)
{
    volatile int here[256];

    here[0] = from[0] + 1;
    return nothing == 0 ? go_deeper(here) + here[1] : 0;
}

static int
overflow(void)
{
    volatile int here = 0;

    return go_deeper(&here);
}

static int
trap(void)
{
    __builtin_trap();
}

__attribute__((noinline)) static int
go_round(void)
{
    while (nothing == 0) {
    }
    return 0;
}

static void
work(struct task *task)
{
    (void)task;
    write_to_nowhere();
}

static void
done(struct task *task)
{
    (void)task;
}

static struct task_threads *threads;

static int
crash_in_a_thread(void)
{
    static struct task task = { .work = work, .done = done };

    return task_run(threads, &task) == -1 ? EAGAIN : 0;
}

/* ---- what is not a worker's to do ---- */

static int
refusal(long rc)
{
    return rc == -1 ? errno : 0;
}

static int
run_a_program(void)
{
    char *none[] = { NULL };

    return refusal(execve("/bin/true", none, none));
}

static int
trace_the_master(void)
{
    return refusal(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int
open_outside(void)
{
    return refusal(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int
listen_anew(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd == -1 ? errno : refusal(listen(fd, 1));
}

/* For all workers, and for whoever takes this one's place. */
static int
end_listening(void)
{
    struct rlimit files;
    int ended = 0;

    getrlimit(RLIMIT_NOFILE, &files);
    for (int fd = 0; fd < (int)files.rlim_cur && fd < 65536; fd++) {
        int listening = 0;
        socklen_t len = sizeof(listening);

        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len);
        ended += listening && shutdown(fd, SHUT_RD) == 0;
    }
    return ended > 0 ? 0 : ENOENT;
}

static const struct way ways[] = {
    { "write", write_to_nowhere },
    { "jump", jump_to_nowhere },
    { "abort", give_up },
    { "overflow", overflow },
    { "trap", trap },
    { "loop", go_round },
    { "thread", crash_in_a_thread },
    { "exec", run_a_program },
    { "ptrace", trace_the_master },
    { "open", open_outside },
    { "listen", listen_anew },
    { "shutdown", end_listening },
};

static enum http_result
on_crash(struct http_request *r, void *state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (str_ends(r->path, str_from(ways[i].name))) {
            int said = ways[i].go();

            return http_reply(
                r, 200, "text/plain",
                str_from(said != 0 ? strerrorname_np(said) : "done"));
        }
    }
    return http_reply(r, 404, NULL, STR_NONE);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    (void)state;
    (void)r;
    (void)err;
    threads = layer->worker->threads;
    return 0;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_crash },
    { .path = NULL },
};

const struct module crash_module = {
    .name = "crash",
    .about = "goes wrong when asked to, for tests",
    .start = start,
    .routes = routes,
};
