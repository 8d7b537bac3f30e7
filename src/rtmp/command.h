/*
 * Command messages (RTMP 1.0, 7.2).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_COMMAND_H
#define RTMP_COMMAND_H

#include "rtmp/session.h"

/* body: from the command's name on, without an AMF3 envelope. */
void command_handle(struct rtmp_session *s, uint32_t stream_id,
                    const uint8_t *body, size_t len);

#endif
