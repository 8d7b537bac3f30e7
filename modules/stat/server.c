/*
 * The node as a whole as JSON.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rows.h"

#include "app/metrics/metrics.h"
#include "app/node_state.h"
#include "base/clock.h"
#include "config.h"
#include "live/metrics.h"
#include "place.h"
#include "proc/slot.h"

static void
put_process(struct json_out *o, uint32_t number, uint64_t connections)
{
    const struct slot_card *s = slot_card(number);

    json_open(o);
    json_put_int(o, "slot", number);
    json_put_str(o, "name", str_from(s->name));
    json_put_int(o, "pid", atomic_load(&s->pid));
    json_put_int(o, "generation", atomic_load(&s->generation));
    json_put_str(o, "state", str_from(slot_state_name(slot_state(number))));
    json_put_int(o, "connections", (int64_t)connections);
    json_close(o);
}

/* The sum of their connections. */
static int64_t
put_processes(struct json_out *o)
{
    uint64_t sum = 0;

    json_open_array(o);
    for (uint32_t i = 0; i < slots_end(); i++) {
        if (atomic_load(&slot_card(i)->kind) != SLOT_FREE) {
            uint64_t connections = slot_connections(i);

            sum += connections;
            put_process(o, i, connections);
        }
    }
    json_close(o);
    return (int64_t)sum;
}

static uint64_t
sum_of_all(const struct metric *m)
{
    uint64_t sum = 0;

    for (uint32_t at = 0; at < metric_cells(m); at++) {
        sum += (uint64_t)metric_sum(m, at);
    }
    return sum;
}

/* Called with the name and value of each number. */
typedef void each_number(void *arg, const char *name, int64_t value);

static void
each_live(each_number *each, void *arg)
{
    uint32_t live, hold;
    uint64_t in, out;

    live_count_streams(&live, &hold);
    metrics_wire_bytes(&in, &out);
    each(arg, "streams", live + hold);
    each(arg, "publishers",
         (int64_t)sum_of_all(&live_metrics[LIVE_PUBLISHERS]));
    each(arg, "players",
         (int64_t)(sum_of_all(&live_metrics[LIVE_RTMP_PLAYERS]) +
                   sum_of_all(&live_metrics[LIVE_FLV_PLAYERS]) +
                   sum_of_all(&live_metrics[LIVE_WS_PLAYERS]) +
                   live_count_viewers()));
    each(arg, "bytes_in", (int64_t)in);
    each(arg, "bytes_out", (int64_t)out);
}

static void
put_memory(struct json_out *o)
{
    struct live_memory_view v;

    live_memory(&v);
    json_open(o);
    json_put_int(o, "arena_bytes", (int64_t)v.segments * v.segment_size);
    json_put_int(o, "used_bytes",
                 (int64_t)(v.used + v.retired) * v.segment_size);
    json_close(o);
}

static int64_t
uptime(void)
{
    return clock_ms() - atomic_load(&slot_card(0)->started_ms);
}

int64_t
server_generation(void)
{
    return metric_sum(&app_metrics[APP_GENERATION], 0);
}

static void
put_number(void *arg, const char *name, int64_t value)
{
    json_put_int(arg, name, value);
}

void
row_server(struct json_out *o, const void *layer)
{
    int64_t connections;

    json_open(o);
    json_put_str(o, "version", STR(WEIR_VERSION));
    json_put_int(o, "pid", atomic_load(&slot_card(0)->pid));
    json_put_int(o, "uptime_ms", uptime());
    json_put_int(o, "generation", server_generation());
    json_put_str(o, "state", str_from(node_state_name(node_state())));
    json_key(o, "processes");
    connections = put_processes(o);
    json_put_int(o, "connections", connections);
    each_live(put_number, o);
    json_key(o, "memory");
    put_memory(o);
    place_write(o, layer);
    json_close(o);
}

/* ---- the same by what differs ---- */

static void
tell_number(void *arg, const char *name, int64_t value)
{
    told_int(arg, name, value);
}

static void
tell_buf(struct told *t, const char *name, struct json_out *o, struct buf *b)
{
    json_end(o);
    told_raw(t, name, buf_str(b));
    buf_clear(b);
}

static void
tell_processes(struct told *t)
{
    struct json_out o;
    struct buf b;
    int64_t connections;

    buf_init(&b, TOLD_VALUE_MAX);
    json_begin(&o, &b, false);
    connections = put_processes(&o);
    tell_buf(t, "processes", &o, &b);
    told_int(t, "connections", connections);
}

static void
tell_memory(struct told *t)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, TOLD_VALUE_MAX);
    json_begin(&o, &b, false);
    put_memory(&o);
    tell_buf(t, "memory", &o, &b);
}

static void
tell_place(struct told *t, const void *layer)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, TOLD_VALUE_MAX);
    json_begin(&o, &b, false);
    json_open(&o);
    place_write(&o, layer);
    json_close(&o);
    tell_buf(t, "place", &o, &b);
}

void
told_server(struct told *t, const void *layer)
{
    told_row(t, 1);
    told_str(t, "version", STR(WEIR_VERSION));
    told_int(t, "pid", atomic_load(&slot_card(0)->pid));
    told_int(t, "uptime_ms", uptime());
    told_int(t, "generation", server_generation());
    told_str(t, "state", str_from(node_state_name(node_state())));
    tell_processes(t);
    each_live(tell_number, t);
    tell_memory(t);
    if (layer != NULL) {
        tell_place(t, layer);
    }
}
