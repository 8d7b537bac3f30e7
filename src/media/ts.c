/*
 * The container MPEG-TS: a fragment's tracks as packets, beside each other in
 * the order of their decode times.
 *
 * Everything is measured first and then written in one go, so that a fragment
 * is there as a whole or not at all.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/ts_impl.h"

/* Frames of sound share a PES packet as far as this goes. */
#define GROUP_TIME TS_PCR_INTERVAL
#define GROUP_BYTES 16384
/* Packets for a PCR that one gap between samples can have: of a stranger's
 * times, none is a reason for more. */
#define PCR_MOST 64

/* A track on its way. */
struct lane {
    struct ts_stream stream;
    const struct media_run *run;
    bool has_pcr;
    uint64_t time;     /* of run->samples[pes.end], units of the track */
    struct ts_pes pes; /* the next one; pes.first == count: there is none */
    size_t packets;    /* measured */
    size_t extra;      /* more packets than needed, up to a multiple of 16 */
    uint8_t counter;
};

struct plan {
    struct lane lanes[MEDIA_TRACKS_MAX];
    struct ts_stream streams[MEDIA_TRACKS_MAX];
    size_t count;
    struct lane *clock;    /* the lane with the PCR */
    struct lane *stand_in; /* that lane has no sample: a packet with a PCR
                              goes before each PES packet of this one, */
    uint64_t ahead; /* which is so far ahead of where that lane is, 90 kHz */
    size_t tables;  /* how often PAT and PMT are there */
    size_t pcr_packets;
    uint64_t pcr_at; /* decode time that the next packet for a PCR is due */
    size_t pcr_due;  /* how many of them are left in this gap */
};

/* ---- PES packets of a track ---- */

/* Units of a track as 90 kHz.  Both parts are small enough to multiply. */
static uint64_t
ticks(uint64_t units, uint32_t timescale)
{
    return units / timescale * TS_CLOCK +
           units % timescale * TS_CLOCK / timescale;
}

static bool
is_sound(const struct lane *l)
{
    return l->run->track->type == MEDIA_AUDIO;
}

/* Takes another sample into the PES packet under way.  -1: it is invalid. */
static int
take_sample(struct lane *l)
{
    const struct media_sample *m = &l->run->samples[l->pes.end];
    struct ts_out measure = { .measures = true };

    if (m->size > 0 && ts_stream_put(&measure, &l->stream, m) == -1) {
        return -1;
    }
    l->pes.bytes += measure.counted;
    l->pes.end++;
    l->time += m->duration;
    return 0;
}

/* Whether the next sample is of the same PES packet. */
static bool
joins(const struct lane *l)
{
    uint32_t timescale = l->run->track->timescale;

    if (!is_sound(l) || l->pes.end == l->run->count) {
        return false;
    }
    uint64_t end = l->time + l->run->samples[l->pes.end].duration;
    return ticks(end, timescale) + TS_ORIGIN - l->pes.dts <= GROUP_TIME &&
           l->pes.bytes + l->run->samples[l->pes.end].size <= GROUP_BYTES;
}

static uint8_t
flags_of(const struct lane *l, const struct media_sample *m)
{
    bool random = is_sound(l) ? l->has_pcr : m->key;

    return (uint8_t)((l->has_pcr ? TS_FLAG_PCR : 0) |
                     (random ? TS_FLAG_RANDOM : 0));
}

/* Goes on to the next PES packet.  -1: a sample of it is invalid. */
static int
next_pes(struct lane *l)
{
    uint32_t timescale = l->run->track->timescale;

    l->pes.first = l->pes.end;
    if (l->pes.first == l->run->count) {
        return 0;
    }
    const struct media_sample *m = &l->run->samples[l->pes.first];
    l->pes.dts = ticks(l->time, timescale) + TS_ORIGIN;
    l->pes.pts =
        l->pes.dts + (uint64_t)((int64_t)m->cts * TS_CLOCK / timescale);
    l->pes.bytes = 0;
    l->pes.flags = flags_of(l, m);
    do {
        if (take_sample(l) == -1) {
            return -1;
        }
    } while (joins(l));
    l->pes.duration = ticks(l->time, timescale) + TS_ORIGIN - l->pes.dts;
    return 0;
}

