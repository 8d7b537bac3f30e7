/*
 * Keys of tickets: which open, for how long, and in whose memory.
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

#include "net/tls_ticket.h"

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return tls_tickets_create(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    tls_tickets_destroy();
    return 0;
}

static void
without_a_ring_there_is_no_key(void **state)
{
    uint8_t name[16] = { 0 };
    bool old;

    (void)state;
    assert_null(tls_ticket_newest());
    assert_null(tls_ticket_find(name, &old));
    tls_tickets_destroy();
}

static void
the_newest_key_is_found_by_its_name(void **state)
{
    const struct tls_ticket_key *k = tls_ticket_newest();
    uint8_t zeros[sizeof(*k)] = { 0 };
    bool old = true;

    (void)state;
    assert_non_null(k);
    assert_memory_not_equal(k, zeros, sizeof(*k));
    assert_ptr_equal(tls_ticket_find(k->name, &old), k);
    assert_false(old);
    assert_null(tls_ticket_find(zeros, &old));
}

static void
a_key_opens_for_three_periods_more_and_is_then_gone(void **state)
{
    const struct tls_ticket_key *at = tls_ticket_newest();
    struct tls_ticket_key first = *at;
    bool old;

    (void)state;
    for (int i = 0; i < TLS_TICKET_OLD; i++) {
        tls_tickets_rotate();
        assert_memory_not_equal(tls_ticket_newest(), &first, sizeof(first));
        assert_ptr_equal(tls_ticket_find(first.name, &old), at);
        assert_true(old);
        assert_memory_equal(at, &first, sizeof(first));
    }
    tls_tickets_rotate();
    assert_null(tls_ticket_find(first.name, &old));
    assert_memory_not_equal(at->cipher, first.cipher, sizeof(first.cipher));
    assert_memory_not_equal(at->mac, first.mac, sizeof(first.mac));
}

static void
keys_are_never_repeated(void **state)
{
    enum { MANY = 20 };
    struct tls_ticket_key seen[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        seen[i] = *tls_ticket_newest();
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(&seen[i], &seen[k], sizeof(seen[i]));
        }
        tls_tickets_rotate();
    }
}

/* A worker that was forked before sees what the master makes later. */
static void
all_processes_have_the_same_keys(void **state)
{
    int go[2], said[2];
    struct tls_ticket_key theirs;
    pid_t child;
    char c = 0;

    (void)state;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(said), 0);
    child = fork();
    assert_true(child != -1);
    if (child == 0) {
        if (read(go[0], &c, 1) != 1 ||
            write(said[1], tls_ticket_newest(), sizeof(theirs)) !=
                sizeof(theirs)) {
            _exit(1);
        }
        _exit(0);
    }
    tls_tickets_rotate();
    assert_int_equal(write(go[1], &c, 1), 1);
    assert_int_equal(read(said[0], &theirs, sizeof(theirs)), sizeof(theirs));
    assert_memory_equal(&theirs, tls_ticket_newest(), sizeof(theirs));
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(said[i]);
    }
}

static void
the_master_keeps_a_timer(void **state)
{
    struct errmsg err;
    struct loop *l = loop_new(&err);

    (void)state;
    assert_non_null(l);
    tls_tickets_start(l);
    tls_tickets_stop(l);
    loop_turn(l, 0);
    loop_free(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_ring_there_is_no_key),
        cmocka_unit_test_setup_teardown(the_newest_key_is_found_by_its_name,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_key_opens_for_three_periods_more_and_is_then_gone, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(keys_are_never_repeated, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(all_processes_have_the_same_keys,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_master_keeps_a_timer, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
