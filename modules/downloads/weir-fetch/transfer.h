/*
 * One GET, with libcurl: it follows redirects and hands over the body.
 *
 * http and https alone; once an address was https, no redirect leads back to
 * http.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_WEIR_FETCH_TRANSFER_H
#define MODULES_DOWNLOADS_WEIR_FETCH_TRANSFER_H

#include "base/errmsg.h"
#include "head.h"

#include <curl/curl.h>

#define TRANSFER_URL 8192 /* bytes of an address */
#define TRANSFER_REDIRECTS 10

struct transfer {
    CURL *curl;                 /* owned by who made it */
    int64_t stall;              /* s without a byte: it fails */
    char url[TRANSFER_URL + 1]; /* where it begins, and where it ended */
    int64_t from;               /* bytes that are there; 0: all is wanted */
    char if_range[HEAD_TEXT];   /* only if the file is still this */
    struct head head;           /* of the last answer */
    int64_t moved;              /* bytes of its body, if it is a redirect */
    /* Bytes of the body of an answer 200 or 206.  False ends it. */
    bool (*on_body)(void *arg, struct str bytes);
    void (*on_time)(void *arg); /* now and then; may be NULL */
    void *arg;
    bool ended;     /* by on_body */
    bool temporary; /* it failed, and may not the next time */
};

/* 0: there was an answer 200 or 206, and all of its body was taken, or ended is
 * set.  -1 with err. */
int transfer_run(struct transfer *t, struct errmsg *err);

#endif
