/*
 * Requests of clients, in a worker.
 *
 *   POST /ROOM   counts a visit: asks the counter
 *   GET /ROOM    {"room":"a","visits":3}: reads the store
 *   GET /        {"instance":"main","rooms":[...],"next":"a" or null}
 *
 * A request waits for one answer: its handler returns HTTP_WAIT, the answer
 * sets status and body, and the handler is run again to send them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "visits.h"

#include <string.h>

#include "base/mem.h"
#include "http/escape.h"

#define JSON "application/json"
#define PAGE_ROOMS 100
#define ANSWER_MAX (64 * 1024) /* PAGE_ROOMS fit */
#define RETRY_AFTER STR("1")   /* seconds */

struct layer {
    const struct visits_instance *instance; /* borrowed from the settings */
};

struct ask { /* a request that waits; in its pool */
    struct http_request *request;
    struct str instance, room;
    struct rpc_call *call;   /* one of these is under way */
    struct store_call *read; /* until the answer is here */
    int status;              /* 200: body is the answer; else why not */
    struct str body;         /* in the pool */
};

/* ---- answers ---- */

static void
refused(struct http_request *r, enum visits_reason why, struct str text)
{
    metric_add(&visits_metrics[VISITS_REFUSED], why, 1);
    http_note(r, "visits: %.*s", STR_ARGS(text));
}

/* The handler, for the second time. */
static enum http_result
answer(const struct ask *a)
{
    struct http_request *r = a->request;

    http_set_header(r, "Cache-Control", STR("no-store"));
    if (a->status == 200) {
        return http_reply(r, 200, JSON, a->body);
    }
    if (a->status == 503) {
        http_set_header(r, "Retry-After", RETRY_AFTER);
    }
    return http_error(r, a->status, "%.*s", STR_ARGS(a->body));
}

static void
fail(struct ask *a, int status, enum visits_reason why, struct str text)
{
    a->status = status;
    a->body = pool_str(a->request->pool, text);
    refused(a->request, why, a->body);
}

static void
write_room(struct buf *b, struct str room, int64_t visits)
{
    buf_add_str(b, STR("{\"room\":"));
    http_json_string(b, room);
    buf_printf(b, ",\"visits\":%lld}", (long long)visits);
}

static void
succeed(struct ask *a, struct buf *b)
{
    buf_add_str(b, STR("\n"));
    a->status = 200;
    a->body = pool_str(a->request->pool, buf_str(b));
    buf_clear(b);
}

static void
succeed_with_room(struct ask *a, int64_t visits)
{
    struct buf b;

    buf_init(&b, ANSWER_MAX);
    write_room(&b, a->room, visits);
    succeed(a, &b);
}

/* ---- waiting ---- */

static void
on_cancel(void *arg)
{
    struct ask *a = arg;

    rpc_cancel(&a->call);
    if (a->read != NULL) {
        store_cancel(&a->read);
    }
}

static struct ask *
begin(struct http_request *r, const struct layer *l)
{
    struct ask *a = pool_zero(r->pool, sizeof(*a));

    a->request = r;
    a->instance = l->instance->name;
    a->room = http_param(r, "room");
    r->context = a;
    http_on_cancel(r, on_cancel, a);
    return a;
}

static enum http_result
refuse_name(struct http_request *r)
{
    refused(r, VISITS_BAD_NAME, STR("a bad name of a room"));
    return http_error(r, 400,
                      "a room has 1 to %d letters, digits, \"-\", \"_\" and "
                      "\".\", and begins with a letter or digit",
                      VISITS_NAME_MAX);
}

/* ---- POST /ROOM ---- */

static void
on_counted(void *arg, struct rpc_answer *got)
{
    struct ask *a = arg;
    struct visits_answer said;

    a->call = NULL;
    if (got->status != RPC_OK) {
        fail(a, 503, VISITS_NO_COUNTER, str_of(got->data, got->len));
    } else if (got->len != sizeof(said)) {
        fail(a, 503, VISITS_NO_COUNTER, STR("the answer makes no sense"));
    } else {
        memcpy(&said, got->data, sizeof(said));
        if (said.full) {
            fail(a, 507, VISITS_NO_ROOM,
                 STR("there are as many rooms as max_rooms allows"));
        } else {
            succeed_with_room(a, said.visits);
        }
    }
    http_resume(a->request);
}

/* Without resend: a counter that dies may have counted the visit, and the next
 * one would count it again. */
