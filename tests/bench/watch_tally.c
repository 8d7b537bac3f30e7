/*
 * Counting and printing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "watch_tally.h"

#include "common.h"
#include "stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
watch_tally_reset(struct watch_tally *t)
{
    t->since = now_ns();
    t->cpu = cpu_ns();
    t->bytes = t->parts = t->part_bytes = 0;
    t->playlists = t->playlist_bytes = t->refused = t->skipped = 0;
    histogram_clear(&t->part_latency);
    histogram_clear(&t->playlist_latency);
}

void
watch_tally_part(struct watch_tally *t, const uint8_t *bytes, size_t size,
                 int64_t told, unsigned stream)
{
    const uint8_t *at = bytes, *end = bytes + size;
    struct stamp last, s;
    bool found = false;

    t->parts++;
    t->part_bytes += size;
    while ((at = stamp_find(at, (size_t)(end - at), &s)) != NULL) {
        if (s.kind == MEDIA_VIDEO) {
            last = s;
            found = true;
        }
    }
    if (found) {
        t->wrong += last.stream != stream;
        histogram_add(&t->part_latency, t->now - last.sent - t->interval);
        histogram_add(&t->playlist_latency, told - last.sent - t->interval);
    }
}

static void
print_times(const char *name, const struct histogram *h)
{
    printf("\"%s\":{\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f}", name,
           histogram_ms(h, 0.5), histogram_ms(h, 0.99), (double)h->max / 1e6);
}

void
watch_tally_print(const struct watch_tally *t, bool json)
{
    double seconds = (double)(now_ns() - t->since) / 1e9;
    double cpu = (double)(cpu_ns() - t->cpu) / 1e9;

    if (!json) {
        printf("%u viewers, %" PRIu64 " lost, %" PRIu64 " starved\n",
               t->watchers, t->lost, t->starved);
        printf("%" PRIu64 " playlists, %" PRIu64 " parts, %.1f Mbit/s\n",
               t->playlists, t->parts, (double)t->bytes * 8e-6 / seconds);
        printf("parts p50 %.1f ms, p99 %.1f ms; playlists p50 %.1f ms, "
               "p99 %.1f ms\n%s\n",
               histogram_ms(&t->part_latency, 0.5),
               histogram_ms(&t->part_latency, 0.99),
               histogram_ms(&t->playlist_latency, 0.5),
               histogram_ms(&t->playlist_latency, 0.99), t->why);
        return;
    }
    printf("{\"seconds\":%.3f,\"cpu\":%.3f,\"watchers\":%u,\"lost\":%" PRIu64
           ",\"starved\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"refused\":%" PRIu64
           ",\"skipped\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"parts\":%" PRIu64
           ",\"part_bytes\":%" PRIu64 ",\"playlists\":%" PRIu64
           ",\"playlist_bytes\":%" PRIu64 ",",
           seconds, cpu, t->watchers, t->lost, t->starved, t->wrong, t->refused,
           t->skipped, t->bytes, t->parts, t->part_bytes, t->playlists,
           t->playlist_bytes);
    print_times("part_ms", &t->part_latency);
    printf(",");
    print_times("playlist_ms", &t->playlist_latency);
    printf(",\"why\":\"%s\"}\n", t->why);
    fflush(stdout);
}
