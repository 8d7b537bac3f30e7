/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "wyoming.h"
#include "json/json.h"

#define CHUNK 2048                /* bytes of sound in an event */
#define SENT_MAX (4 * PIPE_PIECE) /* of the events that are sent at once */
#define DATA_MAX 4096             /* of an event's data, but for "info" */
#define LIST_MS 5000              /* for the list of voices */
#define LINGER_MS 1000            /* for the client to read our last words */
#define USUAL_RATE 22050          /* Hz, of no sound */

bool
wyoming_is_busy(const struct wyoming_client *c)
{
    return c->say != NULL || c->describe != NULL || c->info != NULL;
}

static void
clear_text(struct wyoming_client *c)
{
    buf_clear(&c->text);
    c->scan = (struct wyoming_scan){ .at = 0 };
}

void
wyoming_let_go(struct wyoming_client *c)
{
    wyoming_say_free(&c->say);
    rpc_cancel(&c->describe);
    wyoming_file_free(&c->info);
    clear_text(c);
}

/* ---- events to the client ---- */

static bool
put(struct wyoming_client *c, const void *bytes, size_t n)
{
    if (conn_write(c->conn, bytes, n) == -1) {
        conn_close(c->conn, "cannot send");
        return false;
    }
    return true;
}

/* The line, and data behind it; a payload of that many bytes is to follow. */
static void
add_event(struct buf *b, const char *type, struct str data, size_t payload)
{
    buf_printf(b, "{\"type\":\"%s\",\"data_length\":%zu", type, data.len);
    if (payload > 0) {
        buf_printf(b, ",\"payload_length\":%zu", payload);
    }
    buf_add_str(b, STR("}\n"));
    buf_add_str(b, data);
}

static bool
send_event(struct wyoming_client *c, const char *type, struct str data)
{
    struct buf b;
    bool sent;

    buf_init(&b, SENT_MAX);
    add_event(&b, type, data, 0);
    sent = put(c, buf_data(&b), buf_len(&b));
    buf_clear(&b);
    return sent;
}

void
wyoming_fail(struct wyoming_client *c, const char *code, struct str text)
{
    char reason[128];
    struct json_out o;
    struct buf data;
    bool sent;

    str_copy(reason, sizeof(reason), text);
    buf_init(&data, DATA_MAX);
    json_begin(&o, &data, false);
    json_open(&o);
    json_put_str(&o, "text", str_first(text, SPEECH_MESSAGE_MAX / 2));
    json_put_str(&o, "code", str_from(code));
    json_close(&o);
    sent = json_end(&o) == -1 || send_event(c, "error", buf_str(&data));
    buf_clear(&data);
    if (sent) {
        wyoming_let_go(c);
        conn_finish(c->conn, LINGER_MS, reason);
    }
}

/* ---- sound ---- */

static struct str
sound_data(char *to, size_t room, unsigned rate)
{
    snprintf(to, room,
             "{\"rate\":%u,\"width\":2,\"channels\":1,\"timestamp\":null}",
             rate);
    return str_from(to);
}

static void
add_start(struct wyoming_client *c, unsigned rate, struct buf *b)
{
    char data[128];

    if (!c->started) {
        c->started = true;
        add_event(b, "audio-start", sound_data(data, sizeof(data), rate), 0);
    }
}

/* Whole samples of what is kept and of the bytes; the rest is kept. */
static void
add_chunks(struct wyoming_client *c, unsigned rate, struct str bytes,
           struct buf *b)
{
    char room[128];
    struct str data = sound_data(room, sizeof(room), rate);

    while (bytes.len + c->halved >= 2) {
        size_t n = (bytes.len + c->halved) & ~(size_t)1;
        size_t taken;

        n = n < CHUNK ? n : CHUNK;
        taken = n - c->halved;
        add_event(b, "audio-chunk", data, n);
        buf_add(b, &c->half, c->halved ? 1 : 0);
        buf_add_str(b, str_first(bytes, taken));
        bytes = str_skip(bytes, taken);
        c->halved = false;
    }
    if (bytes.len > 0) {
        c->halved = true;
        c->half = (uint8_t)bytes.ptr[0];
    }
}

static bool
on_sound(void *arg, unsigned rate, struct str bytes)
{
    struct wyoming_client *c = arg;
    struct buf b;
    bool sent;

    buf_init(&b, SENT_MAX);
    add_start(c, rate, &b);
    add_chunks(c, rate, bytes, &b);
    sent = put(c, buf_data(&b), buf_len(&b));
    buf_clear(&b);
    return sent && conn_has_room(c->conn);
}

static const char *
code_of(int status)
{
    switch (status) {
    case 400:
        return "bad-request";
    case 404:
        return "unknown-voice";
    case 413:
        return "too-long";
    case 503:
        return "busy";
    default:
        return "failed";
    }
}

