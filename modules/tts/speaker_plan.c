/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "speaker_plan.h"

#include "base/pack.h"
#include "catalogue.h"

#define NUMBERS 10
#define INSTANCE_BYTES (3 * PACK_TEXT + 1 + (NUMBERS + 1) * sizeof(int64_t))

/* ---- writing ---- */

static void
put_directories(struct pack *out, const struct tts_instance *i)
{
    struct str system = str_from(catalogue_system_directory());

    pack_int(out, (int64_t)i->data_dir.count + (system.len > 0));
    for (size_t k = 0; k < i->data_dir.count; k++) {
        pack_path(out, i->data_dir.items[k]);
    }
    if (system.len > 0) {
        pack_text(out, system);
    }
}

static void
put_instance(struct pack *out, const struct tts_instance *i)
{
    pack_text(out, i->name);
    pack_text(out, i->voice);
    pack_text(out, i->speaker);
    put_directories(out, i);
    pack_u8(out, i->unknown_voice == TTS_UNKNOWN_DEFAULT);
    pack_int(out, i->children);
    pack_int(out, i->queue);
    pack_int(out, i->max_paused);
    pack_int(out, i->cache);
    pack_int(out, i->buffer);
    pack_int(out, i->max_audio);
    pack_int(out, i->timeout);
    pack_int(out, i->cpu);
    pack_int(out, i->memory);
    pack_int(out, i->min_rate);
}

void
speaker_plan_write(const struct settings *s, struct buf *to)
{
    const struct conf_groups *all = &tts_root_of(s)->instances;
    const struct tts_instance *items = all->items;
    struct pack out = { .to = to };

    pack_int(&out, (int64_t)all->count);
    for (size_t i = 0; i < all->count; i++) {
        put_instance(&out, &items[i]);
    }
}

/* ---- reading ---- */

static void
get_directories(struct unpack *in, struct pool *pool, struct plan_instance *i)
{
    size_t count = unpack_count(in, PACK_TEXT);

    in->bad |= count > PLAN_DIRECTORIES;
    for (size_t k = 0; k < count && !in->bad; k++) {
        i->directories[i->directory_count++] = pool_str(pool, unpack_text(in));
    }
}

static void
get_instance(struct unpack *in, struct pool *pool, struct plan_instance *i)
{
    i->name = pool_str(pool, unpack_text(in));
    i->voice = pool_str(pool, unpack_text(in));
    i->speaker = pool_str(pool, unpack_text(in));
    get_directories(in, pool, i);
    i->lenient = unpack_u8(in) != 0;
    i->children = unpack_int(in);
    i->queue = unpack_int(in);
    i->max_paused = unpack_int(in);
    i->cache = unpack_int(in);
    i->buffer = unpack_int(in);
    i->max_audio = unpack_int(in);
    i->timeout = unpack_int(in);
    i->cpu = unpack_int(in);
    i->memory = unpack_int(in);
    i->min_rate = unpack_int(in);
}

int
speaker_plan_read(struct str bytes, struct pool *pool, struct speaker_plan *out)
{
    struct unpack in = { .rest = bytes };
    size_t count = unpack_count(&in, INSTANCE_BYTES);

    in.bad |= count > TTS_INSTANCES;
    out->count = in.bad ? 0 : count;
    out->items = pool_zero(pool, (out->count + 1) * sizeof(*out->items));
    for (size_t i = 0; i < out->count && !in.bad; i++) {
        get_instance(&in, pool, &out->items[i]);
    }
    return unpack_ends(&in) ? 0 : -1;
}

const struct plan_instance *
speaker_plan_find(const struct speaker_plan *p, struct str name)
{
    for (size_t i = 0; i < p->count; i++) {
        if (str_eq(p->items[i].name, name)) {
            return &p->items[i];
        }
    }
    return NULL;
}
