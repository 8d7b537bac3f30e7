/*
 * The variables of tries; each goes over all of the request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/tries.h"

#include <stdio.h>

#include "http/exchange.h"

#define FIELD_MAX 80

typedef struct str write_try(const struct http_try *t, char *room);

void
http_add_try(struct http_request *r, struct http_try *t)
{
    struct http_try **end = &exchange_of(r)->tries;

    while (*end != NULL) {
        end = &(*end)->next;
    }
    t->next = NULL;
    *end = t;
}

/* Missing when there was no try. */
static void
write_all(const void *arg, struct line_value *v, write_try *write)
{
    const struct exchange *x = arg;
    char room[FIELD_MAX];
    size_t n = 0;

    if (x->tries == NULL) {
        return;
    }
    for (const struct http_try *t = x->tries; t != NULL; t = t->next) {
        if (t != x->tries) {
            n = str_append(v->room, sizeof(v->room), n, STR(", "));
        }
        n = str_append(v->room, sizeof(v->room), n, write(t, room));
    }
    line_value_text(v, str_of(v->room, n));
}

static struct str
write_addr(const struct http_try *t, char *room)
{
    (void)room;
    return t->addr;
}

static struct str
write_status(const struct http_try *t, char *room)
{
    snprintf(room, FIELD_MAX, "%d", t->status);
    return t->status == 0 ? STR("-") : str_from(room);
}

static struct str
write_ms(int64_t ms, char *room)
{
    snprintf(room, FIELD_MAX, "%lld.%03d", (long long)(ms / 1000),
             (int)(ms % 1000));
    return ms < 0 ? STR("-") : str_from(room);
}

static struct str
write_connect(const struct http_try *t, char *room)
{
    return write_ms(t->connect_ms, room);
}

static struct str
write_head(const struct http_try *t, char *room)
{
    return write_ms(t->head_ms, room);
}

static struct str
write_whole(const struct http_try *t, char *room)
{
    return write_ms(t->all_ms, room);
}

void
http_get_upstream_addr(const void *x, struct str rest, struct line_value *v)
{
    (void)rest;
    write_all(x, v, write_addr);
}

void
http_get_upstream_status(const void *x, struct str rest, struct line_value *v)
{
    (void)rest;
    write_all(x, v, write_status);
}

void
http_get_upstream_connect_time(const void *x, struct str rest,
                               struct line_value *v)
{
    (void)rest;
    write_all(x, v, write_connect);
}

void
http_get_upstream_header_time(const void *x, struct str rest,
                              struct line_value *v)
{
    (void)rest;
    write_all(x, v, write_head);
}

void
http_get_upstream_response_time(const void *x, struct str rest,
                                struct line_value *v)
{
    (void)rest;
    write_all(x, v, write_whole);
}
