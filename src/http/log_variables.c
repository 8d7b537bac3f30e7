/*
 * The values of the variables of an access log's format; nginx's names.  One
 * row in the table at the end for each.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/access_log.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "http/exchange.h"
#include "http/tls_variables.h"
#include "http/tries.h"
#include "proc/slot.h"

typedef const struct exchange *subject; /* what get() is given */

static void
copy(struct line_value *v, const char *text)
{
    str_copy(v->room, sizeof(v->room), str_from(text));
    line_value_text(v, str_from(v->room));
}

/* ---- who ---- */

static void
get_remote_addr(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    char text[ADDR_TEXT];

    (void)rest;
    copy(v, addr_ip_text(&x->pub.client, text));
}

static void
get_remote_port(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_number(v, x->pub.client.port);
}

/* The host that connected: the client, or its proxy. */
static void
get_peer_addr(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    char text[ADDR_TEXT];

    (void)rest;
    copy(v, addr_ip_text(&x->via, text));
}

static void
get_server_addr(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    char text[ADDR_TEXT];

    (void)rest;
    if (x->c->conn != NULL) {
        copy(v, addr_ip_text(&x->c->conn->local, text));
    }
}

static void
get_server_port(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    if (x->c->conn != NULL) {
        line_value_number(v, x->c->conn->local.port);
    }
}

/* The name in "Basic base64(name:password)"; the password is not decoded. */
static void
get_remote_user(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    const struct str *header = http_header(&x->pub, "Authorization");
    struct str code = header != NULL ? *header : STR_NONE;
    uint32_t bits = 0;
    size_t n = 0;

    (void)rest;
    if (!str_eq_nocase(str_cut(&code, ' '), STR("Basic"))) {
        return;
    }
    code = str_trim(code);
    for (size_t i = 0; i < code.len && n < 256; i++) {
        int digit = base64_value(BASE64, code.ptr[i]);

        if (digit < 0) {
            return; /* none, or no name at all */
        }
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0) {
            char c = (char)(bits >> (6 - i % 4 * 2));

            if (c == ':') {
                line_value_text(v, str_of(v->room, n));
                return;
            }
            v->room[n++] = c;
        }
    }
}

/* ---- when ---- */

static int64_t
ms_of(subject x)
{
    return (loop_now_us(x->c->loop) - x->began_us) / 1000;
}

static void
get_request_time(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_seconds(v, ms_of(arg));
}

static void
get_request_ms(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_number(v, ms_of(arg));
}

/* ---- what was asked ---- */

static void
masked(struct line_value *v, subject x, struct str text, bool is_args)
{
    if (v->open) {
        line_value_text(v, text);
        return;
    }
    line_value_masked(v, &x->c->server->settings.mask, text, is_args);
}

void
http_log_request(const struct exchange *x, struct line_value *v)
{
    if (x->hidden && !v->open) {
        snprintf(v->room, sizeof(v->room), "%.*s *** HTTP/1.%d",
                 STR_ARGS(x->head.method), x->head.version % 10);
        line_value_text(v, str_from(v->room));
        return;
    }
    masked(v, x, x->head.line, false);
}

static void
get_request(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    http_log_request(arg, v);
}

static void
get_request_method(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->head.method);
}

static void
get_request_uri(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    masked(v, x, x->hidden && !v->open ? STR("***") : x->head.target, false);
}

static void
get_uri(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->hidden && !v->open ? STR("***") : x->pub.path);
}

static void
get_args(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    masked(v, x, x->head.query, true);
}

static void
get_server_protocol(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    if (x->head.version != 0) {
        line_value_text(v, x->head.version == 10 ? STR("HTTP/1.0")
                                                 : STR("HTTP/1.1"));
    }
}

static void
get_scheme(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->pub.scheme);
}

static void
get_host(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->pub.host);
}

static void
get_server_name(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->c->server->name);
}

static void
get_request_id(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->pub.request_id);
}

static void
get_trace_id(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->pub.trace_id);
}

/* $http_user_agent is the header User-Agent. */
static bool
is_header(struct str header, struct str rest)
{
    if (header.len != rest.len) {
        return false;
    }
    for (size_t i = 0; i < rest.len; i++) {
        char c = header.ptr[i] == '-' ? '_' : header.ptr[i];

        if (!str_eq_nocase(str_of(&c, 1), str_of(rest.ptr + i, 1))) {
            return false;
        }
    }
    return true;
}

static void
get_http(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    for (size_t i = 0; i < x->pub.header_count; i++) {
        const struct http_header *h = &x->pub.headers[i];

        if (!is_header(h->name, rest)) {
            continue;
        }
        if (!v->open && (str_eq_nocase(rest, STR("authorization")) ||
                         str_eq_nocase(rest, STR("cookie")))) {
            line_value_text(v, STR("***"));
        } else {
            masked(v, x, h->value, false);
        }
        return;
    }
}

