/*
 * Memory from the heap.
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

#include "base/mem.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
test_alloc(void **state)
{
    unsigned char *p = mem_zero(100);

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(p[i], 0);
    }
    memset(p, 7, 100);
    p = mem_resize(p, 200);
    assert_int_equal(p[99], 7);
    mem_free(&p);
    assert_null(p);
    mem_free(&p); /* NULL is fine */
    p = mem_alloc(0);
    assert_non_null(p);
    mem_free(&p);
}

static void
test_dup(void **state)
{
    char *s = mem_dup("abc", 2);

    (void)state;
    assert_string_equal(s, "ab");
    mem_free(&s);
    s = mem_dup(NULL, 0);
    assert_string_equal(s, "");
    mem_free(&s);
}

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifndef HAS_ASAN /* it ends the process itself on such sizes */
static void
test_none_left(void **state)
{
    volatile size_t huge = SIZE_MAX / 2;
    int status;
    pid_t pid;

    (void)state;
    assert_null(try_alloc(huge));
    assert_null(try_zero(huge));
    assert_null(try_resize(NULL, huge));
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        mem_alloc(huge);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_dup),
#ifndef HAS_ASAN
        cmocka_unit_test(test_none_left),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
