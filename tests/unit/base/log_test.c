/*
 * The process log.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char last[8192];
static size_t last_len;
static unsigned lines;

static void
keep(void *arg, const char *line, size_t len)
{
    assert_ptr_equal(arg, &lines);
    assert_true(len < sizeof(last));
    memcpy(last, line, len);
    last[len] = '\0';
    last_len = len;
    lines++;
}

static int
set_up(void **state)
{
    (void)state;
    log_set(LOG_DEBUG, LOG_TEXT);
    log_set_sink(keep, &lines);
    lines = 0;
    return 0;
}

static void
assert_matches(const char *pattern)
{
    regex_t r;

    assert_int_equal(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&r, last, 0, NULL, 0) != 0) {
        fail_msg("\"%s\" does not match %s", last, pattern);
    }
    regfree(&r);
}

static void
test_text(void **state)
{
    char expected[100];

    (void)state;
    log_notice("listening on %s:%d", "rtmp", 1935);
    snprintf(expected, sizeof(expected),
             "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z \\[notice\\] "
             "%d listening on rtmp:1935\n$",
             (int)getpid());
    assert_matches(expected);
    log_error("a\nb\r\x7f \"q\" \\ \xc3\xa4 \xff");
    assert_matches(
        "\\[error\\] [0-9]+ a\\\\x0ab\\\\x0d\\\\x7f \"q\" \\\\ \xc3\xa4 "
        "\\\\xff\n$");
}

static void
test_json(void **state)
{
    (void)state;
    log_set(LOG_DEBUG, LOG_JSON);
    log_warn("say \"%s\"\t\\\n\x01\x7f\xc3\xa4\xff", "hi");
    assert_matches("^\\{\"time\":\"[-0-9T:.]+Z\",\"level\":\"warn\",\"pid\":"
                   "[0-9]+,\"message\":\"say \\\\\"hi\\\\\"\\\\t\\\\\\\\\\\\n"
                   "\\\\u0001\\\\u007f\xc3\xa4\\\\\\\\xff\"\\}\n$");
}

static int
count(int *n)
{
    return ++*n;
}

static void
test_levels(void **state)
{
    int n = 0;

    (void)state;
    log_set(LOG_WARN, LOG_TEXT);
    assert_true(log_enabled(LOG_ALERT));
    assert_true(log_enabled(LOG_WARN));
    assert_false(log_enabled(LOG_NOTICE));
    log_info("no");
    log_debug("no %d", count(&n));
    assert_int_equal(lines, 0);
    assert_int_equal(n, 0);
    log_set(LOG_DEBUG, LOG_TEXT);
    log_debug("yes %d", count(&n));
    assert_int_equal(lines, 1);
    assert_int_equal(n, 1);
    assert_string_equal(log_level_name(LOG_ALERT), "alert");
    assert_string_equal(log_level_name(LOG_DEBUG), "debug");
}

static void
test_long(void **state)
{
    char text[9000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_info("%s", text);
    assert_in_range(last_len, 2048, 2200);
    assert_int_equal(last[last_len - 1], '\n');
    memset(text, '\x01', sizeof(text) - 1);
    log_set(LOG_DEBUG, LOG_JSON);
    log_info("%s", text);
    assert_in_range(last_len, 4080, 4096);
    assert_matches("u0001\"\\}\n$");
}

static void
test_errno(void **state)
{
    (void)state;
    errno = EAGAIN;
    log_info("x");
    assert_int_equal(errno, EAGAIN);
}

static void
test_standard_error(void **state)
{
    int ends[2], saved = dup(STDERR_FILENO);
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    log_set_sink(NULL, NULL);
    log_info("to stderr");
    dup2(saved, STDERR_FILENO);
    n = read(ends[0], last, sizeof(last) - 1);
    assert_true(n > 0);
    last[n] = '\0';
    assert_matches("\\[info\\] [0-9]+ to stderr\n$");
    close(ends[0]);
    close(ends[1]);
    close(saved);
}

struct many {
    pthread_mutex_t lock;
    unsigned whole;
};

static void
count_whole(void *arg, const char *line, size_t len)
{
    struct many *m = arg;
    static const char end[] = " aaaaaaaaaaaaaaaaaaaa\n";
    size_t tail = sizeof(end) - 1;
    bool whole = len > tail && memcmp(line + len - tail, end, tail) == 0;

    pthread_mutex_lock(&m->lock);
    m->whole += whole;
    pthread_mutex_unlock(&m->lock);
}

static void *
write_many(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        log_info("%s", "aaaaaaaaaaaaaaaaaaaa");
    }
    return arg;
}

static void
test_threads(void **state)
{
    struct many many = { PTHREAD_MUTEX_INITIALIZER, 0 };
    pthread_t threads[4];

    (void)state;
    log_set_sink(count_whole, &many);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, NULL),
                         0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    log_set_sink(NULL, NULL);
    assert_int_equal(many.whole, 4000);
}

static char heard[64];
static int heard_level;

static void
hear(enum log_level level, const char *message)
{
    heard_level = level;
    snprintf(heard, sizeof(heard), "%s", message);
}

/* It hears what is written, as it was said, whatever the format. */
static void
test_listener(void **state)
{
    (void)state;
    log_set(LOG_NOTICE, LOG_JSON);
    log_set_listener(hear);
    log_notice("a \"%d\"", 1);
    assert_string_equal(heard, "a \"1\"");
    assert_int_equal(heard_level, LOG_NOTICE);
    log_info("b");
    assert_string_equal(heard, "a \"1\"");
    log_set_level(LOG_INFO);
    assert_int_equal(log_level(), LOG_INFO);
    log_info("c");
    assert_string_equal(heard, "c");
    log_set_listener(NULL);
    log_info("d");
    assert_string_equal(heard, "c");
}

