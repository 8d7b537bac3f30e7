/*
 * The reason of a failure, in words for the reader of a log or a client.
 *
 * The function that detects a mistake explains it.  A function that can fail
 * because of an operator takes a struct errmsg * as its last parameter, fills
 * it and returns -1.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_ERRMSG_H
#define BASE_ERRMSG_H

struct errmsg {
    char text[2048]; /* NUL terminated; "" means none */
};

/* Sets the text; always returns -1, so that callers can return it. */
int errmsg_set(struct errmsg *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same followed by ": " and the text of errno. */
int errmsg_sys(struct errmsg *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts words in front of the text that is there; returns -1. */
int errmsg_prefix(struct errmsg *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
