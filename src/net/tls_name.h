/*
 * Chooses the certificate for a client by the name that it asks for (SNI).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_NAME_H
#define NET_TLS_NAME_H

#include "base/str.h"

struct tls_names {   /* of one certificate */
    struct str *all; /* "example.org", "*.example.org" */
    size_t count;
};

/* Whether a name of a certificate covers a host's, in any case; "*." stands
 * for exactly one label (RFC 6125, 6.4.3). */
bool tls_name_covers(struct str pattern, struct str host);

/* The certificate for host: the first that has it exactly, else the first
 * that covers it, else number 0. */
size_t tls_choose(const struct tls_names *certificates, size_t count,
                  struct str host);
/* Whether both have the host, and in the same way: exactly, or by "*.". */
bool tls_names_agree(const struct tls_names *a, const struct tls_names *b,
                     struct str host);

#endif
