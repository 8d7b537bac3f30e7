/*
 * Which blocks a PEM text has (RFC 7468), for messages about a file that holds
 * something else than what is wanted: a key where a certificate belongs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_PEM_H
#define NET_PEM_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>

enum pem_kind {
    PEM_CERTIFICATE,
    PEM_PRIVATE_KEY,
    PEM_PUBLIC_KEY,
    PEM_REVOKED, /* a list of revoked certificates */
    PEM_REQUEST, /* for a certificate */
    PEM_KINDS,
};

/* "certificate" and so on. */
const char *pem_name(enum pem_kind kind);

/* The first kind that a text has in place of the wanted one: PEM_KINDS if it
 * has that, too, or nothing that is known. */
enum pem_kind pem_instead(struct str text, enum pem_kind wanted);

/* The same of a file; where it has something else, that is told in err: "WHAT
 * PATH holds a private key, not a certificate".  Larger files than PEM_FILE_MAX
 * are not looked at. */
#define PEM_FILE_MAX (256 * 1024)
bool pem_file_is_other(const char *path, const char *what, enum pem_kind wanted,
                       struct errmsg *err);

#endif
