/*
 * A page that lists a directory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STATIC_LISTING_H
#define MODULES_STATIC_LISTING_H

#include "event/task.h"
#include "http/http.h"

/* More names than these are not listed; the page says so. */
#define LISTING_MAX 5000

/* Answers with the directory that r->route_path names below root.  It is read
 * on a thread, so this is called again after HTTP_WAIT; HTTP_PASS when there
 * is no such directory. */
enum http_result listing_answer(struct http_request *r, int root,
                                struct task_threads *threads);

#endif
