/*
 * The control socket's life: opening it, accepting, changing it at a reload.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/child_commands.h"
#include "app/metrics/metrics.h"
#include "base/mem.h"
#include "proc/ancestry.h"

#define GROUPS_MAX 65536 /* what the kernel allows */

/* ---- who it is ---- */

/* The other groups of the peer: an array for mem_free(), or NULL. */
static gid_t *
groups_of(int fd, size_t *count)
{
    gid_t few[64];
    gid_t *list;
    socklen_t size = sizeof(few);

    *count = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &size) == -1 &&
        (errno != ERANGE || size > GROUPS_MAX * sizeof(gid_t))) {
        return NULL;
    }
    list = mem_zero(size + sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, list, &size) == -1) {
        mem_free(&list);
        return NULL;
    }
    *count = size / sizeof(gid_t);
    return list;
}

/* A process's name ("comm") or command line ("cmdline"), for the log only: any
 * process can choose its own. */
static void
words_of(pid_t pid, const char *file, char *dst, size_t size)
{
    char path[64], text[64];
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        n = read(fd, text, sizeof(text));
        close(fd);
    }
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\0')) {
        n--;
    }
    for (ssize_t i = 0; i < n; i++) {
        text[i] = text[i] == '\0' ? ' ' : text[i];
    }
    str_escape(dst, size, str_of(text, n > 0 ? (size_t)n : 0));
}

static int
read_peer(struct control *c, int fd, struct control_peer *p)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) == -1) {
        return -1;
    }
    *p = (struct control_peer){ .pid = cred.pid,
                                .uid = cred.uid,
                                .gid = cred.gid };
    p->groups = groups_of(fd, &p->group_count);
    words_of(p->pid, "comm", p->name, sizeof(p->name));
    p->level = control_rules_level(&c->rules, p);
    return 0;
}

/* ---- accepting ---- */

