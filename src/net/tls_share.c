/*
 * An address with several names, each with certificates and rules of its own.
 *
 * OpenSSL calls us with the ClientHello before it looks at it.  The name in it
 * decides whose context the connection has from then on.  SSL_set_SSL_CTX()
 * moves certificates, ciphers, the CAs for clients and the callbacks; all that
 * SSL_new() has copied is copied again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "net/tls_impl.h"

#define HOST_NAME 0 /* type of a name (RFC 6066, 3) */

/* The name in the extension: a list of one, behind its length; each has a type
 * and a length. */
static struct str
name_in(const unsigned char *p, size_t len)
{
    size_t n;

    if (len < 5 || get_be16(p) + 2 != len || p[2] != HOST_NAME) {
        return STR_NONE;
    }
    n = get_be16(p + 3);
    return n + 5 == len ? str_of(p + 5, n) : STR_NONE;
}

static struct str
asked_name(SSL *ssl)
{
    const unsigned char *p;
    size_t len;
    struct str name;

    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &len) !=
        1) {
        return STR_NONE;
    }
    name = name_in(p, len);
    return str_ends(name, STR(".")) ? str_first(name, name.len - 1) : name;
}

static bool
move(SSL *ssl, const struct tls_context *t)
{
    SSL_CTX *to = t->each[0].ssl;

    if (SSL_set_SSL_CTX(ssl, to) != to) {
        return false;
    }
    SSL_clear_options(ssl, SSL_get_options(ssl));
    SSL_set_options(ssl, SSL_CTX_get_options(to));
    SSL_set_verify(ssl, SSL_CTX_get_verify_mode(to),
                   SSL_CTX_get_verify_callback(to));
    SSL_set_verify_depth(ssl, SSL_CTX_get_verify_depth(to));
    return SSL_set_min_proto_version(ssl, SSL_CTX_get_min_proto_version(to)) ==
               1 &&
           SSL_set_max_proto_version(ssl, SSL_CTX_get_max_proto_version(to)) ==
               1 &&
           SSL_set1_groups_list(ssl, (char *)(uintptr_t)t->groups) == 1 &&
           SSL_set_num_tickets(ssl, SSL_CTX_get_num_tickets(to)) == 1;
}

static int
on_client_hello(SSL *ssl, int *alert, void *context)
{
    const struct tls_context *t = context, *chosen;
    uint16_t place = 0, *told = SSL_get_app_data(ssl);

    chosen = t->share.choose(t->share.arg, asked_name(ssl), &place);
    if (chosen != t && !move(ssl, chosen)) {
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_CLIENT_HELLO_ERROR;
    }
    *told = place;
    return SSL_CLIENT_HELLO_SUCCESS;
}

void
tls_context_share(struct tls_context *t, const struct tls_share *s)
{
    t->share = *s;
    SSL_CTX_set_client_hello_cb(t->each[0].ssl, on_client_hello, t);
}
