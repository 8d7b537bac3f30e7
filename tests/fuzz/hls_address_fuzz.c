/*
 * Fuzz target: paths and queries of streams.
 *
 * The first line is a path, the others a query.  A path that names an object
 * is the only spelling of it: written anew it is the same bytes.
 *
 * covers: modules/hls/address.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "address.h"

static void
write_object(struct buf *out, const struct hls_address *a)
{
    require(buf_add_str(out, a->stream) == 0);
    require(buf_printf(out, "/%016llx/", (unsigned long long)a->word) == 0);
    require(buf_add_str(out, a->rendition) == 0);
    require(buf_add_str(out, a->rendition.len > 0 ? STR("-") : STR_NONE) == 0);
    if (a->kind == HLS_INIT) {
        require(buf_printf(out, "init-%u", a->header) == 0);
    } else {
        require(buf_printf(out, "%llu", (unsigned long long)a->segment) == 0);
    }
    if (a->kind == HLS_PART) {
        require(buf_printf(out, ".%u", a->part) == 0);
    }
    require(buf_add_str(out, a->suffix) == 0);
}

/* A base brings nothing that ends a quoted string, a line or a folder. */
static void
look_at_base(const struct hls_address *a)
{
    struct buf out;
    struct str base;

    buf_init(&out, 1 << 20);
    require(hls_address_base(&out, a->name, a->word) == 0);
    base = buf_str(&out);
    require(base.len > 18 && str_find(base, '/', 0) == base.len - 18);
    for (size_t i = 0; i < base.len; i++) {
        require(base.ptr[i] > ' ' && base.ptr[i] < 0x7f);
        require(base.ptr[i] != '"' && base.ptr[i] != ':');
    }
    buf_clear(&out);
}

static void
look_at_path(struct str path)
{
    struct hls_address a;
    struct buf out;

    if (hls_address_read(&a, path) == HLS_NOTHING) {
        return;
    }
    require(a.app.len > 0 && a.name.len > 0);
    require(a.stream.len == a.app.len + 1 + a.name.len);
    require(str_starts(path, a.stream));
    look_at_base(&a);
    if (a.kind < HLS_SEGMENT) {
        return;
    }
    buf_init(&out, 1 << 20);
    write_object(&out, &a);
    require(str_eq(buf_str(&out), path));
    buf_clear(&out);
}

static void
look_at_query(struct str query)
{
    struct hls_directives d;

    if (hls_directives_read(&d, query) != NULL) {
        return;
    }
    require(d.has_segment || !d.has_part);
    require(hls_directives_refused(&d, UINT64_MAX, 0, UINT32_MAX) == NULL);
    if (d.has_segment && d.segment > 12) {
        require(hls_directives_refused(&d, 10, 0, UINT32_MAX) != NULL);
    }
    require(!d.has_segment || d.segment != 12 ||
            (hls_directives_refused(&d, 10, 5, 3) != NULL) ==
                (d.has_part && d.part > 3));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    struct str path = str_cut(&input, '\n');

    look_at_path(path);
    look_at_query(input);
    return 0;
}
