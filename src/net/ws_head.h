/*
 * Headers of the frames that a server sends on a WebSocket (RFC 6455 5.2): not
 * masked, with the length in as few bytes as it needs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_WS_HEAD_H
#define NET_WS_HEAD_H

#include <stddef.h>
#include <stdint.h>

#define WS_HEAD_ROOM 10 /* bytes of one, at most */
/* The first byte of a binary message in one frame. */
#define WS_HEAD_BINARY 0x82

/* Bytes of the header of a frame of len bytes. */
size_t ws_head_size(size_t len);
/* Writes the header of a frame of len bytes so that it ends at `end`, which has
 * WS_HEAD_ROOM in front of it; returns its first byte. */
uint8_t *ws_put_head(uint8_t *end, unsigned first, size_t len);

#endif
