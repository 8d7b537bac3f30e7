/*
 * Fuzz target: a file of media types.
 *
 * It is refused with its name and a line, or every ending in it has a type
 * that can stand in a header.
 *
 * covers: modules/static/types.c:types_read,add_line,add,is_type,is_ending
 * covers: modules/static/types.c:next_word,next_token,ends_word,read_endings
 * covers: modules/static/types.c:read_nginx,read_apache
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/static/types.h"

/* The first line is a name that is looked up, the file is behind it. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct conf_strings none = { NULL, 0 };
    const struct types_rules rules = { STR_NONE, &none, STR("x/y"),
                                       STR("utf-8") };
    struct str bytes = str_of(data, size), name = str_cut(&bytes, '\n');
    struct errmsg err = { "" };
    struct types *t = types_new(&rules, &err);
    struct pool *pool = pool_new(256);

    require(t != NULL);
    if (types_read(t, STR("file"), bytes, &err) == -1) {
        require(str_starts(str_from(err.text), STR("file:")));
    } else {
        struct str type = str_from(types_find(t, pool, name));

        require(str_find(type, '/', 0) < type.len);
        require(str_find(type, '\n', 0) == type.len);
    }
    pool_free(&pool);
    types_free(&t);
    return 0;
}
