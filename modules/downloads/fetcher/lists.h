/*
 * The life of the lists; queue.h has the functions that find and put entries.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_LISTS_H
#define MODULES_DOWNLOADS_FETCHER_LISTS_H

#include "fetcher/queue.h"

void lists_start(struct queue *q);
void lists_stop(struct queue *q); /* no entry is in them */
/* Takes it out of its list; it is in the store no more. */
void lists_leave(struct entry *e);

#endif
