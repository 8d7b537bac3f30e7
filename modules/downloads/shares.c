/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "downloads.h"

struct tally_pool downloads_pools[] = {
    [DOWNLOADS_POOL_EXTRACTIONS] = { .name = "downloads.extractions",
                                     .scope = TALLY_PROCESS },
    [DOWNLOADS_POOL_ORDERS] = { .name = "downloads.orders",
                                .scope = TALLY_PROCESS },
    [DOWNLOADS_POOLS] = { .name = NULL },
};
