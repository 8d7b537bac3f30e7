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
    char **environment; /* the copy, which stays for ever */
} title;

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
    char **copy = mem_zero((count + 1) * sizeof(copy[0]));

    for (size_t i = 0; i < count; i++) {
        copy[i] = mem_dup(environ[i], strlen(environ[i]));
    }
    environ = title.environment = copy;
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
