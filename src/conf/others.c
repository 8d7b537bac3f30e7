/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/others.h"

#include <string.h>

#define FEW 2 /* so many known names make a configuration of another server */
#define LOOKED_AT 500 /* statements at the beginning of a file */

static const struct other_row *const nginx_tables[] = { other_rows_nginx,
                                                        other_rows_nginx_http,
                                                        NULL };
static const struct other_row *const rtmp_tables[] = { other_rows_rtmp, NULL };
static const struct other_row *const srs_tables[] = { other_rows_srs, NULL };
static const struct other_row *const mediamtx_tables[] = { other_rows_mediamtx,
                                                           NULL };

enum { NGINX, NGINX_RTMP, SRS, MEDIAMTX, SERVERS };

static const struct other_server servers[SERVERS] = {
    [NGINX] = { "nginx", "from-nginx-rtmp.md", "http", nginx_tables },
    [NGINX_RTMP] = { "nginx-rtmp", "from-nginx-rtmp.md", NULL, rtmp_tables },
    [SRS] = { "SRS", "from-srs.md", NULL, srs_tables },
    [MEDIAMTX] = { "MediaMTX", "from-mediamtx.md", NULL, mediamtx_tables },
};

/* ---- finding a name ---- */

static bool
fits(struct str pattern, struct str name)
{
    if (str_ends(pattern, STR("*"))) {
        return str_starts(name, str_first(pattern, pattern.len - 1));
    }
    return str_eq(pattern, name);
}

/* Is it one of the names of a row?  any_block: whatever group it stands in. */
static bool
has_name(const struct other_row *row, struct str group, struct str name,
         bool any_block)
{
    struct str rest = str_from(row->names);

    while (rest.len > 0) {
        struct str one = str_cut(&rest, ' ');
        size_t dot = str_find(one, '.', 0);
        struct str last = dot < one.len ? str_skip(one, dot + 1) : one;
        bool is_here = dot == one.len || str_eq(str_first(one, dot), group) ||
                       (any_block && !str_eq(last, STR("*")));

        if (is_here && fits(last, name)) {
            return true;
        }
    }
    return false;
}

static const struct other_row *
find(const struct other_server *server, struct str group, struct str name,
     bool any_block)
{
    for (size_t t = 0; server->tables[t] != NULL; t++) {
        const struct other_row *row = server->tables[t];

        for (; row->names != NULL; row++) {
            if (has_name(row, group, name, any_block)) {
                return row;
            }
        }
    }
    return NULL;
}

/* ---- the answer ---- */

static bool
same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Adds "NAME of A and B is HERE here (NOTE)", for all servers that say the same
 * as server i, and takes these out. */
static struct str
add_answer(struct pool *pool, struct str all, struct str name, size_t i,
           const struct other_row **found)
{
    const struct other_row *row = found[i];
    struct str who = str_from(servers[i].name);

    found[i] = NULL;
    for (size_t k = i + 1; k < SERVERS; k++) {
        if (found[k] != NULL && same_text(found[k]->here, row->here) &&
            same_text(found[k]->note, row->note)) {
            who = pool_printf(pool, "%.*s and %s", STR_ARGS(who),
                              servers[k].name);
            found[k] = NULL;
        }
    }
    all = pool_printf(pool, "%.*s%s%.*s of %.*s", STR_ARGS(all),
                      all.len > 0 ? "; " : "", STR_ARGS(name), STR_ARGS(who));
    if (row->here == NULL) {
        return pool_printf(pool, "%.*s: %s", STR_ARGS(all), row->note);
    }
    return pool_printf(pool, "%.*s is %s here%s%s%s", STR_ARGS(all), row->here,
                       row->note != NULL ? " (" : "",
                       row->note != NULL ? row->note : "",
                       row->note != NULL ? ")" : "");
}

/* Rows of each server that has the name; where one of them owns the outermost
 * group, only its. */
