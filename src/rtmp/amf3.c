/*
 * AMF3, one value.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/amf3.h"

#include <string.h>

#include "base/bytes.h"

enum marker { /* AMF3, 3.1 */
              MARK_UNDEFINED,
              MARK_NULL,
              MARK_FALSE,
              MARK_TRUE,
              MARK_INTEGER,
              MARK_DOUBLE,
              MARK_STRING,
              MARK_XML_DOC,
              MARK_DATE,
              MARK_ARRAY,
              MARK_OBJECT,
              MARK_XML,
              MARK_BYTES,
};

struct span {
    const uint8_t *p;
    size_t n;
};

static const uint8_t *
take(struct span *s, size_t n)
{
    if (s->n < n) {
        return NULL;
    }
    const uint8_t *at = s->p;
    s->p += n;
    s->n -= n;
    return at;
}

/* U29: seven bits a byte, eight in the fourth (1.3.1). */
static bool
take_u29(struct span *s, uint32_t *v)
{
    *v = 0;
    for (int i = 0; i < 3; i++) {
        const uint8_t *p = take(s, 1);
        if (p == NULL) {
            return false;
        }
        *v = *v << 7 | (*p & 0x7f);
        if ((*p & 0x80) == 0) {
            return true;
        }
    }
    const uint8_t *p = take(s, 1);
    *v = p != NULL ? *v << 8 | *p : 0;
    return p != NULL;
}

/* A length whose lowest bit says that the bytes follow; else it refers to
 * earlier ones, of which nothing is kept: an empty string. */
static bool
take_bytes(struct span *s, struct str *out)
{
    uint32_t head;
    if (!take_u29(s, &head)) {
        return false;
    }
    *out = STR_NONE;
    if ((head & 1) == 0) {
        return true;
    }
    const uint8_t *p = take(s, head >> 1);
    if (p == NULL) {
        return false;
    }
    *out = str_of(p, head >> 1);
    return true;
}

static bool
take_double(struct span *s, double *v)
{
    const uint8_t *p = take(s, 8);
    if (p == NULL) {
        return false;
    }
    uint64_t bits = (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
    memcpy(v, &bits, sizeof(*v));
    return true;
}

static bool read_value(struct span *s, struct amf_value *v, int depth);

/* Pairs of name and value up to an empty name. */
static bool
skip_pairs(struct span *s, int depth)
{
    struct str name;
    struct amf_value v;
    while (take_bytes(s, &name)) {
        if (name.len == 0) {
            return true;
        }
        if (!read_value(s, &v, depth)) {
            return false;
        }
    }
    return false;
}

static bool
skip_values(struct span *s, uint32_t count, int depth)
{
    struct amf_value v;
    for (; count > 0; count--) {
        if (!read_value(s, &v, depth)) {
            return false;
        }
    }
    return true;
}

static bool
skip_array(struct span *s, int depth)
{
    uint32_t head;
    if (!take_u29(s, &head)) {
        return false;
    }
    if ((head & 1) == 0) {
        return true; /* a reference */
    }
    return skip_pairs(s, depth) && skip_values(s, head >> 1, depth);
}

/* Bits of the head: 1 inline, 2 class inline, 4 externalizable, 8 dynamic;
 * above them the number of members. */
static bool
skip_object(struct span *s, int depth)
{
    uint32_t head;
    struct str name;
    if (!take_u29(s, &head)) {
        return false;
    }
    if ((head & 1) == 0) {
        return true;
    }
    if ((head & 2) == 0 || (head & 4) != 0 || !take_bytes(s, &name)) {
        return false;
    }
    for (uint32_t i = head >> 4; i > 0; i--) {
        if (!take_bytes(s, &name)) {
            return false;
        }
    }
    return skip_values(s, head >> 4, depth) &&
           ((head & 8) == 0 || skip_pairs(s, depth));
}

static bool
read_integer(struct span *s, struct amf_value *v)
{
    uint32_t u;
    if (!take_u29(s, &u)) {
        return false;
    }
    v->kind = AMF_NUMBER;
    v->number = (double)u - ((u & 0x10000000) != 0 ? 0x20000000 : 0);
    return true;
}

static bool
read_date(struct span *s, struct amf_value *v)
{
    uint32_t head;
    v->kind = AMF_DATE;
    return take_u29(s, &head) &&
           ((head & 1) == 0 || take_double(s, &v->number));
}

static bool
read_container(struct span *s, struct amf_value *v, int marker, int depth)
{
    struct str bytes;
    v->kind = AMF_OTHER;
    if (marker == MARK_ARRAY) {
        return skip_array(s, depth + 1);
    }
    if (marker == MARK_OBJECT) {
        return skip_object(s, depth + 1);
    }
    return take_bytes(s, &bytes);
}

static bool
read_value(struct span *s, struct amf_value *v, int depth)
{
    const uint8_t *marker = depth < AMF_DEPTH_MAX ? take(s, 1) : NULL;
    if (marker == NULL) {
        return false;
    }
    memset(v, 0, sizeof(*v));
    switch (*marker) {
    case MARK_UNDEFINED:
    case MARK_NULL:
        return true;
    case MARK_FALSE:
    case MARK_TRUE:
        v->kind = AMF_BOOL;
        v->boolean = *marker == MARK_TRUE;
        return true;
    case MARK_INTEGER:
        return read_integer(s, v);
    case MARK_DOUBLE:
        v->kind = AMF_NUMBER;
        return take_double(s, &v->number);
    case MARK_STRING:
    case MARK_XML_DOC:
    case MARK_XML:
        v->kind = AMF_STRING;
        return take_bytes(s, &v->string);
    case MARK_DATE:
        return read_date(s, v);
    case MARK_ARRAY:
    case MARK_OBJECT:
    case MARK_BYTES:
        return read_container(s, v, *marker, depth);
    default:
        return false;
    }
}

size_t
amf3_read(const uint8_t *p, size_t n, struct amf_value *v)
{
    struct span s = { p, n };
    return read_value(&s, v, 0) ? n - s.n : 0;
}
