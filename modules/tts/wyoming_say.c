/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <unistd.h>

#include "ask.h"
#include "base/mem.h"
#include "wyoming.h"

struct wyoming_say {
    struct loop *loop;                 /* borrowed */
    const struct wyoming_taker *taker; /* borrowed */
    void *arg;                         /* of the taker */
    struct rpc_call *call;             /* owned; NULL: it was answered */
    struct pipe_reader *pipe;          /* owned; NULL: none, or it ended */
    struct wyoming_file *file;         /* the same */
    struct timer timer;                /* until the call is put off again */
    int64_t wait_ms;                   /* tts_wait_ms() */
    int64_t length; /* bytes there must have been; -1: any number */
    uint64_t bytes; /* that there were */
    int status;     /* of the newest answer */
    enum speech_lack lack;
    unsigned rate; /* Hz; 0: not known yet */
    char *message; /* owned: of a failure; or NULL */
    enum tts_voice_class voice;
    bool counted;
};

/* ---- the end ---- */

static void
count(struct wyoming_say *s, enum tts_outcome outcome)
{
    if (!s->counted) {
        s->counted = true;
        tts_count_request(outcome, s->voice);
    }
}

static void
let_go(struct wyoming_say *s)
{
    timer_stop(s->loop, &s->timer);
    rpc_cancel(&s->call);
    pipe_reader_free(&s->pipe);
    wyoming_file_free(&s->file);
}

/* The last thing that is done with s here. */
static void
end(struct wyoming_say *s)
{
    char *message = s->message;
    struct wyoming_end e = { .status = s->status,
                             .rate = s->rate,
                             .message = str_from(message) };

    let_go(s);
    count(s, tts_outcome_of(s->status, s->lack));
    s->message = NULL;
    s->taker->on_end(s->arg, &e);
    mem_free(&message);
}

static void
fail(struct wyoming_say *s, int status, struct str message)
{
    s->status = status;
    mem_free(&s->message);
    s->message = mem_dup(message.ptr, message.len);
}

static void
fail_as_told(struct wyoming_say *s, const struct speech_answer *a)
{
    struct errmsg text;

    errmsg_set(&text, "%.*s%s", STR_ARGS(a->message),
               a->unlisted ? "; describe lists them" : "");
    fail(s, a->status, str_from(text.text));
}

/* Sound has to end as well as the speaker's word about it. */
static void
look_at_end(struct wyoming_say *s)
{
    if (s->call != NULL || s->pipe != NULL || s->file != NULL) {
        return;
    }
    if (s->status == 200 && s->length >= 0 && s->bytes != (uint64_t)s->length) {
        fail(s, 500, STR("a part of the sound is missing"));
    }
    end(s);
}

/* ---- sound ---- */

static bool
on_bytes(void *arg, struct str data)
{
    struct wyoming_say *s = arg;

    s->bytes += data.len;
    return s->taker->on_sound(s->arg, s->rate, data);
}

static void
on_sound_end(void *arg, bool broken)
{
    struct wyoming_say *s = arg;

    pipe_reader_free(&s->pipe);
    wyoming_file_free(&s->file);
    if (broken) {
        rpc_cancel(&s->call);
        fail(s, 500, STR("the sound breaks off"));
    }
    look_at_end(s);
}

static const struct pipe_taker sound_taker = { on_bytes, on_sound_end };

/* ---- what the speaker says ---- */

/* It is the first answer, or the last one of a stream. */
static int
take(struct wyoming_say *s, const struct rpc_answer *got,
     struct speech_answer *a)
{
    struct unpack u = { .rest = str_of(got->data, got->len) };
    bool piped = s->rate != 0;

    if (speech_unpack_answer(&u, a) == -1 ||
        (a->status == 200 && !piped && a->sample_rate <= 0)) {
        fail(s, 500, STR("the speaker's answer makes no sense"));
        return -1;
    }
    if (a->status != 200) {
        fail_as_told(s, a);
        s->lack = a->lack;
        return -1;
    }
    s->status = 200;
    s->length = a->length;
    s->rate = piped ? s->rate : (unsigned)a->sample_rate;
    return 0;
}

static void
on_part(struct wyoming_say *s, struct rpc_answer *got)
{
    struct speech_answer a;

    if (s->rate != 0 || got->fd == -1 || take(s, got, &a) == -1) {
        fail(s, 500, STR("the speaker's part makes no sense"));
        end(s);
        return;
    }
    s->pipe = pipe_reader_new(s->loop, got->fd, &sound_taker, s);
    got->fd = -1;
    if (s->pipe == NULL) {
        fail(s, 503, STR("no descriptor is free"));
        s->lack = SPEECH_LACKS_SYSTEM;
        end(s);
    }
}

static void
on_last(struct wyoming_say *s, struct rpc_answer *got)
{
    bool piped = s->rate != 0;
    struct speech_answer a;

    if (got->status != RPC_OK) {
        fail(s, 503, str_of(got->data, got->len));
        count(s, TTS_NO_SPEAKER);
        end(s);
    } else if (take(s, got, &a) == -1) {
        end(s);
    } else if (piped) {
        look_at_end(s);
    } else if (got->fd == -1 || a.length < 0) {
        fail(s, 500, STR("the speaker's answer has no sound"));
        end(s);
    } else {
        s->file = wyoming_file_new(s->loop, got->fd, a.length, &sound_taker, s);
        got->fd = -1;
    }
}

static void
on_answer(void *arg, struct rpc_answer *got)
{
    struct wyoming_say *s = arg;

    if (got->status == RPC_MORE) {
        timer_set(s->loop, &s->timer, s->wait_ms / 2);
        on_part(s, got);
    } else {
        s->call = NULL;
        on_last(s, got);
    }
}

/* A stream lasts as long as its client is there, which has a time-out. */
static void
on_due(struct timer *t)
{
    struct wyoming_say *s = LIST_ITEM(t, struct wyoming_say, timer);

    if (s->call != NULL) {
        rpc_prolong(s->call);
        timer_set(s->loop, t, s->wait_ms / 2);
    }
}

/* ---- life ---- */

struct wyoming_say *
wyoming_say_new(struct loop *l, const struct wyoming_asked *asked,
                const struct wyoming_taker *taker, void *arg,
                struct errmsg *err)
{
    struct wyoming_say *s = mem_zero(sizeof(*s));
    struct rpc_options o = { .timeout_ms = tts_wait_ms(asked->instance),
                             .window = 1,
                             .on_answer = on_answer,
                             .arg = s };

    s->loop = l;
    s->taker = taker;
    s->arg = arg;
    s->length = -1;
    s->voice = ask_voice_class(&asked->request);
    timer_init(&s->timer, on_due);
    s->wait_ms = o.timeout_ms;
    s->call = tts_say(&o, &asked->client, &asked->request, err);
    if (s->call == NULL) {
        count(s, TTS_NO_SPEAKER);
        wyoming_say_free(&s);
        return NULL;
    }
    return s;
}

void
wyoming_say_go_on(struct wyoming_say *s)
{
    if (s->pipe != NULL) {
        pipe_reader_go_on(s->pipe);
    } else if (s->file != NULL) {
        wyoming_file_go_on(s->file);
    }
}

void
wyoming_say_free(struct wyoming_say **s)
{
    if (*s != NULL) {
        let_go(*s);
        count(*s, TTS_CLIENT_GONE);
        mem_free(&(*s)->message);
        mem_free(s);
    }
}
