/*
 * Shares: clients, and which of them a pool lets in.
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

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "net/share.h"
#include "proc/slot.h"

#define SIZE 64

static struct tally_pool pools[] = { { .name = "pool" }, { .name = NULL } };
static struct pool *memory;

/* A client's things: some were used once, some are in use. */
static struct {
    int fresh, used;
    bool late; /* they end later */
    int gave;
} things[4];

static int
set_up(void **state)
{
    static const struct str rules[] = { { "allow 10.0.0.9", 14 },
                                        { "deny all", 8 } };
    struct errmsg err;

    (void)state;
    memset(things, 0, sizeof(things));
    memory = pool_new(1000);
    if (slots_create(2, &err) == -1 || tally_register(pools, &err) == -1 ||
        tally_create(512, 2, &err) == -1) {
        return -1;
    }
    share_start(access_parse(memory, rules, 2), 32, 64);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "one", 0, 1));
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    share_start(NULL, 32, 64);
    slot_set_self(0);
    tally_destroy();
    slots_destroy();
    pool_free(&memory);
    return 0;
}

static struct tally_holder
client(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse_ip(str_from(text), &a), 0);
    return share_client(&a);
}

/* 10.0.0.N */
static struct tally_holder
number(unsigned n)
{
    char text[16];

    snprintf(text, sizeof(text), "10.0.0.%u", n);
    return client(text);
}

static void
text_is(const char *address, const char *text)
{
    struct tally_holder h = client(address);
    char buffer[SHARE_TEXT];

    assert_string_equal(share_text(&h, buffer), text);
}

/* ---- clients ---- */

static void
test_texts(void **state)
{
    (void)state;
    text_is("192.0.2.1", "192.0.2.1");
    text_is("::ffff:192.0.2.1", "192.0.2.1");
    text_is("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64");
    text_is("10.0.0.9", "exempt");
    share_start(NULL, 24, 56);
    text_is("192.0.2.1", "192.0.2.0/24");
    text_is("2001:db8:1:203::1", "2001:db8:1:200::/56");
    share_start(NULL, 8, 128);
    text_is("10.255.2.1", "10.0.0.0/8");
    text_is("2001:db8::1", "2001:db8::1");
}

static void
test_who_is_one_client(void **state)
{
    struct addr nobody = { .family = AF_UNSPEC }, local = { .family = AF_UNIX };
    struct tally_holder a = client("2001:db8:1:2::1");
    struct tally_holder b = client("2001:db8:1:2:ffff::1");
    struct tally_holder c = client("2001:db8:1:3::1");

    (void)state;
    assert_true(share_eq(&a, &b));
    assert_false(share_eq(&a, &c));
    a = share_client(&nobody);
    assert_true(share_is_exempt(&a)); /* weir itself */
    a = share_client(&local);
    assert_false(share_is_exempt(&a)); /* no rule allows it */
    a = share_prefix(&nobody);
    assert_false(share_is_exempt(&a));
}

static void
test_packed(void **state)
{
    struct tally_holder h = client("2001:db8::1"), back;
    struct buf b;
    struct pack out = { .to = &b };
    struct unpack in;

    (void)state;
    buf_init(&b, 100);
    share_pack(&out, &h);
    in = (struct unpack){ .rest = buf_str(&b) };
    back = share_unpack(&in);
    assert_true(unpack_ends(&in) && share_eq(&h, &back));
    buf_clear(&b);
}

/* ---- pools ---- */

static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    (void)arg;
    for (unsigned i = 0; i < 4; i++) {
        struct tally_holder own = number(i);

        if (!share_eq(h, &own) ||
            (things[i].fresh == 0 && (!in_use || things[i].used == 0))) {
            continue;
        }
        if (things[i].fresh > 0) {
            things[i].fresh--;
        } else {
            things[i].used--;
        }
        things[i].gave++;
        if (!things[i].late) {
            tally_leave(&pools[0], h);
        }
        return true;
    }
    return false;
}

static enum share_answer
claim_as(struct tally_holder h, bool publishes)
{
    const struct share_want w = { .pool = &pools[0],
                                  .client = h,
                                  .size = SIZE,
                                  .publishes = publishes,
                                  .give = give };

    return share_claim(&w);
}

static void
claims(unsigned n, int times, enum share_answer answer)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(claim_as(number(n), false), answer);
    }
}

static void
used_is(int64_t used)
{
    assert_int_equal(tally_used(&pools[0]), used);
}

