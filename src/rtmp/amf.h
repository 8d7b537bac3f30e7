/*
 * AMF0 (Adobe, 2007): values read in place from (ptr, len), and written.
 *
 * The reader copies nothing and is as tolerant as real senders need: it ignores
 * the count of an ECMA array, an object's end may be missing, objects and
 * arrays with names are read alike, and it reads an AMF3 value behind the
 * switch 0x11 as far as commands need it.  References are refused; nesting is
 * bounded.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_AMF_H
#define RTMP_AMF_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AMF_DEPTH_MAX = 16 };

enum amf_kind {
    AMF_NULL, /* null, undefined, unsupported */
    AMF_NUMBER,
    AMF_BOOL,
    AMF_STRING, /* long strings and XML too */
    AMF_DATE,
    AMF_OBJECT, /* members have names: object, typed object, ECMA array */
    AMF_ARRAY,  /* members have none */
    AMF_OTHER,  /* an AMF3 array, object or byte array: skipped */
};

/* The bytes still to be read: values one after another, or members. */
struct amf_reader {
    const uint8_t *p;
    size_t n;
    bool named; /* inside an object: a name stands before each value */
};

struct amf_value {
    enum amf_kind kind;
    bool boolean;
    double number;            /* AMF_NUMBER; AMF_DATE: ms since 1970 */
    struct str string;        /* AMF_STRING: borrowed from the input */
    struct amf_reader inside; /* AMF_OBJECT, AMF_ARRAY */
};

void amf_reader_init(struct amf_reader *r, const uint8_t *p, size_t n);

/* The next value: true; false at the end and at a malformed value, and then for
 * good. *name is set inside an object; it may be NULL. */
bool amf_read(struct amf_reader *r, struct str *name, struct amf_value *v);

/* For the arguments of commands: the next value if it is of that kind, else
 * the default; a value of another kind is skipped. */
struct str amf_read_string(struct amf_reader *r, struct str otherwise);
double amf_read_number(struct amf_reader *r, double otherwise);
bool amf_read_bool(struct amf_reader *r, bool otherwise);
void amf_skip(struct amf_reader *r);

/* ---- writing ---- */

/* Each adds to b; a value that does not fit marks the writer failed. */
struct amf_writer {
    struct buf *b; /* borrowed */
    bool failed;
};

void amf_put_number(struct amf_writer *w, double v);
void amf_put_bool(struct amf_writer *w, bool v);
void amf_put_string(struct amf_writer *w, struct str s); /* long if it must */
void amf_put_null(struct amf_writer *w);
void amf_begin_object(struct amf_writer *w);
/* A strict array of count values, which follow. */
void amf_begin_array(struct amf_writer *w, uint32_t count);
/* The name of the member that follows. */
void amf_put_name(struct amf_writer *w, struct str name);
void amf_end_object(struct amf_writer *w);

#endif
