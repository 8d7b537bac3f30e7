/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer_cache.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define BUCKETS 1024
#define PAGE 4096
#define BLOCK \
    512 /* bytes of a block of stat(), which is no block of the disk */

struct entry {
    struct list link;   /* in cache.used: the newest first */
    struct list bucket; /* in cache.buckets */
    uint8_t key[DIGEST_SHA256];
    struct cache_answer answer;
    int64_t cost; /* bytes */
};

struct answer_cache {
    int64_t most, bytes;
    size_t files, count;
    struct list used;
    struct list buckets[BUCKETS];
};

struct answer_cache *
answer_cache_new(void)
{
    struct answer_cache *c = mem_zero(sizeof(*c));

    list_init(&c->used);
    for (size_t i = 0; i < BUCKETS; i++) {
        list_init(&c->buckets[i]);
    }
    return c;
}

/* A child may have made its file larger than what is read of it. */
static int64_t
cost_of(const struct cache_answer *a)
{
    int64_t bytes = (a->length + PAGE - 1) / PAGE * PAGE;
    struct stat st;

    if (fstat(a->fd, &st) == 0 && (int64_t)st.st_blocks * BLOCK > bytes) {
        bytes = (int64_t)st.st_blocks * BLOCK;
    }
    return bytes + CACHE_OVERHEAD;
}

static void
forget(struct answer_cache *c, struct entry *e)
{
    c->bytes -= e->cost;
    c->count--;
    list_remove(&e->link);
    list_remove(&e->bucket);
    close(e->answer.fd);
    mem_free(&e);
}

/* Room for one more of that cost. */
static void
make_room(struct answer_cache *c, int64_t bytes, size_t files)
{
    while (!list_empty(&c->used) &&
           (c->bytes + bytes > c->most || c->count + files > c->files)) {
        forget(c, LIST_ITEM(c->used.prev, struct entry, link));
    }
}

void
answer_cache_bound(struct answer_cache *c, int64_t most, size_t files)
{
    c->most = most;
    c->files = files;
    make_room(c, 0, 0);
}

void
answer_cache_forget_all(struct answer_cache *c)
{
    while (!list_empty(&c->used)) {
        forget(c, LIST_ITEM(c->used.next, struct entry, link));
    }
}

void
answer_cache_free(struct answer_cache **c)
{
    if (*c != NULL) {
        answer_cache_forget_all(*c);
        mem_free(c);
    }
}

/* A digest is as good as random. */
static struct list *
bucket_of(struct answer_cache *c, const uint8_t *key)
{
    return &c->buckets[(key[0] | (unsigned)key[1] << 8) % BUCKETS];
}

static struct entry *
find(struct answer_cache *c, const uint8_t *key)
{
    LIST_EACH (node, bucket_of(c, key)) {
        struct entry *e = LIST_ITEM(node, struct entry, bucket);

        if (memcmp(e->key, key, DIGEST_SHA256) == 0) {
            return e;
        }
    }
    return NULL;
}

const struct cache_answer *
answer_cache_find(struct answer_cache *c, const uint8_t key[DIGEST_SHA256])
{
    struct entry *e = find(c, key);

    if (e == NULL) {
        return NULL;
    }
    list_remove(&e->link);
    list_prepend(&c->used, &e->link);
    return &e->answer;
}

bool
answer_cache_add(struct answer_cache *c, const uint8_t key[DIGEST_SHA256],
                 const struct cache_answer *a)
{
    struct entry *e = find(c, key);
    int64_t cost = cost_of(a);

    if (e != NULL) { /* two were made at the same time */
        forget(c, e);
    }
    if (cost > c->most || c->files == 0) {
        close(a->fd);
        return false;
    }
    make_room(c, cost, 1);
    e = mem_zero(sizeof(*e));
    memcpy(e->key, key, DIGEST_SHA256);
    e->answer = *a;
    e->cost = cost;
    c->bytes += cost;
    c->count++;
    list_prepend(&c->used, &e->link);
    list_append(bucket_of(c, key), &e->bucket);
    return true;
}

size_t
answer_cache_entries(const struct answer_cache *c)
{
    return c->count;
}

int64_t
answer_cache_bytes(const struct answer_cache *c)
{
    return c->bytes;
}
