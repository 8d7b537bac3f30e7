/*
 * GET /pull, /push and /relays.
 *
 * A start is answered when it is on the disk, and with wait=SECONDS when the
 * relay runs, which is seen in the table of relays (tasks.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relay.h"

#include "answer.h"
#include "app/worker.h"
#include "ask.h"
#include "base/clock.h"
#include "base/hash.h"
#include "relayer.h"
#include "schema.h"
#include "json/json.h"

#define LOOK_MS 30    /* how often the table is looked at */
#define WAIT_MOST 120 /* seconds */

struct request {            /* one that waits */
    struct http_request *r; /* its pool has this */
    const struct relay *relay;
    struct relay_ask ask;
    int64_t wait;            /* ms, 0: not at all */
    struct store_call *call; /* owned while it runs */
    struct timer timer;      /* waits for running */
    int64_t end_ms;          /* loop_now() until when */
    uint64_t id;             /* of the task, or 0: it is of weir.conf */
    enum store_status status;
    enum relay_obstacle obstacle; /* to a start */
    int missing;                  /* HTTP status of a stop of none */
    char words[RELAY_WORDS_MAX];  /* and why */
    /* How it is answered, once it has its turn again. */
    enum http_result (*answer)(struct request *q);
    bool there;             /* there was one at the last look */
    struct relay_view seen; /* the task as it waits */
};

/* ---- answers ---- */

static enum http_result
answer_ok(struct request *q)
{
    return relay_ok(q->r);
}

static enum http_result
answer_store(struct request *q)
{
    return relay_refuse_store(q->r, q->status);
}

static enum http_result
answer_missing(struct request *q)
{
    return relay_refuse(q->r, RELAY_REFUSED_TASK, q->missing, "%s", q->words);
}

static enum http_result
answer_not_written(struct request *q)
{
    if (q->obstacle == RELAY_RING) {
        return relay_refuse(q->r, RELAY_REFUSED_TASK, 409,
                            "%.*s/%.*s has a %s with this url: the stream "
                            "would feed itself",
                            STR_ARGS(q->ask.app), STR_ARGS(q->ask.name),
                            relay_kind_name(q->ask.kind == RELAY_PULL
                                                ? RELAY_PUSH
                                                : RELAY_PULL));
    }
    if (q->obstacle == RELAY_OTHER_URL) {
        return relay_refuse(q->r, RELAY_REFUSED_TASK, 409,
                            "%.*s/%.*s has a %s with another url: stop it "
                            "first",
                            STR_ARGS(q->ask.app), STR_ARGS(q->ask.name),
                            relay_kind_name(q->ask.kind));
    }
    return relay_refuse(q->r, RELAY_REFUSED_TASK, 507,
                        "there are as many relays as relays.max allows "
                        "(%lld): stop one, or raise it",
                        (long long)relays_of(q->relay->all)->max);
}

static enum http_result
answer_not_running(struct request *q)
{
    const struct relay_view *v = &q->seen;

    return relay_refuse(q->r, RELAY_REFUSED_TASK, v->refused ? 403 : 502,
                        "%s%s%s",
                        q->there ? relay_state_name(relay_view_state(v))
                                 : "the relayer has not begun with it",
                        v->reason[0] != '\0' ? ": " : "", v->reason);
}

static void
go_on(struct request *q, enum http_result (*answer)(struct request *q))
{
    q->answer = answer;
    http_resume(q->r);
}

/* ---- waiting for it to run ---- */

static void
on_look(struct timer *timer)
{
    struct request *q = LIST_ITEM(timer, struct request, timer);
    const struct relay_ask *a = &q->ask;

    q->there = q->id > 0 ? relay_tasks_find_id(q->id, &q->seen)
                         : relay_tasks_find_config(a->kind, a->app, a->name,
                                                   a->url, &q->seen);
    if (q->there && relay_view_state(&q->seen) == RELAY_RUNNING) {
        go_on(q, answer_ok);
    } else if ((q->there && q->seen.refused) ||
               loop_now(q->r->loop) >= q->end_ms) {
        go_on(q, answer_not_running);
    } else {
        timer_set(q->r->loop, timer, LOOK_MS);
    }
}

static void
begin_wait(struct request *q)
{
    http_set_endless(q->r); /* not for a client that has gone */
    q->end_ms = loop_now(q->r->loop) + q->wait;
    timer_set(q->r->loop, &q->timer, 0);
}

/* ---- the store ---- */

static void
on_looked_up(void *arg, const struct store_result *r)
{
    struct request *q = arg;

    q->call = NULL;
    q->status = r->status;
    if (r->status != STORE_OK) {
        go_on(q, answer_store);
    } else if (q->ask.start) {
        q->obstacle = relay_ask_obstacle(&q->ask, r);
        go_on(q, answer_not_written);
    } else {
        q->missing = relay_ask_missing(
            &q->ask, relay_ask_is_of_file(q->relay->all, &q->ask), r, q->words);
        go_on(q, answer_missing);
    }
}

static void
on_written(void *arg, const struct store_result *r)
{
    struct request *q = arg;

    q->call = NULL;
    q->status = r->status;
    if (r->status == STORE_MISSING) {
        q->call = relay_ask_look(&q->ask, on_looked_up, q);
    } else if (r->status != STORE_OK) {
        go_on(q, answer_store);
    } else if (q->ask.start && q->wait > 0 && r->answer->rows > 0) {
        q->id = (uint64_t)r->answer->cells[0].n;
        begin_wait(q);
    } else {
        go_on(q, answer_ok);
    }
}

static void
on_cancel(void *arg)
{
    struct request *q = arg;

    timer_stop(q->r->loop, &q->timer);
    store_cancel(&q->call);
}

/* ---- asking ---- */

