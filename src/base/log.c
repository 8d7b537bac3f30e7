/*
 * The process log.  Level, format and sink are the process's; a line is put
 * together on the stack, so any thread may write at any time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define MESSAGE_SIZE 2048
#define LINE_SIZE 4096 /* PIPE_BUF: a write to a pipe stays in one piece */

static struct {
    atomic_int level;
    atomic_int format;
    _Atomic(log_sink *) sink;
    _Atomic(void *) arg;
    _Atomic(log_listener *) listener;
} settings = { .level = LOG_INFO, .format = LOG_TEXT };

/* A line in the making; what does not fit is left out. */
struct line {
    char *text;
    size_t len, size;
};

void
log_set(enum log_level level, enum log_format format)
{
    atomic_store(&settings.level, (int)level);
    atomic_store(&settings.format, (int)format);
}

void
log_set_sink(log_sink *sink, void *arg)
{
    atomic_store(&settings.sink, NULL);
    atomic_store(&settings.arg, arg);
    atomic_store(&settings.sink, sink);
}

void
log_set_level(enum log_level level)
{
    atomic_store(&settings.level, (int)level);
}

enum log_level
log_level(void)
{
    return (enum log_level)atomic_load(&settings.level);
}

void
log_set_listener(log_listener *listener)
{
    atomic_store(&settings.listener, listener);
}

bool
log_enabled(enum log_level level)
{
    return (int)level <=
           atomic_load_explicit(&settings.level, memory_order_relaxed);
}

const char *
log_level_name(enum log_level level)
{
    static const char *const names[] = { "alert",  "crit", "error", "warn",
                                         "notice", "info", "debug" };

    return names[level];
}

static bool
add(struct line *l, const char *text, size_t len)
{
    if (len > l->size - l->len) {
        return false;
    }
    memcpy(l->text + l->len, text, len);
    l->len += len;
    return true;
}

/* A byte that cannot stand in a text line. */
static size_t
escape_text(char *to, size_t size, unsigned c)
{
    return (size_t)snprintf(to, size, "\\x%02x", c);
}

/* A byte that cannot stand in a JSON string (RFC 8259, section 7).  Invalid
 * UTF-8 is no text: its bytes are written out as in a text line. */
static size_t
escape_json(char *to, size_t size, unsigned c)
{
    if (c == '"' || c == '\\') {
        return (size_t)snprintf(to, size, "\\%c", (int)c);
    }
    if (c == '\n') {
        return (size_t)snprintf(to, size, "\\n");
    }
    if (c == '\t') {
        return (size_t)snprintf(to, size, "\\t");
    }
    if (c < 0x20 || c == 0x7f) {
        return (size_t)snprintf(to, size, "\\u%04x", c);
    }
    return (size_t)snprintf(to, size, "\\\\x%02x", c);
}

static void
add_message(struct line *l, struct str s, bool json)
{
    while (s.len > 0) {
        size_t n = utf8_char(s);
        unsigned c = (unsigned char)s.ptr[0];
        bool quote = json && (c == '"' || c == '\\');
        char text[8];

        if (n > 0 && c >= 0x20 && c != 0x7f && !quote) {
            if (!add(l, s.ptr, n)) {
                return;
            }
            s = str_skip(s, n);
            continue;
        }
        n = json ? escape_json(text, sizeof(text), c)
                 : escape_text(text, sizeof(text), c);
        if (!add(l, text, n)) {
            return;
        }
        s = str_skip(s, 1);
    }
}

static void
add_head(struct line *l, enum log_level level, bool json)
{
    char date[32];
    const char *name = log_level_name(level);
    int n;

    clock_iso8601(date, sizeof(date), clock_wall_ms());
    n = snprintf(l->text, l->size,
                 json ? "{\"time\":\"%s\",\"level\":\"%s\",\"pid\":%ld,"
                        "\"message\":\""
                      : "%s [%s] %ld ",
                 date, name, (long)getpid());
    l->len = (size_t)n;
}

