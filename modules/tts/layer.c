/*
 * Routes of a worker: what is asked, the list of voices, errors.
 *
 *   POST /, POST /synthesize   a JSON body to sound
 *   POST /timings              the same to the times of its words
 *   GET /?text=...             the same from a query
 *   GET /                      the page, or how to ask
 *   GET /voices                the list of voices
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layer.h"

#include <stdio.h>

#include "app/worker.h"
#include "base/mem.h"
#include "http/accept.h"
#include "http/escape.h"
#include "http/file/condition.h"
#include "voice_list.h"
#include "json/json.h"

#define JSON "application/json"
#define ERROR_MAX (16 * 1024) /* bytes of an error's body */
#define HOW_MAX 4096          /* bytes of how to ask */
#define VOICES_MS 5000        /* until it has to be there */
#define BESIDE_TEXT 65536     /* bytes of a body */

struct layer {
    const struct tts_instance *instance; /* borrowed from the settings */
    struct voice_list *voices;           /* owned */
};

const struct tts_instance *
layer_instance(const void *state)
{
    return ((const struct layer *)state)->instance;
}

/* ---- errors ---- */

static void
write_error(struct buf *b, int status, struct str field, struct str message)
{
    buf_add_str(b, STR("{\"message\":"));
    http_json_string(b, message);
    buf_printf(b,
               ",\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,"
               "\"detail\":",
               http_status_text(status), status);
    http_json_string(b, message);
    if (field.len > 0) {
        buf_add_str(b, STR(",\"field\":"));
        http_json_string(b, field);
    }
    buf_add_str(b, STR("}\n"));
}

enum http_result
layer_send_error(struct http_request *r, int status, struct str field,
                 struct str message)
{
    struct buf b;

