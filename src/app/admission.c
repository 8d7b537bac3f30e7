/*
 * A connection is counted first and judged then: of several workers that let
 * in the last one at once, all see each other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/admission.h"

#include <unistd.h>

#include "base/hash.h"
#include "http/refusal.h"
#include "net/access.h"
#include "proc/census.h"

static struct {
    const struct limits_settings *limits;
    const struct access_list *exempt;
} admission;

void
admission_start(const struct worker *w)
{
    const struct limits_settings *s = &w->generation->settings->limits;

    admission.limits = s;
    admission.exempt = access_parse(w->pool, s->exempt.items, s->exempt.count);
}

static bool
is_counted(const struct addr *peer)
{
    const struct limits_settings *s = admission.limits;

    return addr_client(peer).len > 0 &&
           (s->connections_per_address > 0 || s->incomplete_per_address > 0) &&
           !access_allows(admission.exempt, peer);
}

/* What is wrong with having that many. */
static enum http_refusal
judge(const struct census *c)
{
    const struct limits_settings *s = admission.limits;

    if (s->connections_per_address > 0 &&
        c->connections > s->connections_per_address) {
        return REFUSE_CONNECTIONS;
    }
    if (s->incomplete_per_address > 0 &&
        c->incomplete > s->incomplete_per_address) {
        return REFUSE_INCOMPLETE;
    }
    return REFUSE_NONE;
}

bool
admission_allow(struct conn_socket *socket, uint32_t proto)
{
    uint64_t key;

    socket->census = 0;
    if (!is_counted(&socket->peer)) {
        return true;
    }
    key = hash_str(addr_client(&socket->peer)) | 1; /* 0: not counted */
    if (!census_enter(key)) {
        return true;
    }
    struct census now = census_of(key);
    enum http_refusal why = judge(&now);

    if (why == REFUSE_NONE) {
        socket->census = key;
        return true;
    }
    census_leave(key, true);
    http_refusal_add(why);
    http_refusal_say(why, proto, &socket->peer, STR_NONE);
    close(socket->fd);
    return false;
}
