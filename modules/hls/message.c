/*
 * From AMF0 to ID3 and text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "message.h"

#include <math.h>
#include <string.h>

#include "json/json.h"

#define RANGES_MAX 16
#define JSON_MAX ((size_t)128 * 1024)
#define ID3_HEAD 10
#define INTEGER_MAX 9007199254740992.0 /* 2^53 */

/* ---- reading ---- */

static bool
copy_payload(const struct live_cuts *c, const struct live_cut_frame *f,
             uint8_t *to)
{
    struct iovec ranges[RANGES_MAX];
    int count = live_cut_ranges(c, f->number, 0, f->len, ranges, RANGES_MAX);

    for (int i = 0; i < count; i++) {
        memcpy(to, ranges[i].iov_base, ranges[i].iov_len);
        to += ranges[i].iov_len;
    }
    return count > 0;
}

bool
message_begin(struct message *m, size_t len)
{
    amf_reader_init(&m->values, m->bytes, len);
    m->name = amf_read_string(&m->values, STR_NONE);
    return m->name.len > 0;
}

bool
message_read(const struct live_cuts *c, const struct live_cut_frame *f,
             struct message *m)
{
    return f->type == MEDIA_DATA && (f->flags & MEDIA_META) == 0 &&
           f->len <= MESSAGE_MAX && copy_payload(c, f, m->bytes) &&
           message_begin(m, f->len);
}

bool
message_text(const struct message *m, struct str *text)
{
    struct amf_reader values = m->values;
    struct amf_value v;
    struct str name;

    if (!str_eq(m->name, STR("onTextData")) || !amf_read(&values, NULL, &v) ||
        v.kind != AMF_OBJECT) {
        return false;
    }
    struct amf_reader inside = v.inside;

    while (amf_read(&inside, &name, &v)) {
        if (str_eq(name, STR("text")) && v.kind == AMF_STRING) {
            *text = v.string;
            return true;
        }
    }
    return false;
}

/* ---- JSON ---- */

static void
put_number(struct json_out *o, double n)
{
    if (n == floor(n) && fabs(n) < INTEGER_MAX) {
        json_int(o, (int64_t)n);
    } else if (isfinite(n) && fabs(n) < INTEGER_MAX / 1000) {
        json_thousandths(o, (int64_t)(n * 1000));
    } else {
        json_null(o);
    }
}

static void put_members(struct json_out *o, struct amf_reader *r, int depth);

static void
put_value(struct json_out *o, const struct amf_value *v, int depth)
{
    struct amf_reader inside = v->inside;

    switch (v->kind) {
    case AMF_NUMBER:
    case AMF_DATE:
        put_number(o, v->number);
        return;
    case AMF_BOOL:
        json_bool(o, v->boolean);
        return;
    case AMF_STRING:
        json_str(o, v->string);
        return;
    case AMF_OBJECT:
        json_open(o);
        put_members(o, &inside, depth + 1);
        json_close(o);
        return;
    case AMF_ARRAY:
        json_open_array(o);
        put_members(o, &inside, depth + 1);
        json_close(o);
        return;
    case AMF_NULL:
    case AMF_OTHER:
        break;
    }
    json_null(o);
}

static void
put_members(struct json_out *o, struct amf_reader *r, int depth)
{
    struct str name = STR_NONE;
    struct amf_value v;
    char key[256];

    while (depth <= AMF_DEPTH_MAX && amf_read(r, &name, &v)) {
        if (r->named) {
            str_copy(key, sizeof(key), name);
            json_key(o, key);
        }
        put_value(o, &v, depth);
    }
}

static int
write_json(const struct message *m, struct buf *out)
{
    struct amf_reader values = m->values;
    struct json_out o;

    json_begin(&o, out, false);
    json_open_array(&o);
    put_members(&o, &values, 0);
    json_close(&o);
    return json_end(&o);
}

/* ---- ID3 ---- */

/* Seven bits a byte (ID3v2.4.0 structure, 6.2). */
static void
put_size(uint8_t *to, size_t n)
{
    for (int i = 3; i >= 0; i--) {
        to[i] = n & 0x7f;
        n >>= 7;
    }
}

static int
write_id3(const struct message *m, struct str json, struct buf *out)
{
    static const uint8_t utf8 = 3, end = 0;
    size_t size = 1 + m->name.len + 1 + json.len;
    uint8_t tag[ID3_HEAD] = "ID3\4", frame[ID3_HEAD] = "TXXX";

    put_size(tag + 6, ID3_HEAD + size);
    put_size(frame + 4, size);
    return buf_add(out, tag, sizeof(tag)) | buf_add(out, frame, sizeof(frame)) |
           buf_add(out, &utf8, 1) | buf_add_str(out, m->name) |
           buf_add(out, &end, 1) | buf_add_str(out, json);
}

int
message_id3(const struct message *m, struct buf *out)
{
    struct buf json;
    int rc = -1;

    buf_init(&json, JSON_MAX);
    if (write_json(m, &json) == 0 && write_id3(m, buf_str(&json), out) == 0) {
        rc = 0;
    }
    buf_clear(&json);
    return rc;
}
