/*
 * Comparing a loaded configuration with what is in force.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/reload_dry.h"

#include "app/master/old_generations.h"
#include "app/settings/names.h"
#include "app/settings/servers.h"
#include "base/mem.h"

/* ---- listeners ---- */

/* Calls with every address that g listens on; true ends it. */
typedef bool each_address(void *arg, struct str address);

/* An address that servers share comes with the first of them. */
static bool
each_of(const struct settings *s, const struct server_settings *server,
        each_address *f, void *arg)
{
    for (size_t i = 0; i < server->listen->count; i++) {
        struct str address = settings_listen(server->listen, i)->address;
        bool joins = server->kind == SERVER_HTTP &&
                     settings_http_joins(&s->http, server->number, address);

        if (!joins && f(arg, address)) {
            return true;
        }
    }
    return false;
}

static bool
each(const struct settings *s, each_address *f, void *arg)
{
    struct server_settings server;

    for (size_t i = 0; settings_server(s, i, &server); i++) {
        if (each_of(s, &server, f, arg)) {
            return true;
        }
    }
    return false;
}

/* An address of the file is where the listener is. */
static bool
is_there(void *arg, struct str address)
{
    const struct listener *l = arg;
    struct addr_listen where;
    struct errmsg ignored;

    return addr_parse_listen(address, &where, &ignored) == 0 &&
           listener_is_at(l, &where, address);
}

struct changes {
    struct list *listeners; /* borrowed */
    FILE *out;
    size_t kept;
};

static bool
tell_added(void *arg, struct str address)
{
    struct changes *c = arg;

    LIST_EACH (node, c->listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (!l->retired && is_there(l, address)) {
            c->kept++;
            return false;
        }
    }
    fprintf(c->out, "listener added: %.*s\n", STR_ARGS(address));
    return false;
}

static void
tell_listeners(struct master *m, const struct settings *s, FILE *out)
{
    struct changes c = { .listeners = &m->listeners, .out = out };

    each(s, tell_added, &c);
    LIST_EACH (node, &m->listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (!l->retired && !each(s, is_there, l)) {
            fprintf(out, "listener removed: %s\n", l->name);
        }
    }
    fprintf(out, "listeners kept: %zu\n", c.kept);
}

/* ---- all of it ---- */

char *
reload_describe(struct master *m, const struct generation *g)
{
    size_t len = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL) {
        return mem_dup("", 0);
    }
    fprintf(out, "%s: ok\nworkers: %u, now %u\n", m->file, g->workers,
            m->generation->workers);
    tell_listeners(m, g->settings, out);
    old_generations_foretell(m, g->settings->max_generations, out);
    fclose(out);
    char *copy = mem_dup(text, len);

    mem_free(&text);
    return copy;
}
