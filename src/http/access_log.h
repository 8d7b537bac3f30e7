/*
 * The variables of HTTP's access logs, and the formats that have names.
 *
 *   access_log.c     the lines
 *   log_variables.c  variables of formats
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_ACCESS_LOG_H
#define HTTP_ACCESS_LOG_H

#include "base/line_format.h"

extern const struct line_variable http_log_variables[];
extern const struct line_preset http_log_presets[]; /* combined, json */

#endif
