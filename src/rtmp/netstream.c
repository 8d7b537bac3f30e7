/*
 * The life of a NetStream.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/netstream.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/refused.h"
#include "rtmp/connect.h"

#define SHOWN_OF_KEY 4 /* bytes of a name that was refused */

static struct net_stream *
of_request(struct rtmp_request *r)
{
    return (struct net_stream *)(void *)((char *)r -
                                         offsetof(struct net_stream, r));
}

/* ---- which stream ---- */

static struct net_stream *
new_stream(struct rtmp_session *s, uint32_t id)
{
    struct net_stream *ns = mem_zero(sizeof(*ns));
    ns->r.session = s;
    ns->r.stream_id = id;
    ns->r.tc_url = rtmp_name_tc_url(s->tc_url);
    ns->r.page_url = s->page_url;
    ns->r.swf_url = s->swf_url;
    ns->r.flash_ver = s->flash_ver;
    ns->r.node = s->node;
    return ns;
}

struct net_stream *
net_stream_find(struct rtmp_session *s, uint32_t id)
{
    return id >= 1 && id <= RTMP_STREAMS ? s->streams[id - 1] : NULL;
}

struct net_stream *
net_stream_create(struct rtmp_session *s)
{
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] == NULL) {
            s->streams[i] = new_stream(s, i + 1);
            return s->streams[i];
        }
    }
    return NULL;
}

static struct net_stream *
first_stream(struct rtmp_session *s)
{
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] != NULL) {
            return s->streams[i];
        }
    }
    return NULL;
}

struct net_stream *
net_stream_for(struct rtmp_session *s, uint32_t id)
{
    struct net_stream *ns = id == 0 ? first_stream(s) : net_stream_find(s, id);
    if (ns != NULL) {
        return ns;
    }
    if (id == 0) {
        return net_stream_create(s);
    }
    if (id > RTMP_STREAMS) {
        return NULL;
    }
    s->streams[id - 1] = new_stream(s, id);
    return s->streams[id - 1];
}

struct net_stream *
net_stream_publishing(struct rtmp_session *s, uint32_t id)
{
    struct net_stream *ns = net_stream_find(s, id);
    if (ns != NULL) {
        return ns->state == STREAM_PUBLISHING ? ns : NULL;
    }
    /* Some encoders number their media otherwise than their publish. */
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] == NULL ||
            s->streams[i]->state != STREAM_PUBLISHING) {
            continue;
        }
        if (ns != NULL) {
            return NULL; /* several: it cannot be told which */
        }
        ns = s->streams[i];
    }
    return ns;
}

bool
session_playing(const struct rtmp_session *s)
{
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] != NULL && s->streams[i]->state == STREAM_PLAYING) {
            return true;
        }
    }
    return false;
}

bool
session_idle(const struct rtmp_session *s)
{
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] != NULL && s->streams[i]->state != STREAM_IDLE) {
            return false;
        }
    }
    return s->waiting == 0;
}

struct net_stream *
net_stream_for_connect(struct rtmp_session *s)
{
    net_stream_free(&s->connect);
    s->connect = new_stream(s, 0);
    return s->connect;
}

void
net_stream_set_names(struct net_stream *ns, const struct rtmp_name *name)
{
    size_t len = name->app.len + name->name.len + name->args.len;
    mem_free(&ns->text);
    ns->text = mem_alloc(len > 0 ? len : 1);
    char *at = ns->text;
    struct str *to[] = { &ns->r.app, &ns->r.name, &ns->r.args };
    const struct str from[] = { name->app, name->name, name->args };
    for (size_t i = 0; i < 3; i++) {
        memcpy(at, from[i].ptr, from[i].len);
        *to[i] = str_of(at, from[i].len);
        at += from[i].len;
    }
}

/* ---- asked and decided ---- */

/* The first words of a stream, in one write: it begins, and how it goes. */
static int
say_publishing(struct net_stream *ns)
{
    struct rtmp_session *s = ns->r.session;
    struct words_info info = { "status", "NetStream.Publish.Start",
                               STR("Publishing.") };
    struct words w;
    words_init(&w, s->ch.chunk_size);
    words_event(&w, RTMP_STREAM_BEGIN, ns->r.stream_id);
    words_status(&w, ns->r.stream_id, &info);
    return session_say(s, &w);
}

/* No other data go with it: ffmpeg makes a track of each data message, but of
 * |RtmpSampleAccess and onMetaData at time 0. */
static int
say_playing(struct net_stream *ns)
{
    struct rtmp_session *s = ns->r.session;
    uint32_t id = ns->r.stream_id;
    struct words_info reset = { "status", "NetStream.Play.Reset",
                                STR("Reset.") };
    struct words_info start = { "status", "NetStream.Play.Start",
                                STR("Playing.") };
    struct words w;
    words_init(&w, s->ch.chunk_size);
    words_event(&w, RTMP_STREAM_BEGIN, id);
    if (ns->reset) {
        words_status(&w, id, &reset);
    }
    words_status(&w, id, &start);

    struct amf_writer *amf = words_begin(&w, "|RtmpSampleAccess", -1);
    amf_put_bool(amf, true);
    amf_put_bool(amf, true);
    words_end(&w, TYPE_DATA, id);
    return session_say(s, &w);
}

