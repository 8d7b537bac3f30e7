/*
 * Which streams of its application a push of weir.conf takes: the one that has
 * its name; all of them, where the name is empty; those that fit a pattern
 * (base/regex.h), "~ ^show-" or "~* ^show-" for either case.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_PUSH_NAMES_H
#define MODULES_RELAY_PUSH_NAMES_H

#include "base/regex.h"

struct push_names {
    struct str text;       /* as in the file; borrowed */
    bool many;             /* not one by its name */
    struct regex *pattern; /* NULL: all, or one by its name */
};

/* Whether a text of the file is of several streams. */
bool push_names_many(struct str text);
/* The pattern lives in pool. 0, or -1 with err: what is wrong with it. */
int push_names_read(struct pool *pool, struct str text, struct push_names *out,
                    struct errmsg *err);
/* One that takes too long to match is no match. */
bool push_names_have(const struct push_names *n, struct str stream);

#endif
