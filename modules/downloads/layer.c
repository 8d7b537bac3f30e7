/*
 * Requests of clients, in a worker.
 *
 *   POST /add, /delete, /start    a JSON body, asked of the fetcher
 *   GET /history, /version        the same, without a body
 *   GET /download/NAME            a file
 *   GET /                         the page
 *
 * A request waits for one answer: its handler returns HTTP_WAIT, the answer
 * sets status and body, and the handler is run again to send them.  A client
 * that goes cancels the call, and with it the extraction that it waits for.
 *
 * Content-Type is not asked for.  Every error is {"status":"error","msg":...};
 * with event_payload "string" one of add is the message alone, a JSON string:
 * the original's page shows what stands in the body of such an answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "downloads.h"

#include <stdio.h>
#include <unistd.h>

#include "app/worker.h"
#include "base/mem.h"
#include "http/escape.h"
#include "http/path.h"
#include "proc/slot.h"
#include "request.h"
#include "json/read.h"

#define JSON "application/json"
#define ERROR_MAX (16 * 1024) /* bytes of an error's body */
#define ROBOTS \
    STR("User-agent: *\nDisallow: /download/\nDisallow: /audio_download/\n")

struct layer {
    const struct downloads_settings *settings; /* borrowed */
};

struct asking { /* a request that waits; in its pool */
    struct http_request *request;
    const struct downloads_settings *settings; /* borrowed */
    int method;                                /* DOWNLOADS_ADD, ... */
    struct rpc_call *call;                     /* until the answer is here */
    struct downloads_answer answer;
    struct str body; /* of the answer; in the pool */
    int fd;          /* owned: the body instead; or -1 */
};

const struct downloads_settings *
downloads_layer(const void *state)
{
    return ((const struct layer *)state)->settings;
}

static const struct downloads_instance *
instance_of(const struct downloads_settings *s)
{
    return s->instance.settings;
}

/* ---- errors ---- */

static void
write_error(struct buf *b, struct str message)
{
    buf_add_str(b, STR("{\"status\":\"error\",\"msg\":"));
    http_json_string(b, message);
    buf_add_str(b, STR("}\n"));
}

/* Errors that weir itself has to tell, too. */
const char *
downloads_error_body(struct http_request *r, int status, struct str message,
                     struct buf *out)
{
    (void)status;
    http_set_header(r, "Cache-Control", STR("no-store"));
    write_error(out, message);
    return JSON;
}

static void
count_refusal(struct http_request *r, enum downloads_refusal why,
              struct str text)
{
    metric_add(&downloads_metrics[DOWNLOADS_REFUSED], why, 1);
    http_note(r, "downloads: %.*s", STR_ARGS(text));
}

static struct str
in_quotes(struct pool *p, struct str text)
{
    struct str made;
    struct buf b;

    buf_init(&b, ERROR_MAX);
    http_json_string(&b, text);
    buf_add_str(&b, STR("\n"));
    made = pool_str(p, buf_str(&b));
    buf_clear(&b);
    return made;
}

/* alone: the body is nothing but the message, which the original's page shows.
 */
static enum http_result
refuse(struct http_request *r, bool alone, int status, struct str text)
{
    count_refusal(r, DOWNLOADS_BAD_REQUEST, text);
    if (!alone) {
        return http_error(r, status, "%.*s", STR_ARGS(text));
    }
    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    return http_reply(r, status, JSON, in_quotes(r->pool, text));
}

/* ---- answers ---- */

static int64_t
retry_after(void)
{
    int64_t ms = slot_role_starts_in("fetcher", 0);

    return ms > 1000 ? (ms + 999) / 1000 : 1;
}

static void
fail(struct asking *a, enum downloads_refusal why, struct str text)
{
    struct buf b;

    count_refusal(a->request, why, text);
    buf_init(&b, ERROR_MAX);
    write_error(&b, text);
    a->answer = (struct downloads_answer){
        .status = 503,
        .retry_after = (uint32_t)retry_after(),
    };
    a->body = pool_str(a->request->pool, buf_str(&b));
    buf_clear(&b);
}

/* Clients of the original look for its engine by name. */
static struct str
with_old_key(struct http_request *r, struct str body)
{
    struct errmsg err;
    const struct json_value *v = json_read(r->pool, body, &err);
    struct str text;
    struct buf b;

    if (v == NULL || v->kind != JSON_OBJECT || v->first == NULL) {
        return body;
    }
    buf_init(&b, ERROR_MAX + body.len);
    buf_add_str(&b, STR("{\"yt-dlp\":"));
    http_json_string(&b, json_member_str(v, "engine"));
    buf_add_str(&b, STR(","));
    buf_add_str(&b, str_skip(body, str_find(body, '{', 0) + 1));
    text = pool_str(r->pool, buf_str(&b));
    buf_clear(&b);
    return text;
}

