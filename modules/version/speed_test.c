/*
 * What version selection costs a request: prints nanoseconds of processor
 * time, the best of some rounds.  The aim is 1000; what fails here is several
 * times as slow, which no busy machine explains.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <time.h>

#include "table_help.h"

#define ROUNDS 400
#define UNITS                                                                 \
    "units = ( { versions = [ \"v2\" ]; layers = ( { module = \"hello\"; } "  \
    "); deprecated = \"2026-01-02\"; }, { versions = [ \"v1\" ]; layers = ( " \
    "{ module = \"hello\"; } ); } );"

/* Sanitizers cost several times as much: there it is not held to anything. */
#ifdef __SANITIZE_ADDRESS__
#define BOUND(ns) INT64_MAX
#else
#define BOUND(ns) (ns)
#endif

static int64_t
cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

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

static int64_t
measure(const char *what, const char *text, const char *path,
        const struct http_header *headers, size_t count)
{
    struct help h = help_table(text);
    int64_t best = INT64_MAX;
    const int times = 16;

    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = cpu_ns();

        decide(h.table, path, headers, count, times);
        int64_t took = (cpu_ns() - start) / times;

        best = took < best ? took : best;
    }
    print_message("%-32s %6lld ns a request\n", what, (long long)best);
    help_free(&h);
    return best;
}

#define BROWSER                                                         \
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif," \
    "image/webp,image/apng,*/*;q=0.8"

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
    assert_true(measure("path", UNITS, "/v1/x", NULL, 0) < BOUND(5000));
    assert_true(measure("header",
                        "strategy = \"header\"; "
                        "vendor = \"acme\"; " UNITS,
                        "/x", accept, 3) < BOUND(5000));
    assert_true(measure("header, as a browser",
                        "strategy = \"header\"; "
                        "vendor = \"acme\"; " UNITS,
                        "/x", browser, 1) < BOUND(5000));
    assert_true(measure("accept_version_header",
                        "strategy = \"accept_version_header\"; " UNITS, "/x",
                        version, 1) < BOUND(5000));
}

/* An Accept of that many members of 16 bytes. */
static int64_t
measure_long(size_t members)
{
    struct buf b;
    struct http_header header = { STR("Accept"), STR_NONE };
    char what[64];
    int64_t ns;

    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < members; i++) {
        buf_printf(&b, "text/x%05zu;q=1,", i);
    }
    header.value = buf_str(&b);
    snprintf(what, sizeof(what), "header, %zu members, %zu bytes", members,
             header.value.len);
    ns = measure(what, "strategy = \"header\"; vendor = \"acme\"; " UNITS, "/x",
                 &header, 1);
    buf_clear(&b);
    return ns;
}

static void
test_long_is_linear(void **state)
{
    int64_t half, whole;

    (void)state;
    half = measure_long(250);
    whole = measure_long(500);
    assert_true(whole < 3 * half);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_long_is_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
