/*
 * What llhttp, in strict mode, says of a head that our parsers took: of a
 * request, or of an answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_ORACLE_H
#define HTTP_ORACLE_H

#include <llhttp.h>

#include "http/parse_answer.h"

struct check {
    const struct http_head *head;
    size_t header; /* the one that is being read */
    struct str method, target, name, value;
    bool differs;
};

/* Spans may come in pieces; all of them lie in the head's text. */
static void
extend(struct str *s, const char *at, size_t n)
{
    if (s->len == 0) {
        s->ptr = at;
    }
    s->len += n;
}

static inline int
on_method(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->method, at, n);
    return 0;
}

static inline int
on_url(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->target, at, n);
    return 0;
}

static inline int
on_name(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->name, at, n);
    return 0;
}

static inline int
on_value(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->value, at, n);
    return 0;
}

/* Headers with '_' in their name are left out of a request. */
static inline int
on_header(llhttp_t *p)
{
    struct check *c = p->data;
    bool left_out =
        p->type == HTTP_REQUEST && str_find(c->name, '_', 0) < c->name.len;

    if (!left_out && c->header < c->head->header_count) {
        const struct http_header *h = &c->head->headers[c->header++];

        c->differs |=
            !str_eq(h->name, c->name) || !str_eq(h->value, str_trim(c->value));
    } else {
        c->differs |= !left_out;
    }
    c->name = c->value = STR_NONE;
    return 0;
}

static inline int
on_headers(llhttp_t *p)
{
    struct check *c = p->data;
    const struct http_head *head = c->head;
    bool chunked = (p->flags & F_CHUNKED) != 0;
    bool length = (p->flags & F_CONTENT_LENGTH) != 0;

    c->differs |= c->header != head->header_count || chunked != head->chunked ||
                  length != (head->length >= 0) || p->http_major != 1 ||
                  p->http_minor != head->version - 10;
    if (length && p->content_length != (uint64_t)head->length) {
        c->differs = true;
    }
    return HPE_PAUSED; /* the body is another matter */
}

static const llhttp_settings_t oracle_settings = {
    .on_method = on_method,
    .on_url = on_url,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_header_value_complete = on_header,
    .on_headers_complete = on_headers,
};

/* The head through llhttp, which is left in *p with its findings in *c. */
static inline llhttp_errno_t
ask_of_head(const struct http_head *head, llhttp_type_t type, llhttp_t *p,
            struct check *c)
{
    *c = (struct check){ .head = head,
                         .method = STR_NONE,
                         .target = STR_NONE,
                         .name = STR_NONE,
                         .value = STR_NONE };
    llhttp_init(p, type, &oracle_settings);
    p->data = c;
    return llhttp_execute(p, head->text.ptr, head->text.len);
}

/* Whether llhttp takes the head of an answer that http_parse_answer() took,
 * and sees the same in it. */
static inline bool
oracle_agrees_with_answer(const struct http_answer *a)
{
    struct check c;
    llhttp_t p;
    llhttp_errno_t result = ask_of_head(&a->head, HTTP_RESPONSE, &p, &c);

    return result == HPE_PAUSED && !c.differs && p.status_code == a->status;
}

/* Whether llhttp takes the head that http_parse() took, and sees the same in
 * it.  In methods that it does not know it has no say. */
static inline bool
oracle_agrees(const struct http_head *head)
{
    struct check c;
    llhttp_t p;
    llhttp_errno_t result = ask_of_head(head, HTTP_REQUEST, &p, &c);

    return result == HPE_INVALID_METHOD ||
           (result == HPE_PAUSED && !c.differs &&
            str_eq(c.method, head->method) && str_eq(c.target, head->target));
}

#endif
