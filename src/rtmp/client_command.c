/*
 * Commands of a client, and the remote's answers.
 *
 *   publish  connect, then releaseStream + FCPublish + createStream, then
 *            publish("live")
 *   play     connect, then createStream + FCSubscribe, then play and the
 *            length of the buffer
 *
 * play starts at -2000: a live stream if there is one of that name, else a
 * recorded one (RTMP 1.0, 7.2.2.1).  Live only (-1000) would make a server
 * wait for ever for a name that it has as a file.  Servers that do not know
 * releaseStream and the FC calls refuse them: that means nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "rtmp/client_impl.h"
#include "rtmp/login.h"

#define BUFFER_MS 3000
#define RAW_MAX 2048
#define SECRET_MIN 4 /* bytes: shorter ones are not taken out of words */

/* Numbers of the calls. */
enum {
    TID_CONNECT = 1,
    TID_RELEASE,
    TID_FC,
    TID_CREATE,
    TID_STREAM,
    TID_CHECK
};

/* The content of onStatus and its kin. */
struct info {
    struct str level, code, description;
    char words[256]; /* "CODE: description", for the owner */
};

/* ---- connect ---- */

/* Old members whose values every server takes (Adobe's documentation of the
 * NetConnection): all codecs, no video feature left out. */
enum { CAPABILITIES = 239, AUDIO_CODECS = 4071, VIDEO_CODECS = 252 };

static void
put_app(struct words *w, const struct rtmp_client *c, struct str name,
        bool with_origin)
{
    bool login = c->login != NULL && c->login->query[0] != '\0';
    bool args = str_find(c->app, '?', 0) < c->app.len;
    char text[8192];
    int n = snprintf(text, sizeof(text), "%.*s%s%.*s%s%s",
                     with_origin ? (int)c->origin.len : 0, c->origin.ptr,
                     with_origin ? "/" : "", STR_ARGS(c->app),
                     !login ? ""
                     : args ? "&"
                            : "?",
                     login ? c->login->query : "");

    words_put_text(w, name, str_of(text, n > 0 ? (size_t)n : 0));
}

static void
put_codecs(struct words *w)
{
    static const struct str codecs[] = {
        { "*", 1 },    { "avc1", 4 }, { "hvc1", 4 }, { "av01", 4 },
        { "vp09", 4 }, { "vp08", 4 }, { "Opus", 4 }, { "fLaC", 4 },
        { "ac-3", 4 }, { "ec-3", 4 }, { ".mp3", 4 }, { "mp4a", 4 },
    };

    words_put_number(w, STR("capabilities"), CAPABILITIES);
    words_put_number(w, STR("audioCodecs"), AUDIO_CODECS);
    words_put_number(w, STR("videoCodecs"), VIDEO_CODECS);
    words_put_number(w, STR("videoFunction"), 1);
    words_put_number(w, STR("objectEncoding"), 0);
    words_put_enhanced(w, codecs, sizeof(codecs) / sizeof(codecs[0]));
}

static struct str
flash_ver(const struct rtmp_client *c)
{
    if (c->flash_ver.len > 0) {
        return c->flash_ver;
    }
    return c->publish ? STR("FMLE/3.0 (compatible; weir)")
                      : STR("LNX 11,1,102,55 (compatible; weir)");
}

void
client_say_connect(struct rtmp_client *c, struct words *w)
{
    const struct {
        struct str name, value;
    } texts[] = {
        { STR("pageUrl"), c->page_url },
        { STR("swfUrl"), c->swf_url },
        { STR("weirNode"), c->node },
    };

    if (c->publish) {
        words_chunk_size(w, c->settings->chunk_size);
    }
    struct amf_writer *amf = words_begin(w, "connect", TID_CONNECT);

    amf_begin_object(amf);
    put_app(w, c, STR("app"), false);
    words_put_text(w, STR("type"), STR("nonprivate"));
    words_put_text(w, STR("flashVer"), flash_ver(c));
    put_app(w, c, STR("tcUrl"), true);
    amf_put_name(amf, STR("fpad"));
    amf_put_bool(amf, false);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].value.len > 0) {
            words_put_text(w, texts[i].name, texts[i].value);
        }
    }
    put_codecs(w);
    amf_end_object(amf);
    words_end(w, TYPE_COMMAND, 0);
    client_say(c, w);
}

