/*
 * Media types of files by the ending of their names: those of weir.conf, those
 * of a file, and weir's own, in this order.
 *
 * The file is one of nginx ("types { text/html html htm; }") or of Apache, as
 * /etc/mime.types ("text/html html htm", a type a line).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STATIC_TYPES_H
#define MODULES_STATIC_TYPES_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "conf/conf.h"

#define TYPES_FILE_MAX (1 << 20) /* bytes */
#define TYPES_MAX 8192           /* endings */

struct types;

struct types_rules {
    struct str file;                /* its name; empty: none */
    const struct conf_strings *own; /* "TYPE ENDING..." */
    struct str fallback;            /* of endings that nobody knows */
    struct str charset; /* of text that names none; empty: none is named */
};

/* NULL with err: the file cannot be read, or has a mistake.  Borrows the texts
 * of rules. */
struct types *types_new(const struct types_rules *rules, struct errmsg *err);
void types_free(struct types **t); /* NULL inside is fine */

/* Adds what the bytes of a file say, which must live as long; name is for
 * messages. */
int types_read(struct types *t, struct str name, struct str bytes,
               struct errmsg *err);
/* "TYPE ENDING...": the same of one setting. */
int types_check(struct str value, struct errmsg *err);

/* The type of the file of that name; in pool, or as long as t lives. */
const char *types_find(const struct types *t, struct pool *pool,
                       struct str name);

#endif
