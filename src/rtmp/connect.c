/*
 * The connect command.
 *
 * Clients disagree about everything in it: the object may be an array, names
 * differ in case, tcUrl may be quoted or missing, Flash says undefined where
 * it has no value.  Unusable values count as missing; the client is refused
 * only when they leave no application, with that reason.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/connect.h"

#include <string.h>

#include "base/mem.h"

#define FMS_VERSION "FMS/3,5,7,7009" /* clients look whether it is >= 3 */
#define FMS_CAPABILITIES 31

/* The most bytes of a client's texts.  Longer ones are cut, except app and
 * tcUrl, whose meaning a cut would change. */
enum {
    KEEP_PATH = 2 * RTMP_NAME_MAX + RTMP_ARGS_MAX,
    KEEP_URL = 512,
    KEEP_VERSION = 64,
};

struct connect_args {
    struct str app, tc_url, page_url, swf_url, flash_ver, node;
    bool enhanced;
};

static void
take_member(struct connect_args *a, struct str name, const struct amf_value *v)
{
    struct {
        struct str name;
        struct str *to;
    } texts[] = {
        { STR("app"), &a->app },
        { STR("tcUrl"), &a->tc_url },
        { STR("pageUrl"), &a->page_url },
        { STR("swfUrl"), &a->swf_url },
        { STR("flashVer"), &a->flash_ver },
        { STR("weirNode"), &a->node },
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (v->kind == AMF_STRING && str_eq_nocase(name, texts[i].name)) {
            *texts[i].to = v->string;
        }
    }
    if (str_eq(name, STR("fourCcList")) || str_eq(name, STR("capsEx")) ||
        str_eq(name, STR("videoFourCcInfoMap")) ||
        str_eq(name, STR("audioFourCcInfoMap"))) {
        a->enhanced = true;
    }
}

static void
read_args(struct amf_reader *args, struct connect_args *a)
{
    struct amf_value object, member;
    struct str name;
    *a = (struct connect_args){ STR_NONE, STR_NONE, STR_NONE, STR_NONE,
                                STR_NONE, STR_NONE, false };
    if (!amf_read(args, NULL, &object) || object.kind != AMF_OBJECT) {
        return;
    }
    while (amf_read(&object.inside, &name, &member)) {
        take_member(a, name, &member);
    }
}

/* Copies the texts into one piece of memory that lives with the session. */
static void
keep_texts(struct rtmp_session *s, const struct connect_args *a)
{
    const struct str from[] = {
        str_first(a->app, KEEP_PATH),
        str_first(a->tc_url, KEEP_PATH + KEEP_URL),
        str_first(a->page_url, KEEP_URL),
        str_first(a->swf_url, KEEP_URL),
        str_first(a->flash_ver, KEEP_VERSION),
        str_first(a->node, KEEP_VERSION),
    };
    struct str *const to[] = { &s->app,     &s->tc_url,    &s->page_url,
                               &s->swf_url, &s->flash_ver, &s->node };
    size_t len = 1;
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        len += from[i].len;
    }
    mem_free(&s->text);
    s->text = mem_alloc(len);
    char *at = s->text;
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        memcpy(at, from[i].ptr, from[i].len);
        *to[i] = str_of(at, from[i].len);
        at += from[i].len;
    }
}

void
connect_handle(struct rtmp_session *s, double tid, struct amf_reader *args)
{
    struct connect_args a;
    struct rtmp_name name;
    struct errmsg err;

    if (s->phase != PHASE_CONNECT) {
        session_finish(session_ends(s, END_PROTOCOL), "a second connect");
        return;
    }
    read_args(args, &a);
    keep_texts(s, &a);
    s->enhanced = a.enhanced;
    struct net_stream *ns = net_stream_for_connect(s);
    ns->tid = tid;
    ns->wish = WISH_CONNECT;
    if (a.app.len > s->app.len || a.tc_url.len > s->tc_url.len) {
        ns->refused = RTMP_REFUSED_NAME;
        net_stream_refuse(ns, NULL, "app or tcUrl is too long");
        return;
    }
    if (rtmp_name_resolve(&name, s->app, s->tc_url, STR_NONE, false, &err) ==
        -1) {
        ns->refused = RTMP_REFUSED_NAME;
        net_stream_refuse(ns, NULL, err.text);
        return;
    }
    name.name = STR_NONE;
    net_stream_set_names(ns, &name);
    net_stream_ask(ns, WISH_CONNECT);
}

/* ---- the answer ---- */

static void
put_result(struct words *w, const struct net_stream *ns)
{
    static const struct str any[] = { { "*", 1 } };
    struct amf_writer *amf = words_begin(w, "_result", ns->tid);
    amf_begin_object(amf);
    words_put_text(w, STR("fmsVer"), STR(FMS_VERSION));
    words_put_number(w, STR("capabilities"), FMS_CAPABILITIES);
    words_put_number(w, STR("mode"), 1);
    if (ns->r.session->enhanced) {
        words_put_enhanced(w, any, 1);
    }
    amf_end_object(amf);
    amf_begin_object(amf);
    words_put_text(w, STR("level"), STR("status"));
    words_put_text(w, STR("code"), STR("NetConnection.Connect.Success"));
    words_put_text(w, STR("description"), STR("Connection succeeded."));
    /* AMF0, whatever was asked for: so all that follows is AMF0. */
    words_put_number(w, STR("objectEncoding"), 0);
    amf_end_object(amf);
    words_end(w, TYPE_COMMAND, 0);
}

void
connect_answer(struct net_stream *ns)
{
    struct rtmp_session *s = ns->r.session;
    struct words w;
    words_init(&w, s->ch.chunk_size);
    words_number(&w, TYPE_WINDOW_ACK_SIZE, s->settings->window_ack);
    words_peer_bandwidth(&w, s->settings->window_ack);
    words_chunk_size(&w, s->settings->chunk_size);
    s->ch.said_window = s->settings->window_ack;
    put_result(&w, ns);
    session_say(s, &w);
}