/* ---- the rest of what is said ---- */

/* name(tid, null, text). */
static void
put_call(struct words *w, const char *name, double tid, struct str text)
{
    struct amf_writer *amf = words_begin(w, name, tid);

    amf_put_null(amf);
    if (text.len > 0) {
        amf_put_string(amf, text);
    }
    words_end(w, TYPE_COMMAND, 0);
}

static void
say_create(struct rtmp_client *c)
{
    struct words w;

    words_init(&w, c->ch.chunk_size);
    c->ch.said_window = c->settings->window_ack;
    words_number(&w, TYPE_WINDOW_ACK_SIZE, c->settings->window_ack);
    if (c->publish) {
        put_call(&w, "releaseStream", TID_RELEASE, c->full);
        put_call(&w, "FCPublish", TID_FC, c->full);
        put_call(&w, "createStream", TID_CREATE, STR_NONE);
    } else {
        put_call(&w, "createStream", TID_CREATE, STR_NONE);
        put_call(&w, "FCSubscribe", TID_FC, c->full);
    }
    client_set_phase(c, CLIENT_STREAM);
    client_say(c, &w);
}

static void
say_wish(struct rtmp_client *c)
{
    struct words w;

    words_init(&w, c->ch.chunk_size);
    struct amf_writer *amf = words_begin(&w, client_wish(c), TID_STREAM);

    amf_put_null(amf);
    amf_put_string(amf, c->full);
    if (c->publish) {
        amf_put_string(amf, STR("live"));
    } else {
        amf_put_number(amf, -2000);
    }
    words_end(&w, TYPE_COMMAND, c->stream_id);
    if (!c->publish) {
        words_set_buffer(&w, c->stream_id, BUFFER_MS);
        c->ch.reader.max_message = (uint32_t)c->settings->max_message;
        c->ch.reader.max_memory = (uint32_t)c->settings->max_memory;
    }
    client_set_phase(c, CLIENT_ACCEPT);
    client_say(c, &w);
}

void
client_say_farewell(struct rtmp_client *c, struct words *w)
{
    if (c->publish) {
        put_call(w, "FCUnpublish", 0, c->full);
    }
    struct amf_writer *amf = words_begin(w, "deleteStream", 0);

    amf_put_null(amf);
    amf_put_number(amf, c->stream_id);
    words_end(w, TYPE_COMMAND, 0);
}

/* ---- what it is told ---- */

/* A remote may repeat what it was told; keys and passwords get into no log
 * that way. */
static void
hide(char *text, struct str secret)
{
    char *at = text;

    while (secret.len >= SECRET_MIN &&
           (at = memmem(at, strlen(at), secret.ptr, secret.len)) != NULL) {
        memset(at, '*', secret.len);
        at += secret.len;
    }
}

/* All of a query, and each value of it: some remotes take it apart. */
static void
hide_query(char *text, struct str query)
{
    hide(text, query);
    while (query.len > 0) {
        struct str value = str_cut(&query, '&');

        str_cut(&value, '=');
        hide(text, value);
    }
}

/* Bytes that could break a line of a log become '?'; cut to fit. */
static void
copy_clean(char *dst, size_t size, struct str s)
{
    size_t n = 0;

    while (s.len > 0) {
        size_t len = utf8_char(s);
        bool clean =
            len > 0 && (unsigned char)s.ptr[0] >= ' ' && s.ptr[0] != 0x7f;

        len = len > 0 ? len : 1;
        if (n + len >= size) {
            break;
        }
        memcpy(dst + n, clean ? s.ptr : "?", clean ? len : 1);
        n += clean ? len : 1;
        s = str_skip(s, len);
    }
    dst[n] = '\0';
}

static void
read_info(const struct rtmp_client *c, struct amf_reader *args,
          struct info *info)
{
    struct amf_value v, member;
    struct str name;
    char raw[RAW_MAX]; /* longer than words: no secret is cut in two */

