/*
 * A connection is counted first and judged then: of several workers that let
 * in the last one at once, all see each other.  It is counted whether or not
 * a limit holds for it, because the operator may set one while it is open.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/admission.h"

#include <unistd.h>

#include "http/http.h"
#include "http/refusal.h"
#include "net/access.h"
#include "net/exceptions.h"
#include "net/share.h"
#include "proc/census.h"

static struct {
    const struct limits_settings *limits;
    int64_t most; /* worker_connections */
    const struct access_list *exempt;
} admission;

void
admission_start(const struct worker *w)
{
    const struct limits_settings *s = &w->generation->settings->limits;

    admission.limits = s;
    admission.exempt = access_parse(w->pool, s->exempt.items, s->exempt.count);
    share_start(admission.exempt, s->ipv4_prefix, s->ipv6_prefix);
    admission.most = w->generation->settings->worker_connections;
    tally_set_size(&conn_pools[0], admission.most);
}

/* The operator's exception for this client counts, or else the settings. */
static bool
has_too_many(const struct addr *peer, const struct census *c, bool exempt)
{
    const struct exception *e =
        exception_of_client(EXCEPTION_CONNECTIONS, peer);
    int64_t most = exempt ? 0 : admission.limits->connections_per_address;

    if (e == NULL) {
        return most > 0 && c->connections > most;
    }
    if (c->connections > e->most) {
        exception_strikes(e);
        return true;
    }
    return false;
}

/* The reason to refuse a client that has that many. */
static enum http_refusal
judge(const struct addr *peer, const struct census *c)
{
    bool exempt = access_allows(admission.exempt, peer);
    int64_t incomplete = exempt ? 0 : admission.limits->incomplete_per_address;

    if (has_too_many(peer, c, exempt)) {
        return REFUSE_CONNECTIONS;
    }
    return incomplete > 0 && c->incomplete > incomplete ? REFUSE_INCOMPLETE
                                                        : REFUSE_NONE;
}

/* Whether it has its share of this worker, and none of its connections is
 * idle: one that is ends for the new one. */
static bool
has_share(const struct addr *peer)
{
    const struct share_want w = { .pool = &conn_pools[0],
                                  .client = share_client(peer),
                                  .size = admission.most };

    if (!share_is_over(&w) || http_shed_of(&w.client)) {
        return false;
    }
    share_refused(&w, SHARE_OVER);
    return true;
}

static void
refuse(enum http_refusal why, const struct conn_socket *socket,
       const char *proto)
{
    http_refusal_add(why);
    http_refusal_say(why, proto, &socket->peer, STR_NONE);
    close(socket->fd);
}

void
admission_deny(const struct conn_socket *socket, const char *proto)
{
    refuse(REFUSE_ACCESS, socket, proto);
}

bool
admission_allow(struct conn_socket *socket, const char *proto)
{
    uint64_t key = conn_census(&socket->peer);

    socket->census = 0;
    if (key == 0 || !census_enter(key)) {
        return true;
    }
    struct census now = census_of(key);
    enum http_refusal why = judge(&socket->peer, &now);

    if (why == REFUSE_NONE && has_share(&socket->peer)) {
        why = REFUSE_CONNECTIONS;
    }
    if (why == REFUSE_NONE) {
        socket->census = key;
        conn_enter_pool(&socket->peer);
        return true;
    }
    census_leave(key, true);
    refuse(why, socket, proto);
    return false;
}
