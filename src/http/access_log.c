/*
 * A line for each request that is over.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/access_log.h"

#include "base/log.h"
#include "http/exchange.h"
#include "net/exceptions.h"
#include "proc/logring.h"

/* The status that says how it ended when no answer was begun (nginx's). */
#define STATUS_CLIENT_WENT 499

/* "combined" is nginx's, and behind it why weir refused a request. */
const struct line_preset http_log_presets[] = {
    { "combined", "$remote_addr - $remote_user [$time_local] \"$request\" "
                  "$status $body_bytes_sent \"$http_referer\" "
                  "\"$http_user_agent\"$quoted_note" },
    { "json", "json: time=$time_iso8601 client=$remote_addr "
              "peer=$peer_addr request=$request host=$host "
              "status=$status bytes=$body_bytes_sent ms=$request_ms "
              "request_id=$request_id trace_id=$trace_id "
              "referer=$http_referer user_agent=$http_user_agent "
              "note=$note" },
    { NULL, NULL },
};

int
http_status_told(const struct exchange *x)
{
    return x->status != 0 ? x->status : STATUS_CLIENT_WENT;
}

/* The same for a debugged client, with or without an access log. */
static void
say_request(const struct exchange *x)
{
    struct debug_mark mark = { 0 };
    struct line_value v;
    char client[ADDR_TEXT];
    bool wanted = debug_wanted(&mark, &x->pub.client, STR_NONE);

    if (wanted || log_enabled(LOG_DEBUG)) {
        v.open = false;
        http_log_request(x, &v);
        log_limited_if(wanted, LOG_DEBUG,
                       "http %s: \"%.*s\" %d, %llu bytes%s%.*s",
                       addr_text(&x->pub.client, client), STR_ARGS(v.text),
                       http_status_told(x), (unsigned long long)x->body_sent,
                       x->note.len > 0 ? ": " : "", STR_ARGS(x->note));
    }
}

void
http_log_access(const struct exchange *x)
{
    const struct http_settings *s = &x->c->server->settings;
    char line[LINE_SIZE_MAX];

    say_request(x);
    if (s->access_log >= 0 && s->access_format != NULL) {
        logring_write(
            s->access_log, line,
            line_format_write(s->access_format, x, line, sizeof(line)));
    }
}
