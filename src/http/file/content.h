/*
 * A file as the answer to GET and HEAD: conditions (RFC 9110, 13), ranges
 * (14), gzip (8.4.1.3), and then its bytes.
 *
 *   content.c  conditions, ranges, codings
 *   mime.c     types by the name
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_CONTENT_H
#define HTTP_FILE_CONTENT_H

#include "http/file/files.h"
#include "http/http.h"

struct http_content {
    struct http_opened *file; /* held; http_send_content() gives it back */
    const char *type;         /* NULL: the file's own */
    bool gzipped;             /* it is the gzip of what was asked for */
    bool varies;              /* there are two of it: the client chose */
};

/* 200, 206, 304, 412 or 416.  Headers that belong to it (Cache-Control) are
 * set before. */
enum http_result http_send_content(struct http_request *r,
                                   const struct http_content *c);

#endif
