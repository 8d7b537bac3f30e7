/*
 * Answers with segments, parts and initialisation segments.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "asked.h"
#include "made.h"
#include "sending.h"

static const char *
type_of(const struct asked *a, const struct object *o)
{
    const struct media_container *c = a->key.container;

    return o->key.rendition[0] == 'a' ? c->audio_type : c->type;
}

static enum http_result
refuse_gone(struct asked *a)
{
    return asked_refuse(a, 404, HLS_REFUSED_NO_OBJECT,
                        "it is not there (any more)");
}

/* Only what a playlist can have hinted at is waited for. */
static enum http_result
answer_later(struct asked *a, const struct live_cuts *c)
{
    if (a->key.part < 0 || c->part_target == 0) {
        return refuse_gone(a);
    }
    return asked_wait(a, c, a->key.number, (uint32_t)a->key.part);
}

enum http_result
bytes_answer(struct asked *a)
{
    struct live_cuts c;
    struct object *o;

    if (!live_cuts_find(a->name, &c)) {
        return asked_refuse(a, 404, HLS_REFUSED_NO_STREAM,
                            "nobody publishes this stream");
    }
    switch (made_find(&c, a->name, &a->key, &o)) {
    case OBJECT_HERE:
        return sending_begin(a->request, o, type_of(a, o));
    case OBJECT_LATER:
        return answer_later(a, &c);
    case OBJECT_GONE:
        return refuse_gone(a);
    case OBJECT_FAILED:
        break;
    }
    return asked_refuse(a, 503, HLS_REFUSED_FAILED, "it cannot be made");
}
