/*
 * Values that a text of the file takes from elsewhere: ${env:NAME} stands for a
 * variable of the environment, ${env:NAME:-DEFAULT} for DEFAULT where that is
 * not set or empty, and ${file:PATH} for the contents of a file, less one
 * newline at their end.  A relative PATH stands on the current directory, as
 * all paths in values do.
 *
 * "$${" is "${", and no other "${" means anything here.  A value that was
 * put in is not expanded again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_EXPAND_H
#define CONF_EXPAND_H

#include "base/buf.h"
#include "base/str.h"

#define EXPAND_FILE_MAX (64 * 1024) /* bytes of a file */
#define EXPAND_ALL_MAX                                    \
    (4 * 1024 * 1024) /* bytes put into one configuration \
                       */

struct expansion {
    /* Set by the caller. */
    bool secret;  /* no file that everybody can read or write; no text shown */
    bool dollars; /* the text has a meaning of its own for '$': "$$" stays */
    size_t room;  /* bytes that may still be put in; less when it was done */
    void (*mistake)(void *arg, const char *text); /* called for each */
    void *arg;

    /* Set by expand(), for expand_clear(). */
    struct buf text;    /* what comes of it */
    struct buf sources; /* "${env:A}, ${file:b}"; empty: nothing was put in */
};

/* 0, or -1 when there was a mistake. */
int expand(struct expansion *e, struct str text);
void expand_clear(struct expansion *e);

/* Adds s in the form of which expand() makes s, without dollars. */
void expand_escape(struct str s, struct buf *out);

#endif
