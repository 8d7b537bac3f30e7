/*
 * Fuzz target: the AMF reader.
 *
 * All values are read, and all members inside them; what is read must lie
 * within the input.
 *
 * covers: src/rtmp/amf3.c
 * covers: src/rtmp/amf.c:amf_read,amf_read_string,amf_read_number,amf_read_bool
 * covers: src/rtmp/amf.c:take_name,take_string,take,take_double,read_value,fail
 * covers: src/rtmp/amf.c:read_bool,read_named,read_object,read_array,read_date
 * covers: src/rtmp/amf.c:read_amf3
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "rtmp/amf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *start, *end;

static void
check_inside(const void *p, size_t n)
{
    const uint8_t *at = p;
    if (n > 0 && (at < start || at + n > end)) {
        abort();
    }
}

static void
walk(struct amf_reader *r, int depth)
{
    struct amf_value v;
    struct str name = STR_NONE;
    if (depth > AMF_DEPTH_MAX + 1) {
        abort();
    }
    while (amf_read(r, &name, &v)) {
        check_inside(name.ptr, name.len);
        if (v.kind == AMF_STRING) {
            check_inside(v.string.ptr, v.string.len);
        }
        if (v.kind == AMF_OBJECT || v.kind == AMF_ARRAY) {
            check_inside(v.inside.p, v.inside.n);
            walk(&v.inside, depth + 1);
        }
    }
    if (r->n != 0) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct amf_reader r;
    start = data;
    end = data + size;
    amf_reader_init(&r, data, size);
    walk(&r, 0);

    amf_reader_init(&r, data, size);
    struct str name = amf_read_string(&r, STR("?"));
    double number = amf_read_number(&r, 0);
    bool flag = amf_read_bool(&r, false);
    return name.len > size || (number > 0 && number < 0) || (flag && size == 0);
}