static void
find_all(struct str root, struct str group, struct str name,
         const struct other_row **found)
{
    for (size_t i = 0; i < SERVERS; i++) {
        found[i] = find(&servers[i], group, name, false);
        if (found[i] != NULL && servers[i].root != NULL &&
            str_eq(root, str_from(servers[i].root))) {
            return;
        }
    }
    /* Below rtmp nobody means what nginx has below http. */
    if (found[NGINX] != NULL && str_eq(root, STR("rtmp")) &&
        (found[NGINX_RTMP] != NULL || found[SRS] != NULL)) {
        found[NGINX] = NULL;
    }
}

struct str
others_answer(struct pool *pool, struct str root, struct str group,
              struct str name)
{
    const struct other_row *found[SERVERS] = { NULL };
    struct str all = STR_NONE;

    find_all(root, group, name, found);
    for (size_t i = 0; i < SERVERS; i++) {
        if (found[i] != NULL) {
            all = add_answer(pool, all, name, i, found);
        }
    }
    return all;
}

bool
others_lacking(struct str name)
{
    const struct other_row *found[SERVERS] = { NULL };
    bool lacking = false;

    find_all(STR_NONE, STR_NONE, name, found);
    for (size_t i = 0; i < SERVERS; i++) {
        if (found[i] != NULL && found[i]->here != NULL) {
            return false;
        }
        lacking = lacking || found[i] != NULL;
    }
    return lacking;
}

/* ---- a whole configuration ---- */

struct looks {
    /* Statements in its form, with names that it has; of nginx-rtmp, those of
     * nginx as well, of which it is a part. */
    size_t known[SERVERS];
    size_t ours; /* statements in the form of weir */
    size_t all;
};

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static bool
knows(size_t server, struct str name)
{
    return find(&servers[server], STR_NONE, name, true) != NULL;
}

static void
count_known(struct looks *l, struct str name)
{
    bool nginx = knows(NGINX, name);

    l->known[NGINX] += nginx;
    l->known[NGINX_RTMP] += nginx || knows(NGINX_RTMP, name);
    l->known[SRS] += knows(SRS, name);
}

/* Looks at one statement: "name = ...", "name: ..." or "name ...". */
static void
look_at(struct looks *l, struct str statement, bool is_last)
{
    size_t len = 0;
    struct str name, rest;

    while (len < statement.len && is_word(statement.ptr[len])) {
        len++;
    }
    name = str_first(statement, len);
    rest = str_trim(str_skip(statement, len));
    if (len == 0 || l->all++ >= LOOKED_AT) {
        return;
    }
    if (str_starts(rest, STR("="))) {
        l->ours++;
    } else if (!str_starts(rest, STR(":"))) {
        count_known(l, name);
    } else if (is_last) {
        l->known[MEDIAMTX] += knows(MEDIAMTX, name);
    }
}

/* Cuts a line into statements; the last one of it may have no end. */
static void
look_at_line(struct looks *l, struct str line)
{
    line = str_trim_space(str_first(line, str_find(line, '#', 0)));
    while (line.len > 0) {
        size_t end = 0;

        while (end < line.len && strchr(";{}", line.ptr[end]) == NULL) {
            end++;
        }
        look_at(l, str_trim(str_first(line, end)), end == line.len);
        line = str_trim(str_skip(line, end + (end < line.len)));
    }
}

static const struct other_server *
most_likely(const struct looks *l)
{
    size_t i = l->known[NGINX] < l->known[NGINX_RTMP] ? NGINX_RTMP : NGINX;

    i = l->known[SRS] > l->known[NGINX_RTMP] ? SRS : i;
    i = l->known[MEDIAMTX] > l->known[i] ? MEDIAMTX : i;
    return l->known[i] >= FEW && l->known[i] > l->ours ? &servers[i] : NULL;
}

const struct other_server *
others_guess(struct str text)
{
    struct looks l = { .ours = 0 };

    while (text.len > 0 && l.all < LOOKED_AT) {
        look_at_line(&l, str_cut(&text, '\n'));
    }
    return most_likely(&l);
}
