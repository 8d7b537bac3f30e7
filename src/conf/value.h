/*
 * Single values: from the file or a preset into a field, and back to text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "conf/conf.h"

#include "base/buf.h"

/* A value as libconfig has it, or made from a preset. */
struct scalar {
    enum { SCALAR_STRING, SCALAR_INT, SCALAR_BOOL, SCALAR_OTHER } kind;
    struct str text;  /* STRING; OTHER: "a list" */
    int64_t number;   /* INT, BOOL; of a fraction the millionths */
    bool is_fraction; /* OTHER: "a fraction", not too large */
    const char *from; /* the ${...} that it came by; NULL: none */
};

/* Puts v into the field that key is for (STRING, INT, BOOL, TIME, SIZE,
 * DECIMAL, ENUM).  -1 with "must be ..., not ..." in err. */
int value_read(const struct conf_key *key, const struct scalar *v,
               struct pool *pool, void *field, struct errmsg *err);
/* One string of a STRING or STRINGS key. */
int value_read_string(const struct conf_key *key, const struct scalar *v,
                      struct pool *pool, struct str *out, struct errmsg *err);
/* The value of a preset. */
struct scalar value_preset(const struct conf_key *key);
/* "must be ..., not ..." for a value of a wrong kind; v may be NULL. */
int value_refuse(const struct conf_key *key, const struct scalar *v,
                 struct errmsg *err);

/* The value as it can stand in a file: 5, true, "10s", "text". */
void value_print(const struct conf_key *key, const void *field,
                 struct buf *out);
void value_print_string(const struct conf_key *key, struct str s,
                        struct buf *out);
/* A number as the type has it: 5, 10s, 16M. */
void value_print_number(enum conf_type type, int64_t n, struct buf *out);

/* Is there an upper bound? */
bool value_has_max(const struct conf_key *key);
/* The nearest of some names to one that is not among them. */
struct near_name {
    struct str wanted;
    const char *best; /* NULL: nothing is near */
    size_t distance;
};
void near_start(struct near_name *n, struct str wanted);
void near_try(struct near_name *n, const char *name);

#endif
