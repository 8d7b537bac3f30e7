/*
 * MPEG-2 transport streams (ISO/IEC 13818-1; the numbers below are its
 * sections): what the files of this container share.
 *
 *   ts.c         the container: fragments, tracks beside each other in time
 *   ts_packet.c  packets, PES packets, PAT and PMT
 *   ts_stream.c  samples as elementary streams have them
 *
 * A fragment's bytes depend on nothing but the fragment, so that every process
 * makes the same ones.  Continuity counters (2.4.3.3) go on over fragments all
 * the same, without a state and without discontinuity_indicator, which some
 * players take for a change of time:
 *
 *   - The packets of a PID with media are filled up to a multiple of 16: each
 *     fragment begins at counter 0 and ends at 15.  The bytes of a PES packet
 *     are spread over a few more packets to that end, which have adaptation
 *     fields as stuffing; there are no empty packets.  That costs 1.4 kB for a
 *     PID and fragment on average.
 *   - PAT and PMT are counted by the fragment's sequence number.  They stand in
 *     each fragment as often as it is steps to the next one: a segment that is
 *     made as a whole goes on where its last part would.
 *   - Packets with nothing but a PCR do not count (2.4.3.3): they repeat 15 at
 *     the beginning, else the counter before them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_TS_IMPL_H
#define MEDIA_TS_IMPL_H

#include "media/container.h"

enum {
    TS_PACKET = 188,
    TS_ROOM = 184, /* behind a packet's header */
    TS_COUNTERS = 16,
    TS_STUFFING = TS_COUNTERS, /* most stuffing in a PES header */
    TS_PID_PMT = 0x1000,
    /* Of the first track of its kind: a PID keeps its kind when tracks come and
     * go, for players keep its decoder. */
    TS_PID_VIDEO = 0x100,
    TS_PID_AUDIO = 0x101,
};

#define TS_CLOCK 90000u
/* Stream time 0 has this PTS, so that no clock is before 0 at the start. */
#define TS_ORIGIN TS_CLOCK
/* How far the PCR is behind the decode time: what a decoder buffers. */
#define TS_DELAY (TS_CLOCK / 5)
#define TS_PCR_INTERVAL (TS_CLOCK / 10)

/* ---- elementary streams ---- */

/* A track that can be carried. */
struct ts_stream {
    const struct media_track *track;
    uint16_t pid;
    uint8_t type;     /* stream_type, table 2-34 */
    uint8_t id;       /* stream_id, table 2-22 */
    uint8_t nal_size; /* bytes of the length before a NAL unit; 0: no units */
    uint8_t adts[3];  /* of AAC: bytes 1 to 3 of the header of each frame */
    const char *name; /* format_identifier of its registration, or NULL */
};

/* place: of the track among those of its kind.  -1: it cannot be carried. */
int ts_stream_init(struct ts_stream *s, const struct media_track *t,
                   size_t place);

/* Bytes on their way into packets.  While it measures it only counts. */
struct ts_out {
    bool measures;
    size_t counted;
    uint8_t *at;    /* the next packet, or where the open one goes on */
    uint8_t *end;   /* of the memory for packets */
    size_t room;    /* bytes left in the open packet */
    size_t left;    /* bytes of the PES packet that are to come */
    size_t packets; /* packets they are spread over that are to come */
    uint16_t pid;
    uint8_t *counter; /* of the PID, that of the next packet */
    uint8_t flags;    /* of the adaptation field of the next packet */
    uint64_t pcr;
};
enum { TS_FLAG_PCR = 0x10, TS_FLAG_RANDOM = 0x40 };

/* -1: it is more than was announced. */
int ts_put(struct ts_out *o, const void *data, size_t n);
/* A sample's bytes as the elementary stream has them: an access unit with
 * start codes, a frame with its header.  -1: they are not whole, or more than
 * the stream can say. */
int ts_stream_put(struct ts_out *o, const struct ts_stream *s,
                  const struct media_sample *m);

/* ---- packets ---- */

struct ts_pes {
    size_t first, end; /* samples of the run */
    uint64_t dts, pts; /* of 90 kHz, not cut to 33 bits */
    uint64_t duration; /* the same */
    size_t bytes;      /* of the elementary stream; 0: nothing to send */
    uint8_t flags;     /* of its first adaptation field */
};

/* Packets that a PES packet needs at least, and can be spread over. */
size_t ts_pes_least(const struct ts_pes *p);
size_t ts_pes_most(const struct ts_pes *p);
/* Begins a PES packet that is spread over so many packets; its p->bytes are
 * put behind it.  -1: there is no room for them. */
int ts_pes_begin(struct ts_out *o, const struct ts_stream *s,
                 const struct ts_pes *p, size_t packets);
/* Whether all that was announced has come. */
bool ts_pes_whole(const struct ts_out *o);
/* A packet that holds nothing but a PCR.  -1: there is no room. */
int ts_put_pcr(struct ts_out *o, uint16_t pid, uint8_t counter, uint64_t pcr);
/* PAT and PMT, a packet each. */
void ts_put_tables(uint8_t dst[2 * TS_PACKET], uint8_t counter,
                   const struct ts_stream *streams, size_t count, uint16_t pcr);

#endif