static void
refuse(int fd, const char *words)
{
    (void)!send(fd, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

/* Others, however many there are, do not keep an admin out. */
static bool
is_crowded(const struct control *c, const struct control_peer *p)
{
    unsigned kept = p->level == CONTROL_ADMIN ? 0 : CONTROL_KEPT;

    return c->count + kept >= CONTROL_CLIENTS;
}

static void
count_refused(enum app_control why)
{
    metric_add(&app_metrics[APP_CONTROL_REFUSED], why, 1);
}

/* A process that weir has started talks with strangers, and an attacker may
 * control it: it has no rights here, under any user.  A peer counts as one
 * unless there is proof that it is none. */
static bool
is_stranger(int fd, const struct control_peer *p)
{
    struct errmsg why = { "weir has started it" };
    char title[128];

    if (ancestry_of_peer(fd, p->pid, &why) == ANCESTRY_STRANGER) {
        return true;
    }
    words_of(p->pid, "cmdline", title, sizeof(title));
    count_refused(APP_CONTROL_DESCENDANT);
    log_limited(LOG_WARN, "control: pid %d uid %d (%s, \"%s\") is refused: %s",
                (int)p->pid, (int)p->uid, p->name, title, why.text);
    return false;
}

static void
on_accept(void *arg, const struct conn_socket *socket)
{
    struct control *c = arg;
    struct control_peer peer;

    if (read_peer(c, socket->fd, &peer) == -1) {
        close(socket->fd);
    } else if (!is_stranger(socket->fd, &peer)) {
        refuse(socket->fd, "ERR denied processes that weir has started, or "
                           "that cannot be told from these, may nothing "
                           "here\n\n");
        mem_free(&peer.groups);
    } else if (peer.level == CONTROL_NONE) {
        count_refused(APP_CONTROL_LEVEL);
        log_limited(LOG_NOTICE,
                    "control: pid %d uid %d (%s) is refused: control.default "
                    "is \"none\"",
                    (int)peer.pid, (int)peer.uid, peer.name);
        refuse(socket->fd, "ERR denied you may nothing here\n\n");
        mem_free(&peer.groups);
    } else if (is_crowded(c, &peer)) {
        count_refused(APP_CONTROL_CLIENTS);
        log_limited(LOG_WARN,
                    "control: %u clients are there already, pid %d uid %d (%s) "
                    "is refused",
                    c->count, (int)peer.pid, (int)peer.uid, peer.name);
        refuse(socket->fd, "ERR busy too many clients\n\n");
        mem_free(&peer.groups);
    } else {
        control_client_new(c, socket, &peer);
    }
}

static int
listen_on(struct control *c, struct errmsg *err)
{
    if (c->socket.fd == -1) {
        return 0;
    }
    c->acceptor = acceptor_start(c->m->loop, c->socket.fd, on_accept, c);
    return c->acceptor != NULL
               ? 0
               : errmsg_sys(err, "cannot accept on %s", c->socket.path);
}

/* ---- life ---- */

static const struct control_settings *
in_force(const struct control *c)
{
    return &c->m->generation->settings->control;
}

static void
on_log_level(struct timer *t)
{
    struct control *c = LIST_ITEM(t, struct control, log_level);
    enum log_level level =
        (enum log_level)c->m->generation->settings->error_log.level;

    log_notice("control: the log level goes back to %s", log_level_name(level));
    child_commands_log_level(level);
}

static void
cancel_socket(struct control *c)
{
    control_socket_close(&c->next);
    control_rules_clear(&c->next_rules);
    c->next_settings = NULL;
}

static void
stop_socket(struct control **cp)
{
    struct control *c = *cp;

    if (c == NULL) {
        return;
    }
    cancel_socket(c);
    acceptor_stop(&c->acceptor);
    LIST_EACH (node, &c->clients) {
        control_client_end(LIST_ITEM(node, struct control_client, link));
    }
    timer_stop(c->m->loop, &c->log_level);
    timer_stop(c->m->loop, &c->exceptions);
    control_socket_close(&c->socket);
    control_rules_clear(&c->rules);
    mem_free(cp);
}

static struct control *
start_socket(struct master *m, struct errmsg *err)
{
    struct control *c = mem_zero(sizeof(*c));

    c->m = m;
    c->socket.fd = c->next.fd = -1;
    list_init(&c->clients);
    timer_init(&c->log_level, on_log_level);
    timer_init(&c->exceptions, control_exceptions_due);
    if (control_rules_read(&c->rules, in_force(c), err) == -1 ||
        (in_force(c)->socket.len > 0 &&
         control_socket_open(&c->socket, in_force(c), err) == -1) ||
        listen_on(c, err) == -1) {
        stop_socket(&c);
        return NULL;
    }
    if (c->socket.path != NULL) {
        log_notice("listening on control unix:%s", c->socket.path);
    }
    return c;
}

/* ---- reload ---- */

static int
prepare_socket(struct control *c, const struct control_settings *s,
               struct errmsg *err)
{
    bool same = c->socket.path != NULL &&
                str_eq(s->socket, str_from(c->socket.path)) &&
                control_socket_is_there(&c->socket);

    cancel_socket(c);
    if (control_rules_read(&c->next_rules, s, err) == -1) {
        return -1;
    }
    if (!same && s->socket.len > 0 &&
        control_socket_open(&c->next, s, err) == -1) {
        control_rules_clear(&c->next_rules);
        return -1;
    }
    c->next_settings = s;
    return 0;
}

static void
move_socket(struct control *c)
{
    struct errmsg err;

    acceptor_stop(&c->acceptor);
    control_socket_close(&c->socket);
    c->socket = c->next;
    c->next = (struct control_socket){ .fd = -1 };
    if (listen_on(c, &err) == -1) {
        log_error("control: %s", err.text);
    }
    if (c->socket.path != NULL) {
        log_notice("listening on control unix:%s", c->socket.path);
    }
}

static void
commit_socket(struct control *c)
{
    const struct control_settings *s = c->next_settings;
    struct errmsg err;

    if (s == NULL) {
        return;
    }
    control_rules_clear(&c->rules);
    c->rules = c->next_rules;
    c->next_rules = (struct control_rules){ .list = NULL };
    c->next_settings = NULL;
    if (c->next.fd != -1 || s->socket.len == 0) {
        move_socket(c);
    } else if (control_socket_change(&c->socket, s, &err) == -1) {
        log_error("control: %s", err.text);
    }
    LIST_EACH (node, &c->clients) {
        struct control_client *client =
            LIST_ITEM(node, struct control_client, link);

        client->peer.level = control_rules_level(&c->rules, &client->peer);
    }
    if (timer_is_set(&c->log_level)) { /* another one is in force now */
        timer_stop(c->m->loop, &c->log_level);
    }
}

const struct master_socket control_for_master = {
    .start = start_socket,
    .stop = stop_socket,
    .prepare = prepare_socket,
    .commit = commit_socket,
    .cancel = cancel_socket,
};
