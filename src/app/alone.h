/*
 * Options of modules with which weir runs without a file (struct module_alone).
 *
 *     alone_init(&a, modules, &own, argc, argv);
 *     while ((c = getopt_long(argc, argv, a.letters, a.names, NULL)) != -1) {
 *         if (!alone_take(&a, c, optarg)) { one of weir's own }
 *     }
 *     if (a.of != NULL) { alone_use(&a, ...) }
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_ALONE_H
#define APP_ALONE_H

#include "app/module.h"

#include <getopt.h>

#define ALONE_OPTIONS 64 /* of a module, at most */
#define ALONE_GIVEN 64   /* in a command line, at most */
#define ALONE_LETTERS 128

struct alone {
    const struct module_alone *of; /* NULL: nobody asked for one */
    char letters[ALONE_LETTERS];   /* for getopt_long(), weir's own too */
    struct option names[2 * ALONE_OPTIONS + 1];
    struct alone_given given[ALONE_GIVEN]; /* values point into argv */
    size_t count;
    bool too_many;
};

/* Weir's own options, as getopt_long() has them; `names` ends with a NULL name,
 * ALONE_OPTIONS at most. */
struct alone_own {
    const char *letters;
    const struct option *names;
};

/* Finds the module whose first option is given.  A name that it has in common
 * with weir is the module's.  getopt_long() starts anew behind it. */
void alone_init(struct alone *a, const struct module *const *table,
                const struct alone_own *own, int argc, char **argv);
/* Takes what getopt_long() returned, if it is an option of the module. */
bool alone_take(struct alone *a, int c, const char *value);
/* Writes the configuration and has it read in place of a file.  Returns the
 * file's name, or NULL with err. */
const char *alone_use(const struct alone *a, bool has_prefix,
                      struct errmsg *err);
/* For weir -h: a line of usage each; and all options. */
void alone_print_usage(const struct module *const *table, FILE *out);
void alone_print_options(const struct module *const *table, FILE *out);

#endif
