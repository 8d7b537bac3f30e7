/*
 * AMF0.
 *
 * A container is skipped whole when its value is read; who wants its members
 * reads them from value->inside.  So the reader needs no stack, and a value
 * is only ever read twice.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/amf.h"

#include <string.h>

#include "base/bytes.h"
#include "rtmp/amf3.h"

enum marker { /* AMF0, 2.1 */
              MARK_NUMBER = 0x00,
              MARK_BOOL = 0x01,
              MARK_STRING = 0x02,
              MARK_OBJECT = 0x03,
              MARK_NULL = 0x05,
              MARK_UNDEFINED = 0x06,
              MARK_ECMA_ARRAY = 0x08,
              MARK_OBJECT_END = 0x09,
              MARK_STRICT_ARRAY = 0x0a,
              MARK_DATE = 0x0b,
              MARK_LONG_STRING = 0x0c,
              MARK_UNSUPPORTED = 0x0d,
              MARK_XML = 0x0f,
              MARK_TYPED_OBJECT = 0x10,
              MARK_AMF3 = 0x11,
};

void
amf_reader_init(struct amf_reader *r, const uint8_t *p, size_t n)
{
    r->p = p;
    r->n = n;
    r->named = false;
}

static bool
fail(struct amf_reader *r)
{
    r->n = 0;
    return false;
}

/* n bytes, or NULL. */
static const uint8_t *
take(struct amf_reader *r, size_t n)
{
    if (r->n < n) {
        return NULL;
    }
    const uint8_t *at = r->p;
    r->p += n;
    r->n -= n;
    return at;
}

/* A string behind a length of 2 or 4 bytes. */
static bool
take_string(struct amf_reader *r, size_t length_bytes, struct str *s)
{
    const uint8_t *p = take(r, length_bytes);
    if (p == NULL) {
        return false;
    }
    size_t len = length_bytes == 2 ? get_be16(p) : get_be32(p);
    p = take(r, len);
    if (p == NULL) {
        return false;
    }
    *s = str_of(p, len);
    return true;
}

