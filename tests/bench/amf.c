/*
 * AMF0, as far as commands go.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "amf.h"

#include "common.h"

#include <string.h>

enum amf_type {
    AMF_NUMBER = 0,
    AMF_BOOL = 1,
    AMF_STRING = 2,
    AMF_OBJECT = 3,
    AMF_NULL = 5,
    AMF_UNDEFINED = 6,
    AMF_ARRAY = 8,
    AMF_END = 9,
};

uint8_t *
amf_put_number(uint8_t *p, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    *p++ = AMF_NUMBER;
    p = put_be32(p, (uint32_t)(bits >> 32));
    return put_be32(p, (uint32_t)bits);
}

uint8_t *
amf_put_bool(uint8_t *p, bool v)
{
    *p++ = AMF_BOOL;
    *p++ = v;
    return p;
}

uint8_t *
amf_put_string(uint8_t *p, const char *s)
{
    *p++ = AMF_STRING;
    return amf_put_key(p, s);
}

uint8_t *
amf_put_null(uint8_t *p)
{
    *p++ = AMF_NULL;
    return p;
}

uint8_t *
amf_begin_object(uint8_t *p)
{
    *p++ = AMF_OBJECT;
    return p;
}

uint8_t *
amf_begin_array(uint8_t *p, uint32_t count)
{
    *p++ = AMF_ARRAY;
    return put_be32(p, count);
}

uint8_t *
amf_put_key(uint8_t *p, const char *key)
{
    size_t n = strlen(key);

    p = put_be16(p, (uint32_t)n);
    return put_bytes(p, key, n);
}

uint8_t *
amf_end_object(uint8_t *p)
{
    return put_be24(p, AMF_END);
}

/* What is being read; bad once anything did not fit. */
struct scan {
    const uint8_t *p;
    const uint8_t *end;
    bool bad;
    struct amf_reply *reply;
};

static bool
need(struct scan *s, size_t n)
{
    if ((size_t)(s->end - s->p) < n) {
        s->bad = true;
    }
    return !s->bad;
}

/* Reads a string of 16-bit length; keeps what fits into out. */
static void
scan_text(struct scan *s, char *out, size_t room)
{
    if (!need(s, 2)) {
        return;
    }
    size_t n = get_be16(s->p);

    s->p += 2;
    if (!need(s, n)) {
        return;
    }
    size_t kept = n < room - 1 ? n : room - 1;

    memcpy(out, s->p, kept);
    out[kept] = '\0';
    s->p += n;
}

static double
scan_number(struct scan *s)
{
    double v = 0;

    if (need(s, 8)) {
        uint64_t bits = (uint64_t)get_be32(s->p) << 32 | get_be32(s->p + 4);

        memcpy(&v, &bits, sizeof(v));
        s->p += 8;
    }
    return v;
}

static void scan_value(struct scan *s, const char *key, int depth);

static void
scan_object(struct scan *s, int depth)
{
    char key[64];

    while (!s->bad) {
        scan_text(s, key, sizeof(key));
        if (!s->bad && key[0] == '\0' && need(s, 1) && *s->p == AMF_END) {
            s->p++;
            return;
        }
        scan_value(s, key, depth);
    }
}

/* A string that stands at a key, "" at the top. */
static void
scan_string(struct scan *s, const char *key)
{
    char other[1];

    if (strcmp(key, "code") == 0) {
        scan_text(s, s->reply->code, sizeof(s->reply->code));
    } else if (strcmp(key, "description") == 0) {
        scan_text(s, s->reply->about, sizeof(s->reply->about));
    } else {
        scan_text(s, other, sizeof(other));
    }
}

static void
scan_value(struct scan *s, const char *key, int depth)
{
    if (depth > 8 || !need(s, 1)) {
        s->bad = true;
        return;
    }
    double number;

    switch (*s->p++) {
    case AMF_NUMBER:
        number = scan_number(s);
        if (key[0] == '\0') {
            s->reply->number = number;
        }
        break;
    case AMF_BOOL:
        if (need(s, 1)) {
            s->p++;
        }
        break;
    case AMF_STRING:
        scan_string(s, key);
        break;
    case AMF_ARRAY:
        if (need(s, 4)) {
            s->p += 4;
        }
        scan_object(s, depth + 1);
        break;
    case AMF_OBJECT:
        scan_object(s, depth + 1);
        break;
    case AMF_NULL:
    case AMF_UNDEFINED:
        break;
    default:
        s->bad = true;
    }
}

bool
amf_get_reply(const uint8_t *p, size_t n, struct amf_reply *reply)
{
    struct scan s = { .p = p, .end = p + n, .reply = reply };

    *reply = (struct amf_reply){ 0 };
    if (!need(&s, 1) || *s.p++ != AMF_STRING) {
        return false;
    }
    scan_text(&s, reply->name, sizeof(reply->name));
    if (s.bad || !need(&s, 1)) {
        return false;
    }
    if (*s.p == AMF_NUMBER) { /* a notice such as onMetaData has none */
        s.p++;
        reply->transaction = scan_number(&s);
    }
    while (!s.bad && s.p < s.end) {
        scan_value(&s, "", 0);
    }
    return !s.bad;
}
