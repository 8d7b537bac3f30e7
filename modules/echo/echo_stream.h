/*
 * A request's body that is sent back as it comes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ECHO_ECHO_STREAM_H
#define MODULES_ECHO_ECHO_STREAM_H

#include "http/http.h"

http_handler echo_stream;

#endif
