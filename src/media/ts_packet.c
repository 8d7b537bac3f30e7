/*
 * Packets of a transport stream: PES packets cut into them, PAT and PMT.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "media/ts_impl.h"

#define SYNC 0x47
#define UNIT_START 0x40 /* a PES packet or a section begins here */
#define HAS_PAYLOAD 0x10
#define HAS_ADAPTATION 0x20

#define PES_HEAD 9  /* before the times */
#define TIME_SIZE 5 /* a time in a PES header, a PCR without extension */
#define PES_LENGTH_MAX 65535
#define BITS_33 (((uint64_t)1 << 33) - 1)

static void
put_header(uint8_t *p, uint16_t pid, uint8_t content, uint8_t counter)
{
    p[0] = SYNC;
    put_be16(p + 1, pid);
    p[3] = (uint8_t)(content | (counter & (TS_COUNTERS - 1)));
}

/* Bytes of an adaptation field with these flags: its least length. */
static size_t
field_size(uint8_t flags)
{
    return (flags & TS_FLAG_PCR) != 0 ? 8 : flags != 0 ? 2 : 0;
}

/* An adaptation field of so many bytes (2.4.3.4); what the flags do not need is
 * stuffing. */
static void
put_field(uint8_t *p, size_t size, uint8_t flags, uint64_t pcr)
{
    size_t at = 2;

    assert(size >= field_size(flags));
    if (size == 0) {
        return;
    }
    p[0] = (uint8_t)(size - 1);
    if (size == 1) {
        return;
    }
    p[1] = flags;
    if ((flags & TS_FLAG_PCR) != 0) {
        put_be32(p + 2, (uint32_t)((pcr & BITS_33) >> 1));
        put_be16(p + 6, (uint32_t)(pcr & 1) << 15 | 0x7e00);
        at = 8;
    }
    memset(p + at, 0xff, size - at);
}

int
ts_put_pcr(struct ts_out *o, uint16_t pid, uint8_t counter, uint64_t pcr)
{
    if (o->end - o->at < TS_PACKET) {
        return -1;
    }
    put_header(o->at, pid, HAS_ADAPTATION, counter);
    put_field(o->at + 4, TS_ROOM, TS_FLAG_PCR, pcr);
    o->at += TS_PACKET;
    return 0;
}

/* ---- PES packets ---- */

/* As many bytes as fit, but one at least is left for each packet to come. */
static void
open_packet(struct ts_out *o, uint16_t unit_start)
{
    size_t room = TS_ROOM - field_size(o->flags);
    size_t spare = o->left - (o->packets - 1);
    size_t take = room < spare ? room : spare;
    size_t field = TS_ROOM - take;

    put_header(o->at, (uint16_t)(o->pid | unit_start),
               field > 0 ? HAS_ADAPTATION | HAS_PAYLOAD : HAS_PAYLOAD,
               (*o->counter)++);
    put_field(o->at + 4, field, o->flags, o->pcr);
    o->at += 4 + field;
    o->room = take;
    o->packets--;
    o->flags = 0;
}

int
ts_put(struct ts_out *o, const void *data, size_t n)
{
    const uint8_t *p = data;

    o->counted += n;
    if (o->measures) {
        return 0;
    }
    if (n > o->left) {
        return -1;
    }
    while (n > 0) {
        if (o->room == 0) {
            open_packet(o, 0);
        }
        size_t some = n < o->room ? n : o->room;
        memcpy(o->at, p, some);
        o->at += some;
        o->room -= some;
        o->left -= some;
        p += some;
        n -= some;
    }
    return 0;
}

static size_t
head_size(const struct ts_pes *p)
{
    return PES_HEAD + (p->pts != p->dts ? 2 * TIME_SIZE : TIME_SIZE);
}

size_t
ts_pes_least(const struct ts_pes *p)
{
    size_t all = head_size(p) + p->bytes;
    size_t first = TS_ROOM - field_size(p->flags);

    return all <= first ? 1 : 1 + (all - first + TS_ROOM - 1) / TS_ROOM;
}

size_t
ts_pes_most(const struct ts_pes *p)
{
    return 1 + p->bytes; /* the header is in the first one */
}

static void
put_time(uint8_t *p, unsigned prefix, uint64_t time)
{
    p[0] = (uint8_t)(prefix << 4 | (time >> 29 & 0x0e) | 1);
    put_be16(p + 1, (uint32_t)(time >> 14 & 0xfffe) | 1);
    put_be16(p + 3, (uint32_t)(time << 1 & 0xfffe) | 1);
}

