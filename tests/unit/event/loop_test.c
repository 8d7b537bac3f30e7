/*
 * The loop: readiness, stale events, deferred calls, hooks.
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

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "turns.h"

static void
tells_what_is_wanted(void **state)
{
    struct end e;

    (void)state;
    end_open(&e, IO_READ);
    loop_turn(l, 0);
    assert_int_equal(e.calls, 0);

    assert_int_equal(write(e.peer, "x", 1), 1);
    loop_turn(l, 1000);
    assert_int_equal(e.ready, IO_READ);

    io_want(l, &e.io, IO_READ | IO_WRITE);
    loop_turn(l, 1000);
    assert_int_equal(e.ready, IO_READ | IO_WRITE);

    io_want(l, &e.io, IO_WRITE);
    loop_turn(l, 1000);
    assert_int_equal(e.ready, IO_WRITE);

    io_want(l, &e.io, 0);
    e.calls = 0;
    loop_turn(l, 0);
    assert_int_equal(e.calls, 0);
    end_close(&e);
}

static void
tells_a_hang_up_though_nothing_is_wanted(void **state)
{
    struct end e;

    (void)state;
    end_open(&e, 0);
    close(e.peer);
    e.peer = -1;
    loop_turn(l, 1000);
    assert_int_equal(e.ready, IO_READ | IO_WRITE);
    end_close(&e);
}

static void
level_triggered(void **state)
{
    struct end e;

    (void)state;
    end_open(&e, IO_READ);
    assert_int_equal(write(e.peer, "x", 1), 1);
    loop_turn(l, 1000);
    loop_turn(l, 1000);
    assert_int_equal(e.calls, 2);
    end_close(&e);
}

/* Stops the other and gives its descriptor number to a new pair. */
static void
replace_other(struct end *e)
{
    int pair[2];
    struct end *other = e->other;

    if (other == NULL || other->io.fd == -1) {
        return;
    }
    io_stop(l, &other->io);
    close(other->fd);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pair[0], other->fd); /* lowest free number */
    close(other->peer);
    other->peer = pair[1];
    /* The very same io starts again with the very same number. */
    assert_int_equal(io_start(l, &other->io, pair[0], IO_READ, on_ready), 0);
}

/* Both have something to read, and do `then` to the other. */
static void
open_two_ready(struct end *a, struct end *b, void (*then)(struct end *e))
{
    end_open(a, IO_READ);
    end_open(b, IO_READ);
    a->then = b->then = then;
    a->other = b;
    b->other = a;
    assert_int_equal(write(a->peer, "x", 1), 1);
    assert_int_equal(write(b->peer, "x", 1), 1);
}

static void
no_stale_event_for_a_reused_number(void **state)
{
    struct end a, b;

    (void)state;
    open_two_ready(&a, &b, replace_other);
    loop_turn(l, 1000);
    /* Whoever came first replaced the other, which has nothing to read. */
    assert_int_equal(a.calls + b.calls, 1);
    loop_turn(l, 0);
    assert_int_equal(a.calls + b.calls, 2);
    end_close(&a);
    end_close(&b);
}

static void
leave_other(struct end *e)
{
    struct end *other = e->other;

    if (other->io.fd != -1) {
        io_leave(l, &other->io);
        close(other->fd);
    }
}

static void
no_event_for_one_that_left(void **state)
{
    struct end a, b;

    (void)state;
    loop_never_forks(l);
    open_two_ready(&a, &b, leave_other);
    loop_turn(l, 1000);
    assert_int_equal(a.calls + b.calls, 1);

    struct end *left = a.calls == 0 ? &a : &b, *right = left->other;
    int number = left->fd;

    close(left->peer);
    end_open(left, IO_READ);
    assert_int_equal(left->fd, number); /* it can be watched anew */
    loop_turn(l, 0);
    assert_int_equal(left->calls, 0);
    assert_int_equal(right->calls, 2);
    end_close(&a);
    end_close(&b);
}

