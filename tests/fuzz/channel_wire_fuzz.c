/*
 * Fuzz target: calls to the channel as bytes.
 *
 * The first byte says which of them the rest is.  One that is read has its
 * texts within the bytes, keeps the bounds, and written again is the same.
 *
 * covers: src/sio/channel_wire.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "sio/channel_wire.h"

#define LIMIT (1 << 20)

/* Behind each other in out: what was read, written again. */
static void
require_same(const struct pack *out, struct str bytes)
{
    require(!out->full && str_eq(buf_str(out->to), bytes));
}

static void
try_ask(struct str bytes, struct pack *out)
{
    struct unpack in = { .rest = bytes };
    struct channel_ask a;

    if (channel_unpack_ask(&in, &a)) {
        require(a.query.sid.len <= CHANNEL_TEXT && a.body.len <= SIO_PAYLOAD);
        channel_pack_ask(out, &a);
        require_same(out, str_first(bytes, bytes.len - in.rest.len));
    }
}

static void
try_answer(struct str bytes, struct pack *out)
{
    struct channel_answer a;

    if (channel_unpack_answer(bytes, &a)) {
        require(a.status >= 200 && a.status <= 599);
        require(channel_type_of(channel_type_text(a.type)) == a.type);
        channel_pack_answer(out, &a);
        require_same(out, bytes);
    }
}

static void
try_emit(struct str bytes, struct pack *out)
{
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_target to;
    struct sio_message m;

    if (channel_unpack_emit(bytes, &to, &m, attachments)) {
        require(m.args.attachment_count <= SIO_ATTACHMENTS);
        channel_pack_emit(out, &to, &m);
        require_same(out, bytes);
    }
}

static void
try_rows(struct str bytes, struct pack *out)
{
    struct unpack in = { .rest = bytes };
    struct channel_row row;
    size_t left = bytes.len;

    while (channel_unpack_row(&in, &row)) {
        require(in.rest.len < left);
        left = in.rest.len;
        channel_pack_row(out, &row);
    }
    require_same(out, str_first(bytes, bytes.len - left));
}

static void
try_number(struct str bytes, struct pack *out)
{
    uint64_t n;

    if (channel_unpack_number(bytes, &n)) {
        require(n <= INT64_MAX);
        channel_pack_number(out, n);
        require_same(out, bytes);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(struct str bytes, struct pack * out) = {
        try_ask, try_answer, try_emit, try_rows, try_number
    };
    struct pack out = { 0 };
    struct buf b;

    if (size == 0 || size > LIMIT) {
        return 0;
    }
    buf_init(&b, 2 * LIMIT);
    out.to = &b;
    tries[data[0] % (sizeof(tries) / sizeof(tries[0]))](
        str_of(data + 1, size - 1), &out);
    buf_clear(&b);
    return 0;
}
