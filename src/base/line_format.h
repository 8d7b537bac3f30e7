/*
 * Lines of access logs: a format with $variables, compiled once, written for
 * each request or session.
 *
 * A format is text with $name or ${name} in it ("$$" is a dollar sign), or
 * "json: member=$name member=$name", written as one JSON object.  The
 * caller's table gives the value of each variable.
 *
 * The bytes of a peer never break a line: in text, bytes below 0x20, 0x7f, '"',
 * '\' and invalid UTF-8 become \xHH, as nginx writes them; in JSON they are
 * escaped as RFC 8259 demands.  A field is cut at LINE_FIELD_MAX bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_LINE_FORMAT_H
#define BASE_LINE_FORMAT_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "base/str.h"

#define LINE_FIELD_MAX 2048       /* bytes of a field */
#define LINE_SIZE_MAX (16 * 1024) /* bytes of a line */

enum line_value_kind {
    LINE_TEXT,
    LINE_NUMBER,  /* JSON: without quotes */
    LINE_WRITTEN, /* as it stands: escaped already */
    LINE_MISSING, /* "-" in text, left out of JSON */
};

/* The value of a variable. */
struct line_value {
    enum line_value_kind kind;
    struct str text;           /* may point into room */
    bool open;                 /* set before it is asked for; true: it is for no
                                  log, and secrets are not masked */
    char room[LINE_FIELD_MAX]; /* for text that is made */
};

struct line_variable {
    /* A name that ends in '_' stands for all names that begin so: "http_" is
     * $http_user_agent.  An empty one, at the end of a table, stands for every
     * name: rest is all of it. */
    const char *name; /* NULL ends a table */
    void (*get)(const void *subject, struct str rest, struct line_value *v);
};

/* Formats that have a name. */
struct line_preset {
    const char *name; /* NULL ends a table */
    const char *format;
};

struct line_format;

/* Compiles a format, or the preset of that name; it lives in pool, as the
 * text must.  NULL with err: an unknown variable (told with the nearest
 * name), a '$' without one. */
const struct line_format *line_format_compile(
    struct pool *pool, struct str text, const struct line_variable *variables,
    const struct line_preset *presets, struct errmsg *err);

/* Writes the line with its newline; returns its length.  size is at least
 * 64. */
size_t line_format_write(const struct line_format *f, const void *subject,
                         char *dst, size_t size);

/* ---- texts with the same variables ---- */

/* A text, which is no line and has no presets. */
const struct line_format *line_text_compile(
    struct pool *pool, struct str text, const struct line_variable *variables,
    struct errmsg *err);
/* Calls put for each part in its order: text that stands there, with v NULL,
 * then the value of the variable behind it. */
void line_text_each(const struct line_format *f, const void *subject,
                    void (*put)(void *arg, struct str text,
                                const struct line_value *v),
                    void *arg);
/* Calls takes for the rest of each variable of that row; the first rest that it
 * does not take, or empty. */
struct str line_text_stranger(const struct line_format *f,
                              const struct line_variable *row,
                              bool (*takes)(const void *arg, struct str rest),
                              const void *arg);

/* ---- for get() ---- */

void line_value_text(struct line_value *v, struct str text); /* not copied */
void line_value_number(struct line_value *v, int64_t n);
void line_value_seconds(struct line_value *v, int64_t ms); /* "1.234" */
/* Now, as each of these formats has it; made once a second. */
void line_value_local(struct line_value *v);   /* 02/Jan/2026:03:04:05 +0000 */
void line_value_iso8601(struct line_value *v); /* 2026-01-02T03:04:05.678Z */

/* get() functions that do not depend on the subject, ready for tables. */
void line_get_time_local(const void *subject, struct str rest,
                         struct line_value *v);
void line_get_time_iso8601(const void *subject, struct str rest,
                           struct line_value *v);
void line_get_msec(const void *subject, struct str rest, struct line_value *v);
void line_get_pid(const void *subject, struct str rest, struct line_value *v);

/* Names of query arguments whose values are secrets. */
struct line_mask {
    const struct str *names; /* any case */
    size_t count;
};
/* A text in which arguments stand (behind '?', '&' or ';', or at its begin
 * when it is nothing but arguments), with "***" for the secret ones. */
void line_value_masked(struct line_value *v, const struct line_mask *mask,
                       struct str text, bool is_args);

#endif