    *info = (struct info){ STR_NONE, STR_NONE, STR_NONE, "" };
    while (amf_read(args, NULL, &v)) {
        while (v.kind == AMF_OBJECT && amf_read(&v.inside, &name, &member)) {
            struct str *to = str_eq(name, STR("level"))  ? &info->level
                             : str_eq(name, STR("code")) ? &info->code
                             : str_eq(name, STR("description"))
                                 ? &info->description
                                 : NULL;

            if (to != NULL && member.kind == AMF_STRING) {
                *to = member.string;
            }
        }
    }
    bool both = info->code.len > 0 && info->description.len > 0;
    bool none = info->code.len + info->description.len == 0;

    snprintf(raw, sizeof(raw), "%.*s%s%.*s", STR_ARGS(info->code),
             both ? ": " : "",
             STR_ARGS(none ? STR("no reason is given") : info->description));
    if (c->publish) { /* what is played has a public name */
        hide(raw, c->full);
        hide(raw, c->name);
    }
    hide_query(raw, c->args);
    hide_query(raw, str_skip(c->app, str_find(c->app, '?', 0) + 1));
    hide(raw, c->password);
    copy_clean(info->words, sizeof(info->words), str_trim(str_from(raw)));
}

static bool
starts(struct str code, const char *prefix)
{
    return str_starts(code, str_from(prefix));
}

static bool
is(struct str code, const char *name)
{
    return str_eq(code, str_from(name));
}

/* Some servers say "status" where they mean "error". */
static bool
is_refusal(const struct info *info)
{
    struct str code = info->code;

    return str_eq(info->level, STR("error")) || is(code, "NetStream.Failed") ||
           is(code, "NetStream.Play.Failed") ||
           is(code, "NetStream.Play.StreamNotFound") ||
           is(code, "NetStream.Publish.BadName") ||
           is(code, "NetStream.Publish.Rejected") ||
           is(code, "NetStream.Publish.Denied") ||
           is(code, "NetConnection.Connect.Rejected") ||
           is(code, "NetConnection.Connect.InvalidApp") ||
           is(code, "NetConnection.Connect.AppShutdown") ||
           is(code, "NetConnection.Connect.Closed");
}

static void
end_refused(struct rtmp_client *c, const char *what, const struct info *info)
{
    struct errmsg text;
    bool later = c->phase == CLIENT_READY;

    errmsg_set(&text, later ? "%s was ended: %s" : "%s was refused: %s", what,
               info->words);
    client_end(c, later ? RTMP_CLIENT_ENDED : RTMP_CLIENT_REFUSED, text.text);
}

static void
on_connect_refused(struct rtmp_client *c, const struct info *info)
{
    struct login_who who = {
        .user = c->user,
        .password = c->password,
        .app = str_first(c->app, str_find(c->app, '?', 0)),
    };
    struct errmsg err;

    switch (login_answer(c->login, &who, info->description, &err)) {
    case LOGIN_NONE:
        end_refused(c, "connect", info);
        break;
    case LOGIN_AGAIN:
        client_end(c, RTMP_CLIENT_AGAIN, "the remote wants a login");
        break;
    case LOGIN_REFUSED:
        client_end(c, RTMP_CLIENT_LOGIN, err.text);
        break;
    }
}

/* ---- answers to calls ---- */

static void
on_created(struct rtmp_client *c, struct amf_reader *args)
{
    amf_skip(args);
    double id = amf_read_number(args, 0);

    if (!(id >= 1 && id <= UINT32_MAX)) {
        client_end(c, RTMP_CLIENT_PROTOCOL,
                   "createStream was answered by what is no stream");
        return;
    }
    c->stream_id = (uint32_t)id;
    say_wish(c);
}

static void
on_accepted(struct rtmp_client *c)
{
    client_set_phase(c, CLIENT_READY);
    c->handlers->on_ready(c, c->stream_id);
}

static void
on_result(struct rtmp_client *c, double tid, struct amf_reader *args)
{
    struct info info;

    if (tid == TID_CONNECT && c->phase == CLIENT_CONNECT) {
        read_info(c, args, &info);
        if (is_refusal(&info)) {
            on_connect_refused(c, &info);
        } else {
            say_create(c);
        }
    } else if (tid == TID_CREATE && c->phase == CLIENT_STREAM) {
        on_created(c, args);
    }
}

