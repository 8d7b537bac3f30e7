/*
 * Log lines from several processes and threads to files.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define CHILDREN 3
#define THREADS 4
#define LINES 500

static void
lines_reach_their_files(void **state)
{
    struct errmsg err;

    (void)state;
    int one = logring_open(str_from(paths[1]), &err);

    assert_int_equal(one, 1);
    assert_int_equal(logring_open(str_from(paths[1]), &err), 1);
    start();
    write_text(one, "first\n");
    wait_for(paths[1]);
    log_error("mended by nobody");
    wait_for(paths[0]);
    int two = logring_open(str_from(paths[2]), &err); /* while it runs */

    write_text(two, "third\n");
    write_text(one, "second\n");
    write_text(LOGRING_FILES, "nowhere\n");
    write_text(-1, "nowhere\n");
    write_text(7, "nowhere\n");
    logring_stop();
    is(paths[1], "first\nsecond\n");
    is(paths[2], "third\n");
    contains(paths[0], "mended by nobody\n");
    assert_int_equal(slot_at(0)->log_dropped, 0);
}

/* In a ring that is full, it is not even counted. */
static void
a_line_to_nowhere_leaves_no_trace(void **state)
{
    static char line[1024];
    uint64_t dropped;

    (void)state;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    while (slot_at(0)->log_dropped == 0) {
        logring_write(0, line, sizeof(line));
    }
    dropped = slot_at(0)->log_dropped;
    logring_write(LOGRING_FILES, line, sizeof(line));
    logring_write(-1, line, sizeof(line));
    assert_int_equal(slot_at(0)->log_dropped, dropped);
}

/* Thousands of lines of one process wait: the line of another comes between
 * them. */
static void
each_process_has_its_turn(void **state)
{
    static const int counts[] = { 0, 10000, 1 };
    int status;

    (void)state;
    for (uint32_t slot = 1; slot <= 2; slot++) {
        pid_t pid = fork();

        if (pid == 0) {
            slot_set_self(slot);
            for (int i = 0; i < counts[slot]; i++) {
                write_text(0, slot == 1 ? "1\n" : "2\n");
            }
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(slot_at(slot)->log_dropped, 0);
    }
    start();
    logring_stop();
    char *text = content(paths[0]), *other = strstr(text, "2\n");

    assert_non_null(other);
    assert_non_null(strstr(other, "1\n"));
    assert_int_equal(strlen(text), 20002);
    mem_free(&text);
}

static void *
write_lines(void *arg)
{
    const char *who = arg;
    char line[64];

    for (int i = 0; i < LINES; i++) {
        int n = snprintf(line, sizeof(line), "%s line %d\n", who, i);

        logring_write(1, line, (size_t)n);
    }
    return NULL;
}

/* ThreadSanitizer starts none in a fork of a process that has threads. */
#ifdef __SANITIZE_THREAD__
#define FORKS_HAVE_THREADS false
#else
#define FORKS_HAVE_THREADS true
#endif

static void
write_in_threads(int number, bool at_once)
{
    static char names[THREADS][16];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof(names[i]), "p%d t%d", number, i);
        if (at_once) {
            pthread_create(&threads[i], NULL, write_lines, names[i]);
        } else {
            write_lines(names[i]);
        }
    }
    for (int i = 0; i < THREADS && at_once; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Each writer's lines are all there, whole and in its order. */
static void
check_lines(char *text, int processes)
{
    int next[CHILDREN][THREADS] = { 0 };
    int total = 0;

    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        int p, t, i, end = 0;

        if (*line == '\0') {
            continue;
        }
        assert_int_equal(sscanf(line, "p%d t%d line %d%n", &p, &t, &i, &end),
                         3);
        assert_int_equal(line[end], '\0');
        assert_int_equal(i, next[p][t]++);
        total++;
    }
    assert_int_equal(total, processes * THREADS * LINES);
}

static void
threads_at_once(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(logring_open(str_from(paths[1]), &err), 1);
    start();
    write_in_threads(0, true);
    logring_stop();
    char *text = content(paths[1]);

    check_lines(text, 1);
    mem_free(&text);
}

static void
processes_and_threads_at_once(void **state)
{
    struct errmsg err;
    pid_t pids[CHILDREN];
    int status;

    (void)state;
    assert_int_equal(logring_open(str_from(paths[1]), &err), 1);
    start();
    for (int i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            slot_set_self((uint32_t)i + 1);
            write_in_threads(i, FORKS_HAVE_THREADS);
            _exit(0);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    logring_stop();
    char *text = content(paths[1]);

    check_lines(text, CHILDREN);
    mem_free(&text);
}

static void
lines_of_a_killed_process_are_written(void **state)
{
    int status;

    (void)state;
    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self(1);
        write_text(0, "last words\n");
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    pid = fork();
    if (pid == 0) {
        slot_set_self(1);
        write_text(0, "its successor\n");
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    start();
    logring_stop();
    is(paths[0], "last words\nits successor\n");
}

/* Damages all that a child can write of the logs. */
static void
scribble(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    void *begin, *end;
    int found = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "weir logs") != NULL &&
            sscanf(line, "%p-%p rw-s", &begin, &end) == 2) {
            memset(begin, 0xff, (size_t)((char *)end - (char *)begin));
            found++;
        }
    }
    (void)fclose(maps);
    assert_int_equal(found, 1);
}

