/*
 * Shared by the files of this module.
 *
 *   status.c   the module, and /status
 *   metrics.c  /metrics
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STATUS_STATUS_H
#define MODULES_STATUS_STATUS_H

#include "app/module.h"

struct status {                  /* of a layer */
    const struct worker *worker; /* borrowed */
    bool started;                /* all workers were ready once */
    const struct access_list *metrics_access;
    const struct conf_strings *degraded; /* names of checks */
};

enum http_result status_metrics(struct http_request *r, void *state);

#endif
