/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_identity.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/tls.h"

#define KEPT 8 /* generations: old workers may be forked anew */

struct known {
    struct list link;
    char *certificate, *key;       /* owned: paths */
    struct tls_identity *identity; /* owned */
    uint32_t generation;           /* the last that has it */
};

static struct list all = { &all, &all }; /* struct known, of the process */

static struct known *
find(const struct upstream_tls_settings *t)
{
    LIST_EACH (node, &all) {
        struct known *k = LIST_ITEM(node, struct known, link);

        if (str_eq(str_from(k->certificate), t->certificate) &&
            str_eq(str_from(k->key), t->certificate_key)) {
            return k;
        }
    }
    return NULL;
}

static struct known *
add(const struct upstream_tls_settings *t)
{
    struct known *k = mem_zero(sizeof(*k));

    k->certificate = mem_dup(t->certificate.ptr, t->certificate.len);
    k->key = mem_dup(t->certificate_key.ptr, t->certificate_key.len);
    list_append(&all, &k->link);
    return k;
}

static void
learn(const struct upstream_tls_settings *t, uint32_t generation)
{
    const struct tls_pair pair = { t->certificate, t->certificate_key };
    struct known *k = find(t);
    struct errmsg err;
    struct tls_identity *now;

    k = k != NULL ? k : add(t);
    if (k->identity != NULL && k->generation == generation) {
        return; /* another upstream has it, too */
    }
    k->generation = generation;
    now = tls_identity_read(&pair, &err);
    if (now == NULL) {
        log_error("upstreams: %s", err.text);
        return;
    }
    tls_identity_free(&k->identity);
    k->identity = now;
}

static void
forget(uint32_t generation)
{
    struct list *at = all.next;

    while (at != &all) {
        struct known *k = LIST_ITEM(at, struct known, link);

        at = at->next;
        if (generation - k->generation > KEPT) {
            list_remove(&k->link);
            tls_identity_free(&k->identity);
            mem_free(&k->certificate);
            mem_free(&k->key);
            mem_free(&k);
        }
    }
}

void
upstream_identities_learn(const struct settings *s, uint32_t generation)
{
    const struct conf_groups *groups = &upstream_root_of(s)->upstreams;
    const struct upstream_settings *u = groups->items;

    for (size_t i = 0; i < groups->count; i++) {
        const struct upstream_tls_settings *t = upstream_tls_of(&u[i]);

        if (t != NULL && t->certificate.len > 0) {
            learn(t, generation);
        }
    }
    forget(generation);
}

int
upstream_identity(const struct upstream_tls_settings *t,
                  const struct tls_identity **out, struct errmsg *err)
{
    const struct known *k;

    *out = NULL;
    if (t->certificate.len == 0) {
        return 0;
    }
    k = find(t);
    if (k == NULL || k->identity == NULL) {
        return errmsg_set(err, "certificate %.*s could not be read",
                          STR_ARGS(t->certificate));
    }
    *out = k->identity;
    return 0;
}
