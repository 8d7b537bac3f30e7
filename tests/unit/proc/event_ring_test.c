/*
 * The ring of recent records: order, overwriting, several writers, damage.
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

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/event_ring.h"
#include "region.h"

static struct recent *ring;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    ring = recent_create("test", 4, &err);
    return ring != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    recent_destroy(&ring);
    assert_null(ring);
    return 0;
}

static void
expect(uint64_t after, uint64_t number, const char *text)
{
    struct recent_record r;

    assert_true(recent_next(ring, after, &r));
    assert_int_equal(r.number, number);
    assert_string_equal(r.text, text);
    assert_int_equal(r.len, strlen(text));
    assert_int_equal(r.pid, getpid());
    assert_true(r.wall_ms > 0);
}

static void
test_in_order(void **state)
{
    struct recent_record r;

    (void)state;
    assert_false(recent_next(ring, 0, &r));
    assert_int_equal(recent_last(ring), 0);
    recent_put(ring, 7, STR("one"));
    recent_put(ring, 8, STR(""));
    expect(0, 1, "one");
    expect(1, 2, "");
    assert_true(recent_next(ring, 1, &r));
    assert_int_equal(r.tag, 8);
    assert_false(recent_next(ring, 2, &r));
}

/* Everything is that byte, and the newest record has that number. */
static void
read_after(uint64_t last, int fill)
{
    struct region r = region_find("test");
    struct recent_record out;

    memset(r.bytes, fill, r.size);
    memcpy(r.bytes, &last, sizeof(last));
    for (uint64_t n = 0; n < 100; n++) {
        if (recent_next(ring, n == 0 ? 0 : last + 50 - n, &out)) {
            assert_true(out.len <= RECENT_TEXT);
        }
    }
    assert_false(recent_next(ring, UINT64_MAX, &out));
    recent_put(ring, 1, STR("text"));
}

/* Words that no writer would leave: neither a loop without end, nor a record
 * beyond its room. */
static void
test_whatever_stands_there(void **state)
{
    static const uint64_t lasts[] = { 5, UINT64_C(1) << 40, INT64_MAX,
                                      UINT64_C(1) << 63, UINT64_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++) {
        for (int fill = 0; fill < 256; fill += 51) {
            read_after(lasts[i], fill);
        }
    }
    recent_clear(ring);
}

static void
test_a_length_beyond_its_room(void **state)
{
    struct region r = region_find("test");
    struct recent_record out;
    uint32_t len = 4, wrong = 0x7fffffff;

    (void)state;
    recent_put(ring, 1, STR("text"));
    for (size_t i = 64; i + 4 <= r.size; i += 4) { /* wherever it stands */
        if (memcmp(r.bytes + i, &len, 4) == 0) {
            memcpy(r.bytes + i, &wrong, 4);
        }
    }
    assert_true(recent_next(ring, 0, &out));
    assert_int_equal(out.len, RECENT_TEXT);
}

/* The word of the place of that record: its number, and who writes to it (0:
 * nobody).  Its time stands behind it. */
static uint64_t *
state_of(uint64_t number)
{
    struct region r = region_find("test");
    uint64_t state = number << 23;

    for (size_t i = 64; i + 8 <= r.size; i += 64) {
        if (memcmp(r.bytes + i, &state, sizeof(state)) == 0) {
            return (uint64_t *)(void *)(r.bytes + i);
        }
    }
    fail_msg("there is no record %d", (int)number);
    return NULL;
}

static void
put_letters(char first, char last)
{
    for (char text[2] = { first }; text[0] <= last; text[0]++) {
        recent_put(ring, 0, str_from(text));
    }
}

static void
test_a_place_that_another_writes_to(void **state)
{
    struct recent_record out;
    uint64_t *place;
    pid_t dead = fork();

    (void)state;
    if (dead == 0) {
        _exit(0);
    }
    waitpid(dead, NULL, 0);
    put_letters('a', 'd');
    place = state_of(1);
    *place |= (uint64_t)getppid();
    put_letters('e', 'e');
    assert_false(recent_next(ring, 4, &out)); /* it gave way */
    *place = 1 << 23 | (uint64_t)dead;
    put_letters('f', 'i');
    expect(8, 9, "i");
}

