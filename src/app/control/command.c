/*
 * Lines to commands.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <string.h>

#include "app/metrics/metrics.h"
#include "app/module.h"
#include "app/settings/settings.h"

#define NEAR 2 /* edits that still count as a slip */

/* ---- words ---- */

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* One word at *at; "..." holds blanks and semicolons. */
static int
cut_word(struct str rest, size_t *at, struct str *word, struct errmsg *err)
{
    size_t begin = *at;

    if (rest.ptr[begin] == '"') {
        size_t end = str_find(rest, '"', begin + 1);

        if (end == rest.len) {
            return errmsg_set(err, "a quote is not closed");
        }
        *word = str_of(rest.ptr + begin + 1, end - begin - 1);
        *at = end + 1;
        return 0;
    }
    while (*at < rest.len && !is_blank(rest.ptr[*at]) && rest.ptr[*at] != ';') {
        (*at)++;
    }
    *word = str_of(rest.ptr + begin, *at - begin);
    return 0;
}

int
control_split(struct str *rest, struct str *words, size_t *count,
              struct errmsg *err)
{
    size_t at = 0;

    *count = 0;
    while (at < rest->len && rest->ptr[at] != ';') {
        if (is_blank(rest->ptr[at])) {
            at++;
            continue;
        }
        if (*count == CONTROL_WORDS) {
            return errmsg_set(err, "more than %d words", CONTROL_WORDS);
        }
        if (cut_word(*rest, &at, &words[*count], err) == -1) {
            return -1;
        }
        (*count)++;
    }
    *rest = str_skip(*rest, at + 1);
    return 0;
}

/* ---- the table ---- */

/* Number *n of weir's own; NULL with *n less by as many as there are. */
static const struct control_verb *
own_verb_at(size_t *n)
{
    static const struct control_verb *const ours[] = {
        control_life_verbs,   control_show_verbs, control_process_verbs,
        control_live_verbs,   control_do_verbs,   control_except_verbs,
        control_socket_verbs,
    };

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        for (const struct control_verb *v = ours[i]; v->words != NULL; v++) {
            if ((*n)-- == 0) {
                return v;
            }
        }
    }
    return NULL;
}

/* One of weir's own, as struct own_names has it. */
static const char *
own_command(size_t i)
{
    const struct control_verb *v = own_verb_at(&i);

    return v != NULL ? v->words : NULL;
}

const struct own_names control_own_names = {
    .command = own_command,
    .metric = metrics_own_name,
    .setting = settings_own_name,
    .application_setting = settings_own_application_name,
    .publish_value = settings_own_publish_value,
};

const struct control_verb *
control_verb_at(size_t n)
{
    const struct control_verb *own = own_verb_at(&n);

    if (own != NULL) {
        return own;
    }
    for (size_t i = 0; modules[i] != NULL; i++) {
        const struct control_verb *v = modules[i]->verbs;

        for (; v != NULL && v->words != NULL; v++) {
            if (n-- == 0) {
                return v;
            }
        }
    }
    return NULL;
}

/* How many words the verb has, if the command begins with them; else 0. */
static size_t
matches(const struct control_verb *v, const struct str *words, size_t count)
{
    struct str rest = str_from(v->words);
    size_t n = 0;

    while (rest.len > 0) {
        struct str word = str_cut(&rest, ' ');

        if (n == count || !str_eq(words[n], word)) {
            return 0;
        }
        n++;
    }
    return n;
}

/* The part of the words to compare with a command's: as many words as the
 * command has, or a single one alone. */
static struct str
said_like(struct str name, const struct str *words, size_t count, char *room,
          size_t size)
{
    size_t len = str_copy(room, size, words[0]);

    if (str_find(name, ' ', 0) < name.len && count > 1) {
        len = str_append(room, size, len, STR(" "));
        len = str_append(room, size, len, words[1]);
    }
    return str_of(room, len);
}

/* The command whose words are least far from what was said; NULL: none is
 * near. */
