/*
 * Children that crash, and what they leave for their parent.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/crash_dump.h"
#include "proc/symbols.h"
#include "region.h"

#define SLOT 3

/* Runs work in a child with a slot; how it ended. */
static int
run(void (*work)(void))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        for (int number = SIGILL; number <= SIGSEGV; number++) {
            signal(number, SIG_DFL); /* cmocka's are for its tests */
        }
        crash_dump_listen(SLOT);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool
is_in(const struct crash_dump *w, const char *function)
{
    char place[256];
    uint64_t offset;

    for (uint32_t i = 0; i < w->count; i++) {
        symbols_tell(w->frames[i], true, place, sizeof(place), &offset);
        if (strstr(place, function) != NULL) {
            return true;
        }
    }
    symbols_tell(w->ip, false, place, sizeof(place), &offset);
    return strstr(place, function) != NULL;
}

/* ---- crashes ---- */

static void
signal_oneself(void)
{
    raise(SIGBUS);
}

static void
give_up(void)
{
    abort();
}

/* Memory that may not be touched, so that no sanitizer minds. */
static void
touch(void)
{
    char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *(volatile char *)(p + 16) = 1;
}

static void
crashes_are_told(void **state)
{
    struct crash_dump w;
    int status;

    (void)state;
    assert_false(crash_dump_read(SLOT, &w));
    assert_false(crash_dump_whole(SLOT));
    status = run(touch);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_true(crash_dump_read(SLOT, &w));
    assert_int_equal(w.signal, SIGSEGV);
    assert_true(crash_dump_whole(SLOT));
    assert_int_equal(w.address % 4096, 16);
    assert_int_equal(w.sender, 0);
    assert_true(is_in(&w, "touch+") && is_in(&w, "main+"));
    assert_false(crash_dump_read(SLOT + 1, &w));
    crash_dump_forget(SLOT);
    assert_false(crash_dump_read(SLOT, &w));
    assert_false(crash_dump_read(UINT32_MAX, &w));
}

static void
signals_end_a_process_as_before(void **state)
{
    struct crash_dump w;
    int status;

    (void)state;
    status = run(signal_oneself);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    assert_true(crash_dump_read(SLOT, &w));
    assert_true(w.sender == w.thread);
    crash_dump_forget(SLOT);
    status = run(give_up);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(crash_dump_read(SLOT, &w));
    assert_true(is_in(&w, "give_up+"));
    crash_dump_forget(SLOT);
}

/* ---- questions ---- */

static volatile bool went_on;

static void
answer(void)
{
    raise(crash_dump_signal());
    went_on = true; /* so it is no jump to raise() */
}

static void
a_question_is_answered_and_life_goes_on(void **state)
{
    struct crash_dump w;

    (void)state;
    assert_int_equal(run(answer), 0);
    assert_true(crash_dump_read(SLOT, &w));
    assert_int_equal(w.signal, crash_dump_signal());
    assert_true(is_in(&w, "answer+"));
    crash_dump_forget(SLOT);
}

static void
say_nothing(void)
{
    kill(getpid(), SIGKILL);
}

static void
the_killed_say_nothing(void **state)
{
    struct crash_dump w;

    (void)state;
    assert_true(WIFSIGNALED(run(say_nothing)));
    assert_false(crash_dump_read(SLOT, &w));
}

static void
without_room_nothing_is_caught(void **state)
{
    struct crash_dump w;
    struct errmsg err;

    (void)state;
    crash_dump_destroy();
    assert_int_equal(crash_dump_signal(), 0);
    assert_int_equal(WTERMSIG(run(signal_oneself)), SIGBUS);
    assert_false(crash_dump_read(SLOT, &w));
    assert_int_equal(crash_dump_create(8, &err), 0);
}

static void
no_more_is_told_than_there_is_room_for(void **state)
{
    struct region r = region_find("weir last words");
    struct crash_dump w;

    (void)state;
    memset(r.bytes, 0x7f, r.size);
    assert_true(crash_dump_read(SLOT, &w));
    assert_int_equal(w.count, LAST_WORDS_FRAMES);
    memset(r.bytes, 0, r.size);
}

/* ---- names ---- */

static void
places_have_names(void **state)
{
    char place[256], id[80];
    uint64_t offset = 0;
    uint64_t here = (uintptr_t)places_have_names;

    (void)state;
    assert_true(symbols_tell(here + 4, false, place, sizeof(place), &offset));
    assert_non_null(strstr(place, " (places_have_names+0x4)"));
    assert_int_equal(strncmp(place, "weir+0x", 7), 0);
    /* At a fixed place, places of the file are those of the process. */
    assert_true(offset > 0 && offset <= here + 4);
    assert_false(
        symbols_tell((uintptr_t)getenv, false, place, sizeof(place), &offset));
    assert_non_null(strstr(place, "libc"));
    assert_false(symbols_tell(16, false, place, sizeof(place), &offset));
    assert_string_equal(place, "0x10");
    symbols_build_id(id, sizeof(id));
    assert_true(strlen(id) >= 16);
    assert_int_equal(strspn(id, "0123456789abcdef"), strlen(id));
}

static int
begin(void **state)
{
    struct errmsg err;

    (void)state;
    return crash_dump_create(8, &err);
}

static int
finish(void **state)
{
    (void)state;
    crash_dump_destroy();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crashes_are_told),
        cmocka_unit_test(signals_end_a_process_as_before),
        cmocka_unit_test(a_question_is_answered_and_life_goes_on),
        cmocka_unit_test(the_killed_say_nothing),
        cmocka_unit_test(no_more_is_told_than_there_is_room_for),
        cmocka_unit_test(without_room_nothing_is_caught),
        cmocka_unit_test(places_have_names),
    };

    return cmocka_run_group_tests(tests, begin, finish);
}