static int
rewind_lane(struct lane *l)
{
    l->time = l->run->decode_time;
    l->pes = (struct ts_pes){ 0 };
    return next_pes(l);
}

/* Packets for nothing but a PCR, behind a PES packet. */
static size_t
gap_packets(const struct lane *l)
{
    size_t n = l->pes.duration > 0
                   ? (size_t)((l->pes.duration - 1) / TS_PCR_INTERVAL)
                   : 0;

    return !l->has_pcr ? 0 : n < PCR_MOST ? n : PCR_MOST;
}

/* ---- measuring ---- */

static int
measure_lane(struct plan *p, struct lane *l)
{
    for (int bad = rewind_lane(l); l->pes.first < l->run->count;
         bad = next_pes(l)) {
        if (bad == -1) {
            return -1;
        }
        l->packets += l->pes.bytes > 0 ? ts_pes_least(&l->pes) : 0;
        p->pcr_packets += l == p->stand_in ? 1 : gap_packets(l);
    }
    /* A track without a sample has no packets, which is a multiple, too. */
    l->extra = (TS_COUNTERS - l->packets % TS_COUNTERS) % TS_COUNTERS;
    return rewind_lane(l);
}

static uint64_t
begin_of(const struct lane *l)
{
    return ticks(l->run->decode_time, l->run->track->timescale);
}

/* The PCR goes with the pictures, else with the first sound. */
static void
choose_clock(struct plan *p)
{
    p->clock = &p->lanes[0];
    for (size_t i = p->count; i-- > 0;) {
        if (!is_sound(&p->lanes[i])) {
            p->clock = &p->lanes[i];
        }
    }
    p->clock->has_pcr = true;
    for (size_t i = p->count; i-- > 0 && p->clock->run->count == 0;) {
        if (p->lanes[i].run->count > 0) {
            p->stand_in = &p->lanes[i];
        }
    }
    if (p->stand_in != NULL) {
        uint64_t here = begin_of(p->clock), there = begin_of(p->stand_in);

        p->ahead = there > here ? there - here : 0;
    }
}

/* Steps of 16 end at the same counter as one of 0, which has no table. */
static size_t
table_count(const struct media_fragment *f)
{
    uint32_t steps = f->steps % TS_COUNTERS;

    return f->steps == 0 ? 1 : steps == 0 ? TS_COUNTERS : steps;
}

/* -1: it cannot be carried. */
static int
plan_fragment(struct plan *p, const struct media_fragment *f)
{
    size_t places[2] = { 0, 0 }; /* of the next sound, of the next pictures */

    if (f->count == 0 || f->count > MEDIA_TRACKS_MAX) {
        return -1;
    }
    *p = (struct plan){ .count = f->count, .tables = table_count(f) };
    for (size_t i = 0; i < f->count; i++) {
        const struct media_track *t = f->runs[i].track;
        size_t *place = &places[t->type == MEDIA_VIDEO];

        p->lanes[i].run = &f->runs[i];
        if (ts_stream_init(&p->streams[i], t, (*place)++) == -1) {
            return -1;
        }
        p->lanes[i].stream = p->streams[i];
    }
    choose_clock(p);
    for (size_t i = 0; i < f->count; i++) {
        if (measure_lane(p, &p->lanes[i]) == -1) {
            return -1;
        }
    }
    return 0;
}

static size_t
packets_of(const struct plan *p)
{
    size_t n = 2 * p->tables + p->pcr_packets;

    for (size_t i = 0; i < p->count; i++) {
        n += p->lanes[i].packets + p->lanes[i].extra;
    }
    return n;
}

/* ---- writing ---- */

/* The lane whose turn it is: the earliest, pictures first.  NULL: all is
 * written.  A segment begins with a picture though sound may be earlier. */
