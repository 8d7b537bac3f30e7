/*
 * The exchange of one request with a server: the simplest that there is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_HANDLER_H
#define MODULES_PROXY_HANDLER_H

#include "http/http.h"

http_handler proxy_on_request;

#endif
