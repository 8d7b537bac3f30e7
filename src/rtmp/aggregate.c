/*
 * Media out of messages.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/aggregate.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/mem.h"
#include "rtmp/amf.h"

#define PARTS_MAX 1024 /* of one aggregate; encoders send some ten */

/* Words of a server to its players are none of the stream's.  Some publishers
 * pass on all that they get as players. */
static bool
is_for_players(const struct chunk_message *m)
{
    struct amf_reader r;

    amf_reader_init(&r, m->payload, m->len);
    struct str name = amf_read_string(&r, STR_NONE);
    return str_eq(name, STR("onStatus")) || str_eq(name, STR("onPlayStatus")) ||
           str_eq(name, STR("|RtmpSampleAccess"));
}

static bool
on_data(const struct chunk_message *m, parts_fn *f, void *arg)
{
    return is_for_players(m) || f(arg, MEDIA_DATA, m);
}

/* AMF3 data begins with a byte that says so; then it is AMF0. */
static bool
on_data_amf3(const struct chunk_message *m, parts_fn *f, void *arg)
{
    struct chunk_message data = *m;

    if (data.len > 0 && data.payload[0] == 0) {
        data.payload++;
        data.len--;
    }
    return on_data(&data, f, arg);
}

/* One message inside an aggregate has the form of an FLV tag. */
static bool
on_part(const struct chunk_message *part, parts_fn *f, void *arg)
{
    switch (part->type) {
    case TYPE_AUDIO:
        return f(arg, MEDIA_AUDIO, part);
    case TYPE_VIDEO:
        return f(arg, MEDIA_VIDEO, part);
    case TYPE_DATA:
        return on_data(part, f, arg);
    default:
        return true;
    }
}

/* Cuts the next part off what is left of an aggregate; part holds what the
 * parts share.  False at its end, or where it is cut off. */
static bool
next_part(struct str *left, struct chunk_message *part)
{
    const uint8_t *p = (const uint8_t *)left->ptr;

    if (left->len < FLV_TAG_HEADER) {
        return false;
    }
    part->type = p[0];
    part->len = get_be24(p + 1);
    part->timestamp = get_be24(p + 4) | (uint32_t)p[7] << 24;
    part->payload = p + FLV_TAG_HEADER;
    if (part->len > left->len - FLV_TAG_HEADER) {
        return false;
    }
    *left = str_skip(*left, FLV_TAG_HEADER + part->len + FLV_TAG_TRAILER);
    return true;
}

/* An aggregate that is being walked through. */
struct aggregate {
    struct chunk_message whole; /* its payload is not used */
    struct str left;
    uint32_t first; /* time of the first part */
    bool begun;
    parts_fn *f;
    void *arg;
};

/* The rest of an aggregate, which the channel keeps when the turn's share is
 * used up. */
struct parts_rest {
    struct later later;
    struct channel *ch;
    struct aggregate aggregate; /* what is left points into bytes */
    uint8_t *bytes;             /* owned */
};

static bool
too_many(struct str left, struct chunk_message part)
{
    unsigned count = 0;

    while (count <= PARTS_MAX && next_part(&left, &part)) {
        count++;
    }
    return count > PARTS_MAX;
}

/* The first part has the time of the aggregate, the others keep their
 * distance from it (RTMP 1.0, 7.1.6).  Takes what the turn allows; false: no
 * more of it is wanted. */
static bool
walk(struct channel *ch, struct aggregate *a)
{
    struct chunk_message part = a->whole;

    while (ch->burst > 0) {
        if (!next_part(&a->left, &part)) {
            return false;
        }
        channel_charge(ch, 1);
        a->first = a->begun ? a->first : part.timestamp;
        a->begun = true;
        part.timestamp = a->whole.timestamp + (part.timestamp - a->first);
        if (!on_part(&part, a->f, a->arg)) {
            return false;
        }
    }
    return a->left.len > 0;
}

void
parts_forget(struct channel *ch)
{
    if (ch->rest != NULL) {
        later_cancel(&ch->rest->later);
        mem_free(&ch->rest->bytes);
        mem_free(&ch->rest);
    }
}

static void on_turn_over(struct later *later);

/* In the next turn the rest has its share, with all others that wait. */
static void
on_turn(struct later *later)
{
    struct parts_rest *rest = LIST_ITEM(later, struct parts_rest, later);
    struct channel *ch = rest->ch;

    channel_begin_turn(ch);
    if (walk(ch, &rest->aggregate)) {
        later_init(later, on_turn_over);
        loop_later(ch->conn->loop, later);
        return;
    }
    parts_forget(ch);
    conn_resume_reading(ch->conn);
}

static void
on_turn_over(struct later *later)
{
    struct parts_rest *rest = LIST_ITEM(later, struct parts_rest, later);

    later_init(later, on_turn);
    loop_in_turn(rest->ch->conn->loop, later);
}

/* Nothing behind the aggregate is read before the rest of it was taken. */
static int
keep_rest(struct channel *ch, const struct aggregate *a, struct errmsg *err)
{
    uint8_t *bytes = try_alloc(a->left.len);

    if (bytes == NULL) {
        return errmsg_set(err, "no memory for an aggregate");
    }
    memcpy(bytes, a->left.ptr, a->left.len);
    ch->rest = mem_zero(sizeof(*ch->rest));
    ch->rest->ch = ch;
    ch->rest->aggregate = *a;
    ch->rest->aggregate.left = str_of(bytes, a->left.len);
    ch->rest->bytes = bytes;
    later_init(&ch->rest->later, on_turn_over);
    loop_later(ch->conn->loop, &ch->rest->later);
    conn_pause_reading(ch->conn);
    return 0;
}

static int
on_aggregate(struct channel *ch, const struct chunk_message *m, parts_fn *f,
             void *arg, struct errmsg *err)
{
    struct aggregate a = {
        .whole = *m, .left = str_of(m->payload, m->len), .f = f, .arg = arg
    };

    assert(ch->rest == NULL); /* nothing was read since */
    if (too_many(a.left, *m)) {
        return errmsg_set(err, "an aggregate of too many messages");
    }
    return walk(ch, &a) ? keep_rest(ch, &a, err) : 0;
}

int
parts_read(struct channel *ch, const struct chunk_message *m, parts_fn *f,
           void *arg, struct errmsg *err)
{
    if (m->type == TYPE_AGGREGATE) {
        return on_aggregate(ch, m, f, arg, err);
    }
    if (m->type == TYPE_DATA_AMF3) {
        on_data_amf3(m, f, arg);
    } else {
        on_part(m, f, arg);
    }
    return 0;
}
