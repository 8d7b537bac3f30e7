/*
 * A request for speech in a worker: what waits for the speaker, and the answer.
 *
 * An answer that is whole comes as a sealed memfd, of which the client gets
 * the bytes with their length.  A long one comes as a pipe: its head is sent
 * with the first bytes, so that a failure before them is a clean error, and its
 * end only when the pipe has ended and the speaker has said that it was good.
 * Otherwise the connection ends without the answer's end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <unistd.h>

#include "http/file/condition.h"
#include "layer.h"
#include "pipe_reader.h"
#include "proc/slot.h"

#define UNSENT (16 * 1024) /* bytes of a stream that wait in the system */

struct answering { /* in the request's pool */
    struct http_request *request;
    const struct tts_instance *instance; /* borrowed from the settings */
    layer_fail *fail;
    struct rpc_call *call;       /* under way; NULL: it was answered */
    struct pipe_reader *reader;  /* owned; NULL: no pipe came, or it ended */
    struct timer timer;          /* until the call is put off again */
    struct speech_answer answer; /* the newest; its texts lie in the pool */
    enum tts_outcome outcome;    /* of that */
    enum tts_voice_class voice;  /* that was asked for */
    int fd;                      /* owned: a whole answer; or -1 */
    uint64_t bytes; /* that came through the pipe, once it has ended */
    bool piped;     /* a pipe came */
    bool started;   /* the head was sent */
    bool broken;    /* bytes of the pipe are missing */
    bool over;      /* counted */
};

/* ---- the end of a request ---- */

/* For the access log, which is written before on_cancel(): what is noted first
 * stands there when the client goes. */
static void
note(struct answering *s, enum tts_outcome outcome)
{
    static const char *const words[TTS_OUTCOMES] = {
        [TTS_OK] = "ok",
        [TTS_BAD_REQUEST] = "bad request",
        [TTS_UNKNOWN_VOICE] = "unknown voice",
        [TTS_QUEUE_FULL] = "queue full",
        [TTS_STARTING] = "starting",
        [TTS_NO_RESOURCES] = "no resources",
        [TTS_NO_VOICES] = "no voices",
        [TTS_TOO_LONG] = "too long",
        [TTS_CRASHED] = "failed",
        [TTS_NO_SPEAKER] = "no speaker",
        [TTS_CLIENT_GONE] = "client gone",
    };
    const struct speech_answer *a = &s->answer;
    struct str voice = a->voice.len > 0 ? a->voice : STR("-");
    char duration[32] = "-";

    if (outcome == TTS_OK && a->duration >= 0 && a->format != SPEECH_TIMINGS) {
        snprintf(duration, sizeof(duration), "%.3f",
                 (double)a->duration / 1000);
    }
    http_note(s->request, "speech: %s, voice %.*s, cached %s, duration %s",
              words[outcome], STR_ARGS(voice), a->cached ? "yes" : "no",
              duration);
}

/* Counts it, once. */
static void
be_over(struct answering *s, enum tts_outcome outcome)
{
    if (!s->over) {
        s->over = true;
        tts_count_request(outcome, s->voice);
        note(s, outcome);
    }
}

/* Gives back all that it holds outside its pool. */
static void
let_go(struct answering *s)
{
    timer_stop(s->request->loop, &s->timer);
    rpc_cancel(&s->call);
    pipe_reader_free(&s->reader);
    if (s->fd != -1) {
        close(s->fd);
        s->fd = -1;
    }
}

static void
on_cancel(void *arg)
{
    struct answering *s = arg;

    let_go(s);
    be_over(s, TTS_CLIENT_GONE);
}

/* ---- answers that are no stream ---- */

static void
set_number(struct http_request *r, const char *name, int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)n);
    http_set_header(r, name, str_from(text));
}

/* Says where the voices are listed. */
static struct str
with_list(struct http_request *r, struct str message)
{
    struct str base = r->location->path;

    base.len = base.len > 1 ? base.len : 0;
    return pool_printf(r->pool, "%.*s; GET %.*s%s lists them",
                       STR_ARGS(message), STR_ARGS(base),
                       openai_is_path(r->route_path) ? "/v1/audio/voices"
                                                     : "/voices");
}

static enum http_result
answer_error(struct answering *s)
{
    struct http_request *r = s->request;
    const struct speech_answer *a = &s->answer;

    be_over(s, s->outcome);
    if (a->status == 503) {
        set_number(r, "Retry-After", a->retry_after > 0 ? a->retry_after : 1);
    }
    return s->fail(r, a->status, a->field,
                   a->unlisted ? with_list(r, a->message) : a->message);
}

static void
set_sound_headers(struct answering *s)
{
    struct http_request *r = s->request;
    const struct speech_answer *a = &s->answer;

    http_set_header(r, "X-Voice", a->voice);
    set_number(r, "X-Sample-Rate", a->sample_rate);
    http_set_header(r, "Accept-Ranges", STR("none"));
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
}