static struct str
message_alone(struct http_request *r, struct str body)
{
    struct errmsg err;
    const struct json_value *v = json_read(r->pool, body, &err);

    return v == NULL || v->kind != JSON_OBJECT
               ? body
               : in_quotes(r->pool, json_member_str(v, "msg"));
}

static bool
says_message_alone(const struct asking *a)
{
    return a->method == DOWNLOADS_ADD && a->answer.status >= 400 &&
           a->settings->event_payload == PAYLOAD_STRING;
}

/* The handler, for the second time. */
static enum http_result
answer(struct http_request *r)
{
    struct asking *a = r->context;
    char seconds[16];
    int fd = a->fd;

    if (says_message_alone(a)) {
        a->body = message_alone(r, a->body);
    }

    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    if (a->answer.retry_after > 0) {
        snprintf(seconds, sizeof(seconds), "%u", a->answer.retry_after);
        http_set_header(r, "Retry-After", str_from(seconds));
    }
    if (fd != -1) {
        a->fd = -1;
        return http_send_memory(r, (int)a->answer.status, JSON, fd,
                                (size_t)a->answer.length);
    }
    return http_reply(r, (int)a->answer.status, JSON, a->body);
}

static void
take(struct asking *a, struct rpc_answer *got)
{
    struct str body;

    if (got->status == RPC_LATE) {
        fail(a, DOWNLOADS_TIMEOUT, STR("the fetcher did not answer in time"));
    } else if (got->status != RPC_OK) {
        fail(a, DOWNLOADS_NO_FETCHER, str_of(got->data, got->len));
    } else if (downloads_answer_unpack(str_of(got->data, got->len), &a->answer,
                                       &body) == -1) {
        fail(a, DOWNLOADS_NO_FETCHER,
             STR("the fetcher's answer makes no sense"));
    } else {
        a->body = pool_str(a->request->pool, body);
        a->fd = got->fd;
        got->fd = -1;
    }
}

static void
on_answer(void *arg, struct rpc_answer *got)
{
    struct asking *a = arg;

    a->call = NULL;
    take(a, got);
    http_resume(a->request);
}

/* ---- asking ---- */

static void
on_cancel(void *arg)
{
    struct asking *a = arg;

    rpc_cancel(&a->call);
    if (a->fd != -1) {
        close(a->fd);
        a->fd = -1;
    }
}

static struct asking *
begin(struct http_request *r, const struct downloads_settings *s, int method)
{
    struct asking *a = pool_zero(r->pool, sizeof(*a));

    a->request = r;
    a->settings = s;
    a->method = method;
    a->fd = -1;
    r->context = a;
    return a;
}

/* A call that changes something is not sent again: a fetcher that dies may have
 * done it. */
static enum http_result
ask(struct http_request *r, const struct downloads_settings *s, int method,
    struct str bytes)
{
    const struct downloads_instance *i = instance_of(s);
    struct asking *a = begin(r, s, method);
    struct rpc_options o = { .timeout_ms = i->timeout,
                             .on_answer = on_answer,
                             .arg = a };
    struct errmsg err;

    if (method == DOWNLOADS_ADD) {
        o.timeout_ms += i->extract_timeout;
        http_set_endless(r); /* a client that ends its side has left */
    }
    o.resend = method == DOWNLOADS_HISTORY || method == DOWNLOADS_VERSION;
    a->call = rpc_call(&downloads_methods[method], &o, bytes.ptr, bytes.len, -1,
                       &err);
    if (a->call == NULL) {
        fail(a, DOWNLOADS_NO_FETCHER, str_from(err.text));
        return answer(r);
    }
    http_on_cancel(r, on_cancel, a);
    return HTTP_WAIT;
}

/* ---- POST ---- */

static void
put_client(const struct http_request *r, struct buf *to)
{
    struct tally_holder client = share_client(&r->client);

    download_client_pack(&client, to);
}

static int
check_folder(const struct downloads_instance *i, const struct download_wish *w,
             struct errmsg *err)
{
    return w->folder.len == 0 || i->custom_dirs
               ? 0
               : errmsg_set(err, "folder must be empty: this queue takes no "
                                 "folders (custom_dirs is false)");
}

static enum http_result
on_add(struct http_request *r, void *state)
{
    const struct downloads_settings *s = downloads_layer(state);
    const struct downloads_instance *i = instance_of(s);
    bool in_texts = s->event_payload == PAYLOAD_STRING;
    enum http_result result;
    struct download_wish w;
    struct errmsg err;
    struct buf b;

    if (r->context != NULL) {
        return answer(r);
    }
    if (download_wish_parse(r->fed, in_texts, &w, &err) == -1 ||
        check_folder(i, &w, &err) == -1) {
        return refuse(r, in_texts, 400, str_from(err.text));
    }
    w.instance = i->name;
    buf_init(&b, DOWNLOADS_REQUEST_MAX);
    put_client(r, &b);
    download_wish_pack(&w, &b);
    result = ask(r, s, DOWNLOADS_ADD, buf_str(&b));
    buf_clear(&b);
    return result;
}

