/*
 * The table of containers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/container.h"

const struct media_container *const media_containers[] = {
    &media_mp4,
    &media_ts,
    NULL,
};

const struct media_container *
media_container_find(struct str name)
{
    for (size_t i = 0; media_containers[i] != NULL; i++) {
        if (str_eq(name, str_from(media_containers[i]->name))) {
            return media_containers[i];
        }
    }
    return NULL;
}
