/*
 * The addresses of a server that has a name.
 *
 * They are asked for before they are over, while the old ones serve.  When they
 * have changed, connections to the old ones are let go; another order is no
 * change.  When the name cannot be resolved, the old ones stay.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_impl.h"

#include "base/log.h"

#define ASK_MS 5000   /* how long an answer is waited for */
#define AGAIN_MS 2000 /* after a failure */
#define EARLY_MS 500  /* before the addresses are over */
#define LEAST_MS 1000 /* between two questions */
#define MOST_MS 3600000

static bool
has(const struct resolved *r, const struct addr *a)
{
    for (size_t i = 0; i < r->count; i++) {
        if (addr_eq(&r->addrs[i], a)) {
            return true;
        }
    }
    return false;
}

static bool
are_the_same(const struct resolved *a, const struct resolved *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++) {
        same = has(b, &a->addrs[i]);
    }
    return same;
}

static int64_t
wait_for(const struct resolved *found)
{
    int64_t ms = found->ttl_ms - EARLY_MS;

    return ms < LEAST_MS ? LEAST_MS : ms < MOST_MS ? ms : MOST_MS;
}

static void
on_found(void *arg, const struct resolved *found, const struct errmsg *why)
{
    struct server *s = arg;
    int64_t now = loop_now(s->seen.upstream->loop);
    bool changed;

    s->query = NULL;
    if (found == NULL) {
        log_limited(LOG_WARN, "upstream %.*s: %s",
                    STR_ARGS(upstream_name(s->seen.upstream)), why->text);
        s->ask_ms = now + AGAIN_MS;
        return;
    }
    changed = s->known.count > 0 && !are_the_same(&s->known, found);
    s->known = *found;
    s->ask_ms = now + wait_for(found);
    if (changed) {
        log_notice("upstream %.*s: %.*s has other addresses",
                   STR_ARGS(upstream_name(s->seen.upstream)),
                   STR_ARGS(s->at.host));
        upstream_let_go(s);
    }
}

void
upstream_names_tick(struct server *s, int64_t now)
{
    if (s->named && s->query == NULL && now >= s->ask_ms) {
        s->query = resolve_start(s->seen.upstream->resolver, s->at.host, ASK_MS,
                                 on_found, s);
    }
}

void
upstream_names_clear(struct server *s)
{
    resolve_cancel(&s->query);
}