static void
on_error(struct rtmp_client *c, double tid, struct amf_reader *args)
{
    struct info info;

    read_info(c, args, &info);
    if (tid == TID_CONNECT && c->phase == CLIENT_CONNECT) {
        on_connect_refused(c, &info);
    } else if (tid == TID_CREATE && c->phase == CLIENT_STREAM) {
        end_refused(c, "createStream", &info);
    } else if (tid == TID_STREAM) {
        end_refused(c, client_wish(c), &info);
    }
}

/* ---- what it says by itself ---- */

static bool
is_start(const struct rtmp_client *c, struct str code)
{
    return c->publish ? is(code, "NetStream.Publish.Start")
                      : is(code, "NetStream.Play.Start") ||
                            is(code, "NetStream.Play.PublishNotify");
}

static bool
is_stop(const struct rtmp_client *c, struct str code)
{
    return !c->publish && (is(code, "NetStream.Play.UnpublishNotify") ||
                           is(code, "NetStream.Play.Stop") ||
                           is(code, "NetStream.Play.Complete"));
}

static void
on_status_ready(struct rtmp_client *c, const struct info *info)
{
    if (is_stop(c, info->code)) {
        client_stopped(c, true, info->words);
    } else if (!c->publish && is_start(c, info->code)) {
        client_stopped(c, false, info->words);
    } else if (c->publish && is(info->code, "NetStream.Unpublish.Success")) {
        end_refused(c, client_wish(c), info);
    } else {
        c->handlers->on_status(c, RTMP_CLIENT_TOLD, info->words);
    }
}

static void
on_status(struct rtmp_client *c, struct amf_reader *args)
{
    struct info info;

    read_info(c, args, &info);
    if (is_refusal(&info)) {
        end_refused(c,
                    starts(info.code, "NetConnection.") ? "the connection"
                                                        : client_wish(c),
                    &info);
    } else if (c->phase == CLIENT_READY) {
        on_status_ready(c, &info);
    } else if (c->phase == CLIENT_ACCEPT && is_start(c, info.code)) {
        on_accepted(c);
    }
}

/* onFCPublish: some content networks refuse here and nowhere else. */
static void
on_fc(struct rtmp_client *c, struct amf_reader *args)
{
    struct info info;

    read_info(c, args, &info);
    if (is_refusal(&info) && c->phase != CLIENT_READY) {
        end_refused(c, client_wish(c), &info);
    }
}

/* The publisher of a stream that was subscribed to has left. */
static void
on_fc_unsubscribe(struct rtmp_client *c)
{
    if (!c->publish && c->phase == CLIENT_READY) {
        client_stopped(c, true, "onFCUnsubscribe");
    }
}

/* Flash Media Server measures the bandwidth; it is asked for it once, since
 * some go on only then. */
static void
on_bandwidth_done(struct rtmp_client *c)
{
    struct words w;

    if (c->checked || c->phase == CLIENT_CONNECT) {
        return;
    }
    c->checked = true;
    words_init(&w, c->ch.chunk_size);
    put_call(&w, "_checkbw", TID_CHECK, STR_NONE);
    client_say(c, &w);
}

/* Any other call that waits for an answer gets one. */
static void
on_other(struct rtmp_client *c, double tid)
{
    struct words w;

    if (tid > 0) {
        words_init(&w, c->ch.chunk_size);
        words_result(&w, tid);
        client_say(c, &w);
    }
}

void
client_command(struct rtmp_client *c, struct str body)
{
    struct amf_reader args;

    amf_reader_init(&args, (const uint8_t *)body.ptr, body.len);
    struct str name = amf_read_string(&args, STR_NONE);
    double tid = amf_read_number(&args, 0);

    if (name.len == 0) {
        client_end(c, RTMP_CLIENT_PROTOCOL, "a command without a name");
    } else if (is(name, "_result")) {
        on_result(c, tid, &args);
    } else if (is(name, "_error")) {
        on_error(c, tid, &args);
    } else if (is(name, "onStatus")) {
        on_status(c, &args);
    } else if (is(name, "onFCPublish") || is(name, "onFCSubscribe")) {
        on_fc(c, &args);
    } else if (is(name, "onFCUnsubscribe")) {
        on_fc_unsubscribe(c);
    } else if (is(name, "onBWDone")) {
        on_bandwidth_done(c);
    } else if (is(name, "close")) {
        client_end(c, RTMP_CLIENT_LOST, "the remote said \"close\"");
    } else {
        on_other(c, tid);
    }
}
