/*
 * Judges what players receive, and prints the sum.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tally.h"

#include "common.h"

#include <inttypes.h>
#include <stdio.h>

void
tally_reset(struct tally *t)
{
    t->since = now_ns();
    t->cpu = cpu_ns();
    t->bytes = 0;
    t->messages = 0;
    t->dropped = 0;
    histogram_clear(&t->video_latency);
    histogram_clear(&t->audio_latency);
}

static void
start_viewer(struct viewer *v, struct tally *t)
{
    v->started = true;
    histogram_add(&t->join_connect, t->now - v->connected);
    histogram_add(&t->join_play, t->now - v->asked);
}

/* Compares a number with the one that was to come. */
static bool
in_order(struct tally *t, uint32_t number, uint32_t next)
{
    if (number > next) {
        t->dropped += number - next;
    } else if (number < next) {
        t->repeated++;
    }
    return number == next;
}

static void
take_video(struct viewer *v, struct tally *t, const struct media *m)
{
    bool gap = !v->started;

    if (v->started) {
        gap = !in_order(t, m->stamp->number, v->next_video);
        t->backwards += m->timestamp < v->video_time;
    } else {
        start_viewer(v, t);
    }
    if (gap && !m->stamp->key) {
        t->off_key++;
    }
    v->next_video = m->stamp->number + 1;
    v->video_time = m->timestamp;
}

static void
take_audio(struct viewer *v, struct tally *t, const struct media *m)
{
    if (v->heard) {
        in_order(t, m->stamp->number, v->next_audio);
        t->backwards += m->timestamp < v->audio_time;
    }
    v->heard = true;
    v->next_audio = m->stamp->number + 1;
    v->audio_time = m->timestamp;
}

void
viewer_take(struct viewer *v, struct tally *t, const struct media *m)
{
    switch (m->verdict) {
    case FRAME_HEADER:
        return;
    case FRAME_FOREIGN:
        t->foreign++;
        return;
    case FRAME_CORRUPT:
        t->corrupt++;
        return;
    case FRAME_GOOD:
        break;
    }
    if (v->asked == 0 || (!v->any_stream && m->stamp->stream != v->stream)) {
        t->strayed++;
    }
    t->messages++;
    if (m->kind == MEDIA_VIDEO) {
        take_video(v, t, m);
    } else {
        take_audio(v, t, m);
    }
    /* What was sent before this player asked is old on purpose. */
    if (m->stamp->sent >= v->asked) {
        histogram_add(m->kind == MEDIA_VIDEO ? &t->video_latency
                                             : &t->audio_latency,
                      t->now - m->stamp->sent);
    }
}

static void
print_times(const char *name, const struct histogram *h)
{
    printf(",\"%s\":{\"count\":%" PRIu64 ",\"p50\":%.3f,\"p99\":%.3f,"
           "\"max\":%.3f}",
           name, h->count, histogram_ms(h, 0.5), histogram_ms(h, 0.99),
           (double)h->max / 1e6);
}

/* The text as it may stand between quotes. */
static void
print_text(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\') {
            printf("\\%c", c);
        } else if (c >= ' ' && c < 127) {
            putchar(c);
        } else {
            printf("\\u%04x", c);
        }
    }
}

static void
print_json(const struct tally *t)
{
    printf("{\"players\":%u,\"playing\":%u,\"waiting\":%u,\"failed\":%u,"
           "\"closed\":%u,\"stalled\":%u,\"holding\":%u",
           t->players, t->playing, t->waiting, t->failed, t->closed, t->stalled,
           t->holding);
    printf(",\"seconds\":%.3f,\"cpu_seconds\":%.3f,\"bytes\":%" PRIu64
           ",\"messages\":%" PRIu64 ",\"dropped\":%" PRIu64
           ",\"repeated\":%" PRIu64 ",\"corrupt\":%" PRIu64
           ",\"strayed\":%" PRIu64 ",\"foreign\":%" PRIu64
           ",\"off_key\":%" PRIu64 ",\"backwards\":%" PRIu64,
           (double)(now_ns() - t->since) / 1e9,
           (double)(cpu_ns() - t->cpu) / 1e9, t->bytes, t->messages, t->dropped,
           t->repeated, t->corrupt, t->strayed, t->foreign, t->off_key,
           t->backwards);
    print_times("video_latency_ms", &t->video_latency);
    print_times("audio_latency_ms", &t->audio_latency);
    print_times("join_connect_ms", &t->join_connect);
    print_times("join_play_ms", &t->join_play);
    printf(",\"why\":\"");
    print_text(t->why);
    printf("\"}\n");
}

static void
print_latency(const char *kind, const struct histogram *h)
{
    printf("latency    p50 %.2f ms, p99 %.2f ms, max %.2f ms (%s)\n",
           histogram_ms(h, 0.5), histogram_ms(h, 0.99), (double)h->max / 1e6,
           kind);
}

static void
print_lines(const struct tally *t)
{
    double wall = (double)(now_ns() - t->since) / 1e9;

    printf("players    %u: %u play, %u wait, %u failed, %u closed, "
           "%u stalled, %u not reading\n",
           t->players, t->playing, t->waiting, t->failed, t->closed, t->stalled,
           t->holding);
    printf("received   %.1f MB in %.1f s, %" PRIu64 " messages\n",
           (double)t->bytes / 1e6, wall, t->messages);
    printf("wrong      %" PRIu64 " dropped, %" PRIu64 " repeated, %" PRIu64
           " corrupt, %" PRIu64 " of another stream, %" PRIu64
           " without a stamp, %" PRIu64 " not from a key frame, %" PRIu64
           " back in time\n",
           t->dropped, t->repeated, t->corrupt, t->strayed, t->foreign,
           t->off_key, t->backwards);
    print_latency("video", &t->video_latency);
    print_latency("audio", &t->audio_latency);
    printf("join       p50 %.2f ms, p99 %.2f ms from play; "
           "p50 %.2f ms, p99 %.2f ms from connect\n",
           histogram_ms(&t->join_play, 0.5), histogram_ms(&t->join_play, 0.99),
           histogram_ms(&t->join_connect, 0.5),
           histogram_ms(&t->join_connect, 0.99));
    printf("own CPU    %.2f s\n", (double)(cpu_ns() - t->cpu) / 1e9);
    if (t->why[0] != '\0') {
        printf("first failure: %s\n", t->why);
    }
}

void
tally_print(const struct tally *t, bool json)
{
    if (json) {
        print_json(t);
    } else {
        print_lines(t);
    }
    fflush(stdout);
}
