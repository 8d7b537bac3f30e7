/*
 * The process log.
 *
 * A line is formatted here, in the caller's process, and handed to a sink.
 * The first sink writes to standard error; a running weir writes into the ring
 * of its slot (proc/logring.h), so that no process waits for a disk or a pipe.
 *
 * Text lines:  2026-01-02T03:04:05.678Z [notice] 1234 message
 * JSON lines:  {"time":"...","level":"notice","pid":1234,"message":"..."}
 * A message is at most 2 KB; control bytes and invalid UTF-8 in it become
 * \xHH, in JSON \u00HH.  Quotes stay: a caller that quotes a client's text
 * passes it through str_escape() first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nginx's names. */
enum log_level {
    LOG_ALERT,  /* weir itself is wrong: tests fail on it */
    LOG_CRIT,   /* the service cannot go on */
    LOG_ERROR,  /* something an operator must mend */
    LOG_WARN,   /* something an operator should look at */
    LOG_NOTICE, /* start, stop, listening, reload */
    LOG_INFO,   /* sessions come and go; refusals with their reason */
    LOG_DEBUG,  /* steps inside a session */
};

enum log_format { LOG_TEXT, LOG_JSON };

/* Called with one whole line, newline included. */
typedef void log_sink(void *arg, const char *line, size_t len);

void log_set(enum log_level level, enum log_format format);
/* NULL: standard error, the default.  Not while another thread logs. */
void log_set_sink(log_sink *sink, void *arg);
/* The level alone, for a while. */
void log_set_level(enum log_level level);
enum log_level log_level(void);
/* Hears every message that is written, as it was before it became a line; it
 * must not log.  NULL: nobody.  Not while another thread logs. */
typedef void log_listener(enum log_level level, const char *message);
void log_set_listener(log_listener *listener);
bool log_enabled(enum log_level level);
const char *log_level_name(enum log_level level);

void log_write(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void log_vwrite(enum log_level level, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* ---- lines that a hostile peer can cause at will ---- */

#define LOG_LIMIT 100 /* lines a second, of one place in the code */

/* A place in the code that logs; static, starts all zero.  One thread. */
struct log_limit {
    struct log_limit *next; /* of the process */
    int64_t since_ms;       /* clock_ms() when this second began */
    unsigned written;       /* lines in it */
    unsigned held;          /* lines that were not */
    enum log_level level;
    char last[160]; /* of those */
    bool wanted;    /* whatever the level is */
    bool listed;
};

/* As log_write(), but beyond LOG_LIMIT lines a second nothing is written; "N
 * more like this were not written: the last" follows by log_tell_held(). */
void log_write_limited(struct log_limit *l, enum log_level level,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same whatever the level is: somebody asked for these very lines. */
void log_write_wanted(struct log_limit *l, enum log_level level,
                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* To be called about once a second. */
void log_tell_held(void);
/* Sets the function that counts suppressed lines; it is called with their
 * number. */
void log_on_suppressed(void (*count)(unsigned long n));

#define log_limited(level, ...)                         \
    do {                                                \
        static struct log_limit limit_;                 \
        log_write_limited(&limit_, level, __VA_ARGS__); \
    } while (0)

/* Wanted lines have a limit of their own, which other lines do not use up. */
#define log_limited_if(wanted, level, ...)                  \
    do {                                                    \
        if (wanted) {                                       \
            static struct log_limit wanted_;                \
            log_write_wanted(&wanted_, level, __VA_ARGS__); \
        } else if (log_enabled(level)) {                    \
            static struct log_limit limit_;                 \
            log_write_limited(&limit_, level, __VA_ARGS__); \
        }                                                   \
    } while (0)

#define log_alert(...) log_write(LOG_ALERT, __VA_ARGS__)
#define log_crit(...) log_write(LOG_CRIT, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_notice(...) log_write(LOG_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
/* Arguments are not evaluated when the level is off. */
#define log_debug(...)                         \
    do {                                       \
        if (log_enabled(LOG_DEBUG)) {          \
            log_write(LOG_DEBUG, __VA_ARGS__); \
        }                                      \
    } while (0)

#endif
