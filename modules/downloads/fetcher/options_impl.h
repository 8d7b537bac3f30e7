/*
 * Both forms of a file of engine options share this.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_OPTIONS_IMPL_H
#define MODULES_DOWNLOADS_FETCHER_OPTIONS_IMPL_H

#include "fetcher/options_parse.h"
#include "fetcher/options_table.h"

#define OPTION_VALUE_MAX 1024 /* bytes */
#define OPTION_SHOWN 64       /* bytes of a name in a message */

struct options_parsing {
    struct pool *pool;
    struct str folder;
    struct options_words *out;
    struct errmsg *err;
};

/* A value with the name that the file has for its option. */
struct option_given {
    const struct option_row *row;
    struct str name, value;
};

/* ---- options_value.c: 0, or -1 with p->err ---- */

/* Adds a word that is no secret. */
int option_add(struct options_parsing *p, struct str word);
int option_add_flag(struct options_parsing *p, const struct option_row *r,
                    bool on);
/* Checks a value by the kind of its row, and adds it. */
int option_take(struct options_parsing *p, const struct option_given *g);
/* "NAME" must be ALLOWED.  Values are not told: they may be secret. */
int option_wrong(struct options_parsing *p, const struct option_given *g,
                 const char *allowed);
/* No row has that name. */
int option_refuse(struct options_parsing *p, struct str name);

/* ---- options_json.c ---- */

int options_parse_json(struct options_parsing *p, struct str text);

#endif
