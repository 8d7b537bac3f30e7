/*
 * NAME.still.mp4: the newest key frame alone, as an MP4 of one picture.
 *
 * It is made for each request, from the arena, and holds no memory afterwards.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_STILL_H
#define MODULES_HLS_STILL_H

#include "asked.h"

/* 200, 304, 404 where the stream has no picture, 503 where none has come. */
enum http_result still_answer(struct asked *a);

#endif
