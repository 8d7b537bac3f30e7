/*
 * The file of engine options (engine_options_file): JSON as the original has
 * it, or a command line.  It is watched; a broken one keeps the last good
 * options.
 *
 *   options.c           the file, read and watched
 *   options_parse.[ch]  its words, in either form
 *   options_table.[ch]  the options that there are
 *
 * An allow-list names each option that may stand there, with its kind and the
 * words of the command line.  All others are refused by name: those that run a
 * program, choose a proxy, a path outside, another configuration, a plugin.
 *
 * Secrets (passwords, headers) are not for the command line, which every user
 * of the machine can read: they go to a file in the folder of the run, and so
 * does a copy of the cookies, which the engine writes back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_OPTIONS_H
#define MODULES_DOWNLOADS_FETCHER_OPTIONS_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "event/loop.h"

#define OPTIONS_FILE_MAX (256 << 10)  /* bytes */
#define OPTIONS_COOKIES_MAX (1 << 20) /* bytes of the file of cookies */
#define OPTIONS_ARGUMENTS 128
/* In the folder of a run, where options_place() makes them. */
#define OPTIONS_SECRETS "weir.options"
#define OPTIONS_COOKIES "weir.cookies"

struct options_told { /* the event engine_options_changed */
    bool success;
    const char *msg;
    int64_t modified_us; /* of the file, since 1970; -1: it is not there */
};

struct options;

/* path: the file; empty: there is none, and nothing is watched.  Before the
 * sandbox; it reads the folder of the file later.  on_change: the file was
 * read again, with success or without; never called from here. */
struct options *options_new(struct loop *l, struct str path,
                            void (*on_change)(void *arg), void *arg);
void options_free(struct options **o); /* NULL inside is fine */
/* Arguments for the next run, NUL-terminated; *count of them.  They are of use
 * in a folder that options_place() has seen. */
const char *const *options_arguments(const struct options *o, size_t *count);
/* Makes the files that the arguments name in the folder of a run (of an
 * extraction as well).  -1 with err. */
int options_place(const struct options *o, int folder, struct errmsg *err);
/* Whether options_place() makes files of that name. */
bool options_made(struct str name);
/* False: there is no file to tell of. */
bool options_last(const struct options *o, struct options_told *out);

#endif
