/*
 * Ids of viewers: those that weir gave out, and no others.
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

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "viewer.h"

static bool
is_same(const struct live_viewer_id *a, const struct live_viewer_id *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static void
test_what_was_given_out(void **state)
{
    struct live_viewer_id id = viewer_new(), other = viewer_new(), got;
    char text[VIEWER_TEXT];

    (void)state;
    assert_false(is_same(&id, &other));
    viewer_text(&id, text);
    assert_int_equal(strlen(text), VIEWER_TEXT - 1);
    assert_true(viewer_read(str_from(text), &got));
    assert_true(is_same(&id, &got));
}

/* Each digit counts. */
static void
test_what_was_not(void **state)
{
    struct live_viewer_id id = viewer_new(), got;
    char text[VIEWER_TEXT];

    (void)state;
    viewer_text(&id, text);
    for (size_t i = 0; i < VIEWER_TEXT - 1; i++) {
        char digit = text[i];

        text[i] = digit == '0' ? '1' : '0';
        assert_false(viewer_read(str_from(text), &got));
        text[i] = 'x';
        assert_false(viewer_read(str_from(text), &got));
        text[i] = digit;
        assert_false(viewer_read(str_of(text, i), &got));
    }
    assert_true(viewer_read(str_from(text), &got));
    assert_false(viewer_read(str_of(text, VIEWER_TEXT), &got));
    assert_false(viewer_read(STR("00000000000000000000000000000000"), &got));
}

static void
test_another_process(void **state)
{
    struct live_viewer_id id, got;
    char text[VIEWER_TEXT];
    int status, ends[2];

    (void)state;
    id =
        viewer_new(); /* the key is drawn before the fork, as the master does */
    assert_int_equal(pipe(ends), 0);
    if (fork() == 0) {
        id = viewer_new();
        viewer_text(&id, text);
        _exit(write(ends[1], text, sizeof(text)) != sizeof(text));
    }
    assert_int_equal(read(ends[0], text, sizeof(text)), sizeof(text));
    assert_true(viewer_read(str_from(text), &got));
    wait(&status);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
}

static void
test_clients_without_one(void **state)
{
    struct addr one, same, other;
    struct live_viewer_id a, b, c;

    (void)state;
    assert_int_equal(addr_parse_ip(STR("192.0.2.1"), &one), 0);
    same = one;
    same.port = 7;
    assert_int_equal(addr_parse_ip(STR("192.0.2.2"), &other), 0);
    a = viewer_of_client(&one);
    b = viewer_of_client(&same);
    c = viewer_of_client(&other);
    assert_true(is_same(&a, &b));
    assert_false(is_same(&a, &c));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_given_out),
        cmocka_unit_test(test_what_was_not),
        cmocka_unit_test(test_another_process),
        cmocka_unit_test(test_clients_without_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