/* Whether the client has these bytes; it can say so in a GET. */
static bool
client_has_it(struct http_request *r, struct str tag)
{
    struct http_validators v = { .tag = tag };

    return !str_eq(r->method, STR("POST")) &&
           http_judge_conditions(r, &v) == HTTP_NOT_MODIFIED;
}

static enum http_result
answer_whole(struct answering *s)
{
    struct http_request *r = s->request;
    const struct speech_answer *a = &s->answer;
    const char *type = ask_format_type(a->format);
    bool post = str_eq(r->method, STR("POST"));
    struct str tag = STR_NONE;
    char duration[32];
    int fd = s->fd;

    set_sound_headers(s);
    if (a->duration >= 0 && a->format != SPEECH_TIMINGS) {
        snprintf(duration, sizeof(duration), "%.3f",
                 (double)a->duration / 1000);
        http_set_header(r, "X-Audio-Duration", str_from(duration));
    }
    http_set_header(r, "Cache-Control",
                    post ? STR("no-store") : STR("no-cache"));
    if (a->tag.len > 0) {
        tag = pool_printf(r->pool, "\"%.*s\"", STR_ARGS(a->tag));
        http_set_header(r, "ETag", tag);
    }
    be_over(s, TTS_OK);
    if (tag.len > 0 && client_has_it(r, tag)) {
        let_go(s);
        return http_not_modified(r, type, (size_t)a->length);
    }
    s->fd = -1;
    return http_send_memory(r, 200, type, fd, (size_t)a->length);
}

enum http_result
answer_go_on(struct http_request *r)
{
    struct answering *s = r->context;

    if (s->answer.status == 200 && s->fd != -1) {
        return answer_whole(s);
    }
    return answer_error(s);
}

/* The handler gives the answer. */
static void
answer_now(struct answering *s)
{
    timer_stop(s->request->loop, &s->timer);
    pipe_reader_free(&s->reader);
    http_resume(s->request);
}

static void
fail(struct answering *s, int status, enum tts_outcome outcome,
     struct str message)
{
    s->answer = (struct speech_answer){
        .status = status,
        .length = -1,
        .duration = -1,
        .retry_after = answer_retry_after(),
        .voice = s->answer.voice,
        .tag = STR_NONE,
        .field = STR_NONE,
        .message = pool_str(s->request->pool, message),
    };
    s->outcome = outcome;
}

/* ---- streams ---- */

static void
end_stream(struct answering *s)
{
    struct http_request *r = s->request;
    const struct speech_answer *a = &s->answer;
    bool whole = a->length < 0 || (uint64_t)a->length == s->bytes;
    bool good = a->status == 200 && !s->broken && whole;

    let_go(s);
    be_over(s, a->status == 200 && !good ? TTS_CRASHED : s->outcome);
    if (good) {
        http_end(r);
    } else {
        http_break(r);
    }
}

/* Both ends of a stream are awaited. */
static void
look_at_end(struct answering *s)
{
    if (s->call != NULL || s->reader != NULL) {
        return;
    }
    if (s->started) {
        end_stream(s);
        return;
    }
    if (s->answer.status == 200) {
        fail(s, 500, TTS_CRASHED, STR("the synthesis gave no sound"));
    }
    answer_now(s);
}

static void
on_room(void *arg)
{
    struct answering *s = arg;

    if (s->reader != NULL) {
        pipe_reader_go_on(s->reader);
    }
}

static void
start_stream(struct answering *s)
{
    struct http_request *r = s->request;

    s->started = true;
    set_sound_headers(s);
    http_set_header(r, "Cache-Control", STR("no-store"));
    http_set_header(r, "X-Accel-Buffering", STR("no")); /* proxies: pass on */
    http_limit_unsent(r, UNSENT);
    note(s, TTS_CLIENT_GONE);
    http_start(r, 200, ask_format_type(s->answer.format));
    http_on_room(r, on_room, s);
}

/* A piece is small, and the connection keeps one of them at most. */
static bool
on_bytes(void *arg, struct str data)
{
    struct answering *s = arg;

    if (!s->started) {
        start_stream(s);
    }
    http_send_more(s->request, data);
    return http_is_sent(s->request);
}

static void
on_end(void *arg, bool broken)
{
    struct answering *s = arg;

    s->broken |= broken;
    s->bytes = pipe_reader_bytes(s->reader);
    pipe_reader_free(&s->reader);
    look_at_end(s);
}

static const struct pipe_taker taker = { on_bytes, on_end };

/* HEAD: the head is all of the answer. */
static void
answer_head(struct answering *s)
{
    let_go(s);
    start_stream(s);
    be_over(s, TTS_OK);
    http_end(s->request);
}

