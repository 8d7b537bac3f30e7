/*
 * Options of modules: found, taken, shown.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/alone.h"

#include <string.h>

#include "base/buf.h"

#define NUMBER_BASE 256     /* of option 0, beside all letters */
#define TEXT_MAX 256 * 1024 /* bytes of a configuration */

/* ---- what getopt_long() is told ---- */

static void
add_letter(char *letters, const struct alone_option *o)
{
    size_t n = strlen(letters);

    if (o->letter != '\0' && strchr(letters, o->letter) == NULL &&
        n + 2 < ALONE_LETTERS) {
        letters[n] = o->letter;
        letters[n + 1] = o->argument != NULL ? ':' : '\0';
        letters[n + 2] = '\0';
    }
}

static void
add_options(struct alone *a, const struct module_alone *of)
{
    for (size_t i = 0; i < ALONE_OPTIONS && of->options[i].name != NULL; i++) {
        const struct alone_option *o = &of->options[i];

        a->names[i] = (struct option){
            .name = o->name,
            .has_arg = o->argument != NULL ? required_argument : no_argument,
            .val = NUMBER_BASE + (int)i,
        };
        a->names[i + 1] = (struct option){ .name = NULL };
        add_letter(a->letters, o);
    }
}

static bool
has_name(const struct alone *a, const char *name)
{
    for (size_t i = 0; a->names[i].name != NULL; i++) {
        if (strcmp(a->names[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Behind those of a module. */
static void
add_own(struct alone *a, const struct alone_own *own)
{
    size_t n = 0;

    while (a->names[n].name != NULL) {
        n++;
    }
    for (size_t i = 0; i < ALONE_OPTIONS && own->names[i].name != NULL; i++) {
        if (!has_name(a, own->names[i].name)) {
            a->names[n++] = own->names[i];
            a->names[n] = (struct option){ .name = NULL };
        }
    }
}

/* Whether the first option is among the arguments. */
static bool
is_asked_for(const struct module_alone *of, const struct alone_own *own,
             int argc, char **argv)
{
    struct alone all = { .of = of };
    int told = opterr, c;
    bool found = false;

    str_copy(all.letters, sizeof(all.letters), str_from(own->letters));
    add_options(&all, of);
    add_own(&all, own);
    opterr = 0;
    optind = 0; /* GNU's: from the start */
    while ((c = getopt_long(argc, argv, all.letters, all.names, NULL)) != -1) {
        c = c == '?' ? optopt : c; /* without its argument */
        found |= c == NUMBER_BASE || c == of->options[0].letter;
    }
    opterr = told;
    optind = 0;
    return found;
}

void
alone_init(struct alone *a, const struct module *const *table,
           const struct alone_own *own, int argc, char **argv)
{
    *a = (struct alone){ .of = NULL };
    str_copy(a->letters, sizeof(a->letters), str_from(own->letters));
    for (size_t i = 0; table[i] != NULL && a->of == NULL; i++) {
        const struct module_alone *of = table[i]->alone;

        if (of != NULL && is_asked_for(of, own, argc, argv)) {
            a->of = of;
            add_options(a, of);
        }
    }
    add_own(a, own);
}

bool
alone_take(struct alone *a, int c, const char *value)
{
    if (a->of == NULL || c == '?') {
        return false;
    }
    for (size_t i = 0; a->of->options[i].name != NULL; i++) {
        const struct alone_option *o = &a->of->options[i];

        if (c != NUMBER_BASE + (int)i && (c != o->letter || c == '\0')) {
            continue;
        }
        a->too_many |= a->count == ALONE_GIVEN;
        if (a->count < ALONE_GIVEN) {
            a->given[a->count++] = (struct alone_given){ o, value };
        }
        return true;
    }
    return false;
}

const char *
alone_use(const struct alone *a, bool has_prefix, struct errmsg *err)
{
    struct alone_line line = { a->given, a->count, has_prefix };
    const char *name = a->of->file;
    struct buf text;

    if (a->too_many) {
        errmsg_set(err, "more than %d options", ALONE_GIVEN);
        return NULL;
    }
    buf_init(&text, TEXT_MAX);
    if (a->of->write(&line, &text, err) == -1) {
        name = NULL;
    } else {
        conf_builtin(name, buf_str(&text));
    }
    buf_clear(&text);
    return name;
}

/* ---- weir -h ---- */

void
alone_print_usage(const struct module *const *table, FILE *out)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (table[i]->alone != NULL) {
            const struct alone_option *o = &table[i]->alone->options[0];

            fprintf(out, "       weir -%c %s [-p PREFIX] [-t | -T] ...\n",
                    o->letter, o->argument != NULL ? o->argument : "");
        }
    }
}

static void
print_option(const struct alone_option *o, FILE *out)
{
    char text[64];

    snprintf(text, sizeof(text), "--%s%s%s", o->name,
             o->argument != NULL ? " " : "",
             o->argument != NULL ? o->argument : "");
    if (o->letter != '\0') {
        fprintf(out, "  -%c, %-26s %s\n", o->letter, text, o->help);
    } else {
        fprintf(out, "      %-26s %s\n", text, o->help);
    }
}

void
alone_print_options(const struct module *const *table, FILE *out)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        const struct module_alone *of = table[i]->alone;

        if (of == NULL) {
            continue;
        }
        fprintf(out, "\nWithout a file, for module %s alone:\n",
                table[i]->name);
        for (size_t k = 0; of->options[k].name != NULL; k++) {
            if (of->options[k].help != NULL) {
                print_option(&of->options[k], out);
            }
        }
    }
}