static enum http_result
on_ids(struct http_request *r, void *state, int method)
{
    const struct downloads_settings *s = downloads_layer(state);
    enum http_result result;
    struct download_ids ids;
    struct errmsg err;
    struct buf b;

    if (r->context != NULL) {
        return answer(r);
    }
    if (download_ids_parse(r->pool, r->fed, method == DOWNLOADS_DELETE, &ids,
                           &err) == -1) {
        return refuse(r, false, 400, str_from(err.text));
    }
    ids.instance = instance_of(s)->name;
    buf_init(&b, DOWNLOADS_REQUEST_MAX);
    put_client(r, &b);
    download_ids_pack(&ids, &b);
    result = ask(r, s, method, buf_str(&b));
    buf_clear(&b);
    return result;
}

static enum http_result
on_delete(struct http_request *r, void *state)
{
    return on_ids(r, state, DOWNLOADS_DELETE);
}

static enum http_result
on_start(struct http_request *r, void *state)
{
    return on_ids(r, state, DOWNLOADS_START);
}

/* ---- GET ---- */

static enum http_result
on_history(struct http_request *r, void *state)
{
    const struct downloads_settings *s = downloads_layer(state);

    return r->context != NULL
               ? answer(r)
               : ask(r, s, DOWNLOADS_HISTORY, instance_of(s)->name);
}

static enum http_result
on_version(struct http_request *r, void *state)
{
    const struct downloads_settings *s = downloads_layer(state);
    struct asking *a = r->context;

    if (a == NULL) {
        return ask(r, s, DOWNLOADS_VERSION, instance_of(s)->name);
    }
    if (s->event_payload == PAYLOAD_STRING && a->answer.status == 200) {
        a->body = with_old_key(r, a->body);
    }
    return answer(r);
}

static enum http_result
on_robots(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "text/plain; charset=utf-8", ROBOTS);
}

/* Addresses of the page are relative to its own, which has to end with "/". */
static enum http_result
lead_to_slash(struct http_request *r)
{
    struct str path = str_first(r->target, str_find(r->target, '?', 0));

    http_set_header(
        r, "Location",
        pool_printf(r->pool, "./%.*s/", STR_ARGS(http_path_last(path))));
    return http_reply(r, 302, "text/plain; charset=utf-8",
                      STR("the page is at this path with a slash\n"));
}

static enum http_result
on_root(struct http_request *r, void *state)
{
    return str_ends(r->path, STR("/")) ? downloads_on_page(r, state)
                                       : lead_to_slash(r);
}

/* ---- routes ---- */

static uint64_t
most(const void *state)
{
    (void)state;
    return DOWNLOADS_BODY_MAX;
}

static void
on_long(struct http_request *r, void *state)
{
    (void)state;
    count_refusal(r, DOWNLOADS_BAD_REQUEST, STR("the body is too long"));
}

static const struct http_feed feed = {
    .most = most,
    .begin = http_json_begin,
    .piece = http_json_piece,
    .on_long = on_long,
};

const struct http_route downloads_routes[] = {
    { .method = "POST", .path = "/add", .handler = on_add, .feed = &feed },
    { .method = "POST",
      .path = "/delete",
      .handler = on_delete,
      .feed = &feed },
    { .method = "POST", .path = "/start", .handler = on_start, .feed = &feed },
    { .method = "GET", .path = "/history", .handler = on_history },
    { .method = "GET", .path = "/version", .handler = on_version },
    { .method = "GET", .path = "/", .handler = on_root },
    { .method = "GET",
      .path = "/_page.js",
      .handler = downloads_on_page_script },
    { .method = "GET",
      .path = "/_page.css",
      .handler = downloads_on_page_style },
    { .method = "GET", .path = "/download/*", .handler = downloads_on_file },
    { .method = "GET",
      .path = "/audio_download/*",
      .handler = downloads_on_file },
    { .method = "GET", .path = "/robots.txt", .handler = on_robots },
    { .path = NULL },
};

/* ---- life ---- */

int
downloads_start(const struct module_layer *layer, void **state,
                const struct http_route **routes, struct errmsg *err)
{
    struct layer *l = mem_zero(sizeof(*l));

    (void)routes;
    (void)err;
    l->settings = layer->settings;
    *state = l;
    return 0;
}

void
downloads_stop(void *state)
{
    struct layer *l = state;

    mem_free(&l);
}
