/*
 * Roles with rights and without, and a worker, in the hands of a stranger:
 * each tries, from inside its sandbox, all that is in the table, and logs what
 * came of it ("NAME tried WHAT: EPERM").  A worker does so at GET /rights.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/generation.h"
#include "app/module.h"
#include "app/settings/settings.h"
#include "app/worker.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "proc/rights.h"
#include "proc/slot.h"

#define LOOK_MS 10
#define PATH_ROOM 512

extern const struct module rights_module;

struct rights_settings {
    struct str mine, other; /* folders; each has a file "file" */
    int64_t port, other_port;
};

struct root {
    struct rights_settings rights;
};

static const struct conf_key rights_keys[] = {
    ROW(rights_settings, mine, CONF_STRING, .preset = "/", .help = "Its own."),
    ROW(rights_settings, other, CONF_STRING, .preset = "/", .help = "Not."),
    ROW(rights_settings, port, CONF_INT, .min = 1, .max = 65535, .preset = "1",
        .help = "Its own."),
    ROW(rights_settings, other_port, CONF_INT, .min = 1, .max = 65535,
        .preset = "2", .help = "Not."),
    CONF_END,
};

static const struct conf_key root_keys[] = {
    ROW_AS("rights", root, rights, CONF_GROUP, .keys = rights_keys,
           .help = "What is tried."),
    CONF_END,
};

/* What this process knows of the tries. */
static struct {
    const struct rights_settings *s;
    pid_t sibling;
    char paths[4][PATH_ROOM];
} self;

static int
refusal(long rc)
{
    return rc == -1 ? errno : 0;
}

/* The same, when the descriptor is of no use any more. */
static int
refusal_and_close(int fd, long rc)
{
    int said = refusal(rc);

    if (fd != -1) {
        close(fd);
    }
    return said;
}

static const char *
path(unsigned i, struct str folder, const char *name)
{
    snprintf(self.paths[i], PATH_ROOM, "%.*s/%s", STR_ARGS(folder), name);
    return self.paths[i];
}

static int
open_and_close(const char *name, int flags)
{
    int fd = open(name, flags | O_CLOEXEC, 0600);

    return fd == -1 ? errno : refusal(close(fd));
}

/* ---- files ---- */

static int
read_outside(void)
{
    return open_and_close(path(0, self.s->other, "file"), O_RDONLY);
}

static int
write_outside(void)
{
    return open_and_close(path(0, self.s->other, "file"), O_WRONLY);
}

static int
truncate_outside(void)
{
    return open_and_close(path(0, self.s->other, "file"), O_WRONLY | O_TRUNC);
}

static int
make_outside(void)
{
    return open_and_close(path(0, self.s->other, "new"), O_WRONLY | O_CREAT);
}

static int
write_through_link(void)
{
    return open_and_close(path(0, self.s->mine, "out/new"), O_WRONLY | O_CREAT);
}

static int
rename_out(void)
{
    return refusal(
        rename(path(0, self.s->mine, "file"), path(1, self.s->other, "moved")));
}

static int
link_in(void)
{
    return refusal(
        link(path(0, self.s->other, "file"), path(1, self.s->mine, "linked")));
}

static int
write_inside(void)
{
    const char *name = path(0, self.s->mine, "new");
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int said = fd == -1 ? errno : refusal(write(fd, "x", 1));

    said = said == 0 ? refusal(ftruncate(fd, 0)) : said;
    said =
        said == 0 ? refusal(rename(name, path(1, self.s->mine, "was"))) : said;
    said = said == 0 ? refusal(unlink(path(1, self.s->mine, "was"))) : said;
    (void)refusal_and_close(fd, 0);
    return said;
}

static int
change_size(void)
{
    int fd = memfd_create("x", MFD_CLOEXEC);

    return refusal_and_close(fd, ftruncate(fd, 1));
}

/* ---- processes ---- */

static int
execute(void)
{
    char name[] = "true", *args[] = { name, NULL }, *none[] = { NULL };

    return refusal(execve("/bin/true", args, none));
}

static int
execute_memory(void)
{
    char name[] = "x", *args[] = { name, NULL }, *none[] = { NULL };

    int fd = memfd_create("x", 0);

    return refusal_and_close(fd, fexecve(fd, args, none));
}

static int
make_process(void)
{
    int status;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        _exit(0);
    }
    return pid == -1 ? errno : refusal(waitpid(pid, &status, 0));
}

static int
trace_sibling(void)
{
    return refusal(ptrace(PTRACE_ATTACH, self.sibling, NULL, NULL));
}

static int
signal_sibling(void)
{
    return refusal(kill(self.sibling, SIGURG));
}

static int
limit_sibling(void)
{
    struct rlimit l = { 4096, 4096 };

    return refusal(prlimit(self.sibling, RLIMIT_NOFILE, &l, NULL));
}

static int
limit_itself(void)
{
    struct rlimit l = { 0, 0 };

    return refusal(setrlimit(RLIMIT_CORE, &l));
}

/* ---- connections ---- */

static int
connect_to(int64_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1) {
        return errno;
    }
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return refusal_and_close(fd,
                             connect(fd, (struct sockaddr *)&at, sizeof(at)));
}

static int
connect_port(void)
{
    return connect_to(self.s->port);
}

static int
connect_other_port(void)
{
    return connect_to(self.s->other_port);
}

static int
connect_by_sending(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)self.s->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1) {
        return errno;
    }
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return refusal_and_close(fd, sendto(fd, "x", 1, MSG_FASTOPEN | MSG_DONTWAIT,
                                        (struct sockaddr *)&at, sizeof(at)));
}

