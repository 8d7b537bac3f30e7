/*
 * Regular expressions (Perl's, by PCRE2), for texts that a client chose.
 *
 * A pattern is the operator's; the text that it is tried on is anybody's.  So a
 * match has limits of steps, depth and memory, and passing one of them is an
 * answer of its own: neither "fits" nor "does not".
 *
 * Patterns and texts are bytes.  "$" means the very end of the text.  Nothing
 * is compiled to machine code: a worker's sandbox maps none, and a match of a
 * usual path takes 0.1 to 0.6 us without it (0.05 to 0.2 with it).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "base/str.h"

#define REGEX_GROUPS_MAX 16    /* of a pattern, the whole match counted */
#define REGEX_PATTERN_MAX 4096 /* bytes */
#define REGEX_STEPS 20000      /* of one match: a millisecond or two at most */
/* Of one that may begin anywhere in the text, from all these places together:
 * the longer the text, the fewer from each. */
#define REGEX_STEPS_ALL 200000

struct regex;

enum regex_case { REGEX_CASE, REGEX_NOCASE };

enum regex_result {
    REGEX_NO,
    REGEX_YES,
    REGEX_LIMIT, /* it would take too long, or too much memory */
};

/* The parts of the text that groups took: number 0 is all that fits, and a
 * group that took nothing is empty.  They lie in the text. */
struct regex_match {
    struct str groups[REGEX_GROUPS_MAX];
    size_t count;
};

/* Lives in pool, with all that its matches need.  NULL with err: what is wrong,
 * and at which byte of the pattern. */
struct regex *regex_new(struct pool *pool, struct str pattern,
                        enum regex_case letters, struct errmsg *err);
/* *m is set when it fits; m may be NULL.  One thread of the process matches
 * patterns. */
enum regex_result regex_match(struct regex *r, struct str text,
                              struct regex_match *m);
/* The number of the group of that name, or whose number it is ("1"); -1: there
 * is none. */
int regex_group(const struct regex *r, struct str name);
/* The name of group number i; empty: it has none. */
struct str regex_group_name(const struct regex *r, size_t i);
size_t regex_groups(const struct regex *r); /* number 0 counted */

#endif
