/*
 * The path of an RTMP URL taken apart.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/target.h"

#include "rtmp/name.h"

/* Where the application ends in a path without a query; its length if no
 * name follows. */
static size_t
app_end(struct str path)
{
    size_t first = str_find(path, '/', 0);
    size_t second = str_find(path, '/', first + 1);

    if (second >= path.len || str_find(path, ':', first) < second ||
        str_eq(str_first(path, first), STR("ondemand"))) {
        return first;
    }
    return second;
}

static bool
has_empty_segment(struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '/' && (i == 0 || path.ptr[i - 1] == '/')) {
            return true;
        }
    }
    return false;
}

int
rtmp_target_split(struct rtmp_target *t, struct str path, struct errmsg *err)
{
    if (!rtmp_name_is_clean(path)) {
        return errmsg_set(err, "a control character or a byte that is not "
                               "UTF-8 in the URL");
    }
    struct str rest = str_starts(path, STR("/")) ? str_skip(path, 1) : path;
    size_t query = str_find(rest, '?', 0);
    size_t end = app_end(str_first(rest, query));

    if (end == query) { /* the arguments are the application's */
        end = str_find(rest, '/', query);
    }
    t->app = str_first(rest, end);
    rest = str_skip(rest, end + 1);
    t->name = str_first(rest, str_find(rest, '?', 0));
    t->args = str_skip(rest, t->name.len + 1);
    if (str_find(t->app, '?', 0) == 0) {
        return errmsg_set(err, "the URL names no application "
                               "(rtmp://HOST/APPLICATION/STREAM)");
    }
    struct str app = str_first(t->app, str_find(t->app, '?', 0));

    if (has_empty_segment(t->name) || has_empty_segment(app) ||
        str_ends(app, STR("/"))) {
        return errmsg_set(err, "an empty segment (\"//\") in the URL's path");
    }
    return 0;
}
