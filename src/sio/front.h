/*
 * The worker's side of Engine.IO and Socket.IO: HTTP requests at
 * "socket.io/" (and "engine.io/") of a layer.
 *
 * It judges each request as far as no session is needed, then asks the channel:
 * polling requests are forwarded and answered with its answer; of an upgrade it
 * gives away the connection.  A worker keeps nothing between two requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_FRONT_H
#define SIO_FRONT_H

#include "http/http.h"
#include "sio/sio.h"

struct sio_front; /* of one layer */

/* In pool.  module: its name, static; generation: the worker's. */
struct sio_front *sio_front_new(struct pool *pool, const char *module,
                                const struct sio_module *m,
                                const struct sio_endpoint *endpoint,
                                uint32_t generation);
/* Its layer, which stands before the module's own. */
void sio_front_layer(struct sio_front *f, struct http_layer *out);

#endif
