/*
 * A line for each request, in the combined format or as JSON.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "base/clock.h"
#include "http/escape.h"
#include "http/exchange.h"
#include "proc/logring.h"

#define LINE_MAX_SIZE (16 * 1024)
#define FIELD_MAX 2048 /* bytes of a field, escaped */

/* The status that says how it ended when no answer was begun (nginx's). */
#define STATUS_CLIENT_WENT 499

int
http_status_told(const struct exchange *x)
{
    return x->status != 0 ? x->status : STATUS_CLIENT_WENT;
}

static struct str
header_or_dash(const struct exchange *x, const char *name)
{
    const struct str *value = http_header(&x->pub, name);

    return value != NULL && value->len > 0 ? *value : STR("-");
}

/* ---- combined ---- */

static void
add_quoted(struct buf *b, struct str s)
{
    char text[FIELD_MAX];

    str_escape(text, sizeof(text), s);
    buf_printf(b, " \"%s\"", text);
}

static void
write_combined(struct buf *b, const struct exchange *x)
{
    char date[32], peer[ADDR_TEXT];

    clock_log_date(date, sizeof(date), clock_wall_ms());
    buf_printf(b, "%s - - [%s]", addr_ip_text(&x->pub.peer, peer), date);
    add_quoted(b, x->head.line.len > 0 ? x->head.line : STR("-"));
    buf_printf(b, " %d %llu", http_status_told(x),
               (unsigned long long)x->body_sent);
    add_quoted(b, header_or_dash(x, "Referer"));
    add_quoted(b, header_or_dash(x, "User-Agent"));
    if (x->note.len > 0) {
        add_quoted(b, x->note);
    }
}

/* ---- JSON ---- */

static void
add_member(struct buf *b, const char *name, struct str value)
{
    buf_printf(b, ",\"%s\":", name);
    http_json_string(b, str_first(value, FIELD_MAX));
}

static void
add_header_member(struct buf *b, const struct exchange *x, const char *name,
                  const char *header)
{
    const struct str *value = http_header(&x->pub, header);

    if (value != NULL) {
        add_member(b, name, *value);
    }
}

static void
write_json(struct buf *b, const struct exchange *x)
{
    char date[32], peer[ADDR_TEXT];

    clock_iso8601(date, sizeof(date), clock_wall_ms());
    buf_printf(b, "{\"time\":\"%s\",\"peer\":\"%s\"", date,
               addr_ip_text(&x->pub.peer, peer));
    add_member(b, "request", x->head.line);
    add_member(b, "host", x->head.host);
    buf_printf(b, ",\"status\":%d,\"bytes\":%llu,\"ms\":%lld",
               http_status_told(x), (unsigned long long)x->body_sent,
               (long long)((loop_now_us(x->c->loop) - x->began_us) / 1000));
    add_header_member(b, x, "referer", "Referer");
    add_header_member(b, x, "user_agent", "User-Agent");
    if (x->note.len > 0) {
        add_member(b, "note", x->note);
    }
    buf_add(b, "}", 1);
}

void
http_log_access(const struct exchange *x)
{
    const struct http_settings *s = &x->c->server->settings;
    struct buf b;

    if (s->access_log < 0) {
        return;
    }
    buf_init(&b, LINE_MAX_SIZE);
    if (s->access_log_format == HTTP_LOG_JSON) {
        write_json(&b, x);
    } else {
        write_combined(&b, x);
    }
    if (buf_add(&b, "\n", 1) == 0) {
        logring_write(s->access_log, (const char *)buf_data(&b), buf_len(&b));
    }
    buf_clear(&b);
}
