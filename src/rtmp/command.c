/*
 * Commands: a table of names, and what each does.
 *
 * publish and play are answered by onStatus, everything else that carries a
 * transaction number by _result (some encoders wait for one after calls that
 * no server needs), what carries none by nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/command.h"

#include "base/log.h"
#include "rtmp/connect.h"

struct command {
    struct rtmp_session *s;
    uint32_t stream_id;
    struct str name;
    double tid;             /* 0: no answer is waited for */
    struct amf_reader args; /* behind the number; first the command object */
};

typedef void command_fn(struct command *c);

/* ---- plain answers ---- */

static void
answer_result(struct command *c)
{
    struct words w;
    if (c->tid > 0) {
        words_init(&w, c->s->ch.chunk_size);
        words_result(&w, c->tid);
        session_say(c->s, &w);
    }
}

static void
answer_number(struct command *c, double v)
{
    struct words w;
    words_init(&w, c->s->ch.chunk_size);
    words_result_number(&w, c->tid, v);
    session_say(c->s, &w);
}

static void
ignore(struct command *c)
{
    (void)c;
}

/* The stream a command speaks of; NULL after the session was ended because
 * it has too many. */
static struct net_stream *
stream_of(struct command *c)
{
    struct net_stream *ns = net_stream_for(c->s, c->stream_id);
    if (ns == NULL) {
        session_finish(session_ends(c->s, END_PROTOCOL),
                       "a NetStream that cannot be");
    }
    return ns;
}

/* ---- what encoders call around publish ---- */

/* onFCPublish and its kin, with the number of the call (FMLE waits for it),
 * and a _result before it. */
static void
answer_fc(struct command *c, const char *method, const char *code)
{
    amf_skip(&c->args);
    struct str name = amf_read_string(&c->args, STR_NONE);
    struct words_info info = { "status", code, str_first(name, RTMP_NAME_MAX) };
    struct words w;
    words_init(&w, c->s->ch.chunk_size);
    if (c->tid > 0) {
        words_result(&w, c->tid);
    }
    words_call(&w, method, c->tid, 0, &info);
    session_say(c->s, &w);
}

static void
on_fc_publish(struct command *c)
{
    answer_fc(c, "onFCPublish", "NetStream.Publish.Start");
}

static void
on_fc_subscribe(struct command *c)
{
    answer_fc(c, "onFCSubscribe", "NetStream.Play.Start");
}

/* Ends the publishing stream of that name; clients send it beside the stream
 * (id 0) and with the name as they wrote it in publish. */
static void
on_fc_unpublish(struct command *c)
{
    struct amf_reader args = c->args;
    struct rtmp_name name;
    struct errmsg err;
    amf_skip(&args);
    int bad = rtmp_name_resolve(&name, c->s->app, c->s->tc_url,
                                amf_read_string(&args, STR_NONE), true, &err);
    for (uint32_t id = 1; bad == 0 && id <= RTMP_STREAMS; id++) {
        struct net_stream *ns = net_stream_find(c->s, id);
        if (ns != NULL && ns->wish == WISH_PUBLISH &&
            str_eq(ns->r.name, name.name)) {
            net_stream_end(ns, "FCUnpublish");
        }
    }
    answer_fc(c, "onFCUnpublish", "NetStream.Unpublish.Success");
}

static void
on_check_bandwidth(struct command *c)
{
    struct words w;
    words_init(&w, c->s->ch.chunk_size);
    if (c->tid > 0) {
        words_result(&w, c->tid);
    }
    /* Once: clients answer it with another _checkbw. */
    if (!c->s->bandwidth_done) {
        c->s->bandwidth_done = true;
        amf_put_null(words_begin(&w, "onBWDone", 0));
        words_end(&w, TYPE_COMMAND, 0);
    }
    session_say(c->s, &w);
}

static void
on_get_stream_length(struct command *c)
{
    if (c->tid > 0) {
        answer_number(c, 0); /* live */
    }
}

/* ---- NetStreams come and go ---- */

static void
on_create_stream(struct command *c)
{
    struct net_stream *ns = net_stream_create(c->s);
    if (ns != NULL) {
        answer_number(c, ns->r.stream_id);
        return;
    }
    struct words_info info = { "error", "NetConnection.Call.Failed",
                               STR("too many NetStreams") };
    struct words w;
    words_init(&w, c->s->ch.chunk_size);
    words_call(&w, "_error", c->tid, 0, &info);
    session_say(c->s, &w);
}

static void
on_delete_stream(struct command *c)
{
    amf_skip(&c->args);
    double id = amf_read_number(&c->args, 0);
    if (id >= 1 && id <= RTMP_STREAMS) {
        net_stream_delete(c->s, (uint32_t)id, "deleteStream");
    }
    answer_result(c);
}

