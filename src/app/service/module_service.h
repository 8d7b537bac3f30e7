/*
 * Servers of modules in a worker: each has the state that its module made.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_MODULE_SERVICE_H
#define APP_SERVICE_MODULE_SERVICE_H

#include "app/settings/servers.h"
#include "net/conn.h"

struct worker;
struct module_service; /* in the worker's pool */

/* Starts all of them.  -1 with err: those that were started are stopped. */
int module_service_start(struct worker *w, struct module_service **out,
                         struct errmsg *err);
/* Takes over a socket that was accepted for that server. */
void module_service_accept(struct module_service *s,
                           const struct server_settings *server,
                           const struct conn_socket *socket);
size_t module_service_connections(const struct module_service *s);
void module_service_drain(struct module_service *s);
/* The connections of a module that cannot finish them stay as they are. */
void module_service_finish(struct module_service *s, const char *reason);
void module_service_stop(struct module_service *s);

#endif