static void
deliver(const struct line *l)
{
    log_sink *sink = atomic_load(&settings.sink);

    if (sink != NULL) {
        sink(atomic_load(&settings.arg), l->text, l->len);
    } else {
        ssize_t unused = write(STDERR_FILENO, l->text, l->len);

        (void)unused; /* there is nowhere to say it */
    }
}

static void
hear(enum log_level level, const char *message)
{
    log_listener *listener = atomic_load(&settings.listener);

    if (listener != NULL) {
        listener(level, message);
    }
}

static void put(enum log_level level, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void
put(enum log_level level, const char *format, va_list args)
{
    char message[MESSAGE_SIZE], text[LINE_SIZE];
    bool json = atomic_load(&settings.format) == LOG_JSON;
    const char *end = json ? "\"}\n" : "\n";
    struct line line = { text, 0, sizeof(text) - strlen(end) };
    int saved = errno;

    if (vsnprintf(message, sizeof(message), format, args) < 0) {
        message[0] = '\0';
    }
    add_head(&line, level, json);
    add_message(&line, str_from(message), json);
    line.size = sizeof(text);
    add(&line, end, strlen(end));
    deliver(&line);
    hear(level, message);
    errno = saved;
}

void
log_vwrite(enum log_level level, const char *format, va_list args)
{
    if (log_enabled(level)) {
        put(level, format, args);
    }
}

void
log_write(enum log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_vwrite(level, format, args);
    va_end(args);
}

/* ---- lines that a hostile peer can cause at will ---- */

static struct log_limit *limits;
static void (*count_suppressed)(unsigned long n);

void
log_on_suppressed(void (*count)(unsigned long n))
{
    count_suppressed = count;
}

static void put_held(const struct log_limit *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
put_held(const struct log_limit *l, const char *format, ...)
{
    va_list args;

    if (l->wanted || log_enabled(l->level)) {
        va_start(args, format);
        put(l->level, format, args);
        va_end(args);
    }
}

/* A new second: says what was held back in the one before. */
static void
begin_second(struct log_limit *l, int64_t now)
{
    unsigned held = l->held;

    l->since_ms = now;
    l->written = l->held = 0;
    if (held > 0) {
        put_held(l, "%u more like this were not written, the last: %s", held,
                 l->last);
    }
}

static void hold_back(struct log_limit *l, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void
hold_back(struct log_limit *l, const char *format, va_list args)
{
    if (vsnprintf(l->last, sizeof(l->last), format, args) < 0) {
        l->last[0] = '\0';
    }
    l->held++;
    if (count_suppressed != NULL) {
        count_suppressed(1);
    }
}

static void put_limited(struct log_limit *l, enum log_level level,
                        const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void
put_limited(struct log_limit *l, enum log_level level, const char *format,
            va_list args)
{
    int64_t now = clock_ms();

    if (!l->listed) {
        l->listed = true;
        l->next = limits;
        limits = l;
    }
    l->level = level;
    if (now - l->since_ms >= 1000) {
        begin_second(l, now);
    }
    if (l->written < LOG_LIMIT) {
        l->written++;
        put(level, format, args);
    } else {
        hold_back(l, format, args);
    }
}

void
log_write_limited(struct log_limit *l, enum log_level level, const char *format,
                  ...)
{
    va_list args;

    if (log_enabled(level)) {
        va_start(args, format);
        put_limited(l, level, format, args);
        va_end(args);
    }
}

void
log_write_wanted(struct log_limit *l, enum log_level level, const char *format,
                 ...)
{
    va_list args;

    l->wanted = true;
    va_start(args, format);
    put_limited(l, level, format, args);
    va_end(args);
}

void
log_tell_held(void)
{
    int64_t now = clock_ms();

    for (struct log_limit *l = limits; l != NULL; l = l->next) {
        if (l->held > 0 && now - l->since_ms >= 1000) {
            begin_second(l, now);
        }
    }
}
