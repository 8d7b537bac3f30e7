/*
 * The cache of answers: what is kept, and what goes first.
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

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "answer_cache.h"

#define COST(bytes) ((bytes) + CACHE_OVERHEAD) /* of whole pages */

static struct answer_cache *
cache(int64_t most, size_t files)
{
    struct answer_cache *c = answer_cache_new();

    answer_cache_bound(c, most, files);
    return c;
}

static const uint8_t *
key(unsigned char c)
{
    static uint8_t keys[256][DIGEST_SHA256];

    memset(keys[c], c, DIGEST_SHA256);
    return keys[c];
}

static int
add(struct answer_cache *c, unsigned char k, int64_t length)
{
    struct cache_answer a = { .fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                              .length = length };

    answer_cache_add(c, key(k), &a);
    return a.fd;
}

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

static void
an_answer_is_found(void **state)
{
    struct answer_cache *c = cache(1 << 20, 100);
    int fd = add(c, 'a', 5);

    (void)state;
    assert_null(answer_cache_find(c, key('b')));
    assert_int_equal(answer_cache_find(c, key('a'))->fd, fd);
    assert_int_equal(answer_cache_find(c, key('a'))->length, 5);
    assert_int_equal(answer_cache_entries(c), 1);
    assert_int_equal(answer_cache_bytes(c), COST(4096));
    answer_cache_free(&c);
    assert_false(is_open(fd));
}

static void
the_oldest_goes_first(void **state)
{
    struct answer_cache *c = cache(3 * COST(4096), 100);
    int a = add(c, 'a', 1), b = add(c, 'b', 4096);

    (void)state;
    add(c, 'c', 4000);
    answer_cache_find(c, key('a'));
    add(c, 'd', 1);
    assert_false(is_open(b));
    assert_true(is_open(a));
    assert_null(answer_cache_find(c, key('b')));
    assert_non_null(answer_cache_find(c, key('a')));
    assert_int_equal(answer_cache_bytes(c), 3 * COST(4096));
    answer_cache_free(&c);
}

static void
descriptors_are_bounded(void **state)
{
    struct answer_cache *c = cache(1 << 30, 2);

    (void)state;
    add(c, 'a', 1);
    add(c, 'b', 1);
    add(c, 'c', 1);
    assert_int_equal(answer_cache_entries(c), 2);
    assert_null(answer_cache_find(c, key('a')));
    answer_cache_free(&c);
}

static void
too_large_an_answer_is_not_kept(void **state)
{
    struct answer_cache *c = cache(COST(8192), 100);
    int small = add(c, 'a', 1), large = add(c, 'b', 8193);

    (void)state;
    assert_false(is_open(large));
    assert_true(is_open(small));
    answer_cache_bound(c, 0, 100);
    assert_false(is_open(small));
    assert_false(is_open(add(c, 'c', 1)));
    assert_int_equal(answer_cache_bytes(c), 0);
    answer_cache_free(&c);
}

static void
the_same_key_is_kept_once(void **state)
{
    struct answer_cache *c = cache(1 << 20, 100);
    int first = add(c, 'a', 1), second = add(c, 'a', 1);

    (void)state;
    (void)first;
    assert_int_equal(answer_cache_entries(c), 1);
    assert_int_equal(answer_cache_find(c, key('a'))->fd, second);
    answer_cache_forget_all(c);
    assert_int_equal(answer_cache_entries(c), 0);
    assert_int_equal(answer_cache_bytes(c), 0);
    answer_cache_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_found),
        cmocka_unit_test(the_oldest_goes_first),
        cmocka_unit_test(descriptors_are_bounded),
        cmocka_unit_test(too_large_an_answer_is_not_kept),
        cmocka_unit_test(the_same_key_is_kept_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