static void
on_close_stream(struct command *c)
{
    struct net_stream *ns = net_stream_find(c->s, c->stream_id);
    if (ns == NULL || ns->state == STREAM_IDLE) {
        return;
    }
    bool publishing = ns->wish == WISH_PUBLISH;
    net_stream_end(ns, "closeStream");
    net_stream_status(
        ns, publishing ? "NetStream.Unpublish.Success" : "NetStream.Play.Stop",
        "Stopped.");
}

/* ---- publish and play ---- */

/* publish(false) and play(false) of Flash, and a publish without a name on a
 * NetStream that publishes (of Wirecast), end what it does. */
static bool
is_stop(const struct command *c, enum stream_wish wish)
{
    struct amf_reader args = c->args;
    const struct net_stream *ns = net_stream_find(c->s, c->stream_id);
    struct amf_value name = { .kind = AMF_NULL };
    amf_skip(&args);
    bool said = amf_read(&args, NULL, &name);
    if (said && name.kind == AMF_BOOL) {
        return !name.boolean;
    }
    return (name.kind != AMF_STRING || name.string.len == 0) && ns != NULL &&
           ns->wish == wish && ns->state != STREAM_IDLE;
}

/* Takes the stream for a new wish: what it did before is over. */
static struct net_stream *
begin_wish(struct command *c, enum stream_wish wish, struct str name)
{
    struct rtmp_name resolved;
    struct errmsg err;
    struct net_stream *ns = stream_of(c);
    if (ns == NULL) {
        return NULL;
    }
    net_stream_end(ns, wish == WISH_PUBLISH ? "a new publish" : "a new play");
    if (session_over(c->s)) {
        return NULL;
    }
    ns->wish = (uint8_t)wish;
    ns->r.publish_type = NULL;
    if (rtmp_name_resolve(&resolved, c->s->app, c->s->tc_url, name, true,
                          &err) == -1) {
        ns->refused = RTMP_REFUSED_NAME;
        net_stream_refuse(ns,
                          wish == WISH_PUBLISH
                              ? "NetStream.Publish.BadName"
                              : "NetStream.Play.StreamNotFound",
                          err.text);
        return NULL;
    }
    net_stream_set_names(ns, &resolved);
    return ns;
}

static const char *
publish_type(struct str type)
{
    if (str_eq(type, STR("record"))) {
        return "record";
    }
    return str_eq(type, STR("append")) ? "append" : "live";
}

static void
on_publish(struct command *c)
{
    if (is_stop(c, WISH_PUBLISH)) {
        on_close_stream(c);
        return;
    }
    amf_skip(&c->args);
    struct str name = amf_read_string(&c->args, STR_NONE);
    struct str type = amf_read_string(&c->args, STR("live"));
    struct net_stream *ns = begin_wish(c, WISH_PUBLISH, name);
    if (ns != NULL) {
        ns->r.publish_type = publish_type(type);
        net_stream_ask(ns, WISH_PUBLISH);
    }
}

/* Milliseconds; what is not above 0 (-1: all of it) is no limit. */
static uint32_t
duration_of(double ms)
{
    return ms >= 1 && ms <= INT32_MAX ? (uint32_t)ms : 0;
}

/* play(name, start, duration, reset): a live stream starts where it is,
 * whatever start is, and ends when it ends or after duration.  reset is a
 * boolean or a number, and true if not said. */
static void
on_play(struct command *c)
{
    struct amf_value reset;
    if (is_stop(c, WISH_PLAY)) {
        on_close_stream(c);
        return;
    }
    amf_skip(&c->args);
    struct str name = amf_read_string(&c->args, STR_NONE);
    amf_skip(&c->args);
    uint32_t duration = duration_of(amf_read_number(&c->args, -1));
    bool said = amf_read(&c->args, NULL, &reset);
    struct net_stream *ns = begin_wish(c, WISH_PLAY, name);
    if (ns != NULL) {
        ns->reset = !(said && ((reset.kind == AMF_BOOL && !reset.boolean) ||
                               (reset.kind == AMF_NUMBER && reset.number < 1)));
        ns->r.duration = duration;
        net_stream_ask(ns, WISH_PLAY);
    }
}

static void
on_play2(struct command *c)
{
    struct net_stream *ns = stream_of(c);
    if (ns != NULL) {
        rtmp_session_status(&ns->r, "error", "NetStream.Play.Failed",
                            "play2 is not supported");
    }
}

/* ---- while playing ---- */

static struct net_stream *
playing_stream(struct command *c)
{
    struct net_stream *ns = net_stream_find(c->s, c->stream_id);
    return ns != NULL && ns->state == STREAM_PLAYING ? ns : NULL;
}

