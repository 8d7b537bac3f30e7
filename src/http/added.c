/*
 * Headers that server and location add to answers: to those that went well, or
 * to all.  One of a handler with the same name makes way, but for names that
 * may come more than once.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/exchange.h"
#include "http/text.h"

/* As in nginx. */
static bool
is_fine(int status)
{
    static const int fine[] = {
        200, 201, 204, 206, 301, 302, 303, 304, 307, 308
    };

    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
        if (status == fine[i]) {
            return true;
        }
    }
    return false;
}

static bool
may_repeat(struct str name)
{
    return str_eq_nocase(name, STR("Vary")) ||
           str_eq_nocase(name, STR("Link")) ||
           str_eq_nocase(name, STR("Set-Cookie"));
}

static void
remove_field(struct exchange *x, struct str name)
{
    struct http_field **at = &x->fields;

    while (*at != NULL) {
        if (str_eq_nocase(str_from((*at)->name), name)) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
}

static void
add_all(struct exchange *x, const struct http_rules *rules, int status)
{
    const struct http_added *added = rules->added;
    bool fine = is_fine(status);

    for (size_t i = 0; i < rules->added_count; i++) {
        struct str value;

        if (!fine && !added[i].always) {
            continue;
        }
        if (http_text_write(x, added[i].value, HTTP_IN_HEADER, &value) &&
            value.len > 0) {
            if (!may_repeat(str_from(added[i].name))) {
                remove_field(x, str_from(added[i].name));
            }
            http_set_header(&x->pub, added[i].name, value);
        }
    }
}

void
http_set_status(struct exchange *x, int status)
{
    const struct http_server *s = x->c->server;
    const struct http_location *l = x->pub.location;

    x->status = status;
    if (s->rules.added_count > 0) {
        add_all(x, &s->rules, status);
    }
    if (l != NULL && l->rules.added_count > 0) {
        add_all(x, &l->rules, status);
    }
}
