/*
 * The place of the walk over the rows, and its reports of mistakes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_READER_H
#define CONF_READER_H

#include "conf/parse.h"
#include "conf/value.h"

struct reader {
    struct source *source;
    struct pool *pool;   /* for the contents of the settings */
    struct wish *wishes; /* instances to be found when all is filled */
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

/* Was the text of the value refused before parsing?  Then reports why. */
bool reader_is_bad(struct reader *r, const struct scope *in,
                   const struct conf_key *key, const config_setting_t *c);

#endif
