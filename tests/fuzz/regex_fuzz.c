/*
 * Fuzz target: patterns and the texts that they are tried on.
 *
 * A pattern is refused with a reason or can be tried; what its groups took lies
 * in the text.
 *
 * covers: src/base/regex.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/regex.h"

static void
look_at(const struct regex_match *m, struct str text)
{
    require(m->count >= 1 && m->count <= REGEX_GROUPS_MAX);
    for (size_t i = 0; i < m->count; i++) {
        struct str g = m->groups[i];

        require(g.len == 0 ||
                (g.ptr >= text.ptr && g.ptr + g.len <= text.ptr + text.len));
    }
}

/* The pattern is the first line, the text is behind it. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_of(data, size);
    enum regex_case letters = take_byte(&text) & 1 ? REGEX_NOCASE : REGEX_CASE;
    struct str pattern = str_cut(&text, '\n');
    struct pool *pool = pool_new(256);
    struct errmsg err = { "" };
    struct regex *r = regex_new(pool, pattern, letters, &err);
    struct regex_match m;

    require((r == NULL) == (err.text[0] != '\0'));
    if (r != NULL) {
        if (regex_match(r, text, &m) == REGEX_YES) {
            look_at(&m, text);
            require(m.count == regex_groups(r));
        }
        for (size_t i = 0; i < regex_groups(r); i++) {
            struct str name = regex_group_name(r, i);

            require(name.len == 0 || regex_group(r, name) >= 0);
        }
        require(regex_group(r, text) < (int)regex_groups(r));
    }
    pool_free(&pool);
    return 0;
}
