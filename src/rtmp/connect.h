/*
 * The connect command: the client's description of itself, and the answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_CONNECT_H
#define RTMP_CONNECT_H

#include "rtmp/netstream.h"

/* Reads the command's object and asks the application. */
void connect_handle(struct rtmp_session *s, double tid,
                    struct amf_reader *args);
/* Sends the answer that the connection is accepted. */
void connect_answer(struct net_stream *ns);

#endif
