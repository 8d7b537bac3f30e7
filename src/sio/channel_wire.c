/*
 * Bytes of calls to the channel.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/channel_wire.h"

#include <string.h>

/* ---- small things ---- */

static void
pack_flag(struct pack *out, bool flag)
{
    pack_u8(out, flag);
}

static bool
unpack_flag(struct unpack *in)
{
    uint8_t n = unpack_u8(in);

    in->bad |= n > 1;
    return n == 1;
}

/* A text of at most `most` bytes. */
static struct str
unpack_short(struct unpack *in, size_t most)
{
    struct str s = unpack_text(in);

    in->bad |= s.len > most;
    return in->bad ? STR_NONE : s;
}

/* The same, without NUL. */
static struct str
unpack_word(struct unpack *in, size_t most)
{
    struct str s = unpack_short(in, most);

    in->bad |= memchr(s.ptr, '\0', s.len) != NULL;
    return in->bad ? STR_NONE : s;
}

static uint64_t
unpack_count_of(struct unpack *in)
{
    int64_t n = unpack_int(in);

    in->bad |= n < 0;
    return in->bad ? 0 : (uint64_t)n;
}

void
channel_pack_number(struct pack *out, uint64_t n)
{
    pack_int(out, (int64_t)n);
}

bool
channel_unpack_number(struct str data, uint64_t *n)
{
    struct unpack in = { .rest = data };

    *n = unpack_count_of(&in);
    return unpack_ends(&in);
}

/* ---- requests of clients ---- */

void
channel_pack_ask(struct pack *out, const struct channel_ask *a)
{
    pack_text(out, a->module);
    pack_text(out, a->endpoint);
    pack_flag(out, a->plain);
    addr_pack(out, &a->client.address);
    share_pack(out, &a->client.holder);
    pack_flag(out, a->client.secure);
    pack_text(out, a->client.user);
    pack_u32(out, a->client.generation);
    pack_text(out, a->method);
    pack_text(out, a->content_type);
    pack_text(out, a->query.eio);
    pack_text(out, a->query.transport);
    pack_text(out, a->query.sid);
    pack_flag(out, a->query.base64);
    pack_text(out, a->body);
    pack_text(out, a->handshake.key);
    pack_flag(out, a->handshake.deflate);
}

bool
channel_unpack_ask(struct unpack *in, struct channel_ask *a)
{
    memset(a, 0, sizeof(*a));
    a->module = unpack_short(in, CHANNEL_TEXT);
    a->endpoint = unpack_short(in, CHANNEL_TEXT);
    a->plain = unpack_flag(in);
    addr_unpack(in, &a->client.address);
    a->client.holder = share_unpack(in);
    a->client.secure = unpack_flag(in);
    a->client.user = unpack_short(in, CHANNEL_TEXT);
    a->client.generation = unpack_u32(in);
    a->method = unpack_short(in, CHANNEL_TEXT);
    a->content_type = unpack_short(in, CHANNEL_TEXT);
    a->query.eio = unpack_short(in, CHANNEL_TEXT);
    a->query.transport = unpack_short(in, CHANNEL_TEXT);
    a->query.sid = unpack_short(in, CHANNEL_TEXT);
    a->query.base64 = unpack_flag(in);
    a->body = unpack_short(in, SIO_PAYLOAD);
    a->handshake.key = unpack_short(in, CHANNEL_TEXT);
    a->handshake.deflate = unpack_flag(in);
    return !in->bad;
}

const char *
channel_type_text(enum channel_type t)
{
    switch (t) {
    case CHANNEL_HTML:
        return "text/html";
    case CHANNEL_JSON:
        return "application/json";
    case CHANNEL_PLAIN:
    case CHANNEL_TYPES:
        break;
    }
    return "text/plain; charset=UTF-8";
}

enum channel_type
channel_type_of(const char *text)
{
    for (enum channel_type t = CHANNEL_HTML; t < CHANNEL_TYPES; t++) {
        if (text != NULL && strcmp(text, channel_type_text(t)) == 0) {
            return t;
        }
    }
    return CHANNEL_PLAIN;
}

void
channel_pack_answer(struct pack *out, const struct channel_answer *a)
{
    pack_u32(out, (uint32_t)a->status);
    pack_u8(out, (uint8_t)a->type);
    pack_text(out, a->opened);
    pack_text(out, a->body);
}

