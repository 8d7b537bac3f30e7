/*
 * libconfig: parsing, and its line numbers, which are token numbers here.
 *
 * A syntax error behind a string makes libconfig 1.5 lose the memory of the
 * string, so the syntax is tried first with numbers in place of all strings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/parse.h"

#include <stdio.h>
#include <string.h>

#include "conf/others.h"

#define TWICE_MAX 100 /* keys set twice that are reported in one go */

/* The token libconfig stopped at. */
static size_t
error_token(const struct source *s, const config_t *tree)
{
    int line = config_error_line(tree);
    size_t token = line > 0 ? (size_t)line - 1 : 0;

    return token < s->count ? token : s->count - 1;
}

static bool
is_text(struct str s)
{
    return s.len > 0 && ((s.ptr[0] >= 'a' && s.ptr[0] <= 'z') ||
                         (s.ptr[0] >= 'A' && s.ptr[0] <= 'Z'));
}

/* ---- brackets ---- */

/* '\0' where there is no token. */
static char
mark_at(const struct source *s, size_t token)
{
    struct str text = token < s->count ? source_text(s, token) : STR_NONE;

    return text.len > 0 ? text.ptr[0] : '\0';
}

static bool
is_one_of(char c, const char *marks)
{
    return c != '\0' && strchr(marks, c) != NULL;
}

/* The innermost bracket that is open in front of a token; '\0': none is. */
static char
bracket_around(const struct source *s, size_t at)
{
    size_t closed = 0;

    while (at-- > 1) {
        char c = mark_at(s, at);

        if (is_one_of(c, ")]}")) {
            closed++;
        } else if (is_one_of(c, "([{") && closed-- == 0) {
            return c;
        }
    }
    return '\0';
}

static bool
is_setting(const struct source *s, size_t at)
{
    return is_text(source_text(s, at)) && is_one_of(mark_at(s, at + 1), "=:");
}

/* In brackets that hold items. */
static const char *
items_hint(const struct source *s, size_t at, char around)
{
    char here = mark_at(s, at), before = mark_at(s, at - 1);

    if (around == '[' && (is_one_of(here, "([{") || is_setting(s, at))) {
        return "groups stand in ( ): ( { ... }, { ... } ); [ ] is for values";
    }
    if (is_setting(s, at)) {
        return "settings stand in groups, each in { }: ( { ... }, { ... } )";
    }
    if (here == ';') {
        return "a comma parts what stands in ( ) or [ ]";
    }
    if (before == ',' && is_one_of(here, ")]")) {
        return "no comma stands behind the last one";
    }
    return is_one_of(before, "}])") ? "is a comma missing?" : NULL;
}

/* In those that hold settings, or in none. */
static const char *
settings_hint(const struct source *s, size_t at, char around)
{
    if (s->tokens[at].is_string && is_one_of(mark_at(s, at + 1), "=:")) {
        return "names stand without quotes";
    }
    return around == '{' ? "values stand in [ ], groups in ( ): ( { ... }, "
                           "{ ... } ); { } is for settings, NAME = ..."
                         : "a file holds settings, NAME = ..., without "
                           "brackets around all of them";
}

/* A bracket, or what stands in a wrong one; NULL: neither. */
static const char *
bracket_hint(const struct source *s, size_t at)
{
    char around = bracket_around(s, at), before = mark_at(s, at - 1);
    bool value = is_one_of(mark_at(s, at), "([{\"0123456789");
    bool begins = before == '\0' || is_one_of(before, "{;,}");

    if (is_one_of(around, "([")) {
        return items_hint(s, at, around);
    }
    return value && begins ? settings_hint(s, at, around) : NULL;
}

