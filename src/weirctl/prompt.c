/*
 * The prompt: libedit with a history in memory; Tab completes the words of
 * commands.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "weirctl/prompt.h"

#include <histedit.h>
#include <stdio.h>
#include <string.h>

#include "weirctl/commands.h"

#define HISTORY_LINES 500

static char *
say_prompt(EditLine *el)
{
    static char text[] = "weir> ";

    (void)el;
    return text;
}

/* ---- completion ---- */

/* Finds the commands that begin with typed, and returns how many there are;
 * *common has the bytes that all of them have behind it. */
static size_t
find_common(struct str typed, struct str *common)
{
    size_t count = 0;

    *common = STR_NONE;
    for (const struct command *c = commands; c->words != NULL; c++) {
        struct str rest = str_from(c->words);
        size_t same = 0;

        if (!str_starts(rest, typed)) {
            continue;
        }
        rest = str_skip(rest, typed.len);
        while (count > 0 && same < rest.len && same < common->len &&
               rest.ptr[same] == common->ptr[same]) {
            same++;
        }
        *common = count == 0 ? rest : str_first(*common, same);
        count++;
    }
    return count;
}

static void
list_commands(struct str typed)
{
    putchar('\n');
    for (const struct command *c = commands; c->words != NULL; c++) {
        if (str_starts(str_from(c->words), typed)) {
            printf("  %s\n", c->words);
        }
    }
}

static unsigned char
on_tab(EditLine *el, int key)
{
    const LineInfo *line = el_line(el);
    struct str typed =
        str_of(line->buffer, (size_t)(line->cursor - line->buffer));
    char text[128];
    struct str common;
    size_t count = find_common(typed, &common);

    (void)key;
    if (count == 0) {
        return CC_ERROR;
    }
    if (common.len == 0 && count > 1) {
        list_commands(typed);
        return CC_REDISPLAY;
    }
    str_copy(text, sizeof(text) - 1, common);
    if (count == 1) {
        str_copy(text + strlen(text), 2, STR(" "));
    }
    return el_insertstr(el, text) == -1 ? CC_ERROR : CC_REFRESH;
}

/* ---- lines ---- */

static EditLine *
make_editor(History *lines)
{
    HistEvent event;
    EditLine *el = el_init("weirctl", stdin, stdout, stderr);

    if (el == NULL) {
        return NULL;
    }
    history(lines, &event, H_SETSIZE, HISTORY_LINES);
    el_set(el, EL_PROMPT, say_prompt);
    el_set(el, EL_EDITOR, "emacs");
    el_set(el, EL_HIST, history, lines);
    el_set(el, EL_ADDFN, "weir-complete", "Complete a command", on_tab);
    el_set(el, EL_BIND, "\t", "weir-complete", NULL);
    return el;
}

void
prompt_run(bool (*on_line)(void *arg, struct str line), void *arg)
{
    History *lines = history_init();
    EditLine *el = make_editor(lines);
    HistEvent event;
    const char *text;
    int len;
    bool more = true;

    while (el != NULL && more && (text = el_gets(el, &len)) != NULL &&
           len > 0) {
        struct str line = str_of(text, (size_t)len - (text[len - 1] == '\n'));

        if (str_trim(line).len > 0) {
            history(lines, &event, H_ENTER, text);
            more = on_line(arg, line);
        }
    }
    if (el != NULL) {
        el_end(el);
    }
    history_end(lines);
    putchar('\n');
}
