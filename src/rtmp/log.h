/*
 * The access log of RTMP servers: a line for each connect that was refused,
 * each publish and each play, at its end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_LOG_H
#define RTMP_LOG_H

#include "base/line_format.h"
#include "rtmp/rtmp.h"

struct rtmp_log {
    int file;                         /* of the log ring; -1: none */
    const struct line_format *format; /* borrowed */
    struct line_mask mask;
    /* No application has stream keys: the names that clients publish under are
     * no secrets. */
    bool open;
};

/* A request that is over. */
struct rtmp_log_entry {
    const struct rtmp_request *r;
    /* The name of the stream, without the application; ptr NULL: the client's
     * own name for it, masked where that may be a key. */
    struct str name;
    uint64_t in_before, out_before; /* bytes of the connection when it began */
    int64_t since_ms;               /* loop_now() then */
    const char *reason;
};

extern const struct line_variable rtmp_log_variables[];
extern const struct line_preset rtmp_log_presets[]; /* combined, json */

void rtmp_log_write(const struct rtmp_log *log,
                    const struct rtmp_log_entry *entry);

#endif
