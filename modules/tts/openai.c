/*
 * Routes for clients of OpenAI's API: POST /v1/audio/speech, and the lists that
 * they ask for before.
 *
 * Models and instructions are taken and have no meaning here.  A voice may be
 * one of weir's, a name of voice_map, or one of the names that such clients
 * have built in.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "http/escape.h"
#include "layer.h"
#include "json/json.h"
#include "json/read.h"

#define JSON "application/json"
#define LIST_MAX ((size_t)1 << 20) /* bytes of a list */
#define ERROR_MAX (16 * 1024)      /* bytes of an error's body */
#define PCM_RATE 24000             /* Hz, of pcm as theirs is */
#define SPEED_LEAST 0.25
#define SPEED_MOST 4.0

/* ---- errors ---- */

bool
openai_is_path(struct str route_path)
{
    return str_starts(route_path, STR("/v1/"));
}

/* Each mistake in a request is 400 there. */
static int
status_of(int status, struct str field)
{
    return status == 413 || (status == 404 && str_eq(field, STR("voice")))
               ? 400
               : status;
}

static const char *
code_of(int status, struct str field)
{
    switch (status) {
    case 404:
        return str_eq(field, STR("voice"))   ? "\"invalid_value\""
               : str_eq(field, STR("model")) ? "\"model_not_found\""
                                             : "null";
    case 413:
        return "\"string_above_max_length\"";
    default:
        return "null";
    }
}

/* The names of fields there. */
static struct str
param_of(struct str field)
{
    if (str_eq(field, STR("text"))) {
        return STR("input");
    }
    return str_eq(field, STR("format")) ? STR("response_format") : field;
}

void
openai_write_error(struct buf *b, int status, struct str field,
                   struct str message)
{
    buf_add_str(b, STR("{\"error\":{\"message\":"));
    http_json_string(b, message);
    buf_printf(b, ",\"type\":\"%s\",\"param\":",
               status >= 500 ? "server_error" : "invalid_request_error");
    if (field.len > 0) {
        http_json_string(b, param_of(field));
    } else {
        buf_add_str(b, STR("null"));
    }
    buf_printf(b, ",\"code\":%s}}\n", code_of(status, field));
}

static enum http_result
send_error(struct http_request *r, int status, struct str field,
           struct str message)
{
    struct buf b;