static bool
get_wait(struct http_request *r, int64_t *ms)
{
    struct str text;
    int64_t seconds;

    *ms = 0;
    if (!http_query(r, "wait", &text)) {
        return true;
    }
    if (!str_to_int(text, 0, WAIT_MOST, &seconds)) {
        relay_refuse(r, RELAY_REFUSED_PARAMETER, 400,
                     "parameter wait must be a whole number of seconds from 0 "
                     "to %d",
                     WAIT_MOST);
        return false;
    }
    *ms = seconds * 1000;
    return true;
}

/* HEAD changes nothing: it tells whether the relay is there. */
static enum http_result
answer_head(struct request *q)
{
    uint64_t hash = hash_str(q->ask.url);
    struct relay_view v;
    uint32_t at = 0;

    while (relay_tasks_next(&at, &v)) {
        if (v.kind == q->ask.kind && str_eq(str_from(v.app), q->ask.app) &&
            str_eq(str_from(v.name), q->ask.name) &&
            (v.kind == RELAY_PULL || q->ask.url.len == 0 ||
             v.url_hash == hash)) {
            return relay_ok(q->r);
        }
    }
    return relay_refuse(q->r, RELAY_REFUSED_TASK, 404, "there is none");
}

static struct request *
read_request(struct http_request *r, const struct relay *relay,
             enum relay_kind kind)
{
    struct request *q = pool_zero(r->pool, sizeof(*q));

    q->r = r;
    q->relay = relay;
    q->ask.kind = kind;
    timer_init(&q->timer, on_look);
    return relay_get_oper(r, &q->ask.start) && relay_get_app(r, &q->ask.app) &&
                   relay_get_name(r, &q->ask.name) &&
                   relay_get_url(r, q->ask.start, &q->ask.url) &&
                   get_wait(r, &q->wait)
               ? q
               : NULL;
}

static enum http_result
run(struct http_request *r, const struct relay *relay, enum relay_kind kind)
{
    struct request *q = r->context;
    struct errmsg err = { "" };
    int status;

    if (q != NULL) {
        return q->answer(q);
    }
    if (!http_check_site(r)) {
        return HTTP_DONE;
    }
    q = read_request(r, relay, kind);
    if (q == NULL) {
        return HTTP_DONE;
    }
    if (str_eq(r->method, STR("HEAD"))) {
        return answer_head(q);
    }
    status = relay_ask_check(relay->all, &q->ask, &err);
    if (status == 200 && q->wait == 0) {
        return relay_ok(r);
    }
    if (status != 0 && status != 200) {
        return relay_refuse(r, RELAY_REFUSED_TASK, status, "%s", err.text);
    }
    r->context = q;
    http_on_cancel(r, on_cancel, q);
    if (status == 200) {
        begin_wait(q);
        return HTTP_WAIT;
    }
    q->call =
        relay_ask_write(&q->ask, relay_ask_room(relay->all), on_written, q);
    return HTTP_WAIT;
}

enum http_result
relay_pull(struct http_request *r, void *state)
{
    return run(r, state, RELAY_PULL);
}

enum http_result
relay_push(struct http_request *r, void *state)
{
    return run(r, state, RELAY_PUSH);
}

/* ---- the list ---- */

static void
put_time(struct json_out *o, const char *key, int64_t wall_ms)
{
    char text[32];

    if (wall_ms == 0) {
        json_put_null(o, key);
        return;
    }
    clock_iso8601(text, sizeof(text), wall_ms);
    json_put_str(o, key, str_from(text));
}

static void
put_node(struct json_out *o, const struct relay_view *v)
{
    if (v->node[0] == '\0') {
        json_put_null(o, "node");
    } else {
        json_put_str(o, "node", str_from(v->node));
    }
}

/* Counted where it runs. */
static void
put_count(struct json_out *o, const char *key, const struct relay_view *v,
          uint64_t n)
{
    if (v->state == RELAY_ELSEWHERE) {
        json_put_null(o, key);
    } else {
        json_put_int(o, key, (int64_t)n);
    }
}

static void
put_task(struct json_out *o, const struct relay_view *v)
{
    json_open(o);
    json_put_str(o, "kind", str_from(relay_kind_name(v->kind)));
    json_put_str(o, "app", str_from(v->app));
    json_put_str(o, "name", str_from(v->name));
    json_put_str(o, "url", str_from(v->url));
    json_put_str(o, "origin", str_from(relay_origin_name(v->origin)));
    put_node(o, v);
    json_put_str(o, "state", str_from(relay_state_name(relay_view_state(v))));
    put_time(o, "since", v->since_ms);
    json_put_str(o, "reason", str_from(v->reason));
    put_count(o, "attempts", v, v->attempts);
    put_count(o, "failures", v, v->failures);
    put_time(o, "failed", v->state == RELAY_ELSEWHERE ? 0 : v->failed_ms);
    json_put_str(o, "last_failure", str_from(v->last_failure));
    put_count(o, "bytes", v, v->bytes);
    put_count(o, "frames", v, v->frames);
    json_close(o);
}

enum http_result
relay_list(struct http_request *r, void *state)
{
    struct relay_view v;
    struct json_out o;
    struct str text;
    uint32_t at = 0;

    (void)state;
    if (!http_check_site(r)) {
        return HTTP_DONE;
    }
    json_begin_own(&o, false);
    json_open(&o);
    json_put_int(&o, "status", 200);
    json_key(&o, "data");
    json_open_array(&o);
    while (relay_tasks_next(&at, &v)) {
        put_task(&o, &v);
    }
    json_close(&o);
    json_close(&o);
    if (json_end_pool(&o, r->pool, &text) == -1) {
        return relay_refuse(r, RELAY_REFUSED_TASK, 500,
                            "the list could not be made");
    }
    return relay_json(r, text);
}
