/*
 * Prints it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "socket_tally.h"

#include "common.h"

#include <inttypes.h>
#include <stdio.h>

void
socket_tally_reset(struct socket_tally *t)
{
    t->since = now_ns();
    t->cpu = cpu_ns();
    t->bytes = t->emitted = t->events = t->missed = t->repeated = 0;
    t->losses = t->failures = 0;
    histogram_clear(&t->latency);
    histogram_clear(&t->back);
}

static void
print_times(const char *name, const struct histogram *h)
{
    printf(",\"%s\":{\"count\":%" PRIu64 ",\"p50\":%.3f,\"p99\":%.3f,"
           "\"max\":%.3f}",
           name, h->count, histogram_ms(h, 0.5), histogram_ms(h, 0.99),
           (double)h->max / 1e6);
}

static void
print_json(const struct socket_tally *t, double wall, double cpu)
{
    printf("{\"seconds\":%.3f,\"cpu\":%.3f,\"clients\":%u,\"joined\":%u,"
           "\"mute\":%u,\"muted\":%u,\"away\":%u,\"gone\":%u",
           wall, cpu, t->clients, t->joined, t->mute, t->muted, t->away,
           t->gone);
    printf(",\"bytes\":%" PRIu64 ",\"emitted\":%" PRIu64 ",\"events\":%" PRIu64
           ",\"missed\":%" PRIu64 ",\"repeated\":%" PRIu64
           ",\"losses\":%" PRIu64 ",\"failures\":%" PRIu64,
           t->bytes, t->emitted, t->events, t->missed, t->repeated, t->losses,
           t->failures);
    print_times("latency_ms", &t->latency);
    print_times("join_ms", &t->join);
    print_times("back_ms", &t->back);
    printf(",\"why\":\"%s\"}\n", t->why); /* it has no quotes */
}

static void
print_line(const char *what, const struct histogram *h)
{
    printf("%-10s %" PRIu64 ": p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", what,
           h->count, histogram_ms(h, 0.5), histogram_ms(h, 0.99),
           (double)h->max / 1e6);
}

static void
print_lines(const struct socket_tally *t, double wall, double cpu)
{
    printf("clients    %u: %u joined, %u never read, %u of those closed, "
           "%u away, %u gone\n",
           t->clients, t->joined, t->mute, t->muted, t->away, t->gone);
    printf("events     %" PRIu64 " sent, %" PRIu64 " came in %.1f s, %" PRIu64
           " missed, %" PRIu64 " repeated\n",
           t->emitted, t->events, wall, t->missed, t->repeated);
    printf("losses     %" PRIu64 ", %" PRIu64 " attempts failed\n", t->losses,
           t->failures);
    print_line("latency", &t->latency);
    print_line("join", &t->join);
    print_line("back", &t->back);
    printf("own CPU    %.2f s\n", cpu);
    if (t->why[0] != '\0') {
        printf("first failure: %s\n", t->why);
    }
}

void
socket_tally_print(const struct socket_tally *t, bool json)
{
    double wall = (double)(now_ns() - t->since) / 1e9;
    double cpu = (double)(cpu_ns() - t->cpu) / 1e9;

    if (json) {
        print_json(t, wall, cpu);
    } else {
        print_lines(t, wall, cpu);
    }
    fflush(stdout);
}
