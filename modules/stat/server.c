/*
 * The node as a whole as JSON.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rows.h"

#include "app/metrics.h"
#include "app/node_state.h"
#include "base/clock.h"
#include "config.h"
#include "http/metrics.h"
#include "live/metrics.h"
#include "place.h"
#include "proc/slot.h"

static const char *
state_name(int state)
{
    switch ((enum slot_state)state) {
    case SLOT_STARTING:
        return "starting";
    case SLOT_READY:
        return "ready";
    case SLOT_DRAINING:
        return "draining";
    case SLOT_GONE:
        break;
    }
    return "gone";
}

static void
put_process(struct json_out *o, uint32_t number, uint64_t connections)
{
    const struct slot_card *s = slot_card(number);

    json_open(o);
    json_put_int(o, "slot", number);
    json_put_str(o, "name", str_from(s->name));
    json_put_int(o, "pid", atomic_load(&s->pid));
    json_put_int(o, "generation", atomic_load(&s->generation));
    json_put_str(o, "state", str_from(state_name(slot_state(number))));
    json_put_int(o, "connections", (int64_t)connections);
    json_close(o);
}

/* The sum of their connections. */
static int64_t
put_processes(struct json_out *o)
{
    uint64_t sum = 0;

    json_key(o, "processes");
    json_open_array(o);
    for (uint32_t i = 0; i < slots_end(); i++) {
        if (atomic_load(&slot_card(i)->kind) != SLOT_FREE) {
            uint64_t connections = atomic_load(&slot_at(i)->connections);

            sum += connections;
            put_process(o, i, connections);
        }
    }
    json_close(o);
    return (int64_t)sum;
}

static int64_t
sum_of_all(const struct metric *m)
{
    int64_t sum = 0;

    for (uint32_t at = 0; at < metric_cells(m); at++) {
        sum += metric_sum(m, at);
    }
    return sum;
}

/* On the wire, over RTMP and HTTP. */
static int64_t
bytes(enum metric_dir dir)
{
    const struct metric *rtmp = &app_metrics[APP_RTMP_BYTES];
    int64_t sum = metric_sum(&http_metrics[HTTP_BYTES], (uint32_t)dir);

    for (unsigned app = 0; app < METRIC_NAMES; app++) {
        sum += metric_sum(rtmp, metric_at(rtmp, dir, app, 0));
    }
    return sum;
}

static void
put_live(struct json_out *o)
{
    uint32_t live, hold;
    struct live_memory_view v;

    live_count_streams(&live, &hold);
    live_memory(&v);
    json_put_int(o, "streams", live + hold);
    json_put_int(o, "publishers", sum_of_all(&live_metrics[LIVE_PUBLISHERS]));
    json_put_int(o, "players",
                 sum_of_all(&live_metrics[LIVE_RTMP_PLAYERS]) +
                     sum_of_all(&live_metrics[LIVE_FLV_PLAYERS]));
    json_put_int(o, "bytes_in", bytes(METRIC_IN));
    json_put_int(o, "bytes_out", bytes(METRIC_OUT));
    json_key(o, "memory");
    json_open(o);
    json_put_int(o, "arena_bytes", (int64_t)v.segments * v.segment_size);
    json_put_int(o, "used_bytes",
                 (int64_t)(v.used + v.retired) * v.segment_size);
    json_close(o);
}

void
row_server(struct json_out *o, const void *layer)
{
    const struct slot_card *master = slot_card(0);
    int64_t uptime = clock_ms() - atomic_load(&master->started_ms);
    int64_t connections;

    json_open(o);
    json_put_str(o, "version", STR(WEIR_VERSION));
    json_put_int(o, "pid", atomic_load(&master->pid));
    json_put_int(o, "uptime_ms", uptime);
    json_put_int(o, "generation", metric_sum(&app_metrics[APP_GENERATION], 0));
    json_put_str(o, "state", str_from(node_state_name(node_state())));
    connections = put_processes(o);
    json_put_int(o, "connections", connections);
    put_live(o);
    place_write(o, layer);
    json_close(o);
}
