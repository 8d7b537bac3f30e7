/*
 * The metrics of this folder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include "proc/metric.h"

struct exchange;

enum {
    HTTP_REQUESTS,  /* module, method, code */
    HTTP_DURATION,  /* module; microseconds */
    HTTP_IN_FLIGHT, /* requests between their head and their end */
    HTTP_REQUEST_SIZE,
    HTTP_RESPONSE_SIZE,
    HTTP_REFUSALS, /* enum http_refusal */
    HTTP_CLOSED,   /* enum http_end */
    HTTP_BYTES,    /* enum metric_dir */
    HTTP_BAD_HEADERS,
    HTTP_FILE_ERRORS,
};

/* Why a connection ended. */
enum http_end {
    HTTP_END_CLIENT, /* it closed, or its connection failed */
    HTTP_END_ANSWERED,
    HTTP_END_IDLE,
    HTTP_END_BODY_SLOW, /* of a request that was answered */
    HTTP_END_BODY_BAD,
    HTTP_END_SEND_SLOW,
    HTTP_END_WRITE,
    HTTP_END_DRAIN,
    HTTP_END_STOP,
    HTTP_END_SHED,
    HTTP_END_TAKEN, /* by a module */
    HTTP_END_UNSENT,
    HTTP_END_COUNT
};

extern struct metric http_metrics[];

/* Of a layer's module, for struct http_layer. */
unsigned http_module_place(const char *module);

/* A request is over: counts it and writes its line in the access log. */
void http_account(const struct exchange *x);

#endif