static void
on_pause(struct command *c)
{
    struct net_stream *ns = playing_stream(c);
    amf_skip(&c->args);
    bool pause = amf_read_bool(&c->args, true);
    if (ns == NULL) {
        answer_result(c);
        return;
    }
    struct words_info info = { "status",
                               pause ? "NetStream.Pause.Notify"
                                     : "NetStream.Unpause.Notify",
                               pause ? STR("Paused.") : STR("Going on.") };
    struct words w;
    words_init(&w, c->s->ch.chunk_size);
    words_event(&w, pause ? RTMP_STREAM_EOF : RTMP_STREAM_BEGIN,
                ns->r.stream_id);
    words_status(&w, ns->r.stream_id, &info);
    if (session_say(c->s, &w) == 0) {
        c->s->handlers->on_pause(&ns->r, pause);
    }
}

static void
on_seek(struct command *c)
{
    struct net_stream *ns = playing_stream(c);
    if (ns == NULL) {
        answer_result(c);
        return;
    }
    rtmp_session_status(&ns->r, "error", "NetStream.Seek.Failed",
                        "a live stream has no other places");
}

/* receiveAudio(bool), receiveVideo(bool).  Switched on, it is announced like
 * a seek (RTMP 1.0, 7.2.2.4 and 7.2.2.5). */
static void
receive(struct command *c, enum media_type type)
{
    struct net_stream *ns = playing_stream(c);
    amf_skip(&c->args);
    bool on = amf_read_bool(&c->args, true);
    if (ns == NULL) {
        answer_result(c);
        return;
    }
    c->s->handlers->on_receive(&ns->r, type, on);
    if (!on || session_over(c->s)) {
        return;
    }
    struct words_info seek = { "status", "NetStream.Seek.Notify",
                               STR("Going on.") };
    struct words_info start = { "status", "NetStream.Play.Start",
                                STR("Playing.") };
    struct words w;
    words_init(&w, c->s->ch.chunk_size);
    words_status(&w, ns->r.stream_id, &seek);
    words_status(&w, ns->r.stream_id, &start);
    session_say(c->s, &w);
}

static void
on_receive_audio(struct command *c)
{
    receive(c, MEDIA_AUDIO);
}

static void
on_receive_video(struct command *c)
{
    receive(c, MEDIA_VIDEO);
}

/* ---- the table ---- */

static const struct {
    const char *name;
    command_fn *run;
} commands[] = {
    { "createStream", on_create_stream },
    { "deleteStream", on_delete_stream },
    { "closeStream", on_close_stream },
    { "publish", on_publish },
    { "play", on_play },
    { "play2", on_play2 },
    { "pause", on_pause },
    { "pauseRaw", on_pause },
    { "pauseraw", on_pause },
    { "seek", on_seek },
    { "receiveAudio", on_receive_audio },
    { "receiveVideo", on_receive_video },
    { "FCPublish", on_fc_publish },
    { "FCUnpublish", on_fc_unpublish },
    { "FCSubscribe", on_fc_subscribe },
    { "getStreamLength", on_get_stream_length },
    { "_checkbw", on_check_bandwidth },
    { "releaseStream", answer_result },
    /* Answers to calls: there is nothing to say to them. */
    { "_result", ignore },
    { "_error", ignore },
    { "onStatus", ignore },
};

static void
run_command(struct command *c)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (str_eq(c->name, str_from(commands[i].name))) {
            commands[i].run(c);
            return;
        }
    }
    answer_result(c);
}

/* The name alone: arguments may hold a key. */
static void
say_command(const struct command *c)
{
    char name[64];
    bool wanted = conn_debugged(c->s->ch.conn);

    if (wanted || log_enabled(LOG_DEBUG)) {
        str_escape(name, sizeof(name), c->name);
        log_limited_if(wanted, LOG_DEBUG,
                       "%s %s: command %s, number %.0f, on stream %u",
                       rtmp_session_scheme(c->s), session_peer(c->s), name,
                       c->tid, c->stream_id);
    }
}

void
command_handle(struct rtmp_session *s, uint32_t stream_id, const uint8_t *body,
               size_t len)
{
    struct command c = { .s = s, .stream_id = stream_id };
    net_stream_free(&s->connect); /* it was decided */
    amf_reader_init(&c.args, body, len);
    c.name = amf_read_string(&c.args, STR_NONE);
    if (c.name.len == 0) {
        session_finish(session_ends(s, END_PROTOCOL),
                       "a command without a name");
        return;
    }
    double tid = amf_read_number(&c.args, 0);
    c.tid = tid > 0 ? tid : 0;
    say_command(&c);
    if (str_eq(c.name, STR("connect"))) {
        connect_handle(s, c.tid, &c.args);
    } else if (s->phase != PHASE_READY) {
        session_finish(session_ends(s, END_PROTOCOL),
                       "a command before connect");
    } else {
        run_command(&c);
    }
}
