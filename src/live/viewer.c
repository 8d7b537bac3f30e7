/*
 * Viewers: not counted yet.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/viewer.h"

enum live_viewer_answer
live_viewer_came(const struct live_viewer *v, uint64_t video, uint64_t audio)
{
    (void)v;
    (void)video;
    (void)audio;
    return LIVE_VIEWER_COUNTED;
}

bool
live_viewer_took(struct live_viewer_id id, struct str name, uint64_t video,
                 uint64_t audio)
{
    (void)id;
    (void)name;
    (void)video;
    (void)audio;
    return false;
}