/* ---- what was answered ---- */

static void
get_sent_http(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    for (const struct http_field *f = x->fields; f != NULL; f = f->next) {
        if (is_header(str_from(f->name), rest)) {
            if (!v->open && str_eq_nocase(rest, STR("set_cookie"))) {
                line_value_text(v, STR("***"));
            } else {
                line_value_text(v, f->value);
            }
            return;
        }
    }
}

static void
get_status(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_number(v, http_status_told(arg));
}

static void
get_body_bytes_sent(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_number(v, (int64_t)x->body_sent);
}

static void
get_bytes_sent(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    if (x->c->conn != NULL) {
        line_value_number(v, (int64_t)(x->c->conn->bytes_out - x->out_before));
    }
}

static void
get_request_length(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_number(v, (int64_t)(x->head.text.len + x->body.seen));
}

static void
get_note(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_text(v, x->note);
}

/* Nothing, or the note in quotes with a space before it. */
static void
get_quoted_note(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    size_t n = 0;

    (void)rest;
    v->kind = LINE_WRITTEN;
    if (x->note.len > 0) {
        memcpy(v->room, " \"", 2);
        n = 2 + str_escape(v->room + 2, sizeof(v->room) - 3, x->note);
        v->room[n++] = '"';
    }
    v->text = str_of(v->room, n);
}

/* ---- where ---- */

static void
get_module(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    if (x->route != NULL) {
        line_value_text(v, str_from(http_layer_now(x)->module));
    }
}

static void
get_location(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    if (x->pub.location != NULL) {
        line_value_text(v, x->pub.location->name.len > 0
                               ? x->pub.location->name
                               : x->pub.location->path);
    }
}

static void
get_connection(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_number(v, x->c->number);
}

static void
get_connection_requests(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;

    (void)rest;
    line_value_number(v, x->c->requests);
}

static void
get_worker(const void *arg, struct str rest, struct line_value *v)
{
    const struct slot_card *s = slot_card(slot_self());

    (void)arg;
    (void)rest;
    if (s != NULL) {
        line_value_number(v, s->index);
    }
}

const struct line_variable http_log_variables[] = {
    { "remote_addr", get_remote_addr },
    { "remote_port", get_remote_port },
    { "peer_addr", get_peer_addr },
    { "remote_user", get_remote_user },
    { "server_addr", get_server_addr },
    { "server_port", get_server_port },
    { "server_name", get_server_name },
    { "time_local", line_get_time_local },
    { "time_iso8601", line_get_time_iso8601 },
    { "msec", line_get_msec },
    { "request_time", get_request_time },
    { "request_ms", get_request_ms },
    { "request", get_request },
    { "request_method", get_request_method },
    { "request_uri", get_request_uri },
    { "request_length", get_request_length },
    { "uri", get_uri },
    { "args", get_args },
    { "query_string", get_args },
    { "server_protocol", get_server_protocol },
    { "scheme", get_scheme },
    { "host", get_host },
    { "request_id", get_request_id },
    { "trace_id", get_trace_id },
    { "http_", get_http },
    { "sent_http_", get_sent_http },
    { "status", get_status },
    { "body_bytes_sent", get_body_bytes_sent },
    { "bytes_sent", get_bytes_sent },
    { "note", get_note },
    { "quoted_note", get_quoted_note },
    { "module", get_module },
    { "location", get_location },
    { "connection", get_connection },
    { "connection_requests", get_connection_requests },
    { "upstream_addr", http_get_upstream_addr },
    { "upstream_status", http_get_upstream_status },
    { "upstream_connect_time", http_get_upstream_connect_time },
    { "upstream_header_time", http_get_upstream_header_time },
    { "upstream_response_time", http_get_upstream_response_time },
    { "ssl_protocol", http_get_ssl_protocol },
    { "ssl_cipher", http_get_ssl_cipher },
    { "ssl_server_name", http_get_ssl_server_name },
    { "ssl_session_reused", http_get_ssl_session_reused },
    { "ssl_client_verify", http_get_ssl_client_verify },
    { "ssl_client_s_dn", http_get_ssl_client_s_dn },
    { "ssl_client_i_dn", http_get_ssl_client_i_dn },
    { "ssl_client_serial", http_get_ssl_client_serial },
    { "ssl_client_fingerprint", http_get_ssl_client_fingerprint },
    { "ssl_client_v_start", http_get_ssl_client_v_start },
    { "ssl_client_v_end", http_get_ssl_client_v_end },
    { "ssl_client_v_remain", http_get_ssl_client_v_remain },
    { "ssl_client_escaped_cert", http_get_ssl_client_escaped_cert },
    { "pid", line_get_pid },
    { "worker", get_worker },
    { NULL, NULL },
};
