/*
 * The table of this folder's metrics, and what is counted of each request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/metrics.h"

#include "http/exchange.h"
#include "http/refusal.h"

#define MODULES_TOLD 16 /* modules with numbers of their own */

/* ---- labels ---- */

static const struct str methods[] = {
    { "other", 5 }, { "GET", 3 },    { "HEAD", 4 },    { "POST", 4 },
    { "PUT", 3 },   { "DELETE", 6 }, { "OPTIONS", 7 }, { "PATCH", 5 },
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

/* 499: the client went before an answer was begun. */
static const uint16_t codes[] = {
    0,   100, 101, 200, 201, 202, 204, 206, 207, 300, 301, 302,
    303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409,
    410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 426, 428,
    429, 431, 499, 500, 501, 502, 503, 504, 505, 507,
};
#define CODES (sizeof(codes) / sizeof(codes[0]))

static const char *
method_name(unsigned i)
{
    return methods[i].ptr;
}

static const char *
code_name(unsigned i)
{
    static const char digits[] = "0123456789";
    static char text[4];

    if (i == 0) {
        return "other";
    }
    text[0] = digits[codes[i] / 100];
    text[1] = digits[codes[i] / 10 % 10];
    text[2] = digits[codes[i] % 10];
    return text;
}

static const char *
end_name(unsigned i)
{
    static const char *const names[HTTP_END_COUNT] = {
        [HTTP_END_CLIENT] = "client",
        [HTTP_END_ANSWERED] = "answered",
        [HTTP_END_IDLE] = "keepalive_timeout",
        [HTTP_END_BODY_SLOW] = "client_body_timeout",
        [HTTP_END_BODY_BAD] = "bad_body",
        [HTTP_END_SEND_SLOW] = "send_timeout",
        [HTTP_END_WRITE] = "write_failed",
        [HTTP_END_DRAIN] = "drain",
        [HTTP_END_STOP] = "stop",
        [HTTP_END_SHED] = "shed",
        [HTTP_END_TAKEN] = "module",
        [HTTP_END_UNSENT] = "max_unsent",
    };

    return names[i];
}

/* ---- the table ---- */

static const int64_t durations[] = {
    1000,   2500,   5000,    10000,   25000,   50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000,
};
static const int64_t sizes[] = { 100,     1000,     10000,    100000,
                                 1000000, 10000000, 100000000 };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MODULE                                     \
    {                                              \
        "module", metric_module_name, MODULES_TOLD \
    }

struct metric http_metrics[] = {
    [HTTP_REQUESTS] = {
        .name = "weir_http_requests_total",
        .help = "Requests that are over, by the module that answered, method "
                "and status; 499: the client went first.",
        .labels = { MODULE, { "method", method_name, METHODS },
                    { "code", code_name, CODES } },
        .sparse = true,
    },
    [HTTP_DURATION] = {
        .name = "weir_http_request_duration_seconds",
        .help = "Time from a request's head to the end of its answer.",
        .type = METRIC_HISTOGRAM,
        .labels = { MODULE },
        .bounds = durations, .bound_count = COUNT(durations),
        .unit = 1000000, .sparse = true,
    },
    [HTTP_IN_FLIGHT] = {
        .name = "weir_http_requests_in_flight",
        .help = "Requests that are being served.",
        .type = METRIC_GAUGE,
    },
    [HTTP_REQUEST_SIZE] = {
        .name = "weir_http_request_size_bytes",
        .help = "Head and body of requests.",
        .type = METRIC_HISTOGRAM,
        .bounds = sizes, .bound_count = COUNT(sizes),
    },
    [HTTP_RESPONSE_SIZE] = {
        .name = "weir_http_response_size_bytes",
        .help = "Bodies of answers.",
        .type = METRIC_HISTOGRAM,
        .bounds = sizes, .bound_count = COUNT(sizes),
    },
    [HTTP_REFUSALS] = {
        .name = "weir_http_refusals_total",
        .help = "Requests and connections that were refused: they broke a "
                "rule of HTTP or of a location, were too many, too long or "
                "too slow.",
        .labels = { { "reason", http_refusal_name, REFUSE_COUNT } },
    },
    [HTTP_CLOSED] = {
        .name = "weir_http_connections_closed_total",
        .help = "Connections that ended.",
        .labels = { { "reason", end_name, HTTP_END_COUNT } },
    },
    [HTTP_BYTES] = {
        .name = "weir_http_bytes_total",
        .help = "Bytes on the wire over HTTP, live streams included.",
        .labels = { METRIC_LABEL_DIR },
    },
    [HTTP_BAD_HEADERS] = {
        .name = "weir_http_headers_dropped_total",
        .help = "Headers of answers left out because their value cannot stand "
                "in one.",
    },
    [HTTP_FILE_ERRORS] = {
        .name = "weir_http_file_errors_total",
        .help = "Files that could not be read to their end while they were "
                "sent.",
    },
    METRIC_END,
};

/* ---- counting ---- */

unsigned
http_module_place(const char *module)
{
    return metric_name_find(METRIC_MODULES, str_from(module));
}

static unsigned
method_place(struct str method)
{
    for (unsigned i = 1; i < METHODS; i++) {
        if (str_eq(method, methods[i])) {
            return i;
        }
    }
    return 0;
}

static unsigned
code_place(int status)
{
    unsigned low = 1, high = CODES;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (codes[middle] == status) {
            return middle;
        }
        if (codes[middle] < status) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

static unsigned
module_of(const struct exchange *x)
{
    return x->route != NULL ? http_layer_now(x)->place : 0;
}

void
http_account(const struct exchange *x)
{
    const struct metric *m = http_metrics;
    unsigned module = module_of(x);
    int64_t took = loop_now_us(x->c->loop) - x->began_us;
    uint64_t size = x->head.text.len + x->body.seen;

    metric_add(&m[HTTP_REQUESTS],
               metric_at(&m[HTTP_REQUESTS], module, method_place(x->pub.method),
                         code_place(http_status_told(x))),
               1);
    metric_observe(&m[HTTP_DURATION],
                   metric_at(&m[HTTP_DURATION], module, 0, 0), took);
    metric_observe(&m[HTTP_REQUEST_SIZE], 0, (int64_t)size);
    metric_observe(&m[HTTP_RESPONSE_SIZE], 0, (int64_t)x->body_sent);
    http_log_access(x);
}
