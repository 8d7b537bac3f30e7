/*
 * Finds by a host's name which of several things at one address is meant: a
 * certificate's rules for a handshake, a server for a request.
 *
 * Names come in five forms; of several that fit, the first in this order:
 *
 *   example.org      this name, in any case
 *   *.example.org    all names below it; the longest that fits
 *   .example.org     both of these
 *   www.example.*    all names that begin so; the longest that fits
 *   ~^(a|b)\.org$    a pattern (base/regex.h), in the order of the file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_HOST_NAMES_H
#define NET_HOST_NAMES_H

#include "base/regex.h"

#define HOST_NAME_MAX_LEN 253 /* bytes; a longer name fits nothing */

struct host_names;

enum host_by { HOST_EXACT, HOST_FRONT, HOST_BEHIND, HOST_PATTERN };

struct host_found {
    size_t value;
    enum host_by by;
    struct str name; /* as it was added */
};

enum host_answer {
    HOST_NONE,
    HOST_FOUND,
    HOST_LIMIT, /* a pattern would take too long */
};

/* The form of a name; fits struct conf_key. */
int host_name_check(struct str name, struct errmsg *err);
/* For about count names; all of it lives in pool. */
struct host_names *host_names_new(struct pool *pool, size_t count);
/* The name is borrowed.  -1 with err: a mistake in its form.  Of one name that
 * is added twice the first counts. */
int host_names_add(struct host_names *n, struct str name, size_t value,
                   struct errmsg *err);
/* host: without a port.  *out is set when it is found. */
enum host_answer host_names_find(const struct host_names *n, struct str host,
                                 struct host_found *out);
/* Whether both stand for the same names; patterns: are spelled alike. */
bool host_name_same(struct str a, struct str b);

/* The name in "NAME:PORT", "NAME." or "[ADDRESS]:PORT". */
struct str host_of_authority(struct str authority);

#endif
