/*
 * Looking after listening sockets, once a second.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/listener_watch.h"

#include "base/log.h"
#include "net/listen.h"

#define LOOK_MS 1000

static void
on_look(struct timer *t)
{
    struct listener_watch *w = LIST_ITEM(t, struct listener_watch, timer);

    LIST_EACH (node, w->listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);
        unsigned revived = listener_revive(l);

        if (revived > 0) {
            log_error("%u of %u sockets of %s did not listen any more: a "
                      "worker shut them down; they listen again",
                      revived, l->started, l->name);
        }
    }
    timer_set(w->loop, t, LOOK_MS);
}

void
listener_watch_start(struct listener_watch *w, struct loop *l,
                     struct list *listeners)
{
    w->loop = l;
    w->listeners = listeners;
    timer_init(&w->timer, on_look);
    timer_set(l, &w->timer, LOOK_MS);
}

void
listener_watch_stop(struct listener_watch *w)
{
    if (w->loop != NULL) {
        timer_stop(w->loop, &w->timer);
        w->loop = NULL;
    }
}
