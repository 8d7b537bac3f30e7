/*
 * The echo over Socket.IO and Engine.IO, as the official test suites of both
 * protocols want it.
 *
 *   "/" and "/custom": emits "auth" with what the client connected with;
 *   answers "message" with "message-back" and the same arguments, and
 *   "message-with-ack" with an acknowledgement of them.
 *
 *   engine.io/: sends each message back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ECHO_ECHO_SOCKET_H
#define MODULES_ECHO_ECHO_SOCKET_H

#include "sio/sio.h"

extern const struct sio_namespace echo_namespaces[];
extern const struct engine_protocol echo_plain;

#endif
