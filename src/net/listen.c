/*
 * Opening and closing listening addresses.
 *
 * The first socket of a TCP address is bound before it is given SO_REUSEPORT:
 * so an address that somebody else listens on, with that option or without,
 * is refused, while our own further sockets may join.
 *
 * A unix socket is bound to a temporary name, given its mode and renamed, so
 * that nobody ever meets it half made.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "net/syn_filter.h"

#define BACKLOG 4096
#define DEFER_SECONDS 1 /* the kernel waits a little longer */
#define UNIX_MODE 0666  /* who may connect is a matter of the folder */
#define SOCKET_TYPE (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

static int
set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

static int
backlog_of(const struct listen_options *o)
{
    return o->backlog > 0 ? o->backlog : BACKLOG;
}

/* Options that a socket is bound with. */
struct bind_options {
    bool only6, reuse_port, freebind;
};

static int
prepare_bind(int fd, const struct addr *a, struct bind_options o)
{
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) == -1 ||
        (a->family == AF_INET6 &&
         set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, o.only6) == -1) ||
        (o.freebind && set_option(fd, IPPROTO_IP, IP_FREEBIND, 1) == -1)) {
        return -1;
    }
    return o.reuse_port ? set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) : 0;
}

/* A socket bound to a; -1 with errno. */
static int
bind_tcp(const struct addr *a, struct bind_options o)
{
    struct sockaddr_storage ss;
    socklen_t len = addr_to_socket(a, &ss);
    int fd = socket(a->family, SOCKET_TYPE, 0);

    if (fd == -1) {
        return -1;
    }
    if (prepare_bind(fd, a, o) == -1 ||
        bind(fd, (struct sockaddr *)&ss, len) == -1 ||
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) == -1) {
        int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static bool
no_ip6(void)
{
    return errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
}

static void
note_bound(struct listener *l, int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0) {
        addr_from_socket(&l->addr, &ss);
    }
}

static int
add_socket(struct listener *l, int fd)
{
    if (fd == -1) {
        return -1;
    }
    l->fds[l->count++] = fd;
    return 0;
}

/* Closes the newest sockets, so that count are left. */
static void
drop_sockets(struct listener *l, unsigned count)
{
    while (l->count > count) {
        close(l->fds[--l->count]);
    }
}

static bool
is_only6(const struct addr_listen *where, const struct listen_options *o)
{
    return o->ip6only == IP6ONLY_AUTO ? !where->any : o->ip6only == IP6ONLY_ON;
}

/* An option that the system refuses is no reason not to serve. */
static void
tune_tcp(int fd, const struct listen_options *o)
{
    set_option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT,
               o->deferred ? DEFER_SECONDS : 0);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)o->user_timeout_ms);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, o->keep_alive);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
    if (o->rcvbuf > 0) {
        set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)o->rcvbuf);
    }
    if (o->sndbuf > 0) {
        set_option(fd, SOL_SOCKET, SO_SNDBUF, (int)o->sndbuf);
    }
}

/* The window that a connection offers is settled by its SYN: options first. */
static int
start_socket(const struct listener *l, int fd)
{
    conn_prepare(fd, l->addr.family);
    if (l->addr.family != AF_UNIX) {
        tune_tcp(fd, &l->options);
    }
    return listen(fd, backlog_of(&l->options));
}

static int
start_sockets(struct listener *l)
{
    while (l->started < l->count) {
        if (start_socket(l, l->fds[l->started]) == -1) {
            return -1;
        }
        l->started++;
    }
    return 0;
}

static int
open_tcp(struct listener *l, const struct addr_listen *where,
         const struct listen_options *o)
{
    l->addr = where->addr;
    l->only6 = is_only6(where, o);
    struct bind_options how = { l->only6, o->beside, o->freebind };
    int fd = bind_tcp(&l->addr, how);

    if (fd == -1 && where->any && !l->only6 && no_ip6()) {
        l->addr = (struct addr){ .family = AF_INET, .port = where->addr.port };
        fd = bind_tcp(&l->addr, how);
    }
    if (add_socket(l, fd) == -1) {
        return -1;
    }
    note_bound(l, fd);
    how.reuse_port = true;
    while (l->count < o->sockets) {
        if (add_socket(l, bind_tcp(&l->addr, how)) == -1) {
            return -1;
        }
    }
    return o->later ? 0 : start_sockets(l);
}

