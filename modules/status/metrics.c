/*
 * GET /metrics: everything weir counts, for Prometheus.
 *
 * Any worker answers for all processes.  Scrapers that say they take it get
 * OpenMetrics, the others the text format 0.0.4.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "status.h"

#include "app/metrics/metrics.h"

static bool
takes_openmetrics(const struct http_request *r)
{
    const struct str *accept = http_header(r, "Accept");

    if (accept == NULL) {
        return false;
    }
    struct str rest = *accept;

    while (rest.len > 0) {
        struct str item = str_cut(&rest, ',');

        if (str_eq_nocase(str_trim(str_cut(&item, ';')),
                          STR("application/openmetrics-text"))) {
            return true;
        }
    }
    return false;
}

enum http_result
status_metrics(struct http_request *r, void *state)
{
    const struct status *s = state;
    enum metric_format format =
        takes_openmetrics(r) ? METRIC_OPENMETRICS : METRIC_PROMETHEUS;
    enum http_result result;
    struct buf text;

    if (!access_allows(s->metrics_access, &r->client)) {
        return http_error(r, 403, "metrics are not told to this address");
    }
    if (!access_allows_all(s->metrics_access) && !http_check_host(r)) {
        return HTTP_DONE;
    }
    buf_init(&text, METRICS_SIZE);
    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "Vary", STR("Accept"));
    if (metrics_text(&text, format) == -1) {
        result = http_error(r, 500, "the metrics do not fit");
    } else {
        result =
            http_reply(r, 200, metric_content_type(format), buf_str(&text));
    }
    buf_clear(&text);
    return result;
}
