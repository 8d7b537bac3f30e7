/*
 * Orders of clients beside the calls of fetcher.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_COMMANDS_H
#define MODULES_DOWNLOADS_FETCHER_COMMANDS_H

#include "fetcher/fetcher.h"

/* Orders to that queue (NULL: all) are answered 503: it goes. */
void commands_drop(struct fetcher *f, const struct queue *q);

#endif