/* ---- unix ---- */

static struct sockaddr_un
unix_addr(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    str_copy(un.sun_path, sizeof(un.sun_path), str_from(path));
    return un;
}

/* Whether path is free or a socket that nobody serves; else -1 with errno. */
static int
check_path(const char *path)
{
    struct sockaddr_un un = unix_addr(path);
    struct stat st;

    if (lstat(path, &st) == -1) {
        return errno == ENOENT ? 0 : -1;
    }
    errno = EEXIST;
    if (!S_ISSOCK(st.st_mode)) {
        return -1;
    }
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd == -1) {
        return -1;
    }
    int dead = connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1 &&
               (errno == ECONNREFUSED || errno == ENOENT);

    close(fd);
    errno = EADDRINUSE;
    return dead ? 0 : -1;
}

static int
bind_unix(const char *path, int backlog)
{
    char making[ADDR_PATH_MAX + sizeof(".new")];

    snprintf(making, sizeof(making), "%.*s.new", ADDR_PATH_MAX, path);
    struct sockaddr_un un = unix_addr(making);
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd == -1) {
        return -1;
    }
    unlink(making); /* of one that was killed half way */
    if (bind(fd, (struct sockaddr *)&un, sizeof(un)) == -1 ||
        chmod(making, UNIX_MODE) == -1 || listen(fd, backlog) == -1 ||
        rename(making, path) == -1) {
        int why = errno;

        unlink(making);
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int
open_unix(struct listener *l, const struct addr_listen *where,
          const struct listen_options *o)
{
    char path[sizeof(l->path)];

    l->addr = where->addr;
    str_copy(path, sizeof(path), where->path);
    if (check_path(path) == -1 ||
        add_socket(l, bind_unix(path, backlog_of(o))) == -1) {
        return -1;
    }
    l->started = 1;
    str_copy(l->path, sizeof(l->path), where->path); /* ours to remove */
    return 0;
}

/* ---- both ---- */

struct listener *
listener_open(const struct addr_listen *where, const char *name,
              const char *proto, const struct listen_options *o,
              struct errmsg *err)
{
    struct listener *l = mem_zero(sizeof(*l));
    unsigned room = o->sockets > 0 ? o->sockets : 1;
    int rc;

    list_init(&l->link);
    str_copy(l->name, sizeof(l->name), str_from(name));
    l->proto = proto;
    l->any = where->any;
    l->options = *o;
    l->owner = getpid();
    l->fds = mem_alloc(room * sizeof(l->fds[0]));
    if (where->addr.family == AF_UNIX) {
        rc = open_unix(l, where, o);
    } else {
        rc = open_tcp(l, where, o);
    }
    if (rc == -1) {
        int why = errno;

        errmsg_sys(err, "cannot listen on %s", name);
        listener_close(&l);
        errno = why;
    }
    return l;
}

static int
try_unix(const struct addr_listen *where)
{
    char path[ADDR_PATH_MAX + 1];

    str_copy(path, sizeof(path), where->path);
    return check_path(path) == -1 ? -1 : path_try(path);
}

int
listener_try(const struct addr_listen *where, const char *name,
             const struct listen_options *o, struct errmsg *err)
{
    struct listen_options one = *o;

    if (where->addr.family == AF_UNIX) {
        return try_unix(where) == -1
                   ? errmsg_sys(err, "cannot listen on %s", name)
                   : 0;
    }
    one.sockets = 1;
    one.later = true;
    struct listener *l = listener_open(where, name, "", &one, err);
    bool good = l != NULL;

    if (good) {
        listener_close(&l);
    }
    return good ? 0 : -1;
}

/* ---- over reloads ---- */

int
listener_grow(struct listener *l, unsigned count, struct errmsg *err)
{
    unsigned before = l->count;

    if (l->addr.family == AF_UNIX || count <= before) {
        return 0;
    }
    struct bind_options how = { l->only6, true, l->options.freebind };
    int *fds = mem_alloc(count * sizeof(fds[0]));

    memcpy(fds, l->fds, before * sizeof(fds[0]));
    mem_free(&l->fds);
    l->fds = fds;
    while (l->count < count) {
        if (add_socket(l, bind_tcp(&l->addr, how)) == -1) {
            errmsg_sys(err, "cannot listen on %s for %u workers", l->name,
                       count);
            drop_sockets(l, before);
            return -1;
        }
    }
    return 0;
}

void
listener_keep(struct listener *l)
{
    l->kept = l->count;
}

void
listener_shrink(struct listener *l)
{
    drop_sockets(l, l->kept);
    l->started = l->started < l->kept ? l->started : l->kept;
}

int
listener_start(struct listener *l, struct errmsg *err)
{
    if (l->retired || l->disabled) {
        listener_enable(l);
    }
    l->retired = false;
    return start_sockets(l) == 0
               ? 0
               : errmsg_sys(err, "cannot listen on %s", l->name);
}

bool
listener_is_at(const struct listener *l, const struct addr_listen *where,
               struct str name)
{
    if (str_eq(str_from(l->name), name)) {
        return true;
    }
    if (where->addr.family == AF_UNIX) {
        return l->addr.family == AF_UNIX &&
               str_eq(str_from(l->path), where->path);
    }
    if (where->addr.port == 0 || where->any != l->any) {
        return false;
    }
    return where->any ? where->addr.port == l->addr.port
                      : addr_eq(&where->addr, &l->addr);
}

bool
listener_overlaps(const struct listener *l, const struct addr_listen *where)
{
    return l->addr.family != AF_UNIX && where->addr.family != AF_UNIX &&
           where->addr.port != 0 && where->addr.port == l->addr.port;
}

static bool
is_listening(int fd)
{
    int listening = 0;
    socklen_t len = sizeof(listening);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == 0 &&
           listening;
}

unsigned
listener_revive(struct listener *l)
{
    unsigned revived = 0;

    for (unsigned i = 0; i < l->started; i++) {
        if (!is_listening(l->fds[i]) && start_socket(l, l->fds[i]) == 0) {
            revived++;
        }
    }
    return revived;
}

void
listener_tune(struct listener *l, const struct listen_options *o)
{
    l->options = *o;
    for (unsigned i = 0; i < l->started; i++) {
        start_socket(l, l->fds[i]);
    }
}

static void
remove_path(struct listener *l)
{
    if (l->path[0] != '\0' && l->owner == getpid()) {
        unlink(l->path);
        l->path[0] = '\0';
    }
}

void
listener_retire(struct listener *l)
{
    l->retired = true;
    remove_path(l);
    for (unsigned i = 0; i < l->started; i++) {
        syn_filter_attach(l->fds[i]);
        if (l->addr.family != AF_UNIX) { /* or it waits for a first byte */
            set_option(l->fds[i], IPPROTO_TCP, TCP_DEFER_ACCEPT, 0);
        }
    }
}

int
listener_disable(struct listener *l, struct errmsg *err)
{
    if (l->addr.family == AF_UNIX) {
        return errmsg_set(err, "a unix socket cannot be disabled");
    }
    l->disabled = true;
    for (unsigned i = 0; i < l->started; i++) {
        if (!syn_filter_is_there(l->fds[i]) &&
            syn_filter_attach(l->fds[i]) == -1) {
            errmsg_sys(err, "the system has no filter for %s", l->name);
            listener_enable(l);
            return -1;
        }
    }
    return 0;
}

void
listener_enable(struct listener *l)
{
    l->disabled = false;
    for (unsigned i = 0; i < l->started; i++) {
        syn_filter_detach(l->fds[i]);
    }
}

bool
listener_retires(int fd)
{
    return syn_filter_is_there(fd);
}

void
listener_close(struct listener **l)
{
    if (*l == NULL) {
        return;
    }
    list_remove(&(*l)->link);
    remove_path(*l);
    for (unsigned i = 0; i < (*l)->count; i++) {
        close((*l)->fds[i]);
    }
    mem_free(&(*l)->fds);
    mem_free(l);
}
