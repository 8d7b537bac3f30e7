/*
 * The life of the role.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "speaker.h"

#include "base/log.h"
#include "base/mem.h"
#include "proc/rights.h"
#include "reply.h"
#include "wyoming.h"

/* ---- weir.conf ---- */

static void
retire_missing(struct speaker *s, const struct speaker_plan *plan)
{
    LIST_EACH (node, &s->desks) {
        struct desk *d = LIST_ITEM(node, struct desk, link);

        if (!d->retired && speaker_plan_find(plan, d->plan.name) == NULL) {
            desk_retire(d);
        }
        if (desk_is_over(d)) {
            desk_free(d);
        }
    }
}

static void
configure(void *state, struct str description)
{
    struct speaker *s = state;
    struct pool *pool = pool_new(4096);
    struct speaker_plan plan;

    if (s->stopping) {
        pool_free(&pool);
        return;
    }
    if (speaker_plan_read(description, pool, &plan) == -1) {
        log_alert("speaker: the master's description of weir.conf makes no "
                  "sense");
        pool_free(&pool);
        return;
    }
    s->instances = plan.count;
    retire_missing(s, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        struct desk *d = desk_find(s, plan.items[i].name);

        if (d != NULL) {
            desk_take_plan(d, &plan.items[i]);
        } else {
            desk_new(s, &plan.items[i]);
        }
    }
    job_set_pools(s);
    pool_free(&pool);
}

static bool
lists(const struct conf_strings *all, struct str one)
{
    for (size_t i = 0; i < all->count; i++) {
        if (str_eq(all->items[i], one)) {
            return true;
        }
    }
    return false;
}

/* Rights are those of the start: other directories are out of reach. */
static bool
changed(const struct settings *before, const struct settings *now)
{
    const struct conf_groups *a = &tts_root_of(before)->instances;
    const struct conf_groups *b = &tts_root_of(now)->instances;
    const struct tts_instance *had = a->items, *has = b->items;

    for (size_t i = 0; i < b->count; i++) {
        for (size_t k = 0; k < has[i].data_dir.count; k++) {
            bool known = false;

            for (size_t n = 0; n < a->count; n++) {
                known |= lists(&had[n].data_dir, has[i].data_dir.items[k]);
            }
            if (!known) {
                return true;
            }
        }
    }
    return false;
}

static void
may(const void *settings, struct rights *r)
{
    const struct conf_groups *all =
        &((const struct tts_root *)settings)->instances;
    const struct tts_instance *items = all->items;
    struct str system = str_from(catalogue_system_directory());

    r->seal = true;
    rights_execute(r, engine_program());
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < items[i].data_dir.count; k++) {
            rights_read(r, items[i].data_dir.items[k]);
        }
    }
    if (system.len > 0) {
        rights_read(r, system);
    }
}

/* ---- life ---- */

static int
check(const void *settings, struct errmsg *err)
{
    return engine_check_program(err) == -1 ? -1
                                           : tts_check_voices(settings, err);
}

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    struct speaker *s;

    (void)err;
    *state = s = mem_zero(sizeof(*s));
    s->loop = p->loop;
    s->starter = p->starter;
    list_init(&s->desks);
    configure(s, p->description);
    rpc_serve(&tts_methods[TTS_SAY], job_on_request, s);
    rpc_serve(&tts_methods[TTS_VOICES], voices_on_request, s);
    rpc_serve(&tts_methods[TTS_SHOW], show_on_request, s);
    rpc_serve(&tts_methods[TTS_DESCRIBE], wyoming_on_describe, s);
    return 0;
}

static bool
has_jobs(const struct speaker *s)
{
    LIST_EACH (node, &s->desks) {
        if (!list_empty(&LIST_ITEM(node, struct desk, link)->jobs)) {
            return true;
        }
    }
    return false;
}

void
speaker_refuse(const struct speaker *s, struct rpc_request **r)
{
    int64_t left = s->farewell_ms - loop_now(s->loop);

    if (!s->stopping) {
        reply_unavailable(r, SPEECH_LACKS_SPEAKER,
                          "weir.conf has no such tts any more", 1);
        return;
    }
    left = left > 0 ? left : 0; /* and the next one needs a moment to start */
    reply_unavailable(r, SPEECH_LACKS_SPEAKER, "the speaker starts again",
                      left / 1000 + 1);
}

/* Jobs that run go on for a while; those that wait are refused. */
static void
farewell(struct speaker *s)
{
    int64_t end = s->farewell_ms = loop_now(s->loop) + FAREWELL_MS;

    LIST_EACH (node, &s->desks) {
        desk_retire(LIST_ITEM(node, struct desk, link));
    }
    while (has_jobs(s) && loop_now(s->loop) < end) {
        loop_turn(s->loop, 20);
    }
}

static void
stop(void *state)
{
    struct speaker *s = state;

    s->stopping = true;
    farewell(s);
    LIST_EACH (node, &s->desks) {
        struct desk *d = LIST_ITEM(node, struct desk, link);

        job_drop_all(d);
        desk_free(d);
    }
    mem_free(&s);
}

const struct role tts_roles[] = {
    { .name = "speaker",
      .count = 1,
      .wanted = tts_wanted,
      .check = check,
      .start = start,
      .stop = stop,
      .may = may,
      .changed = changed,
      .describe = speaker_plan_write,
      .configure = configure },
    { .name = NULL },
};