static struct lane *
next_lane(struct plan *p, bool begins)
{
    struct lane *best = NULL;

    if (begins && p->clock->run->count > 0) {
        return p->clock;
    }
    for (size_t i = 0; i < p->count; i++) {
        struct lane *l = &p->lanes[i];

        if (l->pes.first < l->run->count &&
            (best == NULL || l->pes.dts < best->pes.dts ||
             (l == p->clock && l->pes.dts == best->pes.dts))) {
            best = l;
        }
    }
    return best;
}

static int
put_pcr(struct plan *p, struct ts_out *o)
{
    return ts_put_pcr(o, p->clock->stream.pid, (uint8_t)(p->clock->counter - 1),
                      p->pcr_at - TS_DELAY);
}

/* Packets for a PCR that are due before that lane goes on. */
static int
put_due(struct plan *p, struct ts_out *o, const struct lane *next)
{
    if (next != NULL && next == p->stand_in) {
        p->pcr_at = next->pes.dts - p->ahead;
        return put_pcr(p, o);
    }
    while (p->pcr_due > 0 &&
           (next == NULL || next == p->clock || p->pcr_at < next->pes.dts)) {
        if (put_pcr(p, o) == -1) {
            return -1;
        }
        p->pcr_at += TS_PCR_INTERVAL;
        p->pcr_due--;
    }
    return 0;
}

/* How many packets the PES packet gets: what it needs, and so many of the extra
 * ones as it can take; the last one takes all. */
static size_t
spread(struct lane *l)
{
    size_t least = ts_pes_least(&l->pes), most = ts_pes_most(&l->pes);
    size_t more = l->extra;

    l->packets -= least < l->packets ? least : l->packets;
    if (l->packets > 0 && more > most - least) {
        more = most - least;
    }
    l->extra -= more;
    return least + more;
}

static int
put_pes(struct lane *l, struct ts_out *o)
{
    o->counter = &l->counter;
    if (ts_pes_begin(o, &l->stream, &l->pes, spread(l)) == -1) {
        return -1;
    }
    for (size_t i = l->pes.first; i < l->pes.end; i++) {
        const struct media_sample *m = &l->run->samples[i];

        if (m->size > 0 && ts_stream_put(o, &l->stream, m) == -1) {
            return -1;
        }
    }
    return ts_pes_whole(o) ? 0 : -1;
}

/* -1: the samples are not what they were when they were measured. */
static int
put_lanes(struct plan *p, struct ts_out *o)
{
    struct lane *l = next_lane(p, true);

    while (l != NULL) {
        if (put_due(p, o, l) == -1 ||
            (l->pes.bytes > 0 && put_pes(l, o) == -1)) {
            return -1;
        }
        if (l == p->clock) {
            p->pcr_due = gap_packets(l);
            p->pcr_at = l->pes.dts + TS_PCR_INTERVAL;
        }
        if (next_pes(l) == -1) {
            return -1;
        }
        l = next_lane(p, false);
    }
    return put_due(p, o, NULL);
}

/* ---- the container ---- */

static bool
carries(const struct media_track *t)
{
    struct ts_stream s;

    return ts_stream_init(&s, t, 0) == 0;
}

static int
fragment(struct buf *out, const struct media_fragment *f)
{
    struct plan p;

    if (plan_fragment(&p, f) == -1) {
        return -1;
    }
    size_t size = packets_of(&p) * TS_PACKET;
    uint8_t *dst = buf_reserve(out, size);
    if (dst == NULL) {
        return -1;
    }
    struct ts_out o = { .at = dst, .end = dst + size };
    for (size_t i = 0; i < p.tables; i++) {
        ts_put_tables(o.at, (uint8_t)(f->sequence + i), p.streams, p.count,
                      p.clock->stream.pid);
        o.at += 2 * (size_t)TS_PACKET;
    }
    if (put_lanes(&p, &o) == -1 || o.at != dst + size) {
        return -1;
    }
    buf_commit(out, size);
    return 0;
}

const struct media_container media_ts = {
    .name = "ts",
    .suffix = ".ts",
    .type = "video/mp2t",
    .audio_type = "video/mp2t",
    .carries = carries,
    .fragment = fragment,
};
