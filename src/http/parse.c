/*
 * The guard splits the lines, judge.c says what they mean, llhttp reads the
 * same bytes and is compared.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/parse.h"

#include <llhttp.h>
#include <string.h>

#include "http/judge.h"

const struct http_head http_head_empty = {
    .text = { "", 0 },
    .line = { "", 0 },
    .method = { "", 0 },
    .target = { "", 0 },
    .authority = { "", 0 },
    .path = { "", 0 },
    .query = { "", 0 },
    .host = { "", 0 },
    .version = 11,
    .length = -1,
};

/* ---- splitting; the scan vouches for the form of every line ---- */

static struct str
next_line(struct str *rest)
{
    struct str line = str_cut(rest, '\n');

    return str_first(line, line.len - 1); /* the CR */
}

static void
split_request_line(struct http_head *head)
{
    struct str rest = head->line;

    head->method = str_cut(&rest, ' ');
    head->target = str_cut(&rest, ' ');
    head->version = rest.ptr[rest.len - 1] == '1' ? 11 : 10;
}

static void
split(struct pool *pool, size_t count, struct http_head *head)
{
    struct str rest = head->text;

    head->line = next_line(&rest);
    split_request_line(head);
    head->headers = pool_alloc(pool, count * sizeof(*head->headers));
    head->header_count = count;
    for (size_t i = 0; i < count; i++) {
        struct str line = next_line(&rest);

        head->headers[i].name = str_cut(&line, ':');
        head->headers[i].value = str_trim(line);
    }
}

/* ---- llhttp, and whether it sees the same ---- */

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

static int
on_method(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->method, at, n);
    return 0;
}

static int
on_url(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->target, at, n);
    return 0;
}

static int
on_name(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->name, at, n);
    return 0;
}

static int
on_value(llhttp_t *p, const char *at, size_t n)
{
    extend(&((struct check *)p->data)->value, at, n);
    return 0;
}

static int
on_header(llhttp_t *p)
{
    struct check *c = p->data;

    if (c->header >= c->head->header_count) {
        c->differs = true;
        return 0;
    }
    const struct http_header *h = &c->head->headers[c->header++];

    c->differs |=
        !str_eq(h->name, c->name) || !str_eq(h->value, str_trim(c->value));
    c->name = c->value = STR_NONE;
    return 0;
}

static int
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
    return HPE_PAUSED; /* the body is not llhttp's */
}

static const llhttp_settings_t settings = {
    .on_method = on_method,
    .on_url = on_url,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_header_value_complete = on_header,
    .on_headers_complete = on_headers,
};

static enum http_refusal
check_with_llhttp(const struct http_head *head)
{
    struct check c = { .head = head,
                       .method = STR_NONE,
                       .target = STR_NONE,
                       .name = STR_NONE,
                       .value = STR_NONE };
    llhttp_t p;

    llhttp_init(&p, HTTP_REQUEST, &settings);
    p.data = &c;
    llhttp_errno_t result = llhttp_execute(&p, head->text.ptr, head->text.len);

    if (result == HPE_INVALID_METHOD) {
        return REFUSE_NO_METHOD;
    }
    if (result != HPE_PAUSED || c.differs || !str_eq(c.method, head->method) ||
        !str_eq(c.target, head->target)) {
        return REFUSE_PARSER;
    }
    return REFUSE_NONE;
}

/* Others turn '-' and '_' into the same variable name: such a header could
 * stand in for one that a proxy in front of us has set or removed. */
static void
drop_underscores(struct http_head *head)
{
    size_t kept = 0;

    for (size_t i = 0; i < head->header_count; i++) {
        struct str name = head->headers[i].name;

        if (str_find(name, '_', 0) == name.len) {
            head->headers[kept++] = head->headers[i];
        }
    }
    head->header_count = kept;
}

enum http_refusal
http_parse(struct pool *pool, const struct http_scan *scan, const uint8_t *data,
           size_t n, struct http_head *out)
{
    *out = http_head_empty;
    out->text = pool_str(pool, str_of(data + scan->begin, n - scan->begin));
    split(pool, scan->headers, out);

    enum http_refusal why = http_judge_target(out);

    if (why == REFUSE_NONE) {
        why = http_judge_headers(out);
    }
    if (why == REFUSE_NONE) {
        why = check_with_llhttp(out);
    }
    drop_underscores(out);
    return why;
}