static bool go_on_stream(struct wyoming_client *c);

static void
on_sound_end(void *arg, const struct wyoming_end *e)
{
    struct wyoming_client *c = arg;
    struct buf b;
    bool sent;

    wyoming_say_free(&c->say);
    if (e->status != 200) {
        wyoming_fail(c, code_of(e->status), e->message);
        return;
    }
    buf_init(&b, SENT_MAX);
    add_start(c, e->rate > 0 ? e->rate : USUAL_RATE, &b);
    add_event(&b, "audio-stop", STR("{\"timestamp\":null}"), 0);
    c->started = false;
    c->halved = false;
    sent = put(c, buf_data(&b), buf_len(&b));
    buf_clear(&b);
    if (sent && go_on_stream(c) && !wyoming_is_busy(c)) {
        wyoming_is_free(c);
    }
}

static const struct wyoming_taker taker = { on_sound, on_sound_end };

/* ---- asking for sound ---- */

static void
set_voice(const struct wyoming_client *c, struct speech_request *ask)
{
    struct str speaker = str_from(c->speaker);

    ask->voice = str_from(c->voice);
    if (speaker.len == 0 ||
        !str_to_int(speaker, 0, INT32_MAX, &ask->speaker_id)) {
        ask->speaker = speaker;
    }
}

static bool
say(struct wyoming_client *c, struct str text)
{
    struct pool *pool = pool_new(1024);
    struct wyoming_asked asked = { .instance = c->instance,
                                   .client = share_client(&c->conn->peer) };
    struct speech_request *ask = &asked.request;
    struct ask_error bad;
    struct errmsg err;

    ask_defaults(c->instance, ask);
    ask->format = SPEECH_PCM;
    ask->stream = true;
    set_voice(c, ask);
    if (ask_text(pool, c->instance, text, ask, &bad) == -1) {
        pool_free(&pool);
        tts_count_request(bad.status == 413 ? TTS_TOO_LONG : TTS_BAD_REQUEST,
                          ask_voice_class(ask));
        wyoming_fail(c, code_of(bad.status), str_from(bad.message.text));
        return false;
    }
    c->say = wyoming_say_new(c->loop, &asked, &taker, c, &err);
    pool_free(&pool);
    if (c->say == NULL) {
        wyoming_fail(c, code_of(503), str_from(err.text));
    }
    return c->say != NULL;
}

static bool
is_blank(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" \t\r\n", text.ptr[i]) == NULL || text.ptr[i] == '\0') {
            return false;
        }
    }
    return true;
}

/* Speaks the next sentence that is there; says so when it was the last. */
static bool
go_on_stream(struct wyoming_client *c)
{
    while (!wyoming_is_busy(c) && buf_len(&c->text) > 0) {
        struct str all = buf_str(&c->text);
        size_t n = wyoming_sentence(&c->scan, all);

        n = n == 0 && c->stopping ? all.len : n;
        if (n == 0) {
            break;
        }
        if (!is_blank(str_first(all, n)) && !say(c, str_first(all, n))) {
            return false;
        }
        buf_take(&c->text, n);
        buf_trim(&c->text);
        c->scan = (struct wyoming_scan){ .at = 0 };
    }
    if (!wyoming_is_busy(c) && c->stopping) {
        c->streaming = false;
        c->stopping = false;
        return send_event(c, "synthesize-stopped", STR("{}"));
    }
    return true;
}

/* ---- the list of voices ---- */

static bool
on_info_bytes(void *arg, struct str data)
{
    const struct wyoming_client *c = arg;

    return put(arg, data.ptr, data.len) && conn_has_room(c->conn);
}

static void
on_info_end(void *arg, bool broken)
{
    struct wyoming_client *c = arg;

    wyoming_file_free(&c->info);
    if (broken) {
        conn_close(c->conn, "the list of voices cannot be read");
    } else {
        wyoming_is_free(c);
    }
}

static const struct pipe_taker info_taker = { on_info_bytes, on_info_end };

static void
send_info(struct wyoming_client *c, int fd, int64_t length)
{
    char line[96];

    snprintf(line, sizeof(line),
             "{\"type\":\"info\",\"data_length\":%" PRId64 "}\n", length);
    c->info = wyoming_file_new(c->loop, fd, length, &info_taker, c);
    put(c, line, strlen(line));
}