static enum http_result
on_post(struct http_request *r, void *state)
{
    const struct layer *l = state;
    struct rpc_options o = { .timeout_ms = l->instance->timeout,
                             .on_answer = on_counted };
    struct visits_place place = { .instance = "" };
    struct errmsg err;
    struct ask *a;

    if (r->context != NULL) {
        return answer(r->context);
    }
    if (!visits_is_name(http_param(r, "room"))) {
        return refuse_name(r);
    }
    a = begin(r, l);
    o.arg = a;
    str_copy(place.instance, sizeof(place.instance), a->instance);
    str_copy(place.room, sizeof(place.room), a->room);
    a->call = rpc_call(&visits_methods[VISITS_COUNT], &o, &place, sizeof(place),
                       -1, &err);
    if (a->call == NULL) {
        fail(a, 503, VISITS_NO_COUNTER, str_from(err.text));
        return answer(a);
    }
    return HTTP_WAIT;
}

/* ---- GET ---- */

/* Whether the store has answered; if not, the request is refused. */
static bool
has_read(struct ask *a, const struct store_result *r)
{
    a->read = NULL;
    if (r->status != STORE_OK) {
        fail(a, r->status == STORE_FAILED ? 500 : 503, VISITS_NO_STORE,
             str_from(store_status_text(r->status)));
    }
    return r->status == STORE_OK;
}

static void
on_room(void *arg, const struct store_result *r)
{
    struct ask *a = arg;

    if (has_read(a, r)) {
        succeed_with_room(a, r->answer->rows > 0 ? r->answer->cells[0].n : 0);
    }
    http_resume(a->request);
}

static enum http_result
on_get(struct http_request *r, void *state)
{
    struct store_value params[2];
    struct ask *a;

    if (r->context != NULL) {
        return answer(r->context);
    }
    if (!visits_is_name(http_param(r, "room"))) {
        return refuse_name(r);
    }
    a = begin(r, state);
    params[0] = store_text(a->instance);
    params[1] = store_text(a->room);
    a->read = store_read(&visits_statements[SQL_ONE], params, 2, on_room, a);
    return HTTP_WAIT;
}

static void
write_rooms(struct buf *b, const struct ask *a, const struct store_rows *found)
{
    const struct store_value *cell = found->cells;

    buf_add_str(b, STR("{\"instance\":"));
    http_json_string(b, a->instance);
    buf_add_str(b, STR(",\"rooms\":["));
    for (size_t i = 0; i < found->rows; i++, cell += found->columns) {
        buf_add_str(b, i > 0 ? STR(",") : STR_NONE);
        write_room(b, cell[0].s, cell[1].n);
    }
    buf_add_str(b, STR("],\"next\":"));
    if (found->rows == PAGE_ROOMS) {
        http_json_string(b, (cell - found->columns)->s);
    } else {
        buf_add_str(b, STR("null"));
    }
    buf_add_str(b, STR("}"));
}

static void
on_rooms(void *arg, const struct store_result *r)
{
    struct ask *a = arg;
    struct buf b;

    if (has_read(a, r)) {
        buf_init(&b, ANSWER_MAX);
        write_rooms(&b, a, r->answer);
        succeed(a, &b);
    }
    http_resume(a->request);
}

static enum http_result
on_list(struct http_request *r, void *state)
{
    struct str after = STR_NONE;
    struct store_value params[3];
    struct ask *a;

    if (r->context != NULL) {
        return answer(r->context);
    }
    if (http_query(r, "after", &after) && !visits_is_name(after)) {
        return refuse_name(r);
    }
    a = begin(r, state);
    params[0] = store_text(a->instance);
    params[1] = store_text(after);
    params[2] = store_int(PAGE_ROOMS);
    a->read = store_read(&visits_statements[SQL_PAGE], params, 3, on_rooms, a);
    return HTTP_WAIT;
}

/* The page is no room: names of rooms begin with a letter or a digit. */
const struct http_route visits_routes[] = {
    { .method = "GET", .path = "/", .handler = on_list },
    { .method = "GET", .path = "/_page", .handler = visits_on_page },
    { .method = "GET", .path = "/_page.js", .handler = visits_on_script },
    { .method = "GET", .path = "/:room", .handler = on_get },
    { .method = "POST", .path = "/:room", .handler = on_post },
    { .path = NULL },
};

/* ---- life ---- */

int
visits_start(const struct module_layer *layer, void **state,
             const struct http_route **routes, struct errmsg *err)
{
    const struct visits_settings *s = layer->settings;
    struct layer *l = mem_zero(sizeof(*l));

    (void)routes;
    (void)err;
    l->instance = s->instance.settings;
    *state = l;
    return 0;
}

void
visits_stop(void *state)
{
    struct layer *l = state;

    mem_free(&l);
}