static const struct control_verb *
nearest_to(const struct str *words, size_t count)
{
    const struct control_verb *v, *nearest = NULL;
    size_t best = NEAR + 1;
    char said[128];

    for (size_t n = 0; (v = control_verb_at(n)) != NULL; n++) {
        struct str name = str_from(v->words);
        struct str like = said_like(name, words, count, said, sizeof(said));
        size_t d = str_distance(like, name, NEAR);

        if (d < best && d <= name.len / 3) {
            best = d;
            nearest = v;
        }
    }
    return nearest;
}

/* Commands that begin with a text, as "..., ..."; how many. */
static size_t
list_those_with(struct str begin, char *list, size_t size)
{
    const struct control_verb *v;
    size_t count = 0, len = 0;

    *list = '\0';
    for (size_t n = 0; (v = control_verb_at(n)) != NULL; n++) {
        if (str_starts(str_from(v->words), begin)) {
            len =
                str_append(list, size, len, count++ > 0 ? STR(", ") : STR_NONE);
            len = str_append(list, size, len, str_from(v->words));
        }
    }
    return count;
}

/* Says what could have been meant: what the words are the beginning of, what
 * they are like, or what goes with the first of them. */
static int
unknown(const struct str *words, size_t count, struct errmsg *err)
{
    const struct control_verb *nearest = nearest_to(words, count);
    char said[128], list[384];
    size_t len = str_copy(said, sizeof(said), words[0]);
    size_t first = len;

    if (count > 1) {
        len = str_append(said, sizeof(said), len, STR(" "));
        first = len;
        len = str_append(said, sizeof(said), len, words[1]);
    }
    if (list_those_with(str_of(said, len), list, sizeof(list)) > 0) {
        return errmsg_set(err, "no such command; there %s: %s",
                          strchr(list, ',') != NULL ? "are" : "is", list);
    }
    if (nearest != NULL) {
        return errmsg_set(err, "no such command; did you mean \"%s\"?",
                          nearest->words);
    }
    if (list_those_with(str_of(said, first), list, sizeof(list)) > 0) {
        return errmsg_set(err, "no such command; there %s: %s",
                          strchr(list, ',') != NULL ? "are" : "is", list);
    }
    str_escape(said, sizeof(said), words[0]);
    return errmsg_set(err, "no command \"%s\"; help lists them", said);
}

const struct control_verb *
control_find(const struct str *words, size_t count, size_t *skip,
             struct errmsg *err)
{
    const struct control_verb *v, *found = NULL;

    *skip = 0;
    for (size_t n = 0; (v = control_verb_at(n)) != NULL; n++) {
        size_t len = matches(v, words, count);

        if (len > *skip) {
            *skip = len;
            found = v;
        }
    }
    if (found == NULL) {
        unknown(words, count, err);
    }
    return found;
}

size_t
control_help(struct buf *out, struct str prefix)
{
    const struct control_verb *v;
    size_t count = 0;

    for (size_t n = 0; (v = control_verb_at(n)) != NULL; n++) {
        if (!str_starts(str_from(v->words), prefix)) {
            continue;
        }
        count++;
        buf_printf(out, "%s%s%s\n    %s (%s)\n", v->words,
                   v->arguments != NULL ? " " : "",
                   v->arguments != NULL ? v->arguments : "", v->help,
                   control_level_name(v->level));
    }
    return count;
}

void
control_print_commands(FILE *out)
{
    const struct control_verb *v;

    for (size_t n = 0; (v = control_verb_at(n)) != NULL; n++) {
        fprintf(out, "%s  %s  %s  %s\n", v->words,
                v->arguments != NULL ? v->arguments : "-",
                control_level_name(v->level), v->help);
    }
}

/* ---- what a command asks of its call ---- */

size_t
control_words(const struct control_call *call)
{
    return call->count - call->skip;
}

struct str
control_word(const struct control_call *call, size_t i)
{
    return i < control_words(call) ? call->words[call->skip + i] : STR_NONE;
}

bool
control_may(const struct control_call *call, enum control_level level)
{
    return call->client->peer.level >= level;
}

struct master *
control_master(const struct control_call *call)
{
    return call->client->control->m;
}

const struct settings *
control_settings(const struct control_call *call)
{
    return control_master(call)->generation->settings;
}
