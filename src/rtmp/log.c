/*
 * Lines of the RTMP access log; nginx-rtmp's names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/log.h"

#include <stdio.h>

#include "event/loop.h"
#include "net/conn.h"
#include "proc/logring.h"
#include "proc/slot.h"

/* The subject of a line. */
struct subject {
    const struct rtmp_log *log;
    const struct rtmp_log_entry *entry;
    const struct rtmp_request *r; /* the entry's */
    const struct conn *conn;
    int64_t ms; /* since it was asked for */
};

const struct line_preset rtmp_log_presets[] = {
    { "combined", "$remote_addr [$time_local] $command \"$app\" \"$name\" "
                  "\"$args\" - $bytes_received $bytes_sent \"$pageurl\" "
                  "\"$flashver\" ($session_readable_time) \"$reason\"" },
    { "json", "json: time=$time_iso8601 peer=$remote_addr command=$command "
              "app=$app name=$name args=$args received=$bytes_received "
              "sent=$bytes_sent seconds=$session_time pageurl=$pageurl "
              "flashver=$flashver reason=$reason" },
    { NULL, NULL },
};

/* ---- variables ---- */

static void
get_remote_addr(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;
    char text[ADDR_TEXT];

    (void)rest;
    str_copy(v->room, sizeof(v->room),
             str_from(addr_ip_text(&s->conn->peer, text)));
    line_value_text(v, str_from(v->room));
}

static void
get_remote_port(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_number(v, s->conn->peer.port);
}

static void
get_server_port(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_number(v, s->conn->local.port);
}

static bool
is_publish(const struct rtmp_request *r)
{
    return r->publish_type != NULL;
}

static void
get_command(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    if (s->r->stream_id == 0) {
        line_value_text(v, STR("CONNECT"));
    } else {
        line_value_text(v, is_publish(s->r) ? STR("PUBLISH") : STR("PLAY"));
    }
}

static void
get_app(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_text(v, s->r->app);
}

/* Whether the URL's part behind the application may be a key.  It is none when
 * all of the server's applications are open, or when it is to be played and
 * does not look like one. */
static bool
may_be_key(const struct subject *s)
{
    return s->r->secret ||
           (!s->log->open && (is_publish(s->r) || s->r->stream_id == 0));
}

static void
get_name(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    if (s->entry->name.ptr != NULL) {
        line_value_text(v, s->entry->name);
    } else if (may_be_key(s) && s->r->name.len > 0) {
        line_value_text(v, STR("***"));
    } else {
        line_value_text(v, s->r->name);
    }
}

static void
get_args(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_masked(v, &s->log->mask, s->r->args, true);
}

/* SCHEME://HOST; empty if it has none. */
static struct str
host_of(struct str url)
{
    size_t at = str_find(url, ':', 0);

    if (!str_starts(str_skip(url, at), STR("://"))) {
        return STR_NONE;
    }
    return str_first(url, str_find(url, '/', at + 3));
}

static void
get_tcurl(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    if (may_be_key(s)) {
        line_value_masked(v, &s->log->mask, host_of(s->r->tc_url), false);
    } else {
        line_value_masked(v, &s->log->mask, s->r->tc_url, false);
    }
}

static void
get_pageurl(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_masked(v, &s->log->mask, s->r->page_url, false);
}

static void
get_swfurl(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_masked(v, &s->log->mask, s->r->swf_url, false);
}

static void
get_flashver(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_text(v, s->r->flash_ver);
}

static void
get_bytes_received(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_number(v, (int64_t)(s->conn->bytes_in - s->entry->in_before));
}

static void
get_bytes_sent(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_number(v, (int64_t)(s->conn->bytes_out - s->entry->out_before));
}

static void
get_session_time(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_seconds(v, s->ms);
}

static void
get_session_readable_time(const void *arg, struct str rest,
                          struct line_value *v)
{
    const struct subject *s = arg;
    long long seconds = (long long)s->ms / 1000;

    (void)rest;
    if (seconds >= 3600) {
        snprintf(v->room, sizeof(v->room), "%lldh %lldm %llds", seconds / 3600,
                 seconds / 60 % 60, seconds % 60);
    } else if (seconds >= 60) {
        snprintf(v->room, sizeof(v->room), "%lldm %llds", seconds / 60,
                 seconds % 60);
    } else {
        snprintf(v->room, sizeof(v->room), "%llds", seconds);
    }
    line_value_text(v, str_from(v->room));
}

static void
get_reason(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_text(v, str_from(s->entry->reason));
}

static void
get_scheme(const void *arg, struct str rest, struct line_value *v)
{
    const struct subject *s = arg;

    (void)rest;
    line_value_text(v, str_from(rtmp_session_scheme(s->r->session)));
}

static void
get_worker(const void *arg, struct str rest, struct line_value *v)
{
    (void)arg;
    (void)rest;
    line_value_number(v, slot_card(slot_self())->index);
}

const struct line_variable rtmp_log_variables[] = {
    { "remote_addr", get_remote_addr },
    { "remote_port", get_remote_port },
    { "server_port", get_server_port },
    { "scheme", get_scheme },
    { "time_local", line_get_time_local },
    { "time_iso8601", line_get_time_iso8601 },
    { "msec", line_get_msec },
    { "command", get_command },
    { "app", get_app },
    { "name", get_name },
    { "args", get_args },
    { "tcurl", get_tcurl },
    { "pageurl", get_pageurl },
    { "swfurl", get_swfurl },
    { "flashver", get_flashver },
    { "bytes_received", get_bytes_received },
    { "bytes_sent", get_bytes_sent },
    { "session_time", get_session_time },
    { "session_readable_time", get_session_readable_time },
    { "reason", get_reason },
    { "pid", line_get_pid },
    { "worker", get_worker },
    { NULL, NULL },
};

/* ---- writing ---- */

void
rtmp_log_write(const struct rtmp_log *log, const struct rtmp_log_entry *entry)
{
    struct subject s = { .log = log, .entry = entry, .r = entry->r };
    char line[LINE_SIZE_MAX];

    if (log->file < 0) {
        return;
    }
    s.conn = rtmp_session_conn(entry->r->session);
    s.ms = loop_now(s.conn->loop) - entry->since_ms;
    logring_write(log->file, line,
                  line_format_write(log->format, &s, line, sizeof(line)));
}