static const char *
wish_name(enum stream_wish wish)
{
    static const char *const names[] = { "connect", "publish", "play" };
    return names[wish];
}

static void
accept_wish(struct net_stream *ns)
{
    struct rtmp_session *s = ns->r.session;

    log_limited_if(conn_debugged(s->ch.conn), LOG_DEBUG,
                   "%s %s: %s on stream %u: yes", rtmp_session_scheme(s),
                   session_peer(s), wish_name(ns->wish), ns->r.stream_id);
    switch ((enum stream_wish)ns->wish) {
    case WISH_CONNECT:
        ns->state = STREAM_IDLE;
        session_set_phase(s, PHASE_READY);
        connect_answer(ns);
        break;
    case WISH_PUBLISH:
        ns->state = STREAM_PUBLISHING;
        s->ch.reader.max_message = (uint32_t)s->settings->max_message;
        s->ch.reader.max_memory = (uint32_t)s->settings->max_memory;
        say_publishing(ns);
        break;
    case WISH_PLAY:
        /* Not playing yet: the answer goes out before any media. */
        if (say_playing(ns) == 0) {
            ns->state = STREAM_PLAYING;
        }
        break;
    }
}

void
rtmp_session_decide(struct rtmp_request *r, enum rtmp_result result,
                    const struct rtmp_refusal *no)
{
    struct net_stream *ns = of_request(r);
    struct rtmp_session *s = r->session;
    if (session_over(s) || ns->state != STREAM_WAITING) {
        return;
    }
    if (result != RTMP_DONE) {
        ns->refused = no != NULL ? (uint8_t)no->why : RTMP_REFUSED_OTHER;
        net_stream_refuse(ns, no != NULL ? no->code : NULL,
                          no != NULL ? no->reason.text : "refused");
        return;
    }
    s->waiting--;
    accept_wish(ns);
    if (!session_over(s)) {
        conn_resume_reading(s->ch.conn);
        session_touch_timer(s);
    }
}

static void
tell_end(struct net_stream *ns, const char *reason)
{
    ns->r.session->handlers->on_end(&ns->r, reason);
    ns->r.context = NULL;
}

static enum rtmp_result
ask_application(struct net_stream *ns, struct rtmp_refusal *no)
{
    const struct rtmp_handlers *h = ns->r.session->handlers;
    switch ((enum stream_wish)ns->wish) {
    case WISH_CONNECT:
        return h->on_connect(&ns->r, no);
    case WISH_PUBLISH:
        return h->on_publish(&ns->r, no);
    case WISH_PLAY:
        return h->on_play(&ns->r, no);
    }
    return RTMP_REFUSE;
}

void
net_stream_ask(struct net_stream *ns, enum stream_wish wish)
{
    struct rtmp_session *s = ns->r.session;
    struct rtmp_refusal no = { .code = NULL };
    ns->refused = RTMP_REFUSED_OTHER;
    ns->wish = (uint8_t)wish;
    ns->state = STREAM_WAITING;
    s->waiting++;
    ns->asking = true;
    enum rtmp_result result = ask_application(ns, &no);
    ns->asking = false;
    if (ns->ended) {
        ns->ended = false;
        tell_end(ns, "its session ended meanwhile");
        return;
    }
    if (session_over(s) || ns->state != STREAM_WAITING) {
        return; /* it was decided, or is over, within the call */
    }
    if (result != RTMP_WAIT) {
        rtmp_session_decide(&ns->r, result, &no);
        return;
    }
    s->asked_ms = loop_now(s->loop);
    conn_pause_reading(s->ch.conn);
    session_touch_timer(s);
}

/* ---- refused ---- */

static const char *
default_code(enum stream_wish wish)
{
    static const char *const codes[] = { "NetConnection.Connect.Rejected",
                                         "NetStream.Publish.BadName",
                                         "NetStream.Play.Failed" };
    return codes[wish];
}

/* For the operator.  A publisher's name may be a key, and by mistake a player's
 * too: its beginning is enough to recognise it. */
static void
note_refusal(const struct net_stream *ns, const char *reason)
{
    char text[2 * RTMP_NAME_MAX + 32];
    bool masked = (ns->wish != WISH_PLAY || ns->r.secret) &&
                  ns->r.name.len > SHOWN_OF_KEY;
    struct str name = masked ? str_first(ns->r.name, SHOWN_OF_KEY) : ns->r.name;
    int len =
        snprintf(text, sizeof(text), "%s %.*s/%.*s%s", wish_name(ns->wish),
                 STR_ARGS(ns->r.app), STR_ARGS(name), masked ? "..." : "");

    refused_note(&(struct refused){
        .proto = rtmp_session_scheme(ns->r.session),
        .peer = session_peer(ns->r.session),
        .reason = reason,
        .bytes = str_first(str_from(text), len > 0 ? (size_t)len : 0),
        .before = rtmp_session_conn(ns->r.session)->bytes_in,
    });
}

