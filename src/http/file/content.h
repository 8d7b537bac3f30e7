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
    bool gzipped;             /* it is the gzip of the file that was asked
                                 for */
    bool varies;              /* it exists in two forms: Accept-Encoding
                                 chose */
};

/* 200, 206, 304, 412 or 416.  The caller has set headers that belong to it
 * (Cache-Control) before. */
enum http_result http_send_content(struct http_request *r,
                                   const struct http_content *c);

#endif
