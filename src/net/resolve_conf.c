/*
 * Options and servers of a c-ares channel, taken from one that has read the
 * system's files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/resolve_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define TRY_MS 2000
#define TRIES 2 /* of each server */

void
resolve_conf_clear(struct resolve_conf *c)
{
    ares_destroy_options(&c->options);
    ares_free_data(c->servers);
    c->servers = NULL;
}

/* Takes what the channel was made of; ARES_*. */
static int
take(struct resolve_conf *c, ares_channel channel)
{
    struct ares_addr_port_node *last;
    int status = ares_get_servers_ports(channel, &c->servers);

    if (status != ARES_SUCCESS) {
        return status;
    }
    last = c->servers;
    for (int i = 1; i < RESOLVE_SERVERS && last != NULL; i++) {
        last = last->next;
    }
    if (last != NULL && last->next != NULL) {
        ares_free_data(last->next);
        last->next = NULL;
    }
    status = ares_save_options(channel, &c->options, &c->mask);
    if (status != ARES_SUCCESS) {
        resolve_conf_clear(c);
    }
    return status;
}

/* ARES_*; *c is as it was when that is not ARES_SUCCESS. */
static int
read_files(struct resolve_conf *c, const char *servers)
{
    struct ares_options wanted = {
        .flags = ARES_FLAG_NOALIASES,
        .timeout = c->try_ms,
        .tries = TRIES,
        .udp_port = c->port,
        .tcp_port = c->port,
        .resolvconf_path = (char *)(uintptr_t)c->path,
    };
    struct resolve_conf now = { .servers = NULL };
    ares_channel channel;
    int status = ares_init_options(&channel, &wanted,
                                   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
                                       ARES_OPT_TRIES | ARES_OPT_RESOLVCONF |
                                       ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT);

    if (status != ARES_SUCCESS) {
        return status;
    }
    if (servers != NULL) {
        status = ares_set_servers_ports_csv(channel, servers);
    }
    if (status == ARES_SUCCESS) {
        status = take(&now, channel);
    }
    ares_destroy(channel);
    if (status == ARES_SUCCESS) {
        resolve_conf_clear(c);
        c->options = now.options;
        c->mask = now.mask;
        c->servers = now.servers;
    }
    return status;
}

int
resolve_conf_init(struct resolve_conf *c, const struct resolver_options *o)
{
    c->path = o->path != NULL ? o->path : RESOLVE_CONF;
    c->try_ms = o->try_ms > 0 ? o->try_ms : TRY_MS;
    c->port = o->port > 0 ? o->port : 53;
    c->given = o->servers != NULL;
    if (stat(c->path, &c->read) == -1) {
        c->read = (struct stat){ .st_size = 0 };
    }
    return read_files(c, o->servers);
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Out of a sandbox another file of that name cannot be read. */
static void
read_changed(struct resolve_conf *c)
{
    int fd = open(c->path, O_RDONLY | O_CLOEXEC);

    if (fd == -1) {
        log_warn("resolver: %s has changed, and cannot be read (%s): the name "
                 "servers stay as they were until this process starts again",
                 c->path, strerror(errno));
        return;
    }
    close(fd);

    int status = read_files(c, NULL);

    if (status == ARES_SUCCESS) {
        log_notice("resolver: %s has changed and was read", c->path);
    } else {
        log_warn("resolver: %s has changed: %s", c->path,
                 ares_strerror(status));
    }
}

void
resolve_conf_look(struct resolve_conf *c)
{
    struct stat now;

    if (!c->given && stat(c->path, &now) == 0 && !is_same(&now, &c->read)) {
        c->read = now;
        read_changed(c);
    }
}

int
resolve_conf_open(const struct resolve_conf *c, ares_channel *channel,
                  ares_sock_state_cb on_state, void *arg)
{
    struct ares_options options = c->options;
    int status;

    options.sock_state_cb = on_state;
    options.sock_state_cb_data = arg;
    status =
        ares_init_options(channel, &options, c->mask | ARES_OPT_SOCK_STATE_CB);
    if (status != ARES_SUCCESS) {
        *channel = NULL;
        return status;
    }
    return ares_set_servers_ports(*channel, c->servers);
}