/* A child has a copy of the descriptor, which keeps it from being closed. */
static void
none_though_somebody_else_has_it_too(void **state)
{
    struct end e;
    int copy;

    (void)state;
    end_open(&e, IO_READ);
    copy = dup(e.fd);
    assert_int_not_equal(copy, -1);
    io_leave(l, &e.io);
    close(e.fd);
    assert_int_equal(write(e.peer, "x", 1), 1);
    e.io.wanted = IO_READ;
    loop_turn(l, 0);
    assert_int_equal(e.calls, 0);
    close(copy);
    close(e.peer);
}

static int freed;

struct pair_end {
    struct end end; /* first: freed through it */
    struct later later;
};

static void
free_other(struct end *e)
{
    struct end *other = e->other;

    if (other != NULL) {
        e->other = other->other = NULL;
        end_close(other);
        mem_free(&other);
        freed++;
    }
}

static void
free_self(struct later *later)
{
    struct pair_end *p = LIST_ITEM(later, struct pair_end, later);

    end_close(&p->end);
    mem_free(&p);
    freed++;
}

static void
free_both(struct end *e)
{
    struct pair_end *p = LIST_ITEM(e, struct pair_end, end);

    free_other(e);
    loop_later(l, &p->later);
}

static void
no_event_for_freed_memory(void **state)
{
    struct pair_end *a = mem_zero(sizeof(*a)), *b = mem_zero(sizeof(*b));

    (void)state;
    freed = 0;
    end_open(&a->end, IO_READ);
    end_open(&b->end, IO_READ);
    later_init(&a->later, free_self);
    later_init(&b->later, free_self);
    a->end.then = b->end.then = free_both;
    a->end.other = &b->end;
    b->end.other = &a->end;
    assert_int_equal(write(a->end.peer, "x", 1), 1);
    assert_int_equal(write(b->end.peer, "x", 1), 1);
    loop_turn(l, 1000); /* the sanitizer watches */
    assert_int_equal(freed, 2);
}

static void
deferred_once_a_turn(void **state)
{
    struct counted a = { .again = true }, b = { 0 }, c = { 0 };

    (void)state;
    later_init(&a.later, count_call);
    later_init(&b.later, count_call);
    later_init(&c.later, count_call);
    a.cancel = &c;
    loop_later(l, &a.later);
    loop_later(l, &a.later);
    loop_later(l, &b.later);
    loop_later(l, &c.later);
    loop_turn(l, 60000); /* does not sleep: there is work */
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 1);
    assert_int_equal(c.calls, 0);
    a.again = false;
    loop_turn(l, 60000);
    assert_int_equal(a.calls, 2);
    assert_int_equal(b.calls, 1);
}

static void
loop_free_makes_the_last_calls(void **state)
{
    struct counted a = { 0 };

    (void)state;
    later_init(&a.later, count_call);
    loop_later(l, &a.later);
    loop_free(&l);
    assert_int_equal(a.calls, 1);
}

static char order[16]; /* a letter for each thing that happened */
static bool busy;

static void
note(char what)
{
    size_t n = strlen(order);

    assert_true(n < sizeof(order) - 1);
    order[n] = what;
    order[n + 1] = '\0';
}

static bool
before_sleep(void *arg)
{
    note(*(const char *)arg);
    return busy;
}

static void
after_wake(void *arg)
{
    (void)arg;
    note('w');
}

static void
note_later(struct later *later)
{
    (void)later;
    note('l');
}

static void
note_ready(struct end *e)
{
    (void)e;
    note('e');
}

static void
note_timer(struct timer *t)
{
    (void)t;
    note('t');
}

