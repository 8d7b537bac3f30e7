/*
 * Reading certificates and their keys from files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_CERTIFICATE_H
#define NET_TLS_CERTIFICATE_H

#include "net/pem.h"
#include "net/tls_impl.h"

/* Checks that path is a file that can be read; `what` names it in err.  Its
 * permission bits go to *mode if that is not NULL. 0 or -1. */
int tls_file_check(const char *path, const char *what, unsigned *mode,
                   struct errmsg *err);

/* Refuses a file that OpenSSL has not taken: it holds something else than what
 * is wanted, or nothing, or OpenSSL complains; empties OpenSSL's queue.
 * Returns -1. */
int tls_file_refuse(const char *path, const char *what, enum pem_kind wanted,
                    struct errmsg *err);

/* Reads pair into c->ssl and fills the rest of *c.  Refused: a key that does
 * not belong to the certificate, that has a passphrase, that others than its
 * owner and group may read, or that anybody else may change. */
int tls_certificate_read(struct pool *pool, const struct tls_pair *pair,
                         struct tls_certificate *c, struct errmsg *err);

#endif
