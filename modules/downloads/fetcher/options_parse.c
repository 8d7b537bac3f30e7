/*
 * The options as a command line of several lines, and either form.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/options_parse.h"

#include <string.h>

#include "base/utf8.h"
#include "fetcher/options_impl.h"

/* ---- a command line ---- */

/* Where it is; words are made in room, one behind the other. */
struct cursor {
    struct str rest;
    char *room;
    unsigned line;
};

static char
take_char(struct cursor *c)
{
    char taken = c->rest.ptr[0];

    c->line += taken == '\n';
    c->rest = str_skip(c->rest, 1);
    return taken;
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
skip_comment(struct cursor *c)
{
    while (c->rest.len > 0 && c->rest.ptr[0] != '\n') {
        take_char(c);
    }
}

static void
skip_blanks(struct cursor *c)
{
    while (c->rest.len > 0 && (is_space(*c->rest.ptr) || *c->rest.ptr == '#')) {
        if (*c->rest.ptr == '#') {
            skip_comment(c);
        } else {
            take_char(c);
        }
    }
}

/* Behind the opening quote; false: it has no end. */
static bool
take_quoted(struct cursor *c, char quote)
{
    while (c->rest.len > 0) {
        char letter = take_char(c);

        if (letter == quote) {
            return true;
        }
        if (letter == '\\' && quote == '"' && c->rest.len > 0 &&
            (*c->rest.ptr == '"' || *c->rest.ptr == '\\')) {
            letter = take_char(c);
        }
        *c->room++ = letter;
    }
    return false;
}

/* The next word, as a shell would have it.  1, 0 at the end, -1. */
static int
next_word(struct cursor *c, struct str *word, struct errmsg *err)
{
    const char *begin = c->room;

    skip_blanks(c);
    if (c->rest.len == 0) {
        return 0;
    }
    while (c->rest.len > 0 && !is_space(*c->rest.ptr) && *c->rest.ptr != '#') {
        char letter = take_char(c);

        if (letter == '\'' || letter == '"') {
            if (!take_quoted(c, letter)) {
                return errmsg_set(err, "a quotation has no end");
            }
        } else if (letter == '\\' && c->rest.len > 0) {
            *c->room++ = take_char(c);
        } else {
            *c->room++ = letter;
        }
    }
    *word = str_of(begin, (size_t)(c->room - begin));
    return 1;
}

/* Cuts "--name=value" and "-xvalue". */
static struct str
cut_name(struct str word, struct str *value, bool *has_value)
{
    bool is_long = str_starts(word, STR("--"));
    size_t at = is_long ? str_find(word, '=', 0) : 2;
    struct str name = str_first(word, at);

    *has_value = at < word.len;
    *value = str_skip(word, is_long ? at + 1 : at);
    return name;
}

static int
take_flag(struct options_parsing *p, const struct option_given *g, bool off,
          bool has_value)
{
    if (has_value) {
        return option_wrong(p, g, "written alone: it has no value");
    }
    return option_add_flag(p, g->row, !off);
}

static int
line_option(struct options_parsing *p, struct cursor *c, struct str word)
{
    struct option_given g = { .row = NULL };
    bool off = false, has_value;

    if (word.len < 2 || word.ptr[0] != '-' || str_eq(word, STR("--"))) {
        return errmsg_set(p->err,
                          "\"%.*s\" is no option: this file has options "
                          "alone, and no addresses",
                          STR_ARGS(str_first(word, OPTION_SHOWN)));
    }
    g.name = cut_name(word, &g.value, &has_value);
    g.row = option_find_word(g.name, &off);
    if (g.row == NULL) {
        return option_refuse(p, g.name);
    }
    if (g.row->kind == OPTION_FLAG) {
        return take_flag(p, &g, off, has_value);
    }
    if (!has_value) {
        int found = next_word(c, &g.value, p->err);

        if (found != 1) {
            return found == 0 ? option_wrong(p, &g, "followed by its value")
                              : -1;
        }
    }
    return option_take(p, &g);
}

static int
parse_line(struct options_parsing *p, struct str text)
{
    struct cursor c = { .rest = text,
                        .room = pool_alloc(p->pool, text.len + 1),
                        .line = 1 };

    for (;;) {
        struct str word;

        skip_blanks(&c);

        unsigned line = c.line;
        int found = next_word(&c, &word, p->err);

        if (found == 0) {
            return 0;
        }
        if (found == -1 || line_option(p, &c, word) == -1) {
            return errmsg_prefix(p->err, "line %u: ", line);
        }
    }
}

/* ---- either ---- */

int
engine_options_parse(struct pool *p, struct str text, struct str folder,
                     struct options_words *out, struct errmsg *err)
{
    struct options_parsing parsing = {
        .pool = p, .folder = folder, .out = out, .err = err
    };
    struct str rest = text;

    memset(out, 0, sizeof(*out));
    out->cookies = STR_NONE;
    if (text.len > OPTIONS_FILE_MAX) {
        return errmsg_set(err, "the file is larger than %d KB",
                          OPTIONS_FILE_MAX >> 10);
    }
    if (!utf8_valid(text) || memchr(text.ptr, '\0', text.len) != NULL) {
        return errmsg_set(err, "the file is no text in UTF-8");
    }
    while (rest.len > 0 && is_space(*rest.ptr)) {
        rest = str_skip(rest, 1);
    }
    return str_starts(rest, STR("{")) ? options_parse_json(&parsing, text)
                                      : parse_line(&parsing, text);
}
