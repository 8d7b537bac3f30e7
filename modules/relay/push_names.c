/*
 * Names and patterns of pushes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "push_names.h"

bool
push_names_many(struct str text)
{
    return text.len == 0 || str_starts(text, STR("~ ")) ||
           str_starts(text, STR("~* "));
}

int
push_names_read(struct pool *pool, struct str text, struct push_names *out,
                struct errmsg *err)
{
    bool any_case = str_starts(text, STR("~* "));

    *out = (struct push_names){ .text = text, .many = push_names_many(text) };
    if (text.len == 0 || !out->many) {
        return 0;
    }
    out->pattern = regex_new(pool, str_trim(str_skip(text, any_case ? 2 : 1)),
                             any_case ? REGEX_NOCASE : REGEX_CASE, err);
    return out->pattern != NULL ? 0 : -1;
}

bool
push_names_have(const struct push_names *n, struct str stream)
{
    if (n->pattern != NULL) {
        return regex_match(n->pattern, stream, NULL) == REGEX_YES;
    }
    return n->many || str_eq(n->text, stream);
}