    buf_init(&b, ERROR_MAX);
    write_error(&b, status, field, message);
    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_reply(r, status, JSON, buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

/* Errors that weir itself has to tell (405, 413). */
const char *
layer_error_body(struct http_request *r, int status, struct str message,
                 struct buf *out)
{
    if (!openai_is_path(r->route_path)) {
        return NULL;
    }
    openai_write_error(out, status, STR_NONE, message);
    return JSON;
}

void
layer_note_refusal(struct http_request *r, const struct speech_request *ask,
                   const struct ask_error *err)
{
    bool too_long = err->status == 413;

    tts_count_request(too_long ? TTS_TOO_LONG : TTS_BAD_REQUEST,
                      ask_voice_class(ask));
    http_note(r, "speech: %s: %s%s%s", too_long ? "too long" : "bad request",
              err->field, err->field[0] != '\0' ? ": " : "", err->message.text);
}

static enum http_result
refuse(struct http_request *r, const struct speech_request *ask,
       const struct ask_error *err)
{
    layer_note_refusal(r, ask, err);
    return layer_send_error(r, err->status, str_from(err->field),
                            str_from(err->message.text));
}

/* ---- speech ---- */

static enum http_result
say_json(struct http_request *r, void *state, bool timings)
{
    const struct tts_instance *i = layer_instance(state);
    struct speech_request ask;
    struct ask_error err;

    if (r->context != NULL) {
        return answer_go_on(r);
    }
    if (ask_json(r->pool, i, r->fed, &ask, &err) == -1) {
        return refuse(r, &ask, &err);
    }
    if (timings) {
        ask.format = SPEECH_TIMINGS;
    }
    return answer_begin(r, i, &ask, layer_send_error);
}

static enum http_result
on_post(struct http_request *r, void *state)
{
    return say_json(r, state, false);
}

static enum http_result
on_timings(struct http_request *r, void *state)
{
    return say_json(r, state, true);
}

/* ---- GET / ---- */

static bool
likes_pages(const struct http_request *r)
{
    for (const struct http_media *m = http_accept_members(r); m != NULL;
         m = m->next) {
        if (m->quality > 0 && str_eq_nocase(m->name, STR("text/html"))) {
            return true;
        }
    }
    return false;
}

static void
write_formats(struct json_out *o)
{
    json_key(o, "formats");
    json_open_array(o);
    for (enum speech_format f = SPEECH_WAV; ask_format_name(f) != NULL; f++) {
        if (ask_format_is_built(f)) {
            json_str(o, str_from(ask_format_name(f)));
        }
    }
    json_close(o);
}

static enum http_result
tell_how(struct http_request *r, const struct tts_instance *i)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, HOW_MAX);
    json_begin(&o, &b, false);
    json_open(&o);
    json_put_str(&o, "message",
                 STR("POST {\"text\": \"...\"} here, or GET ?text=..., and be "
                     "answered with speech"));
    json_put_str(&o, "voice", i->voice);
    json_put_str(&o, "voices", STR("GET voices"));
    json_put_str(&o, "timings", STR("POST timings"));
    json_put_int(&o, "max_text", i->max_text);
    write_formats(&o);
    json_close(&o);
    json_end(&o);
    http_set_header(r, "Cache-Control", STR("no-cache"));
    http_reply(r, 200, JSON, buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

static enum http_result
on_get(struct http_request *r, void *state)
{
    const struct tts_instance *i = layer_instance(state);
    struct speech_request ask;
    struct ask_error err;
    struct str raw;

    if (r->context != NULL) {
        return answer_go_on(r);
    }
    if (http_query_count(r, "text", &raw) == 0) {
        http_vary(r, STR("Accept"));
        return likes_pages(r) ? tts_on_page(r, state) : tell_how(r, i);
    }
    if (ask_query(r, i, &ask, &err) == -1) {
        return refuse(r, &ask, &err);
    }
    return answer_begin(r, i, &ask, layer_send_error);
}

/* ---- the list of voices ---- */

struct listing { /* in the request's pool */
    struct http_request *request;
    struct voice_list *voices; /* borrowed from the layer */
    struct rpc_call *call;
    struct errmsg why; /* there is no newer list */
};

static void
cancel_list(void *arg)
{
    struct listing *l = arg;

    rpc_cancel(&l->call);
}

static void
on_list(void *arg, struct rpc_answer *got)
{
    struct listing *l = arg;

    l->call = NULL;
    voice_list_take(l->voices, got, &l->why);
    http_resume(l->request);
}

static enum http_result
refuse_list(struct http_request *r, layer_fail *fail, struct str why)
{
    char seconds[24];

    snprintf(seconds, sizeof(seconds), "%lld", (long long)answer_retry_after());
    http_set_header(r, "Retry-After", str_from(seconds));
    http_note(r, "speech: no list of voices: %.*s", STR_ARGS(why));
    return fail(r, 503, STR_NONE, why);
}

/* While no speaker answers, the list that was there last counts. */
static struct str
kept_list(struct http_request *r, const struct listing *l, layer_fail *fail,
          struct str *tag, enum http_result *result)
{
    struct str list = voice_list_get(l->voices, tag);

    if (list.len == 0) {
        *result = refuse_list(r, fail, str_from(l->why.text));
        return STR_NONE;
    }
    *result = HTTP_DONE;
    *tag = pool_printf(r->pool, "\"%.*s\"", STR_ARGS(*tag));
    return pool_str(r->pool, list);
}

struct str
layer_voices(struct http_request *r, const void *state, layer_fail *fail,
             struct str *tag, enum http_result *result)
{
    const struct layer *layer = state;
    struct listing *l = r->context;
    struct rpc_options o = { .timeout_ms = VOICES_MS, .on_answer = on_list };

    if (l != NULL) {
        return kept_list(r, l, fail, tag, result);
    }
    o.arg = l = pool_zero(r->pool, sizeof(*l));
    l->request = r;
    l->voices = layer->voices;
    l->call = voice_list_ask(l->voices, &o, false, &l->why);
    if (l->call == NULL) {
        return kept_list(r, l, fail, tag, result);
    }
    r->context = l;
    http_on_cancel(r, cancel_list, l);
    *result = HTTP_WAIT;
    return STR_NONE;
}

static enum http_result
on_voices(struct http_request *r, void *state)
{
    struct http_validators v = { .tag = STR_NONE };
    enum http_result result;
    struct str list = layer_voices(r, state, layer_send_error, &v.tag, &result);

    if (list.len == 0) {
        return result;
    }
    http_set_header(r, "ETag", v.tag);
    http_set_header(r, "Cache-Control", STR("no-cache"));
    if (http_judge_conditions(r, &v) == HTTP_NOT_MODIFIED) {
        return http_not_modified(r, JSON, list.len);
    }
    return http_reply(r, 200, JSON, list);
}

/* ---- routes ---- */

/* A text of which each byte is escaped ("\\u0001"), and what stands beside
 * it. */
static uint64_t
most(const void *state)
{
    return 6 * (uint64_t)layer_instance(state)->max_text + BESIDE_TEXT;
}

static void
on_long(struct http_request *r, void *state)
{
    (void)state;
    tts_count_request(TTS_TOO_LONG, TTS_VOICE_DEFAULT);
    http_note(r, "speech: too long: the body");
}

static const struct http_feed feed = {
    .most = most,
    .begin = http_json_begin,
    .piece = http_json_piece,
    .on_long = on_long,
};

const struct http_route tts_routes[] = {
    { .method = "GET", .path = "/", .handler = on_get },
    { .method = "POST", .path = "/", .handler = on_post, .feed = &feed },
    { .method = "POST",
      .path = "/synthesize",
      .handler = on_post,
      .feed = &feed },
    { .method = "POST",
      .path = "/timings",
      .handler = on_timings,
      .feed = &feed },
    { .method = "GET", .path = "/voices", .handler = on_voices },
    { .method = "GET", .path = "/_page.js", .handler = tts_on_page_script },
    { .method = "GET", .path = "/_page.css", .handler = tts_on_page_style },
    { .method = "POST",
      .path = "/v1/audio/speech",
      .handler = tts_on_openai,
      .feed = &feed },
    { .method = "GET",
      .path = "/v1/audio/voices",
      .handler = tts_on_openai_voices },
    { .method = "GET", .path = "/v1/models", .handler = tts_on_openai_models },
    { .method = "GET",
      .path = "/v1/models/:id",
      .handler = tts_on_openai_models },
    { .path = NULL },
};

/* ---- life ---- */

int
tts_start(const struct module_layer *layer, void **state,
          const struct http_route **routes, struct errmsg *err)
{
    const struct tts_settings *s = layer->settings;
    struct layer *l = mem_zero(sizeof(*l));

    (void)routes;
    (void)err;
    l->instance = s->instance.settings;
    l->voices = voice_list_new(layer->worker->loop, l->instance->name);
    *state = l;
    return 0;
}

void
tts_stop(void *state)
{
    struct layer *l = state;

    voice_list_free(&l->voices);
    mem_free(&l);
}
