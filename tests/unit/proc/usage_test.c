/*
 * What trees of processes use.
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

#include "proc/usage.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((int64_t)1 << 20)
#define SHARED (48 * MIB)

static struct usage u;

/* ---- texts ---- */

static void
test_times_of_a_text(void **state)
{
    struct usage_times x;

    (void)state;
    assert_int_equal(
        usage_times("7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 10 20 300 4000 20 0 "
                    "1 0 777 5",
                    &x),
        0);
    assert_int_equal(x.own, 30);
    assert_int_equal(x.waited, 4300);
    assert_int_equal(x.begun, 777);
    assert_int_equal(
        usage_times("7 (a) R 1 1 1 1 1 1 1 1 1 1 9 9 9 9 9 9 9 9 9) S 1 7 7 0 "
                    "-1 4194560 1 2 3 4 1 2 3 4 20 0 1 0 5 5",
                    &x),
        0);
    assert_int_equal(x.own, 3);
    assert_int_equal(x.waited, 7);
    assert_int_equal(usage_times("7 (sh) S 1 7", &x), -1);
    assert_int_equal(usage_times("nonsense", &x), -1);
    assert_int_equal(usage_times("", &x), -1);
}

static void
test_sums(void **state)
{
    static const char *const names[] = { "Pss:", "SwapPss:", NULL };

    (void)state;
    assert_int_equal(usage_sum("Rss:  9 kB\nPss:   5 kB\nPss_Dirty: 7 kB\n"
                               "SwapPss:  2 kB\n",
                               names),
                     7 * 1024);
    assert_int_equal(usage_sum("Rss: 9 kB\n", names), 0);
    assert_int_equal(usage_sum("", names), 0);
}

/* ---- processes ---- */

static void *
rest(void *arg)
{
    pause();
    return arg;
}

/* Says that it is ready, and stays. */
static void __attribute__((noreturn)) stay(int ready)
{
    (void)!write(ready, "x", 1);
    for (;;) {
        pause();
    }
}

/* A child with a thread, whose children are two, and one of these has one. */
static void
grow(int ready)
{
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            if (i == 0 && fork() == 0) {
                stay(ready);
            }
            stay(ready);
        }
    }
    pthread_create(&thread, NULL, rest, NULL);
    stay(ready);
}

static pid_t
begin_tree(void (*branch)(int ready), int count)
{
    int ends[2];
    pid_t child;
    char c;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        branch(ends[1]);
    }
    for (int i = 0; i < count; i++) {
        assert_int_equal(read(ends[0], &c, 1), 1);
    }
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void
end_tree(pid_t child)
{
    kill(-child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
test_a_tree(void **state)
{
    pid_t child = begin_tree(grow, 4);

    (void)state;
    usage_look(child, 10, 100, &u);
    assert_int_equal(u.processes, 4);
    assert_int_equal(u.threads, 5);
    assert_int_equal(u.pids[0], child);
    usage_look(child, 3, 100, &u); /* and no more */
    assert_int_equal(u.processes, 3);
    usage_look(child, 10, 1, &u); /* the first has two threads */
    assert_int_equal(u.threads, 2);
    end_tree(child);
    usage_look(child, 10, 100, &u);
    assert_int_equal(u.processes, 1);
    assert_int_equal(u.memory, 0);
}

/* Three that share pages, with what a fork copies. */
static void
share(int ready)
{
    char *pages = mmap(NULL, SHARED, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(pages, 1, SHARED);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            volatile char sum = 0;

            for (int64_t k = 0; k < SHARED; k += 4096) {
                sum += pages[k];
            }
            (void)sum;
            stay(ready);
        }
    }
    stay(ready);
}

static void
test_memory(void **state)
{
    pid_t child = begin_tree(share, 3);
    int64_t shared;

    (void)state;
    usage_look(child, 10, 100, &u);
    shared = usage_shared_memory(&u);
    assert_true(u.memory >= 3 * SHARED - 3 * MIB);
    assert_true(shared >= SHARED - 3 * MIB);
    assert_true(shared < 2 * SHARED);
    end_tree(child);
}

/* ---- time ---- */

static int64_t
own_cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
test_time_of_those_that_ended(void **state)
{
    int64_t before;
    pid_t child;

    (void)state;
    usage_look(getpid(), 10, 100, &u);
    before = u.cpu_ms;
    child = fork();
    if (child == 0) {
        while (own_cpu_ms() < 200) {
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    usage_look(getpid(), 10, 100, &u);
    assert_true(u.cpu_ms >= before + 150);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_of_a_text),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_a_tree),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_time_of_those_that_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
