/*
 * Fuzz target: XML.
 *
 * Whatever comes: it is a tree within its bounds, or refused with a reason;
 * what was read can be written, and is read again as the same.  It is the same
 * in pieces, wherever it is cut.
 *
 * covers: src/xml/read.c src/xml/scan.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "xml/read.h"
#include "xml/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names are left out: the writer trusts them. */
static void
write_out(struct xml_out *o, const struct xml_element *e, unsigned depth)
{
    if (depth > XML_READ_DEPTH || !utf8_valid(e->text) || e->line < 1 ||
        (e->first == NULL) != (e->last == NULL)) {
        abort();
    }
    xml_open(o, "e");
    if (e->attributes != NULL) {
        xml_attribute(o, "a", e->attributes->value);
    }
    xml_text(o, e->text);
    if (xml_blank(e->text) && e->text.len > 0 && xml_child(e, "e") == e &&
        xml_attribute_of(e, "", "a") == NULL) {
        abort();
    }
    for (const struct xml_element *c = e->first; c != NULL; c = c->next) {
        write_out(o, c, depth + 1);
    }
    xml_close(o);
}

static void
compare(const struct xml_element *a, const struct xml_element *b)
{
    if (!str_eq(a->text, b->text) ||
        (a->attributes != NULL &&
         !str_eq(a->attributes->value, b->attributes->value))) {
        abort();
    }
    a = a->first;
    b = b->first;
    for (; a != NULL && b != NULL; a = a->next, b = b->next) {
        compare(a, b);
    }
    if (a != b) {
        abort();
    }
}

static const struct xml_element *
read_in_pieces(struct pool *pool, struct str text, size_t step)
{
    struct xml_reader *r = xml_reader_new(pool);
    struct errmsg err = { "" };
    size_t at = 0, end = 0;

    do {
        end = end + step < text.len ? end + step : text.len;
        at += xml_reader_feed(r, str_of(text.ptr + at, end - at),
                              end == text.len);
        if (at > end) {
            abort();
        }
    } while (end < text.len);
    return xml_reader_end(r, &err);
}

static void
cut(struct pool *pool, const struct xml_element *whole, struct str text)
{
    for (size_t step = 1; step < 6; step += 2) {
        const struct xml_element *e = read_in_pieces(pool, text, step);

        if ((e == NULL) != (whole == NULL)) {
            abort();
        }
        if (e != NULL) {
            compare(e, whole);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pool *pool = pool_new(1024);
    struct errmsg err = { "" };
    const struct xml_element *e = xml_read(pool, str_of(data, size), &err);

    if (e == NULL && err.text[0] == 0) {
        abort();
    }
    cut(pool, e, str_of(data, size));
    if (e != NULL) {
        const struct xml_element *again;
        struct xml_out o;
        struct buf b;

        buf_init(&b, SIZE_MAX / 2);
        xml_begin(&o, &b);
        write_out(&o, e, 1);
        if (xml_end(&o) == -1) {
            abort();
        }
        again = xml_read(pool, buf_str(&b), &err);
        /* A tag may have become longer by its escapes. */
        if (again != NULL) {
            compare(e, again);
        }
        buf_clear(&b);
    }
    pool_free(&pool);
    return 0;
}