static void
log_refusal(const struct net_stream *ns, const char *reason)
{
    char app[RTMP_NAME_MAX * 4 + 1], name[RTMP_NAME_MAX * 4 + 1];
    str_escape(app, sizeof(app), ns->r.app);
    /* A wrong key may be right for another application.  At connect it is not
     * known yet whether the rest of the URL is a key. */
    bool secret = ns->wish == WISH_CONNECT || ns->r.secret ||
                  ns->refused == RTMP_REFUSED_KEY ||
                  ns->refused == RTMP_REFUSED_HOOK;

    str_escape(name, sizeof(name),
               secret && ns->r.name.len > 0 ? STR("***") : ns->r.name);
    log_limited_if(conn_debugged(ns->r.session->ch.conn), LOG_INFO,
                   "%s %s: %s %s%s%s refused: %s",
                   rtmp_session_scheme(ns->r.session),
                   session_peer(ns->r.session), wish_name(ns->wish), app,
                   ns->r.name.len > 0 ? "/" : "", name, reason);
    note_refusal(ns, reason);
}

void
net_stream_refuse(struct net_stream *ns, const char *code, const char *reason)
{
    struct rtmp_session *s = ns->r.session;
    if (session_over(s)) {
        return;
    }
    struct words_info info = { "error", code, str_from(reason) };
    struct words w;
    if (code == NULL) {
        info.code = default_code(ns->wish);
    }
    log_refusal(ns, reason);
    metric_add(
        &rtmp_metrics[RTMP_REFUSED_TOTAL],
        metric_at(&rtmp_metrics[RTMP_REFUSED_TOTAL], ns->wish, ns->refused, 0),
        1);
    session_ends(s, END_REFUSED);
    words_init(&w, s->ch.chunk_size);
    if (ns->wish == WISH_CONNECT) {
        words_call(&w, "_error", ns->tid, 0, &info);
    } else {
        words_status(&w, ns->r.stream_id, &info);
    }
    if (session_say(s, &w) == 0) {
        session_finish(s, reason);
    }
}

void
net_stream_refuse_waiting(struct rtmp_session *s, const char *reason)
{
    if (s->connect != NULL && s->connect->state == STREAM_WAITING) {
        s->connect->refused = RTMP_REFUSED_LATE;
        net_stream_refuse(s->connect, NULL, reason);
    }
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] != NULL && s->streams[i]->state == STREAM_WAITING) {
            s->streams[i]->refused = RTMP_REFUSED_LATE;
            net_stream_refuse(s->streams[i], NULL, reason);
        }
    }
}

/* ---- over ---- */

void
net_stream_end(struct net_stream *ns, const char *reason)
{
    struct rtmp_session *s = ns->r.session;
    if (ns->state == STREAM_IDLE) {
        return;
    }
    bool waited = ns->state == STREAM_WAITING;
    ns->state = STREAM_IDLE;
    if (ns->asking) {
        ns->ended = true; /* what the application just makes is not torn up */
    } else {
        tell_end(ns, reason);
    }
    if (waited) {
        s->waiting--;
    }
    s->since_ms = loop_now(s->loop);
}

void
net_stream_end_all(struct rtmp_session *s, const char *reason)
{
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] != NULL) {
            net_stream_end(s->streams[i], reason);
        }
    }
    if (s->connect != NULL) {
        net_stream_end(s->connect, reason);
    }
}

void
net_stream_free(struct net_stream **ns)
{
    if (*ns != NULL) {
        mem_free(&(*ns)->text);
        mem_free(ns);
    }
}

void
net_stream_delete(struct rtmp_session *s, uint32_t id, const char *reason)
{
    struct net_stream *ns = net_stream_find(s, id);
    if (ns != NULL) {
        net_stream_end(ns, reason);
        net_stream_free(&s->streams[id - 1]);
    }
}

int
net_stream_status(struct net_stream *ns, const char *code,
                  const char *description)
{
    return rtmp_session_status(&ns->r, "status", code, description);
}

/* ---- words of the application ---- */

int
rtmp_session_status(struct rtmp_request *r, const char *level, const char *code,
                    const char *description)
{
    struct words_info info = { level, code, str_from(description) };
    struct words w;
    words_init(&w, r->session->ch.chunk_size);
    words_status(&w, r->stream_id, &info);
    return session_say(r->session, &w);
}

int
rtmp_session_control(struct rtmp_request *r, enum rtmp_event event)
{
    struct words w;
    words_init(&w, r->session->ch.chunk_size);
    words_event(&w, (uint16_t)event, r->stream_id);
    return session_say(r->session, &w);
}

void
rtmp_session_finish(struct rtmp_request *r, const char *level, const char *code,
                    const char *description)
{
    if (rtmp_session_status(r, level, code, description) == 0) {
        session_finish(session_ends(r->session, END_APPLICATION), description);
    }
}

void
rtmp_session_each(struct rtmp_session *s,
                  void (*f)(struct rtmp_request *r, void *arg), void *arg)
{
    for (uint32_t i = 0; i < RTMP_STREAMS; i++) {
        if (s->streams[i] != NULL && s->streams[i]->state != STREAM_IDLE) {
            f(&s->streams[i]->r, arg);
        }
    }
}
