/*
 * Live statistics: who publishes and plays, how much and how fast, on all
 * processes of the node.  Any worker answers: what there is to say lies in
 * shared memory.
 *
 *     /livestat   publishers and players, the documented interface
 *     /streams    streams with codecs, sizes, rates
 *     /sessions   publishers and players with all that is known of them
 *     /server     processes, connections, bytes, memory
 *     /history    speeds of the last day
 *     /events     streams, sessions, server once a second (server-sent events)
 *     /socket.io  changes of them (sockets.c)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "stat.h"

#include "app/worker.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "changes.h"
#include "conf/rows.h"
#include "http/escape.h"
#include "http/path.h"
#include "place.h"
#include "rows.h"

#define SERVER_MAX (1024 * 1024) /* bytes of /server */

struct stat {
    const struct stat_settings *settings;
    struct events *events; /* owned */
};

static const struct conf_key keys[] = {
    ROW(stat_settings, interval, CONF_TIME, .min = 200, .max = 60000,
        .preset = "1s",
        .help = "The time between two rounds of /events and of socket.io/."),
    ROW(stat_settings, subscribers, CONF_INT, .min = 1, .max = 10000,
        .preset = "64",
        .help = "How many /events may have at once in each worker, others are "
                "answered 503; and socket.io/ in all, others may not join."),
    CONF_END,
};

static const char *
refused_name(unsigned i)
{
    static const char *const names[] = { "room", "subscribers" };

    return names[i];
}

struct tally_pool stat_pools[] = {
    [STAT_POOL_EVENTS] = { .name = "stat.subscribers", .scope = TALLY_PROCESS },
    [STAT_POOL_SOCKETS] = { .name = "stat.sockets", .scope = TALLY_PROCESS },
    { .name = NULL },
};

struct metric stat_metrics[] = {
    [STAT_SUBSCRIBERS] = { .name = "weir_stat_subscribers",
                           .help =
                               "Subscribers of /events and of socket.io/ of "
                               "module stat.",
                           .type = METRIC_GAUGE },
    [STAT_REFUSED] = { .name = "weir_stat_refused_total",
                       .help = "Requests that module stat refused: a malformed "
                               "room, of or changes, too "
                               "many subscribers.",
                       .labels = { { "reason", refused_name, 2 } } },
    [STAT_SKIPPED] = { .name = "weir_stat_events_skipped_total",
                       .help = "Rounds of /events that a subscriber was too "
                               "slow for." },
    METRIC_END,
};

/* ---- what is asked for ---- */

bool
stat_is_key(struct str key)
{
    size_t slash = str_find(key, '/', 0);

    for (size_t i = 0; i < key.len; i++) {
        if ((unsigned char)key.ptr[i] < ' ' || key.ptr[i] == 0x7f) {
            return false;
        }
    }
    return slash > 0 && slash + 1 < key.len && key.len < LIVE_NAME_MAX &&
           utf8_valid(key);
}

/* ---- answers ---- */

static void
set_headers(struct http_request *r)
{
    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
}

static enum http_result
refuse(struct http_request *r, const char *why)
{
    metric_add(&stat_metrics[STAT_REFUSED], 0, 1);
    http_set_header(r, "Cache-Control", STR("no-store"));
    return http_error(r, 400, "%s", why);
}

static enum http_result
refuse_key(struct http_request *r, const char *name)
{
    metric_add(&stat_metrics[STAT_REFUSED], 0, 1);
    http_set_header(r, "Cache-Control", STR("no-store"));
    return http_error(r, 400,
                      "%s must be a stream's key, APP/NAME, and given once: "
                      "at most %d bytes of UTF-8 without control characters",
                      name, LIVE_NAME_MAX - 1);
}

/* The stream that a query parameter names, if it does; false: malformed. */
static bool
read_key(struct http_request *r, const char *name, struct str *key)
{
    struct str raw;
    size_t given = http_query_count(r, name, &raw);

    *key = STR_NONE;
    if (given == 0) {
        return true;
    }
    *key = http_query_decode(r->pool, raw);
    return given == 1 && http_query_is_encoded(raw) && stat_is_key(*key);
}