static int
bind_port(void)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd == -1 ? errno
                    : refusal_and_close(
                          fd, bind(fd, (struct sockaddr *)&any, sizeof(any)));
}

static int
listen_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd == -1 ? errno : refusal_and_close(fd, listen(fd, 1));
}

/* ---- the kernel ---- */

static int
mount_it(void)
{
    return refusal(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int
unshare_it(void)
{
    return refusal(unshare(CLONE_NEWUSER));
}

static int
use_keys(void)
{
    return refusal(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static int
use_bpf(void)
{
    return refusal(syscall(SYS_bpf, 0, NULL, 0));
}

static int
make_ring(void)
{
    return refusal(syscall(SYS_io_uring_setup, 4, NULL));
}

static const struct attempt {
    const char *name;
    int (*make)(void);
} attempts[] = {
    { "read outside", read_outside },
    { "write outside", write_outside },
    { "truncate outside", truncate_outside },
    { "make outside", make_outside },
    { "write through a link", write_through_link },
    { "rename out", rename_out },
    { "hard link", link_in },
    { "write inside", write_inside },
    { "change a size", change_size },
    { "execute", execute },
    { "execute memory", execute_memory },
    { "fork", make_process },
    { "ptrace a sibling", trace_sibling },
    { "kill a sibling", signal_sibling },
    { "limit a sibling", limit_sibling },
    { "limit itself", limit_itself },
    { "connect", connect_port },
    { "connect elsewhere", connect_other_port },
    { "connect by sending", connect_by_sending },
    { "bind", bind_port },
    { "listen", listen_port },
    { "mount", mount_it },
    { "unshare", unshare_it },
    { "keyctl", use_keys },
    { "bpf", use_bpf },
    { "io_uring_setup", make_ring },
};

static const char *
word_of(int said)
{
    const char *word = strerrorname_np(said);

    return said == 0 ? "done" : word;
}

static void
try_all(const char *who)
{
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        log_notice("%s tried %s: %s", who, attempts[i].name,
                   word_of(attempts[i].make()));
    }
    log_notice("%s has tried all", who);
}

/* The newest worker is there when all that was started before it is. */
static bool
find_sibling(void)
{
    for (uint32_t i = 0; i < slots_end(); i++) {
        if (i != slot_self() && slot_state(i) == SLOT_READY) {
            self.sibling = slot_card(i)->pid;
            return true;
        }
    }
    return false;
}

/* ---- the roles ---- */

struct life {
    struct loop *loop;
    const char *name;
    struct timer timer;
};

static struct life life;

static void
on_look(struct timer *t)
{
    if (find_sibling()) {
        try_all(life.name);
    } else {
        timer_set(life.loop, t, LOOK_MS);
    }
}

static int
start(const struct role_process *p, void **state, const char *name)
{
    const struct root *root = p->settings;

    self.s = &root->rights;
    life.loop = p->loop;
    life.name = name;
    timer_init(&life.timer, on_look);
    timer_set(p->loop, &life.timer, LOOK_MS);
    *state = &life;
    return 0;
}

static void
stop(void *state)
{
    (void)state;
    timer_stop(life.loop, &life.timer);
}

#define START(name)                                                     \
    static int start_##name(const struct role_process *p, void **state, \
                            struct errmsg *err)                         \
    {                                                                   \
        (void)err;                                                      \
        return start(p, state, #name);                                  \
    }

START(bare)
START(writer)
START(forker)
START(caller)
START(dialler)
START(sizer)

static void
may_write(const void *settings, struct rights *r)
{
    const struct root *s = settings;

    rights_write(r, s->rights.mine);
}

static void
may_fork(const void *settings, struct rights *r)
{
    (void)settings;
    r->fork = true;
}

static void
may_call(const void *settings, struct rights *r)
{
    const struct root *s = settings;

    rights_connect(r, (uint16_t)s->rights.port);
}

static void
may_dial(const void *settings, struct rights *r)
{
    (void)settings;
    r->connect_any = true;
}

static void
may_resize(const void *settings, struct rights *r)
{
    (void)settings;
    r->resize = true;
}

#define ROLE(who, right)                                                \
    {                                                                   \
        .name = #who, .count = 1, .start = start_##who, .may = (right), \
        .stop = stop                                                    \
    }

static const struct role roles[] = {
    ROLE(bare, NULL),        ROLE(writer, may_write), ROLE(forker, may_fork),
    ROLE(caller, may_call),  ROLE(dialler, may_dial), /* as the relayer */
    ROLE(sizer, may_resize),                          /* as the keeper */
    { .name = NULL },
};

/* ---- the worker ---- */

static enum http_result
on_rights(struct http_request *r, void *state)
{
    const struct root *root = state;

    self.s = &root->rights;
    if (!find_sibling()) {
        return http_error(r, 503, "nobody else is there");
    }
    try_all("worker");
    return http_reply(r, 200, "text/plain", STR("done"));
}

static int
start_layer(const struct module_layer *layer, void **state,
            const struct http_route **table, struct errmsg *err)
{
    const struct settings *s = layer->worker->generation->settings;
    struct root *root = mem_zero(sizeof(*root));

    (void)table;
    (void)err;
    *root = *(const struct root *)settings_of_module(s, &rights_module);
    *state = root;
    return 0;
}

static void
stop_layer(void *state)
{
    mem_free(&state);
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_rights },
    { .path = NULL },
};

const struct module rights_module = {
    .name = "rights",
    .about = "tries what the sandbox forbids, for tests",
    .root = { root_keys, sizeof(struct root) },
    .start = start_layer,
    .stop = stop_layer,
    .roles = roles,
    .routes = routes,
};
