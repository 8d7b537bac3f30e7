/*
 * A fragment of MP4 up to its samples: messages, "moof", and the head of
 * "mdat".
 *
 * Values that all samples of a run share stand once, in "tfhd".
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "media/mp4_impl.h"

enum { /* of a sample: whether it depends on others, and is one to start at */
       SAMPLE_KEY = 0x02000000,
       SAMPLE_OTHER = 0x01010000,
};

enum { /* flags of "tfhd" */
       RUN_DURATION = 0x08,
       RUN_FLAGS = 0x20,
       BASE_IS_MOOF = 0x20000,
};

enum { /* flags of "trun" */
       DATA_OFFSET = 0x001,
       FIRST_FLAGS = 0x004,
       EACH_DURATION = 0x100,
       EACH_SIZE = 0x200,
       EACH_FLAGS = 0x400,
       EACH_CTS = 0x800,
};

/* How a run is written. */
struct plan {
    uint32_t head, run; /* flags of "tfhd" and "trun" */
    size_t each;        /* bytes of a sample in "trun" */
    size_t size;        /* of "traf" */
    uint64_t payload;   /* bytes of the samples */
};

static uint32_t
flags_of(const struct media_sample *s)
{
    return s->key ? SAMPLE_KEY : SAMPLE_OTHER;
}

static void
plan_samples(struct plan *p, const struct media_run *r)
{
    const struct media_sample *s = r->samples;
    bool keys_differ = false;

    for (size_t i = 0; i < r->count; i++) {
        p->payload += s[i].size;
        p->run |= s[i].cts != 0 ? EACH_CTS : 0;
        p->run |= s[i].duration != s[0].duration ? EACH_DURATION : 0;
        keys_differ = keys_differ || (i > 1 && s[i].key != s[1].key);
    }
    if (keys_differ) {
        p->run |= EACH_FLAGS;
    } else if (r->count > 1 && s[0].key != s[1].key) {
        p->run |= FIRST_FLAGS;
    }
}

static struct plan
plan_of(const struct media_run *r)
{
    struct plan p = { .head = BASE_IS_MOOF, .run = DATA_OFFSET | EACH_SIZE };

    plan_samples(&p, r);
    p.head |= (p.run & EACH_DURATION) == 0 ? RUN_DURATION : 0;
    p.head |= (p.run & EACH_FLAGS) == 0 ? RUN_FLAGS : 0;
    for (uint32_t flag = EACH_DURATION; flag <= EACH_CTS; flag <<= 1) {
        p.each += (p.run & flag) != 0 ? 4 : 0;
    }
    p.size = 8 + 16 + ((p.head & RUN_DURATION) != 0 ? 4 : 0) +
             ((p.head & RUN_FLAGS) != 0 ? 4 : 0) + 20 + 20 +
             ((p.run & FIRST_FLAGS) != 0 ? 4 : 0) + r->count * p.each;
    return p;
}

static void
add_head(struct mp4_out *o, const struct media_run *r, const struct plan *p,
         uint32_t id)
{
    size_t box = mp4_open_full(o, "tfhd", 0, p->head);

    mp4_u32(o, id);
    if ((p->head & RUN_DURATION) != 0) {
        mp4_u32(o, r->samples[0].duration);
    }
    if ((p->head & RUN_FLAGS) != 0) {
        mp4_u32(o, flags_of(&r->samples[r->count > 1 ? 1 : 0]));
    }
    mp4_close(o, box);
    box = mp4_open_full(o, "tfdt", 1, 0);
    mp4_u64(o, r->decode_time);
    mp4_close(o, box);
}

static void
add_sample(struct mp4_out *o, const struct media_sample *s,
           const struct plan *p)
{
    const uint32_t values[] = { s->duration, s->size, flags_of(s),
                                (uint32_t)s->cts };
    uint8_t bytes[sizeof(values)];
    size_t n = 0;

    for (unsigned i = 0; i < 4; i++) {
        if ((p->run & (uint32_t)EACH_DURATION << i) != 0) {
            put_be32(bytes + n, values[i]);
            n += 4;
        }
    }
    mp4_add(o, bytes, n);
}

static void
add_run(struct mp4_out *o, const struct media_run *r, const struct plan *p,
        uint64_t offset)
{
    size_t box = mp4_open_full(o, "trun", 1, p->run);

    mp4_u32(o, (uint32_t)r->count);
    mp4_u32(o, (uint32_t)offset);
    if ((p->run & FIRST_FLAGS) != 0) {
        mp4_u32(o, flags_of(&r->samples[0]));
    }
    for (size_t i = 0; i < r->count; i++) {
        add_sample(o, &r->samples[i], p);
    }
    mp4_close(o, box);
}

static void
add_track_fragments(struct mp4_out *o, const struct media_fragment *f,
                    const struct plan *plans, uint64_t offset)
{
    for (size_t i = 0; i < f->count; i++) {
        size_t box;

        if (f->runs[i].count == 0) {
            continue;
        }
        box = mp4_open(o, "traf");
        add_head(o, &f->runs[i], &plans[i], (uint32_t)i + 1);
        add_run(o, &f->runs[i], &plans[i], offset);
        mp4_close(o, box);
        offset += plans[i].payload;
    }
}

int
mp4_fragment(struct buf *out, const struct media_fragment *f)
{
    struct mp4_out o = mp4_out_to(out);
    struct plan plans[MEDIA_TRACKS_MAX];
    uint64_t head = 8 + 16, payload = 0;
    size_t box, sequence;

    if (f->count > MEDIA_TRACKS_MAX) {
        return -1;
    }
    for (size_t i = 0; i < f->count; i++) {
        plans[i] = plan_of(&f->runs[i]);
        head += f->runs[i].count > 0 ? plans[i].size : 0;
        payload += plans[i].payload;
    }
    if (head + 8 + payload > INT32_MAX) { /* offsets have a sign */
        return -1;
    }
    for (size_t i = 0; i < f->event_count; i++) {
        mp4_event(&o, &f->events[i]);
    }
    box = mp4_open(&o, "moof");
    sequence = mp4_open_full(&o, "mfhd", 0, 0);
    mp4_u32(&o, f->sequence);
    mp4_close(&o, sequence);
    add_track_fragments(&o, f, plans, head + 8);
    mp4_close(&o, box);
    mp4_u32(&o, (uint32_t)payload + 8);
    mp4_add(&o, "mdat", 4);
    return mp4_out_end(&o);
}