static void
test_a_time_that_cannot_be(void **state)
{
    static const int64_t wrong[] = { -1, INT64_MIN, INT64_C(253402300800000),
                                     INT64_MAX };
    struct recent_record out;

    (void)state;
    put_letters('a', 'a');
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(state_of(1) + 1, &wrong[i], sizeof(wrong[i]));
        assert_true(recent_next(ring, 0, &out));
        assert_int_equal(out.wall_ms, 0);
    }
}

/* Somebody has set the newest number back: what happens then is kept all the
 * same. */
static void
test_numbers_that_are_wrong(void **state)
{
    struct region r = region_find("test");
    uint64_t none = 0;

    (void)state;
    for (int i = 0; i < 6; i++) {
        recent_put(ring, 0, STR("before"));
    }
    memcpy(r.bytes, &none, sizeof(none));
    recent_put(ring, 0, STR("after"));
    expect(0, 1, "after");
    recent_put(ring, 0, STR("next"));
    expect(1, 2, "next");
}

static void
test_the_oldest_goes(void **state)
{
    char text[2] = "a";

    (void)state;
    for (; text[0] <= 'f'; text[0]++) {
        recent_put(ring, 0, str_from(text));
    }
    expect(0, 3, "c");
    expect(5, 6, "f");
    assert_int_equal(recent_last(ring), 6);
}

static void
test_cut(void **state)
{
    static char text[2 * RECENT_TEXT];
    struct recent_record r;

    (void)state;
    memset(text, 'x', sizeof(text));
    recent_put(ring, 0, str_of(text, sizeof(text)));
    assert_true(recent_next(ring, 0, &r));
    assert_int_equal(r.len, RECENT_TEXT);
    assert_int_equal(strlen(r.text), RECENT_TEXT);
}

static void
test_cleared(void **state)
{
    struct recent_record r;

    (void)state;
    recent_put(ring, 0, STR("old"));
    recent_clear(ring);
    assert_false(recent_next(ring, 0, &r));
    recent_put(ring, 0, STR("new"));
    expect(0, 2, "new");
}

static void
test_not_made(void **state)
{
    struct recent *none = NULL;
    struct recent_record r;

    (void)state;
    recent_put(none, 0, STR("x"));
    recent_clear(none);
    assert_false(recent_next(none, 0, &r));
}

/* Whole texts only, whoever writes meanwhile. */
static void
test_several_processes(void **state)
{
    struct recent_record r;
    uint64_t after = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            char text[400];

            memset(text, 'a' + i, sizeof(text));
            for (int k = 0; k < 20000; k++) {
                recent_put(ring, 0, str_of(text, sizeof(text)));
            }
            _exit(0);
        }
    }
    for (int left = 3; left > 0;) {
        left -= waitpid(-1, NULL, WNOHANG) > 0;
        while (recent_next(ring, after, &r)) {
            assert_true(r.number > after);
            assert_int_equal(r.len, 400);
            assert_memory_equal(r.text, r.text + 1, 399);
            after = r.number;
        }
    }
    assert_int_equal(recent_last(ring), 60000);
}

/* A place that a killed writer left half made is taken in the next round. */
static void
test_killed_in_the_middle(void **state)
{
    struct recent_record r;
    int rounds = 0;

    (void)state;
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            for (;;) {
                recent_put(ring, 0, STR("x"));
            }
        }
        usleep(500);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    for (uint64_t n = recent_last(ring); rounds < 8; rounds++) {
        recent_put(ring, 0, STR("y"));
        assert_true(recent_next(ring, n + (uint64_t)rounds, &r));
        assert_string_equal(r.text, "y");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_that_are_wrong, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_oldest_goes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_whatever_stands_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_length_beyond_its_room, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_place_that_another_writes_to,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_time_that_cannot_be, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cleared, set_up, tear_down),
        cmocka_unit_test(test_not_made),
        cmocka_unit_test_setup_teardown(test_several_processes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_killed_in_the_middle, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