static void
nobody_changes_what_the_master_says(void **state)
{
    int status;

    (void)state;
    write_text(0, "worker 0 was ended by signal 11\n");
    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self(1);
        scribble();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    start();
    logring_stop();
    contains(paths[0], "worker 0 was ended by signal 11\n");
}

static void
what_a_child_writes_is_one_line(void **state)
{
    static const char line[] = "a\nb\tc\x1b[2J\x7f";
    int status;

    (void)state;
    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self(1);
        logring_write(0, line, sizeof(line));
        logring_write(0, "", 0);
        write_text(0, "next\n");
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    start();
    logring_stop();
    is(paths[0], "a?b\tc?[2J?\nnext\n");
}

static void
too_many_lines_are_dropped_counted_and_told(void **state)
{
    static char line[1024];
    struct errmsg err;
    char expected[128];

    (void)state;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    assert_int_equal(logring_open(str_from(paths[1]), &err), 1);
    for (int i = 0; i < 300; i++) { /* nobody drains yet */
        logring_write(1, line, sizeof(line));
    }
    uint64_t dropped = slot_at(0)->log_dropped;

    assert_true(dropped > 300 - LOGRING_SIZE / 1024 && dropped < 100);
    start();
    logring_stop();
    char *text = content(paths[1]);

    assert_int_equal(strlen(text), (300 - dropped) * sizeof(line));
    mem_free(&text);
    snprintf(expected, sizeof(expected),
             "[warn] %d %llu log lines were dropped (%s)\n", (int)getpid(),
             (unsigned long long)dropped, paths[1]);
    contains(paths[0], expected);

    static char huge[LOGRING_SIZE];

    logring_write(1, huge, sizeof(huge));
    assert_int_equal(slot_at(0)->log_dropped, dropped + 1);
}

/* Nobody reads the pipe: the file beside it goes on, ending is bounded. */
static void
a_stalled_pipe_costs_only_its_own(void **state)
{
    static char line[1024];
    struct errmsg err;
    size_t came = 0;
    char buffer[4096];
    ssize_t n;

    (void)state;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    assert_int_equal(mkfifo(paths[1], 0600), 0);
    int reader = open(paths[1], O_RDONLY | O_NONBLOCK);

    assert_int_equal(logring_open(str_from(paths[1]), &err), 1);
    assert_int_equal(logring_open(str_from(paths[2]), &err), 2);
    start();
    int64_t began = clock_ms();

    for (int i = 0; i < 2000; i++) {
        logring_write(1, line, sizeof(line));
    }
    write_text(2, "beside it\n");
    assert_true(clock_ms() - began < 5000);
    while (slot_at(0)->log_dropped == 0) {
        logring_write(1, line, sizeof(line));
    }
    wait_for(paths[2]);
    is(paths[2], "beside it\n");

    began = clock_ms();
    logring_stop();
    assert_true(clock_ms() - began < 10000);
    while ((n = read(reader, buffer, sizeof(buffer))) > 0) {
        for (ssize_t i = 0; i < n; i++) { /* whole lines, cut at the end */
            assert_int_equal(buffer[i],
                             (came + (size_t)i) % 1024 == 1023 ? '\n' : 'x');
        }
        came += (size_t)n;
    }
    assert_true(came > 0);
    close(reader);
}

static void
a_pipe_that_goes_on_gets_everything(void **state)
{
    struct errmsg err;
    char line[64];
    static char got[400000];
    size_t len = 0;

    (void)state;
    assert_int_equal(mkfifo(paths[1], 0600), 0);
    int reader = open(paths[1], O_RDONLY | O_NONBLOCK);

    assert_int_equal(logring_open(str_from(paths[1]), &err), 1);
    start();
    for (int i = 0; i < 3000; i++) { /* more than the pipe holds */
        int n =
            snprintf(line, sizeof(line),
                     "%06d ------------------------------------------\n", i);

        logring_write(1, line, (size_t)n);
    }
    while (len < 3000 * 50) {
        ssize_t n = read(reader, got + len, sizeof(got) - len);

        len += n > 0 ? (size_t)n : 0;
    }
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(strtol(got + i * 50, NULL, 10), i);
    }
    assert_int_equal(slot_at(0)->log_dropped, 0);
    close(reader);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_reach_their_files),
        TEST(a_line_to_nowhere_leaves_no_trace),
        TEST(each_process_has_its_turn),
        TEST(threads_at_once),
        TEST(processes_and_threads_at_once),
        TEST(lines_of_a_killed_process_are_written),
        TEST(nobody_changes_what_the_master_says),
        TEST(what_a_child_writes_is_one_line),
        TEST(too_many_lines_are_dropped_counted_and_told),
        TEST(a_stalled_pipe_costs_only_its_own),
        TEST(a_pipe_that_goes_on_gets_everything),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
