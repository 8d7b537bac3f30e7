/*
 * A file of engine options, in the words of the command line.
 *
 * It is JSON when it begins with '{': an object with the names of the engine's
 * API.  Else it is a command line of several lines, with quotes, backslashes
 * and comments as a shell has them.
 *
 *   options_parse.c   the command line, and which form it is
 *   options_json.c    JSON
 *   options_value.c   values, whatever the form
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_OPTIONS_PARSE_H
#define MODULES_DOWNLOADS_FETCHER_OPTIONS_PARSE_H

#include "fetcher/options.h"

struct options_words {                    /* all of it lies in the pool */
    const char *items[OPTIONS_ARGUMENTS]; /* "--limit-rate=50K" */
    size_t count;
    const char *secrets[OPTIONS_ARGUMENTS]; /* for OPTIONS_SECRETS */
    size_t secret_count;
    struct str cookies; /* their file, below the folder; empty: none */
};

/* folder: of the file; cookies may lie below it.  -1 with err, which names the
 * option and, of a command line, the line. */
int engine_options_parse(struct pool *p, struct str text, struct str folder,
                         struct options_words *out, struct errmsg *err);

#endif
