/*
 * The reason of a failure.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/errmsg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

int
errmsg_set(struct errmsg *e, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    return -1;
}

static void
append(struct errmsg *e, const char *text)
{
    str_append(e->text, sizeof(e->text), strlen(e->text), str_from(text));
}

int
errmsg_sys(struct errmsg *e, const char *format, ...)
{
    char reason[128];
    const char *text = strerror_r(errno, reason, sizeof(reason));
    va_list args;

    va_start(args, format);
    vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    append(e, ": ");
    append(e, text);
    return -1;
}

int
errmsg_prefix(struct errmsg *e, const char *format, ...)
{
    struct errmsg old = *e;
    va_list args;

    va_start(args, format);
    vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    append(e, old.text);
    return -1;
}
