/*
 * One filter after the other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/filter.h"

static enum filter_result
cors_headers(struct exchange *x)
{
    http_cors_headers(x);
    return FILTER_PASS;
}

static enum filter_result
access_filter(struct exchange *x)
{
    if (access_allows(x->pub.location->access, &x->pub.client)) {
        return FILTER_PASS;
    }
    return http_filter_reject(x, REFUSE_ACCESS, "access denied");
}

static enum filter_result (*const filters[])(struct exchange *x) = {
    cors_headers,     http_host_filter,    access_filter,
    http_rate_filter, http_cors_preflight, http_auth_filter,
};
#define FILTERS (sizeof(filters) / sizeof(filters[0]))

enum filter_result
http_filter(struct exchange *x)
{
    enum filter_result result = FILTER_PASS;

    x->in_filter = true;
    while (x->filter < FILTERS && result == FILTER_PASS) {
        result = filters[x->filter](x);
        if (result == FILTER_PASS) {
            x->filter++;
        }
    }
    x->in_filter = false;
    return result;
}

void
http_filter_undo(struct exchange *x)
{
    struct http_field **at = &x->fields;

    while (*at != NULL) {
        if ((*at)->of_filter) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    x->filter = 0;
    x->auth = NULL;
    x->pub.user = STR_NONE;
}

static void
note(struct exchange *x, enum http_refusal why)
{
    if (!x->is_test) {
        http_refusal_add(why);
        http_refusal_say(why, "http", &x->pub.client, x->head.line);
    }
    if (x->note.len == 0) {
        x->note = str_from(http_refusal_text(why));
    }
}

enum filter_result
http_filter_reject(struct exchange *x, enum http_refusal why,
                   const char *message)
{
    note(x, why);
    http_walk_refuse(x);
    x->reject = http_refusal_status(why);
    x->reject_text = pool_str(x->pub.pool, str_from(message)).ptr;
    return FILTER_REJECT;
}

bool
http_filter_answer(struct exchange *x, enum http_refusal why,
                   const char *message)
{
    note(x, why);
    http_error(&x->pub, http_refusal_status(why), "%s", message);
    return false;
}
