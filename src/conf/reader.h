/*
 * The place of the walk over the rows, and its reports of mistakes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_READER_H
#define CONF_READER_H

#include "conf/origin.h"
#include "conf/parse.h"
#include "conf/value.h"

struct reader {
    struct source *source;
    struct pool *pool;   /* for the contents of the settings */
    struct wish *wishes; /* instances to be found when all is filled */
    struct origins *origins;
    size_t room;        /* bytes that ${...} may still put in */
    bool variables;     /* of the environment count (conf_key.variable) ... */
    bool used_variable; /* ... and one did */
};

/* A group that is being filled: its place in the tree of settings, and the
 * token for mistakes about the group itself. */
struct scope {
    const struct scope *up;
    const char *name; /* NULL: the root */
    size_t at;        /* token */
};

/* Notes "PATH text" at a token; name is a key in the group, NULL means the
 * group.  Always false, so that callers can return it; so are the next two. */
bool reader_mistake(struct reader *r, const struct scope *in, const char *name,
                    size_t at, const char *text);
/* The value is not one that the key takes. */
bool reader_refuse(struct reader *r, const struct scope *in,
                   const struct conf_key *key, const struct scalar *v,
                   size_t at);
bool reader_missing(struct reader *r, const struct scope *in,
                    const struct conf_key *key);

/* The value as it stands in the file. */
struct scalar reader_scalar(const config_setting_t *c);
/* The value for the key, once, with all that ${...} stands for; false after
 * a report of what is wrong with it. */
bool reader_value(struct reader *r, const struct scope *in,
                  const struct conf_key *key, const config_setting_t *c,
                  struct scalar *v);
/* Marks a value as reported to be wrong, here or by reader_wrong(). */
void reader_wrong(struct reader *r, const config_setting_t *c);
bool reader_was_wrong(const struct reader *r, const config_setting_t *c);

#endif