static void
on_list(void *arg, struct rpc_answer *got)
{
    struct wyoming_client *c = arg;
    struct unpack u = { .rest = str_of(got->data, got->len) };
    struct speech_answer a;
    int fd = got->fd;

    c->describe = NULL;
    if (got->status != RPC_OK) {
        wyoming_fail(c, code_of(503), str_of(got->data, got->len));
    } else if (speech_unpack_answer(&u, &a) == -1) {
        wyoming_fail(c, code_of(500), STR("the list makes no sense"));
    } else if (a.status != 200 || fd == -1 || a.length < 2) {
        wyoming_fail(c, code_of(a.status), a.message);
    } else {
        got->fd = -1;
        send_info(c, fd, a.length);
    }
}

static bool
describe(struct wyoming_client *c)
{
    const struct rpc_options o = { .timeout_ms = LIST_MS,
                                   .on_answer = on_list,
                                   .arg = c };
    struct str name = c->instance->name;
    struct errmsg err;

    c->describe =
        rpc_call(&tts_methods[TTS_DESCRIBE], &o, name.ptr, name.len, -1, &err);
    if (c->describe == NULL) {
        wyoming_fail(c, code_of(503), str_from(err.text));
    }
    return c->describe != NULL;
}

void
wyoming_on_room(struct wyoming_client *c)
{
    if (c->say != NULL) {
        wyoming_say_go_on(c->say);
    } else if (c->info != NULL) {
        wyoming_file_go_on(c->info);
    }
}

/* ---- events of the client ---- */

/* Of an event that asks for sound: the voice of what is said from now on. */
static void
take_voice(struct wyoming_client *c, const struct wyoming_event *e)
{
    const struct json_value *v = wyoming_member(e, "voice");
    struct str name = json_member_str(v, "name");

    if (name.len == 0) {
        name = json_member_str(v, "language");
    }
    str_copy(c->voice, sizeof(c->voice), ask_name(name));
    str_copy(c->speaker, sizeof(c->speaker),
             ask_name(json_member_str(v, "speaker")));
}

/* Its text; false when it has none, which ends the connection. */
static bool
take_text(struct wyoming_client *c, const struct wyoming_event *e,
          struct str *text)
{
    const struct json_value *v = wyoming_member(e, "text");

    if (v == NULL || v->kind != JSON_STRING) {
        wyoming_fail(c, code_of(400), STR("\"text\" must be a text"));
        return false;
    }
    *text = v->text;
    return true;
}

/* Within a stream it repeats the stream's text, for servers that know none. */
static bool
do_synthesize(struct wyoming_client *c, const struct wyoming_event *e)
{
    struct str text;

    if (c->streaming) {
        return true;
    }
    take_voice(c, e);
    return take_text(c, e, &text) && say(c, text);
}

static bool
do_start(struct wyoming_client *c, const struct wyoming_event *e)
{
    take_voice(c, e);
    clear_text(c);
    c->streaming = true;
    c->stopping = false;
    return true;
}

static bool
do_chunk(struct wyoming_client *c, const struct wyoming_event *e)
{
    struct str text;

    if (!take_text(c, e, &text)) {
        return false;
    }
    if (!c->streaming) {
        wyoming_fail(c, code_of(400), STR("no synthesize-start came before"));
        return false;
    }
    if (buf_add_str(&c->text, text) == -1) {
        wyoming_fail(c, code_of(413), STR("the sentence is too long"));
        return false;
    }
    return text.len == 0 || go_on_stream(c);
}

static bool
do_stop(struct wyoming_client *c)
{
    if (!c->streaming) {
        wyoming_fail(c, code_of(400), STR("no synthesize-start came before"));
        return false;
    }
    c->stopping = true;
    return go_on_stream(c);
}

static bool
do_ping(struct wyoming_client *c, const struct wyoming_event *e)
{
    const struct json_value *v = wyoming_member(e, "text");
    struct json_out o;
    struct buf data;
    bool sent;

    buf_init(&data, DATA_MAX);
    json_begin(&o, &data, false);
    json_open(&o);
    if (v != NULL && v->kind == JSON_STRING && v->text.len <= DATA_MAX / 8) {
        json_put_str(&o, "text", v->text);
    }
    json_close(&o);
    sent = json_end(&o) == -1 || send_event(c, "pong", buf_str(&data));
    buf_clear(&data);
    return sent;
}

bool
wyoming_do(struct wyoming_client *c, const struct wyoming_event *e)
{
    if (str_eq(e->type, STR("describe"))) {
        return describe(c);
    }
    if (str_eq(e->type, STR("ping"))) {
        return do_ping(c, e);
    }
    if (str_eq(e->type, STR("synthesize"))) {
        return do_synthesize(c, e);
    }
    if (str_eq(e->type, STR("synthesize-start"))) {
        return do_start(c, e);
    }
    if (str_eq(e->type, STR("synthesize-chunk"))) {
        return do_chunk(c, e);
    }
    return !str_eq(e->type, STR("synthesize-stop")) || do_stop(c);
}
