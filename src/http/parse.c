/*
 * A head that passed the scan is split into its lines here; head_rules.c says
 * what they mean.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/parse.h"

#include "http/head_rules.h"

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

void
http_split(struct pool *pool, size_t count, struct http_head *head)
{
    struct str rest = head->text;

    head->line = next_line(&rest);
    head->headers = pool_alloc(pool, count * sizeof(*head->headers));
    head->header_count = count;
    for (size_t i = 0; i < count; i++) {
        struct str line = next_line(&rest);

        head->headers[i].name = str_cut(&line, ':');
        head->headers[i].value = str_trim(line);
    }
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
    http_split(pool, scan->headers, out);
    split_request_line(out);

    enum http_refusal why = http_judge_target(out);

    if (why == REFUSE_NONE) {
        why = http_judge_headers(out);
    }
    drop_underscores(out);
    return why;
}
