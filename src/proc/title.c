/*
 * Process titles: written over the memory that the kernel shows as the
 * command line, which ends where the environment ended at the start.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/life.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static struct {
    char *start; /* argv[0]; NULL before title_init() */
    size_t size;
    /* The copy, which stays for ever; setenv() and unsetenv() take texts out
     * of the list. */
    char **environment, *texts;
} title;

static void
copy_environment(size_t count)
{
    size_t size = 1;

    for (size_t i = 0; i < count; i++) {
        size += strlen(environ[i]) + 1;
    }
    char *to = title.texts = mem_alloc(size);

    title.environment = mem_zero((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        title.environment[i] = to;
        to = stpcpy(to, environ[i]) + 1;
    }
    environ = title.environment;
}

/* Extends *end over s if s begins right there. */
static void
extend(char **end, char *s)
{
    if (s == *end) {
        *end = s + strlen(s) + 1;
    }
}

void
title_init(int argc, char **argv)
{
    char *end = argc > 0 ? argv[0] : NULL;
    size_t count = 0;

    if (end == NULL || title.start != NULL) {
        return;
    }
    for (int i = 0; i < argc; i++) {
        extend(&end, argv[i]);
    }
    while (environ != NULL && environ[count] != NULL) {
        extend(&end, environ[count++]);
    }
    /* The environment is going to be written over. */
    copy_environment(count);
    title.start = argv[0];
    title.size = (size_t)(end - argv[0]);
}

void
title_set(const char *format, ...)
{
    va_list args;
    int n;

    if (title.size == 0) {
        return;
    }
    va_start(args, format);
    n = vsnprintf(title.start, title.size, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < title.size) {
        memset(title.start + n, 0, title.size - (size_t)n);
    }
}
