/*
 * OpenSSL's errors in words for a log.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "net/tls_impl.h"

const char *
tls_complaint(void)
{
    static char number[32];
    unsigned long code = ERR_get_error();

    ERR_clear_error();
    if (code == 0) {
        return "OpenSSL does not say why";
    }
    if (ERR_SYSTEM_ERROR(code)) {
        return strerror(ERR_GET_REASON(code));
    }
    const char *text = ERR_reason_error_string(code);

    if (text == NULL) {
        snprintf(number, sizeof(number), "OpenSSL error %lx", code);
    }
    return text != NULL ? text : number;
}

const char *
tls_failure(SSL *ssl, int r)
{
    int why = errno;

    switch (SSL_get_error(ssl, r)) {
    case SSL_ERROR_ZERO_RETURN:
        return NULL;
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        return why == 0 || why == ECONNRESET || why == EPIPE ? NULL
                                                             : strerror(why);
    default:
        if (ERR_GET_REASON(ERR_peek_error()) ==
            SSL_R_UNEXPECTED_EOF_WHILE_READING) {
            ERR_clear_error();
            return NULL;
        }
        return tls_complaint();
    }
}
