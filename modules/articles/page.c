/*
 * Pages: their cursors, their size, their entity tags.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "page.h"

#include "answer.h"
#include "base/hash.h"

enum http_result
page_refuse(struct http_request *r, const char *what)
{
    return answer_refuse(r, ARTICLES_REFUSED_PARAMETER, 400,
                         ANSWER_BAD_PARAMETER, "%s", what);
}

enum http_result
page_refuse_cursor(struct ask *a)
{
    return page_refuse(a->request, "cursor must be an X-Cursor of the same "
                                   "list, as it was given");
}

bool
page_take_num(struct http_request *r, int64_t most, int64_t *num)
{
    struct str text;
    int64_t n = 0;

    *num = ARTICLES_NUM;
    if (http_query(r, "num", &text)) {
        if (str_starts(text, STR("+"))) {
            str_to_int(str_skip(text, 1), 0, INT64_MAX, &n);
        } else {
            str_to_int(text, INT64_MIN, INT64_MAX, &n);
        }
    }
    if (n < 0) {
        page_refuse(r, "num must not be negative");
        return false;
    }
    if (n > 0) {
        *num = n;
    }
    *num = *num < most ? *num : most;
    return true;
}

struct str
page_set_next(struct ask *a, const struct cursor *last, struct str filter)
{
    struct http_request *r = a->request;
    char text[CURSOR_TEXT];
    struct str link;

    cursor_write(text, last, a->layer->secret, filter);
    a->cursor = pool_str(r->pool, str_from(text));
    http_set_header(r, "X-Cursor", a->cursor);
    link = answer_link(r, str_from(text));
    a->link = pool_join(r->pool, STRS(STR("<"), link, STR(">; rel=\"next\"")));
    http_set_header(r, "Link", a->link);
    return link;
}

void
page_tag(struct tag *t, const struct ask *a, const int64_t *shown, size_t n,
         bool more)
{
    static const uint8_t key[16] = "weir articles";
    uint64_t hash = hash_keyed(key, str_of(shown, n * sizeof(*shown)));

    tag_of_list(t, hash + more, a->format, a->layer->settings->envelope);
}
