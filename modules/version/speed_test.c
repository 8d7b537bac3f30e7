/*
 * The cost of version selection for a request: prints nanoseconds of processor
 * time, the best of some rounds.  The aim is 1000; what fails here is a
 * blunder, which no busy machine explains: a hundred times the aim, or a time
 * that grows with the square of what a client sends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <malloc.h>
#include <time.h>

#include "table_help.h"

#define ROUNDS 400
#define UNITS                                                                 \
    "units = ( { versions = [ \"v2\" ]; layers = ( { module = \"hello\"; } "  \
    "); deprecated = \"2026-01-02\"; }, { versions = [ \"v1\" ]; layers = ( " \
    "{ module = \"hello\"; } ); } );"

/* Sanitizers cost what they like: there it is not held to anything. */
#ifdef __SANITIZE_ADDRESS__
#define HELD false
#else
#define HELD true
#endif

#define BLUNDER 100000 /* ns */

static int64_t
cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define HEADER "strategy = \"header\"; vendor = \"acme\"; "

/* One request from the pool of its exchange, to the unit that is asked first
 */
static void
decide(const struct version_table *t, const char *path,
       const struct http_header *headers, size_t count, int times)
{
    struct exchange *x = help_request(path, headers, count);

    for (int i = 0; i < times; i++) {
        struct http_choice choice = { .body_read = true };

        x->fields = NULL;
        assert_int_equal(version_select(&x->pub, (void *)(uintptr_t)t, &choice),
                         HTTP_CHOSEN);
    }
    help_request_free(x);
}

/* Nanoseconds that a request takes this time. */
static int64_t
once(const struct version_table *t, const char *path,
     const struct http_header *headers, size_t count)
{
    const int times = 16;
    int64_t start = cpu_ns();

    decide(t, path, headers, count, times);
    return (cpu_ns() - start) / times;
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void
measure(const char *what, const char *text, const char *path,
        const struct http_header *headers, size_t count)
{
    struct help h = help_table(text);
    int64_t best = INT64_MAX;

    for (int i = 0; i < ROUNDS; i++) {
        best = least(best, once(h.table, path, headers, count));
    }
    print_message("%-32s %6lld ns a request\n", what, (long long)best);
    assert_true(!HELD || best < BLUNDER);
    help_free(&h);
}

#define BROWSER                                                         \
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif," \
    "image/webp,image/apng,*/*;q=0.8"

#define PARAM "strategy = \"param\"; " UNITS

/* Of a query, in the request's pool. */
static void
test_param(void **state)
{
    struct help h = help_table(PARAM);
    int64_t best = INT64_MAX;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct exchange *x = help_request("/x", NULL, 0);
        int64_t start = cpu_ns();

        x->pub.query = STR("num=10&cursor=abc&apiver=v1");
        for (int k = 0; k < 16; k++) {
            struct http_choice choice = { .body_read = true };

            assert_int_equal(version_select(&x->pub, h.table, &choice),
                             HTTP_CHOSEN);
        }
        best = least(best, (cpu_ns() - start) / 16);
        help_request_free(x);
    }
    print_message("%-32s %6lld ns a request\n", "param", (long long)best);
    assert_true(!HELD || best < BLUNDER);
    help_free(&h);
}

/* ---- memory ---- */

#define SELECTIONS 100000

static void
select_all(const struct version_table *t, int times)
{
    static const struct http_header headers[] = {
        { { "Accept", 6 }, { "application/vnd.acme-v1+json, */*;q=0.1", 39 } },
        { { "Accept-Version", 14 }, { "v1", 2 } },
    };

    for (int i = 0; i < times; i++) {
        struct exchange *x = help_request("/v1/x", headers, 2);
        struct http_choice choice = { .body_read = true };

        x->pub.query = STR("a=%20&apiver=%761");
        while (version_select(&x->pub, (void *)(uintptr_t)t, &choice) ==
               HTTP_CHOSEN) {
        }
        help_request_free(x);
    }
}

/* Nothing outlives a request: the heap is what it was, to the byte.  (Under a
 * sanitizer its leak check says so, and these figures are 0.) */
static void
test_nothing_is_kept(void **state)
{
    const char *const texts[] = {
        UNITS, HEADER UNITS, PARAM,
        "strategy = \"accept_version_header\"; " UNITS
    };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct help h = help_table(texts[i]);
        size_t before;

        select_all(h.table, 100);
        before = mallinfo2().uordblks;
        select_all(h.table, SELECTIONS / 4);
        assert_int_equal(mallinfo2().uordblks, before);
        help_free(&h);
    }
}

/* ---- time ---- */

static void
test_ordinary(void **state)
{
    static const struct http_header accept[] = {
        { { "Host", 4 }, { "a", 1 } },
        { { "User-Agent", 10 }, { "test", 4 } },
        { { "Accept", 6 }, { "application/vnd.acme-v1+json", 28 } },
    };
    static const struct http_header browser[] = {
        { { "Accept", 6 }, { BROWSER, sizeof(BROWSER) - 1 } },
    };
    static const struct http_header version[] = {
        { { "Accept-Version", 14 }, { "v1", 2 } },
    };

    (void)state;
    measure("path", UNITS, "/v1/x", NULL, 0);
    measure("header", HEADER UNITS, "/x", accept, 3);
    measure("header, as a browser", HEADER UNITS, "/x", browser, 1);
    measure("accept_version_header",
            "strategy = \"accept_version_header\"; " UNITS, "/x", version, 1);
}

/* An Accept of that many members of 16 bytes. */
static struct http_header
accept_of(struct buf *b, size_t members)
{
    struct http_header header = { STR("Accept"), STR_NONE };

    buf_init(b, 1 << 20);
    for (size_t i = 0; i < members; i++) {
        buf_printf(b, "text/x%05zu;q=1,", i);
    }
    header.value = buf_str(b);
    return header;
}

/* Sixteen times as many members: linear is 16 times the time, quadratic 256.
 * Rounds take turns, so that both meet the same machine. */
static void
test_long_is_linear(void **state)
{
    struct help h = help_table(HEADER UNITS);
    int64_t few = INT64_MAX, many = INT64_MAX;
    struct buf short_text, long_text;
    struct http_header short_one = accept_of(&short_text, 32);
    struct http_header long_one = accept_of(&long_text, 512);

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        few = least(few, once(h.table, "/x", &short_one, 1));
        many = least(many, once(h.table, "/x", &long_one, 1));
    }
    print_message("header, 32 and 512 members       %6lld and %lld ns\n",
                  (long long)few, (long long)many);
    assert_true(!HELD || many < 64 * few);
    buf_clear(&short_text);
    buf_clear(&long_text);
    help_free(&h);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_param),
        cmocka_unit_test(test_nothing_is_kept),
        cmocka_unit_test(test_long_is_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
