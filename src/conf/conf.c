/*
 * Loading a configuration.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/layout.h"

#include "base/log.h"
#include "base/mem.h"
#include "conf/expand.h"
#include "conf/fill.h"
#include "conf/reader.h"

static struct conf *
load(const char *path, const struct conf_key *keys, size_t size,
     bool *variables, char **mistakes)
{
    struct pool *pool = pool_new(4096);
    struct conf *c = pool_zero(pool, sizeof(*c));
    struct source source;

    c->pool = pool;
    c->keys = keys;
    c->settings = pool_zero(pool, size);
    source_init(&source, pool);
    source_read(&source, path);
    if (!source.broken) {
        conf_fill(&source, keys, c->settings, pool, &c->origins, variables);
    } else {
        *variables = false;
    }
    *mistakes = source_report(&source);
    source_clear(&source);
    if (*mistakes != NULL) {
        pool_free(&pool);
        return NULL;
    }
    return c;
}

struct conf *
conf_load(const char *path, const struct conf_key *keys, size_t size,
          char **mistakes)
{
    bool variables = true;
    struct conf *c = load(path, keys, size, &variables, mistakes);
    struct str first;
    char *before;

    if (c != NULL || !variables) {
        return c;
    }
    before = *mistakes;
    variables = false;
    c = load(path, keys, size, &variables, mistakes);
    if (c != NULL) {
        first = str_from(before);
        first.len = str_find(first, '\n', 0);
        log_warn("conf: variables of the environment are left out, with which "
                 "the file is wrong: %.*s",
                 STR_ARGS(first));
    }
    mem_free(&before);
    return c;
}

void
conf_free(struct conf **c)
{
    struct pool *pool;

    if (*c != NULL) {
        pool = (*c)->pool; /* in which *c lies */
        *c = NULL;
        pool_free(&pool);
    }
}

const void *
conf_settings(const struct conf *c)
{
    return c->settings;
}

struct pool *
conf_pool(const struct conf *c)
{
    return c->pool;
}

static void
peek(struct source *source, const char *key, char **value)
{
    const struct conf_key row = { .name = key, .type = CONF_STRING };
    const struct scope root = { .name = NULL };
    struct reader r = { .source = source,
                        .pool = source->pool,
                        .room = EXPAND_ALL_MAX };
    const config_setting_t *found;
    struct scalar v;
    config_t tree;

    if (conf_parse(source, &tree) == 0 &&
        (found = config_lookup(&tree, key)) != NULL &&
        reader_value(&r, &root, &row, found, &v) && v.kind == SCALAR_STRING) {
        *value = mem_dup(v.text.ptr, v.text.len);
    }
    config_destroy(&tree);
}

int
conf_peek(const char *path, const char *key, char **value, char **mistakes)
{
    struct pool *pool = pool_new(1024);
    struct source source;

    *value = *mistakes = NULL;
    source_init(&source, pool);
    source_read(&source, path);
    if (!source.broken) {
        peek(&source, key, value);
    }
    if (*value == NULL) {
        *mistakes = source_report(&source);
    }
    source_clear(&source);
    pool_free(&pool);
    return *mistakes == NULL ? 0 : -1;
}