/* The header (2.4.3.6) with that many bytes of stuffing; returns its size. */
static size_t
write_head(uint8_t *head, const struct ts_stream *s, const struct ts_pes *p,
           size_t stuffing)
{
    size_t size = head_size(p) + stuffing;
    size_t length = size - 6 + p->bytes;
    bool both = p->pts != p->dts;

    memset(head, 0xff, size);
    put_be32(head, 0x100u | s->id);
    put_be16(head + 4, length <= PES_LENGTH_MAX ? (uint32_t)length : 0);
    head[6] = 0x84; /* data_alignment_indicator */
    head[7] = both ? 0xc0 : 0x80;
    head[8] = (uint8_t)(size - PES_HEAD);
    put_time(head + PES_HEAD, both ? 3 : 2, p->pts);
    if (both) {
        put_time(head + PES_HEAD + TIME_SIZE, 1, p->dts);
    }
    return size;
}

int
ts_pes_begin(struct ts_out *o, const struct ts_stream *s,
             const struct ts_pes *p, size_t packets)
{
    uint8_t head[PES_HEAD + 2 * TIME_SIZE + TS_STUFFING];
    size_t most = ts_pes_most(p);
    size_t stuffing = packets > most ? packets - most : 0;

    assert(packets >= ts_pes_least(p) && stuffing <= TS_STUFFING);
    if (packets > (size_t)(o->end - o->at) / TS_PACKET) {
        return -1;
    }
    size_t size = write_head(head, s, p, stuffing);
    o->room = 0;
    o->left = size + p->bytes;
    o->packets = packets;
    o->pid = s->pid;
    o->flags = p->flags;
    o->pcr = p->dts - TS_DELAY;
    open_packet(o, UNIT_START << 8);
    return ts_put(o, head, size);
}

bool
ts_pes_whole(const struct ts_out *o)
{
    return o->left == 0 && o->room == 0 && o->packets == 0;
}

/* ---- PAT and PMT ---- */

/* CRC-32 of sections (annex A), four bits at a time. */
static uint32_t
crc_of(const uint8_t *p, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
        0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
        0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd,
    };
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < n; i++) {
        crc = crc << 4 ^ table[(crc >> 28 ^ p[i] >> 4) & 15];
        crc = crc << 4 ^ table[(crc >> 28 ^ p[i]) & 15];
    }
    return crc;
}

/* Head and end of a section (2.4.4) around what stands in it from byte 8 to
 * byte end.  Other contents have another version, so that no state is needed
 * for it. */
static void
finish_section(uint8_t *p, unsigned table, size_t end)
{
    p[0] = (uint8_t)table;
    put_be16(p + 1, 0xb000u | (uint32_t)(end + 4 - 3));
    put_be16(p + 3, 1); /* the transport stream, the program */
    p[5] = 0xc1;        /* version 0, in force */
    put_be16(p + 6, 0); /* the only section */
    p[5] |= (uint8_t)((crc_of(p, end) & 31) << 1);
    put_be32(p + end, crc_of(p, end));
}

/* A packet that holds one section; returns where that begins. */
static uint8_t *
section_packet(uint8_t *dst, uint16_t pid, uint8_t counter)
{
    memset(dst, 0xff, TS_PACKET);
    put_header(dst, (uint16_t)(pid | UNIT_START << 8), HAS_PAYLOAD, counter);
    dst[4] = 0; /* pointer_field */
    return dst + 5;
}

static size_t
put_stream(uint8_t *p, const struct ts_stream *s)
{
    size_t size = s->name != NULL ? 6 : 0;

    p[0] = s->type;
    put_be16(p + 1, 0xe000u | s->pid);
    put_be16(p + 3, 0xf000u | (uint32_t)size);
    if (size > 0) { /* registration_descriptor (2.6.8) */
        p[5] = 5;
        p[6] = 4;
        memcpy(p + 7, s->name, 4);
    }
    return 5 + size;
}

void
ts_put_tables(uint8_t dst[2 * TS_PACKET], uint8_t counter,
              const struct ts_stream *streams, size_t count, uint16_t pcr)
{
    uint8_t *p = section_packet(dst, 0, counter);
    size_t end = 12;

    put_be16(p + 8, 1); /* program_number */
    put_be16(p + 10, 0xe000u | TS_PID_PMT);
    finish_section(p, 0, end);

    assert(count <= MEDIA_TRACKS_MAX);
    p = section_packet(dst + TS_PACKET, TS_PID_PMT, counter);
    put_be16(p + 8, 0xe000u | pcr);
    put_be16(p + 10, 0xf000u);
    for (size_t i = 0; i < count; i++) {
        end += put_stream(p + end, &streams[i]);
    }
    finish_section(p, 2, end);
}
