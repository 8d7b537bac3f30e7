/*
 * Folders of runs, the sweep, work for threads, the list of folders.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "place_help.h"

/* ---- folders of runs ---- */

static void
test_a_run_is_found_again(void **state)
{
    struct errmsg err;

    (void)state;
    run_with(5, "media.part", "half");
    place_free(&p);
    open_place(); /* weir was started again */
    int folder = place_begin(p, 5, &err);
    assert_int_equal(faccessat(folder, "media.part", F_OK, 0), 0);
    close(folder);
    drop(5);
    assert_true(told.ok);
    drop(5); /* there is none */
    assert_true(told.ok);
    drop(-3); /* nor was one */
    assert_true(told.ok);
}

/* A tree that no path reaches. */
static void
make_deep(int folder, int depth)
{
    int at_fd = dup(folder);

    for (int i = 0; i < depth; i++) {
        int next;

        assert_int_equal(mkdirat(at_fd, "lifted.1", 0755), 0);
        write_at(at_fd, "file", "x");
        next = openat(at_fd, "lifted.1", O_RDONLY | O_DIRECTORY);
        assert_int_not_equal(next, -1);
        close(at_fd);
        at_fd = next;
    }
    close(at_fd);
}

static void
test_whatever_a_run_leaves_goes(void **state)
{
    struct errmsg err;
    int folder = place_begin(p, 1, &err);

    (void)state;
    make_deep(folder, 3000);
    write_at(folder, "media.mp4.part", "x");
    assert_int_equal(symlinkat(top, folder, "link"), 0);
    assert_int_equal(mkfifoat(folder, "fifo", 0600), 0);
    assert_int_equal(mkdirat(folder, "closed", 0755), 0);
    write_at(folder, "closed/file", "x");
    assert_int_equal(fchmodat(folder, "closed", 0500, 0), 0);
    for (int i = 0; i < 2000; i++) {
        char name[32];

        snprintf(name, sizeof(name), "media-Frag%d", i);
        write_at(folder, name, "x");
    }
    close(folder);
    drop(1);
    assert_string_equal(told.msg, "");
    assert_true(told.ok);
    assert_int_equal(count_names("d/.weir"), 0);
    assert_true(is_there("d"));
}

static bool
knows_even(void *arg, int64_t number)
{
    ++*(int *)arg;
    return number % 2 == 0;
}

static void
test_the_sweep_takes_what_nobody_knows(void **state)
{
    int64_t end = clock_ms() + PATIENCE_MS;
    int asked = 0;
    struct errmsg err;

    (void)state;
    run_with(2, "a", "x");
    run_with(3, "a", "x");
    run_with(5, "a", "x");
    close(place_begin(p, -1, &err));
    assert_int_equal(count_names("d/.weir"), 4);
    place_free(&p); /* all that it held is let go */
    open_place();
    run_with(5, "b", "x"); /* runs again before the sweep */
    close(place_begin(p, -1, &err));
    assert_int_equal(mkdir(at("d/.weir/notes"), 0700), 0); /* the operator's */
    assert_int_equal(mkdir(at("d/.weir/xbeef"), 0700), 0);
    assert_int_equal(mkdir(at("d/.weir/xylophone_concert"), 0700), 0);
    place_sweep(p, knows_even, &asked);
    while (count_names("d/.weir") > 6 && clock_ms() < end) {
        loop_turn(l, 20);
    }
    drop(1000); /* behind all that the sweep does */
    assert_int_equal(asked, 2);
    assert_true(is_there("d/.weir/2"));
    assert_false(is_there("d/.weir/3"));
    assert_true(is_there("d/.weir/5/b"));
    assert_true(is_there("d/.weir/notes"));
    assert_true(is_there("d/.weir/xbeef"));
    assert_true(is_there("d/.weir/xylophone_concert"));
    assert_int_equal(count_names("d/.weir"), 6); /* and an extraction's */
    drop(-1);
    assert_int_equal(count_names("d/.weir"), 5);
}

/* ---- one that is not told ---- */