/* Half of it is anybody's; beyond that half of it is one client's. */
static void
test_a_share(void **state)
{
    (void)state;
    claims(1, SIZE / 2, SHARE_GRANTED);
    claims(1, 3, SHARE_OVER);
    used_is(SIZE / 2);
    claims(2, SIZE / 2 - SIZE / 16, SHARE_GRANTED);
    claims(2, 1, SHARE_FULL);
    claims(3, 1, SHARE_FULL);
    used_is(SIZE - SIZE / 16);
}

static void
test_the_reserve(void **state)
{
    (void)state;
    claims(1, SIZE / 2, SHARE_GRANTED);
    claims(2, SIZE / 2 - SIZE / 16, SHARE_GRANTED);
    assert_int_equal(claim_as(number(3), true), SHARE_GRANTED);
    for (int i = 0; i < SIZE / 16 - 1; i++) {
        claims(9, 1, SHARE_GRANTED); /* exempt */
    }
    claims(9, 1, SHARE_FULL);
    assert_int_equal(claim_as(number(3), true), SHARE_FULL);
    used_is(SIZE);
}

/* No share bounds an exempt client, and it gives nothing. */
static void
test_the_exempt(void **state)
{
    (void)state;
    claims(9, SIZE, SHARE_GRANTED);
    claims(1, 1, SHARE_FULL);
    used_is(SIZE);
}

static void
test_its_own_gives(void **state)
{
    (void)state;
    things[1].fresh = 2;
    things[1].used = 30;
    claims(1, SIZE / 2, SHARE_GRANTED);
    claims(1, 2, SHARE_GRANTED);
    claims(1, 1, SHARE_OVER); /* what it uses stays */
    used_is(SIZE / 2);
    assert_int_equal(things[1].gave, 2);
}

/* Places that come free later: an eighth of the pool beyond its share. */
static void
test_its_own_gives_later(void **state)
{
    (void)state;
    things[1].fresh = SIZE;
    things[1].late = true;
    claims(1, SIZE / 2 + SIZE / 8 + 1, SHARE_GRANTED);
    claims(1, 1, SHARE_OVER);
}

static void
test_the_largest_gives(void **state)
{
    (void)state;
    things[1].fresh = 1;
    things[1].used = SIZE;
    claims(1, SIZE / 2, SHARE_GRANTED);
    claims(2, SIZE / 2 - SIZE / 16, SHARE_GRANTED);
    claims(3, 5, SHARE_GRANTED);
    assert_int_equal(things[1].gave, 5);
    used_is(SIZE - SIZE / 16);
}

/* It has no more than an eighth of the pool: what it uses stays. */
static void
test_a_small_one_keeps_what_it_uses(void **state)
{
    (void)state;
    things[1].used = SIZE;
    claims(1, SIZE / 8, SHARE_GRANTED);
    for (unsigned n = 100; n < 100 + 52; n++) {
        claims(n, 1, SHARE_GRANTED);
    }
    claims(2, 1, SHARE_FULL);
    assert_int_equal(things[1].gave, 0);
    things[1].fresh = 1;
    claims(2, 1, SHARE_GRANTED);
}

/* The reserve lends half of itself, and no more. */
static void
test_the_largest_gives_later(void **state)
{
    (void)state;
    things[1].used = SIZE;
    things[1].late = true;
    claims(1, SIZE / 2, SHARE_GRANTED);
    claims(2, SIZE / 2 - SIZE / 16, SHARE_GRANTED);
    claims(3, SIZE / 32, SHARE_GRANTED);
    assert_int_equal(things[1].gave, SIZE / 32);
    claims(3, 5, SHARE_FULL);
    assert_int_equal(things[1].gave, SIZE / 32); /* none in vain */
}

static void
test_the_largest_but_the_exempt(void **state)
{
    (void)state;
    things[1].fresh = SIZE;
    claims(9, 33, SHARE_GRANTED);
    claims(1, 27, SHARE_GRANTED);
    claims(2, 3, SHARE_GRANTED);
    assert_int_equal(things[1].gave, 3);
}

static void
test_a_small_pool(void **state)
{
    struct share_want w = { .pool = &pools[0], .client = number(1), .size = 1 };

    (void)state;
    assert_int_equal(share_claim(&w), SHARE_GRANTED);
    assert_int_equal(share_claim(&w), SHARE_OVER);
    w.client = number(2);
    assert_int_equal(share_claim(&w), SHARE_FULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_texts),
        TEST(test_who_is_one_client),
        TEST(test_packed),
        TEST(test_a_share),
        TEST(test_the_reserve),
        TEST(test_the_exempt),
        TEST(test_its_own_gives),
        TEST(test_its_own_gives_later),
        TEST(test_the_largest_gives),
        TEST(test_a_small_one_keeps_what_it_uses),
        TEST(test_the_largest_gives_later),
        TEST(test_the_largest_but_the_exempt),
        TEST(test_a_small_pool),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
