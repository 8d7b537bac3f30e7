/*
 * Parts of an opened file as the body of an answer; file.c sends them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_PARTS_H
#define HTTP_FILE_PARTS_H

#include "http/exchange.h"
#include "http/file/files.h"

struct http_part {
    struct str before;   /* sent in front of it; in the request's pool */
    int64_t offset, len; /* of the file; len may be 0 */
};

/* All of these begin the answer and bring it to its end; they hold file as long
 * as they need it. type NULL: the exchange's prepared lines have it. */
enum http_result http_send_parts(struct exchange *x, int status,
                                 const char *type, struct http_opened *file,
                                 const struct http_part *parts, size_t count);
enum http_result http_send_opened(struct exchange *x, int status,
                                  const char *type, struct http_opened *file);
/* Sends all of the file through gzip, so that its length is not known. */
enum http_result http_send_compressed(struct exchange *x, const char *type,
                                      struct http_opened *file);

#endif