static enum http_result
on_livestat(struct http_request *r, void *state)
{
    struct str key;

    (void)state;
    if (!read_key(r, "room", &key)) {
        return refuse_key(r, "room");
    }
    set_headers(r);
    return answer_walk(r, WALK_LIVESTAT, key);
}

static enum http_result
on_streams(struct http_request *r, void *state)
{
    (void)state;
    set_headers(r);
    return answer_walk(r, WALK_STREAMS, STR_NONE);
}

static enum http_result
on_sessions(struct http_request *r, void *state)
{
    (void)state;
    set_headers(r);
    return answer_walk(r, WALK_SESSIONS, STR_NONE);
}

static enum http_result
on_server(struct http_request *r, void *state)
{
    const struct stat *s = state;
    struct json_out o;
    struct buf b;

    set_headers(r);
    buf_init(&b, SERVER_MAX);
    json_begin(&o, &b, false);
    row_server(&o, s->settings);
    if (json_end(&o) == 0) {
        http_reply(r, 200, STAT_JSON, buf_str(&b));
    } else {
        http_error(r, 500, "the answer is too long");
    }
    buf_clear(&b);
    return HTTP_DONE;
}

static enum http_result
on_history(struct http_request *r, void *state)
{
    struct str key;

    (void)state;
    if (!read_key(r, "of", &key)) {
        return refuse_key(r, "of");
    }
    set_headers(r);
    return history_answer(r, key);
}

static enum http_result
on_events(struct http_request *r, void *state)
{
    struct stat *s = state;
    struct changes_wish wish;
    struct str list;

    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    if (!http_query(r, "changes", &list)) {
        return events_subscribe(s->events, r, NULL);
    }
    if (!changes_parse(list, &wish)) {
        return refuse(r, "changes must be of server, streams and sessions, "
                         "with commas between");
    }
    if (!read_key(r, "of", &wish.key)) {
        return refuse_key(r, "of");
    }
    return events_subscribe(s->events, r, &wish);
}

/* A client that is refused gets the address for this machine itself. */
static const char *
write_error(struct http_request *r, int status, struct str message,
            struct buf *out)
{
    bool refused = status == 401 || status == 403 || status == 421;

    (void)r;
    buf_printf(out, "{\"status\":%d,\"data\":", status);
    http_json_string(out, message);
    if (refused && place_local().len > 0) {
        buf_add_str(out, STR(",\"local\":"));
        http_json_string(out, place_local());
    }
    buf_add_str(out, STR("}\n"));
    return STAT_JSON;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/livestat", .handler = on_livestat },
    { .method = "GET", .path = "/streams", .handler = on_streams },
    { .method = "GET", .path = "/sessions", .handler = on_sessions },
    { .method = "GET", .path = "/server", .handler = on_server },
    { .method = "GET", .path = "/history", .handler = on_history },
    { .method = "GET", .path = "/events", .handler = on_events },
    { .path = NULL },
};

/* ---- life ---- */

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    struct stat *s = mem_zero(sizeof(*s));

    (void)r;
    (void)err;
    place_found(layer->worker->generation);
    s->settings = layer->settings;
    s->events = events_new(layer->worker->loop, layer->settings);
    *state = s;
    return 0;
}

static void
drain(void *state)
{
    struct stat *s = state;

    events_drain(s->events);
}

static void
stop(void *state)
{
    struct stat *s = state;

    events_free(&s->events);
    mem_free(&s);
}

const struct module stat_module = {
    .name = "stat",
    .about = "answers GET /livestat and others: who publishes and plays",
    .keys = keys,
    .settings_size = sizeof(struct stat_settings),
    .start = start,
    .drain = drain,
    .stop = stop,
    .routes = routes,
    .error_body = write_error,
    .metrics = stat_metrics,
    .pools = stat_pools,
    .sio = &stat_sockets,
};