static bool
take_double(struct amf_reader *r, double *v)
{
    const uint8_t *p = take(r, 8);
    if (p == NULL) {
        return false;
    }
    uint64_t bits = (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
    memcpy(v, &bits, sizeof(*v));
    return true;
}

static bool read_value(struct amf_reader *r, struct amf_value *v, int depth);

/* The name of a member; false at the end of the object.  The end may be
 * missing, and some senders end with the marker alone. */
static bool
take_name(struct amf_reader *r, struct str *name)
{
    if (r->n == 0) {
        return false;
    }
    if (!take_string(r, 2, name)) {
        return fail(r);
    }
    if (r->n > 0 && *r->p == MARK_OBJECT_END) {
        take(r, 1);
        return false;
    }
    return true;
}

/* Members up to the end of the object. */
static bool
read_object(struct amf_reader *r, struct amf_value *v, int depth)
{
    v->kind = AMF_OBJECT;
    v->inside = (struct amf_reader){ r->p, 0, true };
    struct str name;
    struct amf_value member;
    const uint8_t *end = r->p;
    while (take_name(r, &name)) {
        if (!read_value(r, &member, depth + 1)) {
            return false;
        }
        end = r->p;
    }
    v->inside.n = (size_t)(end - v->inside.p);
    return true;
}

static bool
read_array(struct amf_reader *r, struct amf_value *v, int depth)
{
    const uint8_t *p = take(r, 4);
    if (p == NULL) {
        return false;
    }
    v->kind = AMF_ARRAY;
    v->inside = (struct amf_reader){ r->p, 0, false };
    struct amf_value member;
    for (uint32_t left = get_be32(p); left > 0 && r->n > 0; left--) {
        if (!read_value(r, &member, depth + 1)) {
            return false;
        }
    }
    v->inside.n = (size_t)(r->p - v->inside.p);
    return true;
}

static bool
read_bool(struct amf_reader *r, struct amf_value *v)
{
    const uint8_t *p = take(r, 1);
    v->kind = AMF_BOOL;
    v->boolean = p != NULL && *p != 0;
    return p != NULL;
}

static bool
read_date(struct amf_reader *r, struct amf_value *v)
{
    v->kind = AMF_DATE;
    return take_double(r, &v->number) && take(r, 2) != NULL; /* time zone */
}

static bool
read_amf3(struct amf_reader *r, struct amf_value *v)
{
    size_t n = amf3_read(r->p, r->n, v);
    return n > 0 && take(r, n) != NULL;
}

/* An array with names, whose count is not believed, or an object whose class
 * is of no interest: skip n bytes or a name, then they are objects. */
static bool
read_named(struct amf_reader *r, struct amf_value *v, int marker, int depth)
{
    struct str class_name;
    if (marker == MARK_ECMA_ARRAY && take(r, 4) == NULL) {
        return false;
    }
    if (marker == MARK_TYPED_OBJECT && !take_string(r, 2, &class_name)) {
        return false;
    }
    return read_object(r, v, depth);
}

static bool
read_value(struct amf_reader *r, struct amf_value *v, int depth)
{
    const uint8_t *marker = depth < AMF_DEPTH_MAX ? take(r, 1) : NULL;
    if (marker == NULL) {
        return fail(r);
    }
    memset(v, 0, sizeof(*v));
    bool good = false;
    switch (*marker) {
    case MARK_NUMBER:
        v->kind = AMF_NUMBER;
        good = take_double(r, &v->number);
        break;
    case MARK_BOOL:
        good = read_bool(r, v);
        break;
    case MARK_STRING:
    case MARK_LONG_STRING:
    case MARK_XML:
        v->kind = AMF_STRING;
        good = take_string(r, *marker == MARK_STRING ? 2 : 4, &v->string);
        break;
    case MARK_NULL:
    case MARK_UNDEFINED:
    case MARK_UNSUPPORTED:
        v->kind = AMF_NULL;
        good = true;
        break;
    case MARK_OBJECT:
    case MARK_ECMA_ARRAY:
    case MARK_TYPED_OBJECT:
        good = read_named(r, v, *marker, depth);
        break;
    case MARK_STRICT_ARRAY:
        good = read_array(r, v, depth);
        break;
    case MARK_DATE:
        good = read_date(r, v);
        break;
    case MARK_AMF3:
        good = read_amf3(r, v);
        break;
    default: /* references, movie clips, record sets, a stray object end */
        break;
    }
    return good || fail(r);
}

bool
amf_read(struct amf_reader *r, struct str *name, struct amf_value *v)
{
    struct str unused;
    if (r->named && !take_name(r, name != NULL ? name : &unused)) {
        return fail(r);
    }
    return read_value(r, v, 0);
}

struct str
amf_read_string(struct amf_reader *r, struct str otherwise)
{
    struct amf_value v;
    bool is = amf_read(r, NULL, &v) && v.kind == AMF_STRING;
    return is ? v.string : otherwise;
}

double
amf_read_number(struct amf_reader *r, double otherwise)
{
    struct amf_value v;
    bool is = amf_read(r, NULL, &v) && v.kind == AMF_NUMBER;
    return is ? v.number : otherwise;
}

bool
amf_read_bool(struct amf_reader *r, bool otherwise)
{
    struct amf_value v;
    bool is = amf_read(r, NULL, &v) && v.kind == AMF_BOOL;
    return is ? v.boolean : otherwise;
}

void
amf_skip(struct amf_reader *r)
{
    struct amf_value v;
    amf_read(r, NULL, &v);
}

/* ---- writing ---- */

static void
put(struct amf_writer *w, const void *data, size_t n)
{
    if (!w->failed && buf_add(w->b, data, n) != 0) {
        w->failed = true;
    }
}

static void
put_marker(struct amf_writer *w, enum marker marker)
{
    uint8_t byte = (uint8_t)marker;
    put(w, &byte, 1);
}

void
amf_put_number(struct amf_writer *w, double v)
{
    uint8_t bytes[8];
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_be32(bytes, (uint32_t)(bits >> 32));
    put_be32(bytes + 4, (uint32_t)bits);
    put_marker(w, MARK_NUMBER);
    put(w, bytes, sizeof(bytes));
}

void
amf_put_bool(struct amf_writer *w, bool v)
{
    uint8_t byte = v ? 1 : 0;
    put_marker(w, MARK_BOOL);
    put(w, &byte, 1);
}

void
amf_put_string(struct amf_writer *w, struct str s)
{
    uint8_t len[4];
    bool is_long = s.len > 0xffff;
    put_marker(w, is_long ? MARK_LONG_STRING : MARK_STRING);
    if (is_long) {
        put_be32(len, (uint32_t)s.len);
    } else {
        put_be16(len, (uint32_t)s.len);
    }
    put(w, len, is_long ? 4 : 2);
    put(w, s.ptr, s.len);
}

void
amf_put_null(struct amf_writer *w)
{
    put_marker(w, MARK_NULL);
}

void
amf_begin_object(struct amf_writer *w)
{
    put_marker(w, MARK_OBJECT);
}

void
amf_begin_array(struct amf_writer *w, uint32_t count)
{
    uint8_t bytes[4];
    put_be32(bytes, count);
    put_marker(w, MARK_STRICT_ARRAY);
    put(w, bytes, sizeof(bytes));
}

void
amf_put_name(struct amf_writer *w, struct str name)
{
    uint8_t len[2];
    name = str_first(name, 0xffff);
    put_be16(len, (uint32_t)name.len);
    put(w, len, sizeof(len));
    put(w, name.ptr, name.len);
}

void
amf_end_object(struct amf_writer *w)
{
    static const uint8_t end[3] = { 0, 0, MARK_OBJECT_END };
    put(w, end, sizeof(end));
}