static unsigned long suppressed;

static void
count_suppressed(unsigned long n)
{
    suppressed += n;
}

/* Beyond the limit of a second lines are counted, and told in the next. */
static void
test_limited(void **state)
{
    static struct log_limit limit = { .since_ms = INT64_MAX / 2 };

    (void)state;
    log_on_suppressed(count_suppressed);
    for (int i = 0; i < LOG_LIMIT + 50; i++) {
        log_write_limited(&limit, LOG_INFO, "peer %d is a nuisance", i);
    }
    assert_int_equal(lines, LOG_LIMIT);
    assert_int_equal(suppressed, 50);
    assert_matches("peer 99 is a nuisance\n$");
    log_tell_held(); /* the second is not over */
    assert_int_equal(lines, LOG_LIMIT);
    limit.since_ms = 0;
    log_tell_held();
    assert_int_equal(lines, LOG_LIMIT + 1);
    assert_matches("\\[info\\] [0-9]+ 50 more like this were not written, the "
                   "last: peer 149 is a nuisance\n$");
    log_tell_held();
    assert_int_equal(lines, LOG_LIMIT + 1);
    log_write_limited(&limit, LOG_INFO, "again");
    assert_matches("again\n$");
    log_on_suppressed(NULL);
    log_set(LOG_WARN, LOG_TEXT);
    log_write_limited(&limit, LOG_INFO, "not at this level");
    assert_int_equal(lines, LOG_LIMIT + 2);
}

static void
say_if(bool wanted, int i)
{
    log_limited_if(wanted, LOG_DEBUG, "line %d", i);
}

/* What is wanted is written whatever the level is, within a limit that others
 * do not use up. */
static void
test_wanted(void **state)
{
    (void)state;
    log_set(LOG_WARN, LOG_TEXT);
    say_if(false, 1);
    assert_int_equal(lines, 0);
    say_if(true, 2);
    assert_int_equal(lines, 1);
    assert_matches("\\[debug\\] [0-9]+ line 2\n$");
    log_set(LOG_DEBUG, LOG_TEXT);
    for (int i = 0; i < 2 * LOG_LIMIT; i++) {
        say_if(false, i);
    }
    assert_int_equal(lines, 1 + LOG_LIMIT);
    say_if(true, 3);
    assert_matches("line 3\n$");
}

/* Lines that were held back are told whatever the level is by then. */
static void
test_wanted_and_held(void **state)
{
    static struct log_limit limit = { .since_ms = INT64_MAX / 2 };

    (void)state;
    log_set(LOG_WARN, LOG_TEXT);
    for (int i = 0; i < LOG_LIMIT + 3; i++) {
        log_write_wanted(&limit, LOG_DEBUG, "line %d", i);
    }
    assert_int_equal(lines, LOG_LIMIT);
    limit.since_ms = 0;
    log_tell_held();
    assert_matches("\\[debug\\] [0-9]+ 3 more like this were not written, the "
                   "last: line 102\n$");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_text, set_up),
        cmocka_unit_test_setup(test_json, set_up),
        cmocka_unit_test_setup(test_levels, set_up),
        cmocka_unit_test_setup(test_long, set_up),
        cmocka_unit_test_setup(test_errno, set_up),
        cmocka_unit_test_setup(test_standard_error, set_up),
        cmocka_unit_test_setup(test_threads, set_up),
        cmocka_unit_test_setup(test_listener, set_up),
        cmocka_unit_test_setup(test_limited, set_up),
        cmocka_unit_test_setup(test_wanted, set_up),
        cmocka_unit_test_setup(test_wanted_and_held, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
