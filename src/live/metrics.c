/*
 * The table of this folder's metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/metrics.h"

static const char *
dropped_name(unsigned i)
{
    return i == LIVE_DROPPED_SLOW ? "slow_player" : "no_memory";
}

static const char *
refused_name(unsigned i)
{
    static const char *const names[LIVE_REFUSED_COUNT] = {
        [LIVE_REFUSED_NAME] = "name_too_long",
        [LIVE_REFUSED_SESSIONS] = "max_sessions",
        [LIVE_REFUSED_STREAMS] = "max_streams",
        [LIVE_REFUSED_TAKEN] = "has_publisher",
        [LIVE_REFUSED_TAKING] = "being_replaced",
        [LIVE_REFUSED_FIGHT] = "replaced_too_often",
        [LIVE_REFUSED_BUSY] = "busy",
        [LIVE_REFUSED_PLAYERS] = "players",
        [LIVE_REFUSED_SHARE] = "share",
    };

    return names[i];
}

static const char *
lost_name(unsigned i)
{
    static const char *const names[] = { "slow", "broken", "kicked", "damaged",
                                         "gave" };

    return names[i];
}

static const char *
stopped_name(unsigned i)
{
    static const char *const names[] = { "replaced", "no_answer", "kicked",
                                         "headers",  "rate",      "damaged" };

    return names[i];
}

static const char *
cuts_lost_name(unsigned i)
{
    return i == LIVE_CUTS_MEMORY ? "max_stream_memory" : "strict_keys";
}

/* Milliseconds. */
static const int64_t first_frames[] = { 10,  25,   50,   100,  250,
                                        500, 1000, 2500, 5000, 10000 };
static const int64_t gaps[] = {
    25, 50, 100, 250, 500, 1000, 2500, 5000, 10000
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct metric live_metrics[] = {
    [LIVE_PUBLISHERS] = {
        .name = "weir_rtmp_publishers",
        .help = "Publishers.",
        .type = METRIC_GAUGE,
        .labels = { METRIC_LABEL_APP },
    },
    [LIVE_RTMP_PLAYERS] = {
        .name = "weir_rtmp_players",
        .help = "Players over RTMP, those that wait for a stream included.",
        .type = METRIC_GAUGE,
        .labels = { METRIC_LABEL_APP },
    },
    [LIVE_FLV_PLAYERS] = {
        .name = "weir_flv_players",
        .help = "Players over HTTP-FLV, those that wait for a stream "
                "included.",
        .type = METRIC_GAUGE,
        .labels = { METRIC_LABEL_APP },
    },
    [LIVE_WS_PLAYERS] = {
        .name = "weir_flv_websocket_players",
        .help = "Players of FLV over WebSocket, those that wait for a stream "
                "included.",
        .type = METRIC_GAUGE,
        .labels = { METRIC_LABEL_APP },
    },
    [LIVE_DROPPED] = {
        .name = "weir_rtmp_frames_dropped_total",
        .help = "Frames that a player was too slow for, or that found no "
                "memory.",
        .labels = { METRIC_LABEL_APP,
                    { "reason", dropped_name, LIVE_DROPPED_COUNT } },
    },
    [LIVE_FIRST_FRAME] = {
        .name = "weir_rtmp_first_frame_seconds",
        .help = "From the wish to play to the first frame sent.",
        .type = METRIC_HISTOGRAM,
        .bounds = first_frames, .bound_count = COUNT(first_frames),
        .unit = 1000,
    },
    [LIVE_PUBLISH_GAP] = {
        .name = "weir_rtmp_publish_gap_seconds",
        .help = "Between two messages of a publisher.",
        .type = METRIC_HISTOGRAM,
        .bounds = gaps, .bound_count = COUNT(gaps),
        .unit = 1000,
    },
    [LIVE_REFUSED_TOTAL] = {
        .name = "weir_live_refused_total",
        .help = "Publishers and players that could not have a stream.",
        .labels = { { "reason", refused_name, LIVE_REFUSED_COUNT } },
    },
    [LIVE_LOST] = {
        .name = "weir_live_players_closed_total",
        .help = "Players that were closed: they took too little, their "
                "connection broke while sending, their stream was damaged, "
                "or they were kicked.",
        .labels = { { "reason", lost_name, LIVE_LOST_COUNT } },
    },
    [LIVE_STOPPED] = {
        .name = "weir_live_publishers_stopped_total",
        .help = "Publishers that lost their stream, or did not get it.",
        .labels = { { "reason", stopped_name, LIVE_STOPPED_COUNT } },
    },
    [LIVE_ENDED] = {
        .name = "weir_live_streams_ended_total",
        .help = "Streams that ended because no publisher came back in time.",
    },
    [LIVE_ORPHANED] = {
        .name = "weir_live_streams_orphaned_total",
        .help = "Streams whose publisher's process died; each is on hold "
                "then.",
    },
    [LIVE_CLOCK_MENDED] = {
        .name = "weir_live_clock_jumps_total",
        .help = "Times a publisher's clock jumped and was mended.",
    },
    [LIVE_HEADERS_LOST] = {
        .name = "weir_live_headers_lost_total",
        .help = "Metadata and codec headers too large, or changing too often, "
                "to be kept for players that come later.",
    },
    [LIVE_CUTS_LOST] = {
        .name = "weir_live_segments_lost_total",
        .help = "Streams that could not be offered in segments any more.",
        .labels = { { "reason", cuts_lost_name, LIVE_CUTS_LOST_COUNT } },
    },
    [LIVE_PLAIN_SEGMENTS] = {
        .name = "weir_live_segments_without_parts_total",
        .help = "Segments that have no parts, because the frames of their "
                "stream are too far apart for them.",
    },
    METRIC_END,
};

unsigned
live_app_place(struct str name)
{
    return metric_name_find(METRIC_APPS, str_cut(&name, '/'));
}

void
live_count_refused(enum live_refused why)
{
    metric_add(&live_metrics[LIVE_REFUSED_TOTAL], why, 1);
}

void
live_count_dropped(struct str name, enum live_dropped why, uint64_t frames)
{
    const struct metric *m = &live_metrics[LIVE_DROPPED];

    metric_add(m, metric_at(m, live_app_place(name), why, 0), (int64_t)frames);
}
