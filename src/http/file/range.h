/*
 * Byte ranges (RFC 9110, 14).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_RANGE_H
#define HTTP_FILE_RANGE_H

#include "base/str.h"

/* Most ranges of one request; with more the whole file is sent, as 14.2 allows:
 * no player needs them, and each costs a head. */
#define HTTP_RANGES_MAX 16

struct http_range {
    int64_t offset, len; /* bytes; len > 0, all within the file */
};

enum http_range_result {
    HTTP_RANGE_WHOLE, /* malformed, another unit, too many, or they ask for
                         more than the file: as if there was no Range */
    HTTP_RANGE_PARTS,
    HTTP_RANGE_NONE, /* 416: none of them lies in the file */
};

/* Reads a Range header for a file of size bytes.  HTTP_RANGE_PARTS: fills
 * *count of ranges in the order of the header. */
enum http_range_result http_range_parse(
    struct str value, int64_t size, struct http_range ranges[HTTP_RANGES_MAX],
    size_t *count);

#endif
