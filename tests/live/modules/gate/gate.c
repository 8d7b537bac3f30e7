/*
 * A module for tests: decides over publishers and players as one that has to
 * ask somebody else first.
 *
 * What is asked for says what happens: "no-..." is refused at once,
 * "late-no-..." and "late-..." after LATE_MS, "never-..." is never decided,
 * "key-X" appears as "X" (also behind "late-"); all else is the next one's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"
#include "app/service/rtmp_service.h"
#include "base/log.h"
#include "base/mem.h"

#define LATE_MS 100

struct waiting {
    struct list link;
    struct timer timer;
    struct rtmp_request *request; /* borrowed until on_end */
};

static struct list all = { &all, &all };

static enum rtmp_hook_result
judge(struct rtmp_request *r, struct str name, struct rtmp_refusal *no)
{
    if (str_starts(name, STR("no-"))) {
        errmsg_set(&no->reason, "the gate says no");
        return HOOK_REFUSE;
    }
    if (str_starts(name, STR("key-"))) {
        rtmp_service_rename(r, str_skip(name, STR("key-").len));
        return HOOK_DONE;
    }
    return HOOK_NEXT;
}

static void
forget(struct waiting *w, struct loop *l)
{
    timer_stop(l, &w->timer);
    list_remove(&w->link);
    mem_free(&w);
}

static void
on_late(struct timer *t)
{
    struct waiting *w = LIST_ITEM(t, struct waiting, timer);
    struct rtmp_request *r = w->request;
    struct rtmp_refusal no = { .code = "NetStream.Publish.BadName" };
    enum rtmp_hook_result result =
        judge(r, str_skip(r->name, STR("late-").len), &no);

    forget(w, rtmp_session_conn(r->session)->loop);
    rtmp_service_decide(r, result, &no);
}

static enum rtmp_hook_result
ask(struct rtmp_request *r, struct rtmp_refusal *no)
{
    bool late = str_starts(r->name, STR("late-"));
    struct waiting *w;

    if (!late && !str_starts(r->name, STR("never-"))) {
        return judge(r, r->name, no);
    }
    w = mem_zero(sizeof(*w));
    w->request = r;
    timer_init(&w->timer, on_late);
    list_append(&all, &w->link);
    if (late) {
        timer_set(rtmp_session_conn(r->session)->loop, &w->timer, LATE_MS);
    }
    return HOOK_WAIT;
}

static void
on_end(struct rtmp_request *r)
{
    LIST_EACH (node, &all) {
        struct waiting *w = LIST_ITEM(node, struct waiting, link);

        if (w->request == r) {
            forget(w, rtmp_session_conn(r->session)->loop);
            log_notice("gate: nobody waits for \"%.*s\" any more",
                       STR_ARGS(r->name));
        }
    }
}

static const struct rtmp_hooks hooks = {
    .on_publish = ask,
    .on_play = ask,
    .on_end = on_end,
};

const struct module gate_module = {
    .name = "gate",
    .about = "decides late, for tests",
    .rtmp = &hooks,
};
