/*
 * Fuzz target: the control socket, from the bytes of a client to the answers.
 *
 * The first byte says who it is (nobody may end this process, so no command of
 * an admin is reached) and how the bytes come in pieces, the rest is what it
 * says.  Every command is answered by text or JSON that ends with an empty
 * line, and no client stays.
 *
 * covers: src/app/control/client.c src/app/control/command.c
 * covers: src/app/control/output.c
 * covers: src/app/control/actions.c:find_level,on_set_log_level,on_set_state
 * covers: src/app/control/actions.c:send_away,kicked,on_kick_session
 * covers: src/app/control/actions.c:on_kick_stream
 * covers: src/app/control/actions.c:on_kick_addr,on_clear_counters,on_reopen
 * covers: src/app/control/show_live.c:read_from,read_sessions,on_sessions
 * covers: src/app/control/show_live.c:on_streams,on_errors,show_error
 * covers: src/app/control/show_live.c:read_level,read_events,on_events
 * covers: src/app/control/except.c
 * covers: src/app/control/lifecycle.c:on_help,on_ping,read_time,read_wait
 * covers: src/app/control/lifecycle.c:on_wait
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/control/control_impl.h"
#include "app/metrics/metrics.h"
#include "app/module.h"
#include "app/node_state.h"
#include "app/recent_log.h"
#include "base/hash.h"
#include "live/live.h"
#include "net/exceptions.h"
#include "proc/refused.h"
#include "proc/rpc.h"
#include "proc/slot.h"

#define TURNS 500

static struct master master;
static struct control control;
static char path[] = "/tmp/control_fuzz.XXXXXX";

static void
clean_up(void)
{
    unlink(path);
}

/* A peer's words never make a second line, nor anything for a terminal. */
static void
look_at_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    for (size_t i = 0; i + 1 < len; i++) {
        require((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
    }
}

static void
on_log_level(struct timer *t)
{
    (void)t;
}

static void
load_settings(void)
{
    static const char text[] = "worker_processes = 1;\n";
    char *mistakes = NULL;
    int fd = mkstemp(path);

    require(fd != -1 &&
            write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    close(fd);
    atexit(clean_up);
    master.generation = generation_load(1, path, &mistakes);
    require(master.generation != NULL);
}

static void
set_up(void)
{
    static const struct live_settings live = {
        .memory = 8 << 20,
        .max_streams = 8,
        .max_sessions = 64,
        .window = 8000,
        .max_stream_memory = 2 << 20,
        .hold = 10000,
    };
    const struct refused no = { .peer = "192.0.2.1:80",
                                .reason = "bad_request",
                                .bytes = STR("GET \" HTTP/1.1") };
    struct errmsg err;

    log_set(LOG_NOTICE, LOG_TEXT);
    log_set_sink(look_at_line, NULL);
    hash_init();
    metrics_register(modules);
    require(slots_create(4, &err) == 0 && metrics_create(&err) == 0 &&
            node_state_create(&err) == 0 && recent_log_create(&err) == 0 &&
            refused_create(&err) == 0 && exceptions_create(&err) == 0 &&
            live_create(&live, &err) == 0);
    for (size_t i = 0; modules[i] != NULL; i++) {
        require(rpc_register(modules[i]->methods, &err) == 0);
        require(modules[i]->share == NULL || modules[i]->share(&err) == 0);
    }
    refused_note(&no);
    load_settings();
    master.file = path;
    master.loop = loop_new(&err);
    require(master.loop != NULL);
    list_init(&master.listeners);
    list_init(&master.children.list);
    list_init(&master.reload.old);
    master.control = &control;
    control.m = &master;
    list_init(&control.clients);
    timer_init(&control.log_level, on_log_level);
    timer_init(&control.exceptions, control_exceptions_due);
}

/* ---- the client ---- */

struct client {
    int fd;
    bool began; /* a line of an answer that is not over */
    unsigned answers;
    char last[2]; /* bytes that came */
};

static void
take_answers(struct client *c)
{
    char got[65536];
    ssize_t n;

    while ((n = recv(c->fd, got, sizeof(got), MSG_DONTWAIT)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            require(got[i] != '\0');
            c->answers += got[i] == '\n' && c->last[1] == '\n';
            c->last[0] = c->last[1];
            c->last[1] = got[i];
            /* An empty line ends an answer, so there are never two. */
            require(c->last[0] != '\n' || c->last[1] != '\n' || c->began);
            c->began = got[i] != '\n' || c->last[0] != '\n';
        }
    }
}

static void
turn(struct client *c)
{
    loop_turn(master.loop, 0);
    take_answers(c);
}

static void
say(struct client *c, struct str words, size_t piece)
{
    while (words.len > 0) {
        struct str some = str_first(words, piece);

        if (send(c->fd, some.ptr, some.len, MSG_DONTWAIT | MSG_NOSIGNAL) <= 0) {
            return;
        }
        words = str_skip(words, some.len);
        turn(c);
    }
}

/* How many answers there are to be when each command ends. */
static unsigned
expected(struct str input)
{
    struct str words[CONTROL_WORDS];
    struct errmsg err;
    unsigned n = 0;

    while (str_find(input, '\n', 0) < input.len) {
        struct str line = str_cut(&input, '\n');

        line.len -= str_ends(line, STR("\r"));
        while (line.len > 0) {
            size_t count;

            if (control_split(&line, words, &count, &err) == -1) {
                n++;
                break;
            }
            count -= count > 0 && str_eq(words[count - 1], STR("--json"));
            n += count > 0;
        }
    }
    return n;
}

/* No line is too long: then nothing more is answered. */
static bool
is_short(struct str input)
{
    while (input.len > 0) {
        if (str_cut(&input, '\n').len >= CONTROL_LINE_MAX) {
            return false;
        }
    }
    return true;
}

static void
run(struct client *c, struct str input, size_t piece)
{
    bool ended;

    say(c, input, piece);
    shutdown(c->fd, SHUT_WR);
    for (int i = 0; i < TURNS && control.count > 0; i++) {
        turn(c);
    }
    ended = control.count == 0;
    LIST_EACH (node, &control.clients) {
        control_client_end(LIST_ITEM(node, struct control_client, link));
    }
    turn(c);
    turn(c);
    require(control.count == 0 && list_empty(&control.clients));
    if (ended && is_short(input)) {
        require(c->answers == expected(input));
    }
}

/* What an input has made does not change the next one; each ends as if its
 * time were up. */
static void
forget_exceptions(void)
{
    for (size_t i = 0; i < EXCEPTIONS; i++) {
        struct exception e = *exception_row(i);

        if (e.kind != EXCEPTION_FREE) {
            struct errmsg err;

            e.until_ms = 1;
            require(exceptions_set(&e, &err) == 0);
        }
    }
    control_exceptions_due(&control.exceptions);
    for (size_t i = 0; i < EXCEPTIONS; i++) {
        require(exception_row(i)->kind == EXCEPTION_FREE);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct addr unnamed = { .family = AF_UNIX };
    struct str input = str_of(data, size);
    unsigned how = take_byte(&input);
    struct control_peer peer = { .pid = 1,
                                 .uid = 1,
                                 .name = "fuzz",
                                 .level = (how & 1) != 0 ? CONTROL_USER
                                                         : CONTROL_OPERATOR };
    struct client c = { .fd = -1, .began = true };
    int fds[2];

    if (master.loop == NULL) {
        set_up();
    }
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    c.fd = fds[0];
    control_client_new(&control,
                       &(struct conn_socket){
                           .fd = fds[1], .peer = unnamed, .local = unnamed },
                       &peer);
    run(&c, input, (how & 2) != 0 ? 3 : 4096);
    close(fds[0]);
    timer_stop(master.loop, &control.log_level);
    forget_exceptions();
    return 0;
}