static void
test_forgotten_work_is_done(void **state)
{
    struct place_work *w;

    (void)state;
    run_with(1, "media.mp4", "x");
    told.calls = 0;
    w = ask_take(1, "media.mp4", "", "T");
    place_forget(&w);
    assert_null(w);
    place_forget(&w);
    drop(1); /* behind it */
    assert_int_equal(told.calls, 1);
    assert_true(is_there("d/T.mp4"));
}

static void
test_more_work_than_the_threads_take(void **state)
{
    (void)state;
    told.calls = 0;
    for (int64_t i = 1; i <= 200; i++) {
        run_with(i, "a", "x");
        place_drop(p, i, on_told, NULL);
    }
    wait_for(200);
    assert_int_equal(count_names("d/.weir"), 0);
}

static void
free_it(void *arg, bool ok, struct str name, const char *msg, int64_t size)
{
    (void)ok;
    (void)name;
    (void)msg;
    (void)size;
    told.calls++;
    place_free(arg);
}

static void
test_a_callback_may_free_it(void **state)
{
    (void)state;
    told.calls = 0;
    place_drop(p, 1, free_it, &p);
    place_drop(p, 2, on_told, NULL);
    wait_for(1);
    assert_null(p);
    loop_turn(l, 20);
    assert_int_equal(told.calls, 1);
}

static void
test_it_may_go_while_a_thread_works(void **state)
{
    (void)state;
    told.calls = 0;
    for (int64_t i = 1; i <= 20; i++) {
        run_with(i, "media.mp4", "x");
        ask_take(i, "media.mp4", "", "T");
    }
    place_free(&p);
    task_threads_free(&threads);
    assert_int_equal(told.calls, 0);
}

/* ---- folders ---- */

static void
on_looked(void *arg)
{
    (void)arg;
    told.calls++;
}

static const char *
look(void)
{
    told.calls = 0;
    place_look(p, on_looked, NULL);
    wait_for(1);
    str_copy(told.msg, sizeof(told.msg), place_folders(p));
    return told.msg;
}

static void
test_folders_are_listed(void **state)
{
    (void)state;
    assert_string_equal(look(), "[\"\"]");
    assert_int_equal(mkdir(at("d/b"), 0755), 0);
    assert_string_equal(look(), "[\"\"]"); /* kept */
    result(1, "sub \"q\"/x", "T");         /* a change of ours counts */
    assert_int_equal(mkdir(at("d/@eaDir"), 0755), 0);
    assert_int_equal(mkdir(at("d/.git"), 0755), 0);
    assert_int_equal(mkdir(at("d/b/bad\nname"), 0755), 0);
    assert_int_equal(symlink(top, at("d/link")), 0);
    assert_string_equal(look(),
                        "[\"\",\"b\",\"sub \\\"q\\\"\",\"sub \\\"q\\\"/x\"]");
}

static void
test_the_list_has_a_bound(void **state)
{
    struct str list;
    size_t texts = 1;
    char name[32];

    (void)state;
    for (int i = 0; i < PLACE_FOLDERS + 100; i++) {
        snprintf(name, sizeof(name), "d/f%d", i);
        assert_int_equal(mkdir(at(name), 0755), 0);
    }
    result(1, "", "T");
    look();
    list = place_folders(p);
    for (size_t i = 0; i < list.len; i++) {
        texts += list.ptr[i] == ',';
    }
    assert_int_equal(texts, PLACE_FOLDERS);
}

static void
test_who_asks_may_go(void **state)
{
    int who;

    (void)state;
    told.calls = 0;
    place_look(p, on_looked, &who);
    place_look_forget(p, &who);
    drop(1);
    assert_int_equal(told.calls, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_is_found_again),
        TEST(test_whatever_a_run_leaves_goes),
        TEST(test_the_sweep_takes_what_nobody_knows),
        TEST(test_forgotten_work_is_done),
        TEST(test_more_work_than_the_threads_take),
        TEST(test_a_callback_may_free_it),
        TEST(test_it_may_go_while_a_thread_works),
        TEST(test_folders_are_listed),
        TEST(test_the_list_has_a_bound),
        TEST(test_who_asks_may_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
