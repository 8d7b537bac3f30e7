/*
 * The names of a server: the host filter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_HOST_H
#define HTTP_FILTER_HOST_H

#include "base/errmsg.h"
#include "http/http.h"

/* "media.example.org" or "*.example.org"; fits struct conf_key. */
int http_host_check(struct str pattern, struct errmsg *err);
/* Whether a Host, with or without a port, is an address, localhost or a name
 * below it, this host's name, one of s->names or of s->hosts. */
bool http_host_fits(const struct http_server *s, struct str host);

#endif
