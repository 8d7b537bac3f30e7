/*
 * Numbers of what is asked for and refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "count.h"

enum { REQUESTS, REFUSED, MADE, COPIES, WAITING };

static const char *
kind_name(unsigned i)
{
    static const char *const names[HLS_KINDS] = {
        [HLS_KIND_MULTIVARIANT] = "multivariant",
        [HLS_KIND_PLAYLIST] = "playlist",
        [HLS_KIND_SEGMENT] = "segment",
        [HLS_KIND_PART] = "part",
        [HLS_KIND_INIT] = "init",
        [HLS_KIND_ENDLESS] = "endless",
        [HLS_KIND_STILL] = "still",
    };

    return names[i];
}

static const char *
refused_name(unsigned i)
{
    static const char *const names[HLS_REFUSALS] = {
        [HLS_REFUSED_ACCESS] = "access",
        [HLS_REFUSED_KEY] = "key",
        [HLS_REFUSED_NO_STREAM] = "no_stream",
        [HLS_REFUSED_NOT_READY] = "not_ready",
        [HLS_REFUSED_TOO_FAT] = "too_fat",
        [HLS_REFUSED_LOOSE] = "strict_keys",
        [HLS_REFUSED_NO_OBJECT] = "no_object",
        [HLS_REFUSED_PARAMETER] = "parameter",
        [HLS_REFUSED_WAITING] = "max_waiting",
        [HLS_REFUSED_WAITED] = "waited",
        [HLS_REFUSED_KICKED] = "kicked",
        [HLS_REFUSED_FULL] = "max_sessions",
        [HLS_REFUSED_FAILED] = "failed",
    };

    return names[i];
}

struct metric hls_metrics[] = {
    [REQUESTS] = { .name = "weir_hls_requests_total",
                   .help = "Requests for playlists and segments of streams "
                           "that may be played.",
                   .labels = { { "kind", kind_name, HLS_KINDS } } },
    [REFUSED] = { .name = "weir_hls_refused_total",
                  .help = "Requests for playlists and segments that were "
                          "refused.",
                  .labels = { { "reason", refused_name, HLS_REFUSALS } } },
    [MADE] = { .name = "weir_hls_objects_total",
               .help = "Segments, parts and initialisation segments whose "
                       "boxes were made." },
    [COPIES] = { .name = "weir_hls_copies_bytes",
                 .help = "Memory of segments that are copied for slow "
                         "clients.",
                 .type = METRIC_GAUGE },
    [WAITING] = { .name = "weir_hls_waiting",
                  .help = "Requests that wait for what is not there yet.",
                  .type = METRIC_GAUGE },
    METRIC_END,
};

void
hls_count_request(enum hls_counted kind)
{
    metric_add(&hls_metrics[REQUESTS], kind, 1);
}

void
hls_count_refused(enum hls_refused why)
{
    metric_add(&hls_metrics[REFUSED], why, 1);
}

void
hls_count_made(void)
{
    metric_add(&hls_metrics[MADE], 0, 1);
}

void
hls_set_copies(size_t bytes)
{
    metric_set(&hls_metrics[COPIES], 0, (int64_t)bytes);
}

void
hls_set_waiting(size_t requests)
{
    metric_set(&hls_metrics[WAITING], 0, (int64_t)requests);
}
