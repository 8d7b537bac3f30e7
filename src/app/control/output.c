/*
 * The shapes of answers, as text and as JSON.
 *
 * A line of text never is empty, because an empty line ends the answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define CELL_MAX 1024 /* bytes of one cell, escaped */

static struct buf *
out(struct control_call *call)
{
    return &call->client->out;
}

/* Begins the answer, once. */
static bool
begin(struct control_call *call, enum control_shape shape)
{
    if (call->shape != SHAPE_NONE) {
        assert(call->shape == shape || call->shape == SHAPE_ERROR);
        return false;
    }
    call->shape = shape;
    if (!call->json || shape == SHAPE_ERROR) {
        return true;
    }
    json_begin(&call->out, out(call), false);
    if (shape == SHAPE_TABLE) {
        json_open_array(&call->out);
    } else {
        json_open(&call->out);
    }
    if (shape == SHAPE_LINES) {
        json_key(&call->out, "lines");
        json_open_array(&call->out);
    }
    return true;
}

/* ---- a word and a text ---- */

enum control_result
control_ok(struct control_call *call, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    begin(call, SHAPE_OK);
    if (call->json) {
        json_put_bool(&call->out, "ok", true);
        json_put_str(&call->out, "text", str_from(text));
    } else {
        buf_printf(out(call), "OK%s%s\n", *text != '\0' ? " " : "", text);
    }
    return CONTROL_DONE;
}

/* Lines that are not empty, each with what goes in front of it. */
static void
add_lines(struct control_call *call, struct str text)
{
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');

        if (str_trim(line).len > 0) {
            buf_add_str(out(call), line);
            buf_add(out(call), "\n", 1);
        }
    }
}

/* Owned by the caller: mistakes in a configuration may be many. */
__attribute__((format(printf, 1, 0))) static char *
format_text(const char *format, va_list args)
{
    va_list again;
    int len;
    char *text;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = mem_zero((size_t)(len > 0 ? len : 0) + 1);
    if (len > 0) {
        vsnprintf(text, (size_t)len + 1, format, args);
    }
    return text;
}

enum control_result
control_fail(struct control_call *call, const char *code, const char *format,
             ...)
{
    char *text;
    struct str first;
    va_list args;

    va_start(args, format);
    text = format_text(format, args);
    va_end(args);
    begin(call, SHAPE_ERROR);
    buf_printf(out(call), "ERR %s ", code);
    add_lines(call, *text != '\0' ? str_from(text) : STR("no reason is known"));
    first = str_from(text);
    first = str_cut(&first, '\n');
    snprintf(call->failure, sizeof(call->failure), "%s %.*s", code,
             first.len < 400 ? (int)first.len : 400, first.ptr);
    mem_free(&text);
    return CONTROL_DONE;
}

enum control_result
control_usage(struct control_call *call)
{
    const struct control_verb *v = call->verb;

    return control_fail(call, "usage", "use: %s%s%s", v->words,
                        v->arguments != NULL ? " " : "",
                        v->arguments != NULL ? v->arguments : "");
}

/* ---- lines and pairs ---- */

void
control_lines(struct control_call *call, struct str text)
{
    begin(call, SHAPE_LINES);
    if (!call->json) {
        add_lines(call, text);
        return;
    }
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');

        if (str_trim(line).len > 0) {
            json_str(&call->out, line);
        }
    }
}

void
control_pair(struct control_call *call, const char *name, struct str s)
{
    char text[CELL_MAX];

    begin(call, SHAPE_PAIRS);
    if (call->json) {
        json_put_str(&call->out, name, s);
    } else {
        str_escape(text, sizeof(text), s);
        buf_printf(out(call), "%s: %s\n", name, text);
    }
}

void
control_pair_int(struct control_call *call, const char *name, int64_t n)
{
    begin(call, SHAPE_PAIRS);
    if (call->json) {
        json_put_int(&call->out, name, n);
    } else {
        buf_printf(out(call), "%s: %lld\n", name, (long long)n);
    }
}

/* ---- tables ---- */

static void
text_cell(struct control_call *call, const char *text)
{
    const struct control_column *c = &call->columns[call->column];
    bool last = c[1].name == NULL;

    if (last) {
        buf_printf(out(call), "%s\n", text);
    } else {
        buf_printf(out(call), "%-*s ", c->width, text);
    }
}

/* Where the cell belongs; the row begins with its first and ends with its
 * last. */
static void
begin_cell(struct control_call *call)
{
    if (call->json && call->column == 0) {
        json_open(&call->out);
    }
}

static void
end_cell(struct control_call *call)
{
    call->column++;
    if (call->columns[call->column].name == NULL) {
        call->column = 0;
        if (call->json) {
            json_close(&call->out);
        }
    }
}

void
control_table(struct control_call *call, const struct control_column *c)
{
    if (!begin(call, SHAPE_TABLE)) {
        return;
    }
    call->columns = c;
    for (; !call->json && call->columns[call->column].name != NULL;
         call->column++) {
        text_cell(call, call->columns[call->column].name);
    }
    call->column = 0;
}

/* In a column that others follow, blanks would look like its end. */
static void
fill_blanks(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == ' ') {
            *text = '_';
        }
    }
}

static void
put_cell(struct control_call *call, struct str s,
         size_t (*escape)(char *dst, size_t size, struct str s))
{
    const struct control_column *c = &call->columns[call->column];
    char text[CELL_MAX];

    begin_cell(call);
    if (call->json) {
        json_put_str(&call->out, c->name, s);
    } else {
        escape(text, sizeof(text), s.len > 0 ? s : STR("-"));
        if (c->width > 0) {
            fill_blanks(text);
        }
        text_cell(call, text);
    }
    end_cell(call);
}

void
control_cell(struct control_call *call, struct str s)
{
    put_cell(call, s, str_escape);
}

void
control_cell_words(struct control_call *call, struct str s)
{
    put_cell(call, s, str_escape_words);
}

void
control_cell_int(struct control_call *call, int64_t n)
{
    char text[32];

    begin_cell(call);
    if (call->json) {
        json_put_int(&call->out, call->columns[call->column].name, n);
    } else {
        snprintf(text, sizeof(text), "%lld", (long long)n);
        text_cell(call, text);
    }
    end_cell(call);
}

bool
control_full(const struct control_call *call)
{
    return buf_len(&call->client->out) >= CONTROL_PIECE;
}

/* ---- the end ---- */

void
control_progress(struct control_call *call, const char *format, ...)
{
    va_list args;

    if (call->json) {
        return;
    }
    va_start(args, format);
    buf_vprintf(out(call), format, args);
    va_end(args);
    buf_add(out(call), "\n", 1);
}

void
control_answer_end(struct control_call *call)
{
    if (call->shape == SHAPE_NONE) {
        control_ok(call, "%s", "");
    }
    if (call->json && call->shape != SHAPE_ERROR) {
        while (call->out.depth > 0) {
            json_close(&call->out);
        }
        json_end(&call->out);
        buf_add(out(call), "\n", 1);
    }
    buf_add(out(call), "\n", 1);
}
