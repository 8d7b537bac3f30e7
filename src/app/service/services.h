/*
 * The services of a worker: rtmp, http and the modules that have servers, as
 * rows of one table.  A worker starts, asks and ends all of them alike.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_SERVICES_H
#define APP_SERVICE_SERVICES_H

#include "app/settings/servers.h"
#include "base/errmsg.h"
#include "net/conn.h"

struct worker;
struct services; /* in the worker's pool */

/* Sets w->services, also when it fails: then with what was started by then. */
int services_start(struct worker *w, struct errmsg *err);
/* Takes over a socket that was accepted for that server. */
void services_accept(struct services *s, const struct server_settings *server,
                     const struct conn_socket *socket);
size_t services_connections(const struct services *s);
/* They take nothing new and finish what runs. */
void services_drain(struct services *s);
/* Connections end, and may send their last bytes until services_close(). */
void services_finish(struct services *s, const char *reason);
void services_close(struct services *s); /* all connections */
/* The loop has turned since: frees what services_start() made. */
void services_stop(struct services *s);

#endif
