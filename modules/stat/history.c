/*
 * GET /history: speeds of the last day, of a stream or of the node.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "stat.h"

#include "base/mem.h"
#include "live/history.h"

#define ANSWER_MAX (256 * 1024) /* three levels of some 25 bytes a point */

/* Points in front of the first that is known are left out. */
static void
put_points(struct json_out *o, const struct history_view *v)
{
    bool begun = false;

    json_open_array(o);
    for (uint32_t i = 0; i < v->count; i++) {
        const struct history_point *p = &v->points[i];

        begun |= p->known;
        if (begun && !p->known) {
            json_null(o);
        } else if (begun) {
            json_open_array(o);
            json_int(o, (int64_t)p->first);
            json_int(o, (int64_t)p->second);
            json_close(o);
        }
    }
    json_close(o);
}

/* Without points if nothing is known of it. */
static void
put_level(struct json_out *o, struct str key, unsigned level,
          struct history_view *v)
{
    if (!history_read(key, level, v)) {
        v->count = 0;
        v->age_ms = 0;
    }
    json_open(o);
    json_put_int(o, "step_ms", history_levels[level].step_ms);
    json_put_int(o, "age_ms", v->age_ms);
    json_key(o, "points");
    put_points(o, v);
    json_close(o);
}

static void
put_history(struct json_out *o, struct str key)
{
    struct history_view *v = mem_alloc(sizeof(*v));

    json_open(o);
    if (key.len > 0) {
        json_put_str(o, "key", key);
    } else {
        json_put_null(o, "key");
    }
    json_key(o, "series");
    json_open_array(o);
    json_str(o, key.len > 0 ? STR("video") : STR("in"));
    json_str(o, key.len > 0 ? STR("audio") : STR("out"));
    json_close(o);
    json_key(o, "levels");
    json_open_array(o);
    for (unsigned level = 0; level < HISTORY_LEVELS; level++) {
        put_level(o, key, level, v);
    }
    json_close(o);
    json_close(o);
    mem_free(&v);
}

enum http_result
history_answer(struct http_request *r, struct str key)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, ANSWER_MAX);
    json_begin(&o, &b, false);
    put_history(&o, key);
    if (json_end(&o) == -1) {
        http_error(r, 500, "the answer is too long");
    } else {
        http_reply(r, 200, STAT_JSON, buf_str(&b));
    }
    buf_clear(&b);
    return HTTP_DONE;
}
