/*
 * The work of weir-fetch, in the folder that it runs in:
 *
 *   download.c  BASE.part, which is BASE.ENDING when it is whole and right;
 *               BASE.state beside it says of which file it is a part
 *   extract.c   looks at what is there, as JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_WEIR_FETCH_FETCH_H
#define MODULES_DOWNLOADS_WEIR_FETCH_FETCH_H

#include "base/errmsg.h"
#include "head.h"

#include <stdint.h>

#define FETCH_BASE_MAX 64 /* bytes of the base of names */
#define FETCH_PROGRESS_MS 250

struct fetch_options {
    const char *url;
    const char *base; /* of names: "media" */
    int64_t max_size; /* bytes; 0: any */
    int64_t stall;    /* s without a byte */
    int64_t retries;  /* in a row without a byte */
};

/* Writes "P|{...}" while it goes on, as yt-dlp's progress, and "F|NAME" when
 * the file is there.  -1 with err. */
int fetch_download(const struct fetch_options *o, struct errmsg *err);

/* Writes one JSON object, as yt-dlp does for a file.  -1 with err: there is
 * nothing, or it is no file. */
int fetch_extract(const struct fetch_options *o, struct errmsg *err);

/* The answer is a page (head_is_page()): -1 with err. */
int fetch_refuse_page(const struct head *h, struct errmsg *err);

#endif