/* A hint for text in the syntax of other programs; empty: there is none. */
static void
hint(const struct source *s, size_t at, char *dst, size_t size)
{
    struct str here = source_text(s, at);
    struct str before = at > 1 ? source_text(s, at - 1) : STR_NONE;
    bool value = is_text(here) || s->tokens[at].is_string ||
                 (here.len > 0 && here.ptr[0] >= '0' && here.ptr[0] <= '9');
    const char *brackets = bracket_hint(s, at);
    char name[64];

    *dst = '\0';
    source_show(name, sizeof(name), before);
    if (brackets != NULL) {
        snprintf(dst, size, " (%s)", brackets);
    } else if (is_text(before) && !str_eq(here, STR("=")) &&
               others_lacking(before)) {
        snprintf(dst, size, " (%.*s)",
                 STR_ARGS(others_answer(s->pool, STR_NONE, STR_NONE, before)));
    } else if (is_text(before) && str_eq(here, STR("{"))) {
        snprintf(dst, size, " (a group is written %s = { ... };)", name);
    } else if (is_text(before) && (value || str_eq(here, STR(";")))) {
        snprintf(dst, size, " (a setting is written with \"=\": %s = ...)",
                 name);
    } else if ((str_eq(before, STR("=")) || str_eq(before, STR(":"))) &&
               (str_eq(here, STR("on")) || str_eq(here, STR("off")) ||
                str_eq(here, STR("yes")) || str_eq(here, STR("no")))) {
        snprintf(dst, size, " (write true or false)");
    } else if (is_text(here) && !is_text(before)) {
        source_show(name, sizeof(name), here);
        snprintf(dst, size, " (a text stands in quotes: \"%s\")", name);
    }
}

static void
say_syntax(struct source *s, const config_t *tree)
{
    size_t at = error_token(s, tree);
    char token[64], line[128], more[512];

    if ((size_t)config_error_line(tree) > s->count) {
        source_say(s, s->count - 1, "syntax error at the end of the file");
        return;
    }
    source_show(token, sizeof(token), source_text(s, at));
    source_show(line, sizeof(line), source_line(s, at));
    hint(s, at, more, sizeof(more));
    source_say(s, at, "%s at %s%s in: %s", config_error_text(tree), token, more,
               line);
}

/* Has libconfig found a key that its group has already? */
static bool
is_twice(const struct source *s, const config_t *tree)
{
    const char *text = config_error_text(tree);
    size_t at = error_token(s, tree);

    return text != NULL && strstr(text, "duplicate") != NULL && at > 0 &&
           !s->tokens[at].twice;
}

static bool
parse(const struct source *s, bool strings, config_t *tree)
{
    struct buf text;
    int done;

    config_destroy(tree);
    config_init(tree);
    buf_init(&text, SIZE_MAX / 2);
    source_render(s, strings, &text);
    buf_add(&text, "", 1);
    done = config_read_string(tree, (const char *)buf_data(&text));
    buf_clear(&text);
    return done == CONFIG_TRUE;
}

int
conf_parse(struct source *s, config_t *tree)
{
    config_init(tree);
    for (int tries = 0; !parse(s, false, tree); tries++) {
        if (tries == TWICE_MAX || !is_twice(s, tree)) {
            say_syntax(s, tree);
            source_break(s);
            return -1;
        }
        s->tokens[error_token(s, tree)].twice = true;
    }
    if (!parse(s, true, tree)) {
        say_syntax(s, tree);
        source_break(s);
        return -1;
    }
    return 0;
}

static size_t
line_token(const struct source *s, const config_setting_t *c)
{
    unsigned line = config_setting_source_line(c);
    size_t token = line > 0 ? line - 1 : 0;

    return token < s->count ? token : s->count - 1;
}

static size_t
next_token(const struct source *s, size_t token)
{
    do {
        token++;
    } while (token < s->count && s->tokens[token].is_include);
    return token < s->count ? token : s->count - 1;
}

size_t
conf_token(const struct source *s, const config_setting_t *c)
{
    size_t token = line_token(s, c);

    /* The parser is one token behind a string in a list: it looks whether
     * another string follows. */
    if (config_setting_name(c) == NULL &&
        config_setting_type(c) == CONFIG_TYPE_STRING) {
        while (token > 1 && !s->tokens[--token].is_string) {
        }
    }
    return token;
}

size_t
conf_value_token(const struct source *s, const config_setting_t *c)
{
    size_t token = conf_token(s, c);

    if (config_setting_name(c) == NULL) {
        return token;
    }
    token = next_token(s, next_token(s, token));
    while (s->tokens[token].is_string) {
        size_t next = next_token(s, token);

        if (next == token || !s->tokens[next].is_string) {
            break;
        }
        token = next;
    }
    return token;
}
