/*
 * The metrics of this module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_COUNT_H
#define MODULES_HLS_COUNT_H

#include "proc/metric.h"

#include <stddef.h>

extern struct metric hls_metrics[];

enum hls_counted { /* of a request */
                   HLS_KIND_MULTIVARIANT,
                   HLS_KIND_PLAYLIST,
                   HLS_KIND_SEGMENT,
                   HLS_KIND_PART,
                   HLS_KIND_INIT,
                   HLS_KIND_ENDLESS,
                   HLS_KIND_STILL,
                   HLS_KINDS
};

enum hls_refused {
    HLS_REFUSED_ACCESS,
    HLS_REFUSED_KEY,
    HLS_REFUSED_NO_STREAM,
    HLS_REFUSED_NOT_READY,
    HLS_REFUSED_TOO_FAT,
    HLS_REFUSED_LOOSE,
    HLS_REFUSED_NO_OBJECT,
    HLS_REFUSED_PARAMETER,
    HLS_REFUSED_WAITING,
    HLS_REFUSED_WAITED,
    HLS_REFUSED_KICKED,
    HLS_REFUSED_FULL,
    HLS_REFUSED_FAILED,
    HLS_REFUSALS
};

void hls_count_request(enum hls_counted kind);
void hls_count_refused(enum hls_refused why);
void hls_count_made(void);
void hls_set_copies(size_t bytes);
void hls_set_waiting(size_t requests);

#endif
