/*
 * The access log of RTMP servers: a line for each connect that was refused,
 * each publish and each play, at its end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_RTMP_LOG_H
#define APP_SERVICE_RTMP_LOG_H

#include "app/service/rtmp_live.h"
#include "base/line_format.h"

struct rtmp_log {
    int file;                         /* of the log ring; -1: none */
    const struct line_format *format; /* borrowed */
    struct line_mask mask;
    /* What clients publish under is no secret in any of its applications. */
    bool open;
};

extern const struct line_variable rtmp_log_variables[];
extern const struct line_preset rtmp_log_presets[]; /* combined, json */

/* r is over; n is what it was used for, NULL when it was refused. */
void rtmp_log_write(const struct rtmp_log *log, struct rtmp_request *r,
                    const struct netstream *n, const char *reason);

#endif
