/*
 * Fuzz target: rules of a server and its locations, and a URL that they are
 * tried on.
 *
 * The first line is the path of the URL, the second its query, the third its
 * host.  Each line behind them begins with a letter: "l" is a location, "s" one
 * whose trailing slash is a redirect, "t" the return of the location before,
 * "r", "p" and "m" are rewrites of it, or of the server where there is none
 * yet: within the server, by 302, by 301.  Pattern and text of a rewrite are
 * apart by a tab.
 *
 * The search ends.  A path stays a path; where the client is sent has no byte
 * that could end a header, and no other host than a text names.
 *
 * covers: src/http/find.c:is_turn_of,set_location,enter,redirect_slash,rewrite
 * covers: src/http/find.c:go_into,http_find
 * covers: src/http/explain.c src/http/locate.c
 * covers: src/http/rewrite.c:http_end_with_redirect,end,join_query,apply
 * covers: src/http/rewrite.c:http_rewrite,is_written,http_slash_location
 * covers: src/http/text.c:http_text_new,http_text_write,put,put_value
 * covers: src/http/text.c:put_encoded,add,get_host,get_uri,get_args,get_group
 * covers: src/http/text.c:get_request_uri,get_scheme,get_is_args,get_http
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "http/explain.h"
#include "http/locate.h"
#include "http/text.h"

#define LOCATIONS 8
#define RULES 8

struct place {
    struct http_rewrite rewrites[RULES];
    size_t count;
    struct http_return answer;
    bool answers;
};

struct site {
    struct pool *pool;
    struct http_server server;
    struct http_location locations[LOCATIONS];
    struct place places[LOCATIONS + 1]; /* the last is the server */
    size_t count;
};

static struct place *
current(struct site *s)
{
    return &s->places[s->count > 0 ? s->count - 1 : LOCATIONS];
}

static void
add_location(struct site *s, struct str path, enum http_slash slash)
{
    struct http_location *l = &s->locations[s->count];
    struct errmsg err;

    if (s->count < LOCATIONS &&
        http_location_parse(s->pool, path, l, &err) == 0) {
        l->slash = slash;
        l->order = s->count++;
    }
}

static void
add_rewrite(struct site *s, struct str rule, enum http_then then)
{
    struct place *p = current(s);
    struct http_rewrite *r = &p->rewrites[p->count];
    struct errmsg err;
    struct str to = rule, pattern = str_cut(&to, '\t');

    if (p->count == RULES) {
        return;
    }
    r->pattern = regex_new(s->pool, pattern, REGEX_CASE, &err);
    r->to = r->pattern == NULL ? NULL
                               : http_text_new(s->pool, to, r->pattern, &err);
    r->then = then;
    p->count += r->to != NULL ? 1 : 0;
}

static void
add_return(struct site *s, struct str to)
{
    struct place *p = current(s);
    struct errmsg err;

    if (s->count > 0) {
        p->answer.to = http_text_new(s->pool, to,
                                     s->locations[s->count - 1].pattern, &err);
        p->answers = p->answer.to != NULL;
    }
}

/* As the settings have it of texts. */
static bool
is_printable(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((s.ptr[i] < ' ' || s.ptr[i] > '~') && s.ptr[i] != '\t') {
            return false;
        }
    }
    return true;
}

static void
add_line(struct site *s, struct str line)
{
    struct str rest = str_skip(line, 1);

    if (!is_printable(rest)) {
        return;
    }
    switch (line.len > 0 ? line.ptr[0] : '\0') {
    case 'l':
        add_location(s, rest, HTTP_SLASH_OFF);
        break;
    case 's':
        add_location(s, rest, HTTP_SLASH_REDIRECT);
        break;
    case 'r':
        add_rewrite(s, rest, HTTP_THEN_LAST);
        break;
    case 'p':
        add_rewrite(s, rest, HTTP_THEN_REDIRECT);
        break;
    case 'm':
        add_rewrite(s, rest, HTTP_THEN_PERMANENT);
        break;
    case 't':
        add_return(s, rest);
        break;
    }
}

static void
take_rules(struct http_rules *out, const struct place *p)
{
    out->rewrites = p->rewrites;
    out->rewrite_count = p->count;
}

static void
check_target(struct str to)
{
    require(is_printable(to));
}

static void
check_groups(const struct exchange *x)
{
    struct str name, value;

    for (size_t i = 0; http_explain_group(x, i, &name, &value); i++) {
        require(i < REGEX_GROUPS_MAX);
    }
}

/* Whether it is the last step. */
static bool
check_step(const struct site *s, const struct exchange *x,
           const struct http_step *step)
{
    struct str to;

    require(str_starts(step->path, STR("/")));
    switch (step->kind) {
    case HTTP_STEP_REWRITE:
        return false;
    case HTTP_STEP_LOCATION:
        check_groups(x);
        require(str_starts(step->layers_path, STR("/")));
        if (!s->places[step->location->order].answers) {
            return false;
        }
        if (http_explain_return(x, &s->places[step->location->order].answer,
                                &to)) {
            check_target(to);
        }
        return true;
    case HTTP_STEP_ANSWER:
        require(step->status >= 300);
        check_target(step->to);
        return true;
    case HTTP_STEP_END:
        break;
    }
    return true;
}

static void
search(struct site *s, const struct http_question *q)
{
    struct exchange *x = http_explain(s->pool, q);
    struct http_step step;
    size_t steps = 0;

    if (x == NULL) {
        return;
    }
    do {
        http_explain_next(x, &step);
        require(++steps <= (HTTP_REWRITES_MAX + 2) * (LOCATIONS + 2));
    } while (!check_step(s, x, &step));
}

/* What the parser of heads lets through. */
static bool
can_be_sent(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] <= ' ' || s.ptr[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_of(data, size);
    struct site *s = calloc(1, sizeof(*s));
    struct http_question q = { .server = &s->server, .scheme = STR("https") };

    require(s != NULL);
    s->pool = pool_new(1024);
    q.path = str_cut(&all, '\n');
    q.query = str_cut(&all, '\n');
    q.host = str_cut(&all, '\n');
    while (all.len > 0) {
        add_line(s, str_cut(&all, '\n'));
    }
    take_rules(&s->server.rules, &s->places[LOCATIONS]);
    for (size_t i = 0; i < s->count; i++) {
        take_rules(&s->locations[i].rules, &s->places[i]);
    }
    qsort(s->locations, s->count, sizeof(s->locations[0]), http_location_order);
    s->server.locations = s->locations;
    s->server.location_count = s->count;
    s->server.known_as = STR("known");
    if (str_starts(q.path, STR("/")) && can_be_sent(q.path) &&
        can_be_sent(q.query) && can_be_sent(q.host)) {
        search(s, &q);
    }
    pool_free(&s->pool);
    free(s);
    return 0;
}
