/*
 * Making entity tags, and comparing them with what a request names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tag.h"

#include <endian.h>

/* Two random numbers to one; which is which matters. */
static uint64_t
mix(uint64_t a, uint64_t b)
{
    return a * UINT64_C(0x9e3779b97f4a7c15) ^ (b << 1 | b >> 63);
}

static void
write_tag(struct tag *t, const char *weak, uint64_t edition,
          const struct article_format *f, bool envelope)
{
    const uint64_t bytes = htobe64(edition);
    const struct str parts[] = {
        str_from(weak), STR("\""),         str_of(t->edition, TAG_EDITION - 1),
        STR("-"),       str_from(f->name), envelope ? STR(".e\"") : STR("\""),
    };
    size_t len = 0;

    str_hex(t->edition, &bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        len = str_append(t->text, sizeof(t->text), len, parts[i]);
    }
}

void
tag_of_item(struct tag *t, int64_t edition, int64_t author_edition,
            const struct article_format *f, bool envelope)
{
    write_tag(t, "", mix((uint64_t)edition, (uint64_t)author_edition), f,
              envelope);
}

void
tag_of_list(struct tag *t, uint64_t hash, const struct article_format *f,
            bool envelope)
{
    write_tag(t, "W/", hash, f, envelope);
}

/* Without W/ and quotes. */
static struct str
bare(struct str tag)
{
    if (str_starts(tag, STR("W/"))) {
        tag = str_skip(tag, 2);
    }
    return tag.len >= 2 ? str_of(tag.ptr + 1, tag.len - 2) : STR_NONE;
}

/* Takes the next tag off a list, bare; false: there is none, or what is there
 * is none.  A comma may stand within the quotes. */
static bool
next_tag(struct str *list, struct str *tag)
{
    struct str s = *list;
    size_t begin, end;

    while (s.len > 0 && (*s.ptr == ',' || *s.ptr == ' ' || *s.ptr == '\t')) {
        s = str_skip(s, 1);
    }
    begin = str_starts(s, STR("W/")) ? 2 : 0;
    end = str_find(s, '"', begin + 1);
    if (begin >= s.len || s.ptr[begin] != '"' || end >= s.len) {
        return false;
    }
    *tag = bare(str_first(s, end + 1));
    *list = str_skip(s, end + 1);
    return true;
}

static bool
list_has(struct str list, struct str wanted, bool whole)
{
    struct str tag;

    if (str_eq(str_trim(list), STR("*"))) {
        return true;
    }
    while (next_tag(&list, &tag)) {
        if (whole ? str_eq(tag, wanted)
                  : str_eq(str_first(tag, str_find(tag, '-', 0)), wanted)) {
            return true;
        }
    }
    return false;
}

/* A list may be cut over several fields. */
static bool
any_has(const struct http_request *r, const char *name, struct str wanted,
        bool whole)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, str_from(name)) &&
            list_has(r->headers[i].value, wanted, whole)) {
            return true;
        }
    }
    return false;
}

bool
tag_is_expected(const struct http_request *r, const struct tag *t)
{
    return http_header(r, "If-Match") == NULL ||
           any_has(r, "If-Match", str_from(t->edition), false);
}

bool
tag_text_is_known(const struct http_request *r, struct str text)
{
    return http_header(r, "If-None-Match") != NULL &&
           any_has(r, "If-None-Match", bare(text), true);
}

bool
tag_is_known(const struct http_request *r, const struct tag *t)
{
    return tag_text_is_known(r, str_from(t->text));
}

bool
tag_is_asked_for(const struct http_request *r)
{
    const struct str *match = http_header(r, "If-Match");

    return (match != NULL && !str_eq(str_trim(*match), STR("*"))) ||
           http_header(r, "If-None-Match") != NULL;
}
