/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/tls_variables.h"

#include "http/exchange.h"
#include "net/tls.h"

/* Of a connection without TLS there is nothing to tell. */
static void
tell(const struct exchange *x, enum tls_told what, struct line_value *v)
{
    const struct conn *c = x->c->conn;
    struct str text = STR_NONE;

    if (c != NULL && c->tls != NULL) {
        text = tls_tell(c->tls, what, x->pub.pool);
    }
    if (text.len > 0) {
        line_value_text(v, text);
    }
}

#define VARIABLE(name, what)                                          \
    void name(const void *arg, struct str rest, struct line_value *v) \
    {                                                                 \
        (void)rest;                                                   \
        tell(arg, what, v);                                           \
    }

VARIABLE(http_get_ssl_protocol, TLS_PROTOCOL)
VARIABLE(http_get_ssl_cipher, TLS_CIPHER)
VARIABLE(http_get_ssl_server_name, TLS_SERVER_NAME)
VARIABLE(http_get_ssl_session_reused, TLS_SESSION_REUSED)
VARIABLE(http_get_ssl_client_verify, TLS_CLIENT_VERIFY)
VARIABLE(http_get_ssl_client_s_dn, TLS_CLIENT_S_DN)
VARIABLE(http_get_ssl_client_i_dn, TLS_CLIENT_I_DN)
VARIABLE(http_get_ssl_client_serial, TLS_CLIENT_SERIAL)
VARIABLE(http_get_ssl_client_fingerprint, TLS_CLIENT_FINGERPRINT)
VARIABLE(http_get_ssl_client_v_start, TLS_CLIENT_V_START)
VARIABLE(http_get_ssl_client_v_end, TLS_CLIENT_V_END)
VARIABLE(http_get_ssl_client_v_remain, TLS_CLIENT_V_REMAIN)
VARIABLE(http_get_ssl_client_escaped_cert, TLS_CLIENT_ESCAPED_CERT)
