/*
 * An object on its way to one client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_SENDING_H
#define MODULES_HLS_SENDING_H

#include "object.h"

/* Answers with the object, or with the range of it that r asks for: 200, 206,
 * 304, 416.  Takes over the caller's hold of o. */
enum http_result sending_begin(struct http_request *r, struct object *o,
                               const char *type);

#endif
