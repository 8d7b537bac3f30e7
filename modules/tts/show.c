/*
 * The call tts.show: how the desks do.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "speaker.h"

static void
put_state(struct pack *out, struct desk *d)
{
    const struct slots *s = &d->slots;

    pack_text(out, d->plan.name);
    pack_text(out, d->retired                           ? STR("ending")
                   : d->catalogue == NULL               ? STR("no voices")
                   : d->zygote == NULL                  ? STR("waiting")
                   : engine_is_ready(d->zygote->engine) ? STR("ready")
                                                        : STR("starting"));
    pack_int(out, d->zygote != NULL ? engine_pid(d->zygote->engine) : 0);
    pack_int(out, (int64_t)s->runs);
    pack_int(out, (int64_t)s->pauses);
    pack_int(out, (int64_t)s->wants);
    pack_int(out, (int64_t)s->waits);
    pack_int(out, d->made);
    pack_int(out, d->hits);
    pack_int(out, (int64_t)answer_cache_entries(d->cache));
    pack_int(out, answer_cache_bytes(d->cache));
}

/* The newest first. */
static void
put_errors(struct pack *out, const struct desk *d)
{
    for (size_t i = 1; i <= DESK_ERRORS; i++) {
        const struct desk_error *e =
            &d->errors[(d->error_next + DESK_ERRORS - i) % DESK_ERRORS];

        pack_int(out, e->wall_ms);
        pack_text(out, str_from(e->text));
    }
}

static void
put_slowest(struct pack *out, const struct desk *d)
{
    for (size_t i = 0; i < DESK_SLOWEST; i++) {
        const struct desk_slow *s = &d->slowest[i];

        pack_int(out, s->wall_ms);
        pack_int(out, s->ms);
        pack_int(out, s->text_bytes);
        pack_text(out, str_from(s->voice));
    }
}

void
show_on_request(void *arg, struct rpc_request *r)
{
    struct speaker *s = arg;
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, tts_methods[TTS_SHOW].answer_max);
    LIST_EACH (node, &s->desks) {
        struct desk *d = LIST_ITEM(node, struct desk, link);

        put_state(&out, d);
        put_errors(&out, d);
        put_slowest(&out, d);
    }
    if (out.full) {
        rpc_refuse(&r, "the answer is too long");
    } else {
        rpc_reply(&r, buf_data(&b), buf_len(&b), -1);
    }
    buf_clear(&b);
}