static void
order_of_a_turn(void **state)
{
    static const struct loop_hooks hooks = { before_sleep, after_wake };
    char mark[] = "s";
    struct later later;
    struct timer timer;
    struct end e;

    (void)state;
    order[0] = '\0';
    busy = true;
    loop_set_hooks(l, &hooks, mark);
    end_open(&e, IO_WRITE);
    e.then = note_ready;
    later_init(&later, note_later);
    timer_init(&timer, note_timer);
    timer_set(l, &timer, 0);
    loop_later(l, &later);
    loop_turn(l, 0);
    assert_string_equal(order, "swetl");

    loop_set_hooks(l, NULL, NULL);
    loop_turn(l, 0);
    assert_string_equal(order, "swetle");
    end_close(&e);
}

static void
busy_before_sleep_does_not_sleep(void **state)
{
    static const struct loop_hooks hooks = { before_sleep, NULL };
    char mark[] = "s";
    int64_t began = clock_ms();

    (void)state;
    order[0] = '\0';
    busy = true;
    loop_set_hooks(l, &hooks, mark);
    loop_turn(l, 60000);
    assert_true(clock_ms() - began < 10000);
}

static void
stop_ends_the_run(void **state)
{
    struct end e;

    (void)state;
    loop_stop(l); /* also when it was asked for before */
    loop_run(l);

    end_open(&e, IO_WRITE);
    io_stop(l, &e.io);
    io_stop(l, &e.io);
    loop_stop(l);
    loop_run(l);
    assert_int_equal(e.calls, 0);
    end_close(&e);
}

static void
stop_from_a_timer(struct timer *t)
{
    (void)t;
    loop_stop(l);
}

static void
run_until_a_callback_stops_it(void **state)
{
    struct timer t;
    struct counted c = { 0 };

    (void)state;
    timer_init(&t, stop_from_a_timer);
    timer_set(l, &t, 5);
    loop_run(l);
    assert_false(timer_is_set(&t));

    /* The turn in which it was stopped is finished. */
    later_init(&c.later, count_call);
    timer_set(l, &t, 0);
    loop_later(l, &c.later);
    loop_run(l);
    assert_int_equal(c.calls, 1);
}

static void
a_child_may_free_the_loop_of_its_parent(void **state)
{
    struct end e;
    int status;

    (void)state;
    end_open(&e, IO_READ);
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        loop_free(&l);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(write(e.peer, "x", 1), 1);
    loop_turn(l, 1000);
    assert_int_equal(e.calls, 1);
    end_close(&e);
}

static void
a_bad_descriptor_is_refused(void **state)
{
    struct io io;

    (void)state;
    io_init(&io);
    assert_int_equal(io_start(l, &io, 1 << 20, IO_READ, on_ready), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(io.fd, -1);
    io_stop(l, &io);
}

static int64_t longest_us;

static void
on_turn(void *arg, int64_t us)
{
    assert_ptr_equal(arg, &longest_us);
    longest_us = us > longest_us ? us : longest_us;
}

static void
work_long(struct later *later)
{
    (void)later;
    spend(5000);
}

static void
turns_are_measured(void **state)
{
    struct later work;

    (void)state;
    loop_set_meter(l, on_turn, &longest_us);
    later_init(&work, work_long);
    loop_turn(l, 0);
    loop_later(l, &work);
    loop_turn(l, 0);
    loop_turn(l, 0);
    assert_true(longest_us >= 5000);
    assert_true(loop_now_us(l) <= clock_us());
    assert_int_equal(loop_now_us(l) / 1000, loop_now(l));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_what_is_wanted),
        TEST(tells_a_hang_up_though_nothing_is_wanted),
        TEST(level_triggered),
        TEST(no_stale_event_for_a_reused_number),
        TEST(no_event_for_one_that_left),
        TEST(none_though_somebody_else_has_it_too),
        TEST(no_event_for_freed_memory),
        TEST(deferred_once_a_turn),
        TEST(loop_free_makes_the_last_calls),
        TEST(order_of_a_turn),
        TEST(busy_before_sleep_does_not_sleep),
        TEST(stop_ends_the_run),
        TEST(run_until_a_callback_stops_it),
        TEST(a_child_may_free_the_loop_of_its_parent),
        TEST(a_bad_descriptor_is_refused),
        TEST(turns_are_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
