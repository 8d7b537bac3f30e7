/*
 * Everything that listens, as one list: the servers of rtmp, of http and of
 * the modules.  Code that opens sockets, tries them, checks them or accepts on
 * them goes over this list and asks nothing about protocols.
 *
 * A module's server is a struct of the module with a struct listening in it:
 * an item of a list at the root of weir.conf, or the one group.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SETTINGS_SERVERS_H
#define APP_SETTINGS_SERVERS_H

#include "app/settings/rows.h"
#include "conf/rows.h"
#include "net/access.h"

#include <stdio.h>

struct listening {
    struct conf_where where;
    struct conf_groups listen; /* struct listen_settings */
    struct conf_strings trusted_proxies;
    struct conf_strings access; /* weir itself judges by it */
};

/* The rows of field, a struct listening in struct tag. */
#define ROWS_LISTENING(tag, field)                                             \
    ROW_AS("where", tag, field.where, CONF_WHERE, .help = NULL),               \
        ROW_AS("listen", tag, field.listen, CONF_GROUPS, .min = 1,             \
               .keys = settings_listen_keys,                                   \
               .size = sizeof(struct listen_settings), .shorthand = "address", \
               .help = SETTINGS_LISTEN_HELP),                                  \
        ROW_AS("trusted_proxies", tag, field.trusted_proxies, CONF_STRINGS,    \
               .preset = "", .check = access_check_name,                       \
               .help = "Load balancers whose word on the client is taken "     \
                       "(PROXY protocol)."),                                   \
        ROW_AS("access", tag, field.access, CONF_STRINGS,                      \
               .preset = "allow all", .check = access_check_rule,              \
               .help = "From where one may connect: rules \"allow|deny "       \
                       "ADDRESS\", the first that matches counts.")

enum server_kind { SERVER_RTMP, SERVER_HTTP, SERVER_MODULE, SERVER_KINDS };

/* One of the file's servers; borrows from the settings. */
struct server_settings {
    enum server_kind kind;
    const struct module *module; /* of SERVER_MODULE, else NULL */
    const char *proto;           /* "rtmp", "http", the module's name: static */
    const char *key;             /* "rtmp.servers": static, for messages */
    size_t number;               /* among those of its protocol */
    size_t place;                /* of its binding in a generation */
    const struct conf_where *where;
    const struct conf_groups *listen;
    const struct conf_strings *trusted_proxies;
    const struct conf_strings *access; /* of all its clients; NULL: no rules */
    struct str access_log;             /* "" and "off": weir opens none */
    int64_t send_timeout; /* ms that the kernel has to wait for a client that
                             takes nothing, at least; 0: the system's */
};

/* Server i of the file; false behind the last. */
bool settings_server(const struct settings *s, size_t i,
                     struct server_settings *out);
/* Of a file that is right by itself: says into out which addresses two servers
 * want, and which one listens for a PROXY protocol header of nobody: a line
 * "FILE:LINE: what" for each.  Servers of rtmp and http were checked within
 * their lists, beside all other mistakes. */
void settings_check_servers(const struct settings *s, FILE *out);

#endif
