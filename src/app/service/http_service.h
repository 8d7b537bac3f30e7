/*
 * HTTP in a worker: settings made into servers, locations and layers, with
 * the state of each layer's module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_HTTP_SERVICE_H
#define APP_SERVICE_HTTP_SERVICE_H

#include "app/worker.h"
#include "conf/conf.h"
#include "http/http.h"

struct http_service;
struct module_layer; /* app/module.h */

/* Starts the module of every layer.  NULL with err; modules that were started
 * by then are stopped again. */
struct http_service *http_service_start(struct worker *w, struct errmsg *err);
/* For start() of a module whose layer within has layers: starts those of the
 * list (struct http_layer_settings) in their order and makes *out, *count of
 * them (one with an endpoint of Socket.IO is two), in the worker's pool.  They
 * drain and stop with all others. 0, or -1 with err. */
int http_service_layers(const struct module_layer *within,
                        const struct conf_groups *list,
                        const struct http_layer **out, size_t *count,
                        struct errmsg *err);
/* The servers at the address of that binding of the generation. */
const struct http_address *http_service_address(const struct http_service *s,
                                                size_t binding);
/* Takes nothing new: modules, then connections. */
void http_service_drain(struct http_service *s);
/* No connection is left; stops the modules. */
void http_service_stop(struct http_service **s);

#endif
