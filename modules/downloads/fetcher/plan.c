/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/plan.h"

#include "app/settings/settings.h"
#include "base/pack.h"
#include "net/egress.h"

#define NUMBERS 15 /* of an instance */
#define INSTANCE_BYTES (8 * PACK_TEXT + 4 + NUMBERS * sizeof(int64_t))

/* ---- writing ---- */

static void
put_instance(struct pack *out, const struct downloads_instance *i)
{
    pack_text(out, i->name);
    pack_path(out, i->directory);
    pack_text(out, i->engine);
    pack_path(out, i->engine_path);
    pack_path(out, i->ffmpeg_path);
    pack_path(out, i->engine_options_file);
    pack_text(out, i->template);
    pack_text(out, i->playlist_template);
    pack_int(out, i->max_concurrent);
    pack_int(out, i->max_extractions);
    pack_int(out, i->extract_timeout);
    pack_int(out, i->timeout);
    pack_int(out, i->max_entries);
    pack_int(out, i->max_done);
    pack_int(out, i->clear_completed_after);
    pack_int(out, i->min_free);
    pack_int(out, i->max_file_size);
    pack_int(out, i->max_memory);
    pack_int(out, i->max_processes);
    pack_int(out, i->max_cpu);
    pack_int(out, i->max_files);
    pack_int(out, i->max_bytes);
    pack_int(out, i->playlist_item_limit);
    pack_u8(out, i->playlist_strict_mode);
    pack_u8(out, i->delete_files);
    pack_u8(out, i->custom_dirs);
    pack_u8(out, i->create_custom_dirs);
}

void
fetch_plan_write(const struct settings *s, struct buf *to)
{
    const struct conf_groups *all = &downloads_root_of(s)->instances;
    const struct downloads_instance *items = all->items;
    struct pack out = { .to = to };

    pack_u8(&out, s->store.backend == STORE_POSTGRES);
    pack_int(&out, (int64_t)s->egress.count);
    for (size_t i = 0; i < s->egress.count; i++) {
        pack_text(&out, s->egress.items[i]);
    }
    pack_int(&out, (int64_t)all->count);
    for (size_t i = 0; i < all->count; i++) {
        put_instance(&out, &items[i]);
    }
}

/* ---- reading ---- */

static void
get_instance(struct unpack *in, struct pool *pool, struct downloads_instance *i)
{
    i->name = pool_str(pool, unpack_text(in));
    i->directory = pool_str(pool, unpack_text(in));
    i->engine = pool_str(pool, unpack_text(in));
    i->engine_path = pool_str(pool, unpack_text(in));
    i->ffmpeg_path = pool_str(pool, unpack_text(in));
    i->engine_options_file = pool_str(pool, unpack_text(in));
    i->template = pool_str(pool, unpack_text(in));
    i->playlist_template = pool_str(pool, unpack_text(in));
    i->max_concurrent = unpack_int(in);
    i->max_extractions = unpack_int(in);
    i->extract_timeout = unpack_int(in);
    i->timeout = unpack_int(in);
    i->max_entries = unpack_int(in);
    i->max_done = unpack_int(in);
    i->clear_completed_after = unpack_int(in);
    i->min_free = unpack_int(in);
    i->max_file_size = unpack_int(in);
    i->max_memory = unpack_int(in);
    i->max_processes = unpack_int(in);
    i->max_cpu = unpack_int(in);
    i->max_files = unpack_int(in);
    i->max_bytes = unpack_int(in);
    i->playlist_item_limit = unpack_int(in);
    i->playlist_strict_mode = unpack_u8(in) != 0;
    i->delete_files = unpack_u8(in) != 0;
    i->custom_dirs = unpack_u8(in) != 0;
    i->create_custom_dirs = unpack_u8(in) != 0;
    in->bad |= i->name.len == 0 || i->name.len > DOWNLOADS_NAME_MAX ||
               i->max_concurrent < 1 || i->max_entries < 1;
}

static void
get_egress(struct unpack *in, struct pool *pool, struct fetch_plan *out)
{
    size_t count = unpack_count(in, PACK_TEXT);
    struct str *rules = pool_zero(pool, (count + 1) * sizeof(*rules));
    struct errmsg why;

    for (size_t i = 0; i < count && !in->bad; i++) {
        rules[i] = pool_str(pool, unpack_text(in));
        in->bad = in->bad || egress_check_rule(rules[i], &why) == -1;
    }
    out->egress = rules;
    out->egress_count = in->bad ? 0 : count;
}

int
fetch_plan_read(struct str bytes, struct pool *pool, struct fetch_plan *out)
{
    struct unpack in = { .rest = bytes };
    size_t count;

    out->shared = unpack_u8(&in) != 0;
    get_egress(&in, pool, out);
    count = unpack_count(&in, INSTANCE_BYTES);
    in.bad |= count > DOWNLOADS_INSTANCES;
    out->count = in.bad ? 0 : count;
    out->items = pool_zero(pool, (out->count + 1) * sizeof(*out->items));
    for (size_t i = 0; i < out->count && !in.bad; i++) {
        get_instance(&in, pool, &out->items[i]);
    }
    return unpack_ends(&in) ? 0 : -1;
}