static void
take_pipe(struct answering *s, struct rpc_answer *got)
{
    int fd = got->fd;

    got->fd = -1;
    s->piped = true;
    timer_set(s->request->loop, &s->timer, tts_wait_ms(s->instance) / 2);
    if (str_eq(s->request->method, STR("HEAD"))) {
        close(fd);
        answer_head(s);
        return;
    }
    s->reader = pipe_reader_new(s->request->loop, fd, &taker, s);
    if (s->reader == NULL) {
        rpc_cancel(&s->call);
        fail(s, 503, TTS_NO_RESOURCES, STR("no descriptor is free"));
        answer_now(s);
    }
}

/* ---- what the speaker says ---- */

/* Its texts are copied into the pool.  The head of a stream is what its first
 * part said. */
static int
unpack(struct answering *s, const struct rpc_answer *got)
{
    struct pool *pool = s->request->pool;
    struct unpack u = { .rest = str_of(got->data, got->len) };
    struct speech_answer a;

    if (speech_unpack_answer(&u, &a) == -1) {
        return -1;
    }
    if (s->piped) {
        a.voice = s->answer.voice;
        a.format = s->answer.format;
        a.sample_rate = s->answer.sample_rate;
        a.cached = s->answer.cached;
    } else {
        a.voice = pool_str(pool, a.voice);
    }
    a.tag = pool_str(pool, a.tag);
    a.field = pool_str(pool, a.field);
    a.message = pool_str(pool, a.message);
    s->answer = a;
    s->outcome = tts_outcome_of(a.status, a.lack);
    return 0;
}

static void
on_part(struct answering *s, struct rpc_answer *got)
{
    if (s->piped || got->fd == -1 || unpack(s, got) == -1) {
        let_go(s);
        fail(s, 500, TTS_CRASHED, STR("the speaker's part makes no sense"));
        look_at_end(s);
        return;
    }
    take_pipe(s, got);
}

/* Of a stream: what the client has not got is dropped only when it has got
 * nothing yet, for it is told the reason then. */
static void
on_last_of_stream(struct answering *s)
{
    if (!s->started && s->answer.status != 200) {
        pipe_reader_free(&s->reader);
    }
    look_at_end(s);
}

static bool
is_whole(const struct answering *s, const struct rpc_answer *got)
{
    return s->answer.status != 200 || (got->fd != -1 && s->answer.length >= 0);
}

static void
on_last(struct answering *s, struct rpc_answer *got)
{
    if (got->status != RPC_OK) {
        fail(s, 503, TTS_NO_SPEAKER, str_of(got->data, got->len));
    } else if (unpack(s, got) == -1 || (!s->piped && !is_whole(s, got))) {
        fail(s, 500, TTS_CRASHED, STR("the speaker's answer makes no sense"));
    }
    if (s->piped) {
        on_last_of_stream(s);
        return;
    }
    if (s->answer.status == 200) {
        s->fd = got->fd;
        got->fd = -1;
    }
    answer_now(s);
}

static void
on_answer(void *arg, struct rpc_answer *got)
{
    struct answering *s = arg;

    if (got->status == RPC_MORE) {
        on_part(s, got);
    } else {
        s->call = NULL;
        on_last(s, got);
    }
}

/* A stream lasts as long as its client is there: the server's own time-outs end
 * one that takes nothing, the speaker a child that hangs. */
static void
on_due(struct timer *t)
{
    struct answering *s = LIST_ITEM(t, struct answering, timer);

    if (s->call != NULL) {
        rpc_prolong(s->call);
        timer_set(s->request->loop, t, tts_wait_ms(s->instance) / 2);
    }
}

/* ---- asking ---- */

int64_t
answer_retry_after(void)
{
    int64_t ms = slot_role_starts_in("speaker", 0);

    return ms > 1000 ? (ms + 999) / 1000 : 1;
}

static struct answering *
new_answering(struct http_request *r, const struct tts_instance *i,
              layer_fail *fail_form)
{
    struct answering *s = pool_zero(r->pool, sizeof(*s));

    s->request = r;
    s->instance = i;
    s->fail = fail_form;
    s->fd = -1;
    s->answer.voice = STR_NONE;
    s->answer.duration = -1;
    timer_init(&s->timer, on_due);
    r->context = s;
    return s;
}

enum http_result
answer_begin(struct http_request *r, const struct tts_instance *i,
             const struct speech_request *ask, layer_fail *fail_form)
{
    struct answering *s = new_answering(r, i, fail_form);
    struct rpc_options o = { .timeout_ms = tts_wait_ms(i),
                             .window = 1,
                             .on_answer = on_answer,
                             .arg = s };
    struct tally_holder client = share_client(&r->client);
    struct errmsg err;

    s->voice = ask_voice_class(ask);
    s->call = tts_say(&o, &client, ask, &err);
    if (s->call == NULL) {
        fail(s, 503, TTS_NO_SPEAKER, str_from(err.text));
        return answer_error(s);
    }
    note(s, TTS_CLIENT_GONE);
    http_on_cancel(r, on_cancel, s);
    return HTTP_WAIT;
}
