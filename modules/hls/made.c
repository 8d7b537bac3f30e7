/*
 * Two tables by hash: objects, and texts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "made.h"

#include <string.h>

#include "base/mem.h"
#include "count.h"

#define CHAINS 1024u /* a power of two */
#define OBJECTS_MAX 8192u
#define TEXTS_MAX 512u
#define TEXT_BYTES ((size_t)1024 * 1024)

static struct {
    struct list chains[CHAINS]; /* struct object, by chain */
    struct list age;            /* the one asked for longest ago first */
    struct list texts[CHAINS];
    struct list text_age;
    size_t count, text_count;
    size_t memory, copies; /* bytes of boxes; of copies */
    size_t allowed;
    bool ready;
} cache;

static void
prepare(void)
{
    if (cache.ready) {
        return;
    }
    for (unsigned i = 0; i < CHAINS; i++) {
        list_init(&cache.chains[i]);
        list_init(&cache.texts[i]);
    }
    list_init(&cache.age);
    list_init(&cache.text_age);
    cache.ready = true;
}

void
made_allow(int64_t bytes)
{
    prepare();
    if ((size_t)bytes > cache.allowed) {
        cache.allowed = (size_t)bytes;
    }
}

size_t
made_copies(void)
{
    return cache.copies;
}

/* ---- objects ---- */

static uint64_t
mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}

static struct list *
chain_of(const struct object_key *k)
{
    uint64_t h = mix(k->word, k->number);

    h = mix(h, (uint64_t)k->part);
    h = mix(h, (uint64_t)(unsigned char)k->rendition[0] << 8 |
                   (unsigned char)k->rendition[1]);
    return &cache.chains[h & (CHAINS - 1)];
}

static bool
same_key(const struct object_key *a, const struct object_key *b)
{
    return a->word == b->word && a->number == b->number && a->part == b->part &&
           a->container == b->container &&
           strcmp(a->rendition, b->rendition) == 0;
}

static struct object *
find_object(struct str name, const struct object_key *key)
{
    LIST_EACH (node, chain_of(key)) {
        struct object *o = LIST_ITEM(node, struct object, chain);

        if (same_key(&o->key, key) && str_eq(str_from(o->name), name)) {
            return o;
        }
    }
    return NULL;
}

static void
lose_copy(struct object *o)
{
    if (o->copy != NULL) {
        cache.copies -= (size_t)o->size;
        hls_set_copies(cache.copies);
        mem_free(&o->copy);
    }
}

static void
take_out(struct object *o)
{
    list_remove(&o->chain);
    list_remove(&o->age);
    cache.count--;
    cache.memory -= object_memory(o);
    o->cached = false;
    if (o->users == 0) {
        lose_copy(o);
        object_free(&o);
    }
}

/* Takes out what is not used until there is room for so many bytes more. */
static void
make_room(size_t bytes)
{
    LIST_EACH (node, &cache.age) {
        struct object *o = LIST_ITEM(node, struct object, age);
        size_t held = cache.memory + cache.copies + bytes;

        if (cache.count < OBJECTS_MAX && held <= cache.allowed) {
            return;
        }
        if (o->users == 0) {
            take_out(o);
        }
    }
}

static void
put_in(struct str name, struct object *o)
{
    str_copy(o->name, sizeof(o->name), name);
    make_room(object_memory(o));
    list_append(chain_of(&o->key), &o->chain);
    list_append(&cache.age, &o->age);
    cache.count++;
    cache.memory += object_memory(o);
    o->cached = true;
    hls_count_made();
}

enum object_found
made_find(const struct live_cuts *c, struct str name,
          const struct object_key *key, struct object **out)
{
    struct object *o = find_object(name, key);

    if (o != NULL && !object_is_kept(o, c)) {
        take_out(o);
        return OBJECT_GONE;
    }
    if (o == NULL) {
        enum object_found found = object_make(c, key, &o);

        if (found != OBJECT_HERE) {
            return found;
        }
        put_in(name, o);
    }
    list_remove(&o->age);
    list_append(&cache.age, &o->age);
    o->users++;
    *out = o;
    return OBJECT_HERE;
}

void
made_drop(struct object *o)
{
    o->users--;
    if (o->users == 0 && !o->cached) {
        lose_copy(o);
        object_free(&o);
    }
}

void
made_forget(struct object *o)
{
    if (o->cached) {
        take_out(o);
    }
}

int
made_copy(struct object *o)
{
    if (o->copy != NULL) {
        return 0;
    }
    make_room((size_t)o->size);
    if (cache.memory + cache.copies + o->size > cache.allowed ||
        object_copy(o) == -1) {
        return -1;
    }
    cache.copies += (size_t)o->size;
    hls_set_copies(cache.copies);
    return 0;
}

/* ---- texts ---- */

static struct list *
text_chain(const struct text_key *k)
{
    uint64_t h = mix(mix(k->word, k->end), (unsigned char)k->rendition[0]);

    return &cache.texts[h & (CHAINS - 1)];
}

struct text *
made_text(struct str name, const struct text_key *key)
{
    LIST_EACH (node, text_chain(key)) {
        struct text *t = LIST_ITEM(node, struct text, chain);

        if (t->key.word == key->word && t->key.end == key->end &&
            t->key.container == key->container && t->key.over == key->over &&
            t->key.skip == key->skip && t->key.parts == key->parts &&
            t->key.beside == key->beside &&
            strcmp(t->key.rendition, key->rendition) == 0 &&
            strcmp(t->key.query, key->query) == 0 &&
            str_eq(str_from(t->name), name)) {
            return t;
        }
    }
    return NULL;
}

void
made_drop_text(struct text *t)
{
    list_remove(&t->chain);
    list_remove(&t->age);
    buf_clear(&t->body);
    buf_clear(&t->gzip);
    mem_free(&t);
    cache.text_count--;
}

struct text *
made_add_text(struct str name, const struct text_key *key)
{
    struct text *t = mem_zero(sizeof(*t));

    if (cache.text_count >= TEXTS_MAX) {
        made_drop_text(LIST_ITEM(cache.text_age.next, struct text, age));
    }
    t->key = *key;
    str_copy(t->name, sizeof(t->name), name);
    buf_init(&t->body, TEXT_BYTES);
    buf_init(&t->gzip, TEXT_BYTES);
    list_init(&t->chain);
    list_init(&t->age);
    list_append(text_chain(key), &t->chain);
    list_append(&cache.text_age, &t->age);
    cache.text_count++;
    return t;
}