    buf_init(&b, ERROR_MAX);
    openai_write_error(&b, status, field, message);
    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_reply(r, status_of(status, field), JSON, buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

static enum http_result
refuse(struct http_request *r, const struct speech_request *ask,
       const struct ask_error *err)
{
    layer_note_refusal(r, ask, err);
    return send_error(r, err->status, str_from(err->field),
                      str_from(err->message.text));
}

/* ---- voices ---- */

/* Names that clients have built in, and voices that differ as they do. */
static const struct {
    const char *name, *voice;
} shipped[] = {
    { "alloy", "en-us" },     { "ash", "en-us+m2" },
    { "ballad", "en-gb+m5" }, { "coral", "en-us+f2" },
    { "echo", "en-us+m3" },   { "fable", "en-gb" },
    { "nova", "en-us+f3" },   { "onyx", "en-us+m7" },
    { "sage", "en-us+f5" },   { "shimmer", "en-us+f4" },
    { "verse", "en-gb+m1" },
};
#define SHIPPED (sizeof(shipped) / sizeof(shipped[0]))

static const struct tts_voice_map *
find_mapped(const struct tts_instance *i, struct str name)
{
    const struct tts_voice_map *map = i->voice_map.items;

    for (size_t n = 0; n < i->voice_map.count; n++) {
        if (str_eq_nocase(map[n].name, name)) {
            return &map[n];
        }
    }
    return NULL;
}

/* The operator's wish stands before a voice of that name; none of the shipped
 * names is a voice. */
static struct str
map_voice(const struct tts_instance *i, struct str name)
{
    const struct tts_voice_map *m = find_mapped(i, name);

    if (m != NULL) {
        return m->voice;
    }
    for (size_t n = 0; n < SHIPPED; n++) {
        if (str_eq_nocase(str_from(shipped[n].name), name)) {
            return str_from(shipped[n].voice);
        }
    }
    return ask_name(name);
}

/* ---- a request ---- */

static int
take_input(struct pool *pool, const struct tts_instance *i,
           const struct json_value *body, struct speech_request *ask,
           struct ask_error *err)
{
    const struct json_value *v = json_member(body, "input");

    if (v == NULL || v->kind == JSON_NULL) {
        err->status = 400;
        err->field = "input";
        return errmsg_set(&err->message, "input is missing");
    }
    if (v->kind != JSON_STRING) {
        return ask_refuse(err, "input", "a string", v);
    }
    if (ask_text(pool, i, v->text, ask, err) == -1) {
        err->field = "input";
        return -1;
    }
    return 0;
}

/* A text, or an object with an id or a name. */
static int
take_voice(const struct tts_instance *i, const struct json_value *body,
           struct speech_request *ask, struct ask_error *err)
{
    const struct json_value *v = json_member(body, "voice"), *name = v;

    if (v == NULL || v->kind == JSON_NULL) {
        return 0;
    }
    if (v->kind == JSON_OBJECT) {
        name = json_member(v, "id");
        name = name != NULL ? name : json_member(v, "name");
    }
    if (name == NULL || name->kind != JSON_STRING) {
        return ask_refuse(err, "voice", "a string, or an object with an id", v);
    }
    ask->voice = map_voice(i, name->text);
    return 0;
}

static int
take_speed(const struct json_value *body, struct speech_request *ask,
           struct ask_error *err)
{
    const struct json_value *v = json_member(body, "speed");

    if (v == NULL || v->kind == JSON_NULL) {
        return 0;
    }
    if (v->kind != JSON_NUMBER ||
        !(v->number >= SPEED_LEAST && v->number <= SPEED_MOST)) {
        return ask_refuse(err, "speed", "a number from 0.25 to 4", v);
    }
    ask->length_scale = (int64_t)(SPEECH_MILLION / v->number + 0.5);
    return 0;
}

/* Formats that have a name there, the usual one first. */
static const enum speech_format known[] = { SPEECH_MP3, SPEECH_OPUS,
                                            SPEECH_FLAC, SPEECH_WAV,
                                            SPEECH_PCM };
#define KNOWN (sizeof(known) / sizeof(known[0]))

static int
refuse_format(const struct json_value *v, struct ask_error *err)
{
    char must[80] = "one of ";
    size_t len = strlen(must), first = len;

    for (size_t n = 0; n < KNOWN; n++) {
        if (ask_format_is_built(known[n])) {
            len = str_append(must, sizeof(must), len,
                             len > first ? STR(", ") : STR_NONE);
            len = str_append(must, sizeof(must), len,
                             str_from(ask_format_name(known[n])));
        }
    }
    return ask_refuse(err, "response_format", must, v);
}

static int
take_format(const struct json_value *body, struct speech_request *ask,
            struct ask_error *err)
{
    const struct json_value *v = json_member(body, "response_format");

    ask->format = ask_format_is_built(SPEECH_MP3) ? SPEECH_MP3 : SPEECH_WAV;
    if (v == NULL || v->kind == JSON_NULL) {
        return 0;
    }
    for (size_t n = 0; n < KNOWN && v->kind == JSON_STRING; n++) {
        if (ask_format_is_built(known[n]) &&
            str_eq(v->text, str_from(ask_format_name(known[n])))) {
            ask->format = known[n];
            return 0;
        }
    }
    return refuse_format(v, err);
}

/* Events of JSON in place of sound are not made. */
static int
check_stream(const struct json_value *body, struct ask_error *err)
{
    const struct json_value *v = json_member(body, "stream_format");

    if (v == NULL || v->kind == JSON_NULL ||
        (v->kind == JSON_STRING && str_eq(v->text, STR("audio")))) {
        return 0;
    }
    return ask_refuse(err, "stream_format", "\"audio\"", v);
}

static int
read_request(struct http_request *r, const struct tts_instance *i,
             struct speech_request *ask, struct ask_error *err)
{
    const struct json_value *body = ask_body(r->fed, err);

    ask_defaults(i, ask);
    if (body == NULL || take_input(r->pool, i, body, ask, err) == -1 ||
        take_voice(i, body, ask, err) == -1 ||
        take_speed(body, ask, err) == -1 || take_format(body, ask, err) == -1 ||
        check_stream(body, err) == -1) {
        return -1;
    }
    ask->sample_rate = ask->format == SPEECH_PCM ? PCM_RATE : 0;
    return 0;
}

enum http_result
tts_on_openai(struct http_request *r, void *state)
{
    const struct tts_instance *i = layer_instance(state);
    struct speech_request ask;
    struct ask_error err;

    if (r->context != NULL) {
        return answer_go_on(r);
    }
    if (read_request(r, i, &ask, &err) == -1) {
        return refuse(r, &ask, &err);
    }
    return answer_begin(r, i, &ask, send_error);
}

/* ---- lists ---- */

static enum http_result
reply_json(struct http_request *r, struct json_out *o, struct buf *b)
{
    if (json_end(o) == -1) {
        buf_clear(b);
        return send_error(r, 500, STR_NONE, STR("the list is too long"));
    }
    http_set_header(r, "Cache-Control", STR("no-cache"));
    http_reply(r, 200, JSON, buf_str(b));
    buf_clear(b);
    return HTTP_DONE;
}

static const char *const models[] = { "tts-1", "tts-1-hd", "gpt-4o-mini-tts" };
#define MODELS (sizeof(models) / sizeof(models[0]))

static void
write_model(struct json_out *o, const char *id)
{
    json_open(o);
    json_put_str(o, "id", str_from(id));
    json_put_str(o, "object", STR("model"));
    json_put_int(o, "created", 0);
    json_put_str(o, "owned_by", STR("weir"));
    json_close(o);
}

static void
write_models(struct json_out *o)
{
    json_open(o);
    json_put_str(o, "object", STR("list"));
    json_key(o, "data");
    json_open_array(o);
    for (size_t n = 0; n < MODELS; n++) {
        write_model(o, models[n]);
    }
    json_close(o);
    json_close(o);
}

enum http_result
tts_on_openai_models(struct http_request *r, void *state)
{
    struct str id = http_param(r, "id");
    struct json_out o;
    struct buf b;

    (void)state;
    for (size_t n = 0; n < MODELS && id.len > 0; n++) {
        if (str_eq(id, str_from(models[n]))) {
            buf_init(&b, LIST_MAX);
            json_begin(&o, &b, false);
            write_model(&o, models[n]);
            return reply_json(r, &o, &b);
        }
    }
    if (id.len > 0) {
        return send_error(r, 404, STR("model"),
                          pool_printf(r->pool, "there is no model \"%.*s\"",
                                      STR_ARGS(ask_name(id))));
    }
    buf_init(&b, LIST_MAX);
    json_begin(&o, &b, false);
    write_models(&o);
    return reply_json(r, &o, &b);
}

static void
write_voice(struct json_out *o, struct str id)
{
    json_open(o);
    json_put_str(o, "id", id);
    json_put_str(o, "name", id);
    json_close(o);
}

/* Names of other services first, then weir's own. */
static void
write_voices(struct json_out *o, const struct tts_instance *i,
             const struct json_value *all)
{
    const struct tts_voice_map *map = i->voice_map.items;

    json_open(o);
    json_key(o, "voices");
    json_open_array(o);
    for (size_t n = 0; n < i->voice_map.count; n++) {
        write_voice(o, map[n].name);
    }
    for (size_t n = 0; n < SHIPPED; n++) {
        if (find_mapped(i, str_from(shipped[n].name)) == NULL) {
            write_voice(o, str_from(shipped[n].name));
        }
    }
    for (const struct json_value *v = all->first; v != NULL; v = v->next) {
        write_voice(o, v->name);
    }
    json_close(o);
    json_close(o);
}

enum http_result
tts_on_openai_voices(struct http_request *r, void *state)
{
    const struct tts_instance *i = layer_instance(state);
    enum http_result result;
    struct str tag;
    struct str list = layer_voices(r, state, send_error, &tag, &result);
    const struct json_value *all;
    struct errmsg err;
    struct json_out o;
    struct buf b;

    if (list.len == 0) {
        return result;
    }
    all = json_read(r->pool, list, &err);
    if (all == NULL) {
        return send_error(r, 500, STR_NONE, str_from(err.text));
    }
    buf_init(&b, LIST_MAX);
    json_begin(&o, &b, false);
    write_voices(&o, i, all);
    return reply_json(r, &o, &b);
}
