/*
 * The common part of both sides of a handshake.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/tls_impl.h"

#include <errno.h>
#include <openssl/err.h>

int
tls_shake(SSL *ssl, struct loop *l, struct io *io)
{
    int r;

    ERR_clear_error();
    errno = 0;
    r = SSL_do_handshake(ssl);
    if (r == 1) {
        return TLS_SHAKEN;
    }
    switch (SSL_get_error(ssl, r)) {
    case SSL_ERROR_WANT_READ:
        io_want(l, io, IO_READ);
        return TLS_SHAKING;
    case SSL_ERROR_WANT_WRITE:
        io_want(l, io, IO_WRITE);
        return TLS_SHAKING;
    default:
        return r;
    }
}