bool
channel_unpack_answer(struct str data, struct channel_answer *a)
{
    struct unpack in = { .rest = data };
    uint32_t status = unpack_u32(&in);
    uint8_t type = unpack_u8(&in);

    in.bad |= status < 200 || status > 599 || type >= CHANNEL_TYPES;
    a->status = in.bad ? 500 : (int)status;
    a->type = in.bad ? CHANNEL_PLAIN : (enum channel_type)type;
    a->opened = unpack_short(&in, ENGINE_ID);
    a->body = unpack_text(&in);
    return unpack_ends(&in);
}

/* ---- events ---- */

void
channel_pack_emit(struct pack *out, const struct sio_target *to,
                  const struct sio_message *m)
{
    pack_text(out, str_from(to->module));
    pack_text(out, to->endpoint);
    pack_text(out, str_from(to->namespace_name));
    pack_text(out, to->room);
    pack_text(out, to->socket);
    pack_text(out, str_from(m->event));
    pack_text(out, m->args.json);
    pack_int(out, (int64_t)m->args.attachment_count);
    for (size_t i = 0; i < m->args.attachment_count; i++) {
        pack_text(out, m->args.attachments[i]);
    }
    pack_text(out, m->key);
    pack_flag(out, m->is_volatile);
    pack_text(out, str_from(m->stales));
}

static void
unpack_target(struct unpack *in, struct sio_target *to)
{
    memset(to, 0, sizeof(*to));
    to->module = unpack_word(in, CHANNEL_TEXT).ptr;
    to->endpoint = unpack_short(in, CHANNEL_TEXT);
    to->namespace_name = unpack_word(in, SIO_NAME_MAX).ptr;
    to->room = unpack_short(in, SIO_NAME_MAX);
    to->socket = unpack_short(in, SIO_NAME_MAX);
}

bool
channel_unpack_emit(struct str data, struct sio_target *to,
                    struct sio_message *m, struct str *attachments)
{
    struct unpack in = { .rest = data };
    struct str stales;

    memset(m, 0, sizeof(*m));
    unpack_target(&in, to);
    m->event = unpack_word(&in, SIO_NAME_MAX).ptr;
    m->args.json = unpack_text(&in);
    m->args.attachment_count = unpack_count(&in, PACK_TEXT);
    in.bad |= m->args.attachment_count > SIO_ATTACHMENTS;
    for (size_t i = 0; !in.bad && i < m->args.attachment_count; i++) {
        attachments[i] = unpack_text(&in);
    }
    m->args.attachments = attachments;
    m->key = unpack_short(&in, SIO_NAME_MAX);
    m->is_volatile = unpack_flag(&in);
    stales = unpack_word(&in, SIO_NAME_MAX);
    m->stales = stales.len > 0 ? stales.ptr : NULL;
    return unpack_ends(&in);
}

/* ---- commands ---- */

void
channel_pack_row(struct pack *out, const struct channel_row *r)
{
    channel_pack_number(out, r->number);
    pack_text(out, r->module);
    pack_text(out, r->endpoint);
    pack_flag(out, r->plain);
    pack_flag(out, r->websocket);
    pack_flag(out, r->secure);
    pack_text(out, r->namespaces);
    addr_pack(out, &r->client);
    pack_text(out, r->user);
    pack_int(out, r->age_ms);
    channel_pack_number(out, r->queued);
    for (int i = 0; i < 2; i++) {
        channel_pack_number(out, r->packets[i]);
        channel_pack_number(out, r->bytes[i]);
    }
}

bool
channel_unpack_row(struct unpack *in, struct channel_row *r)
{
    memset(r, 0, sizeof(*r));
    if (in->bad || in->rest.len == 0) {
        return false;
    }
    r->number = unpack_count_of(in);
    r->module = unpack_short(in, CHANNEL_TEXT);
    r->endpoint = unpack_short(in, CHANNEL_TEXT);
    r->plain = unpack_flag(in);
    r->websocket = unpack_flag(in);
    r->secure = unpack_flag(in);
    r->namespaces = unpack_text(in);
    addr_unpack(in, &r->client);
    r->user = unpack_short(in, CHANNEL_TEXT);
    r->age_ms = unpack_int(in);
    r->queued = unpack_count_of(in);
    for (int i = 0; i < 2; i++) {
        r->packets[i] = unpack_count_of(in);
        r->bytes[i] = unpack_count_of(in);
    }
    return !in->bad;
}
