/*
 * Variables about the TLS of the client's connection, and its certificate; the
 * names are nginx's (log_variables.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_TLS_VARIABLES_H
#define HTTP_TLS_VARIABLES_H

#include "base/line_format.h"

/* get() of struct line_variable; the subject is a struct exchange. */
typedef void http_get_ssl(const void *arg, struct str rest,
                          struct line_value *v);
http_get_ssl http_get_ssl_protocol, http_get_ssl_cipher,
    http_get_ssl_server_name, http_get_ssl_session_reused,
    http_get_ssl_client_verify, http_get_ssl_client_s_dn,
    http_get_ssl_client_i_dn, http_get_ssl_client_serial,
    http_get_ssl_client_fingerprint, http_get_ssl_client_v_start,
    http_get_ssl_client_v_end, http_get_ssl_client_v_remain,
    http_get_ssl_client_escaped_cert;

#endif
