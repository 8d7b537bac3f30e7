/*
 * Paths of streams and their objects, and directives.
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

#include "address.h"

#define WORD "0123456789abcdef"

static struct hls_address
read_path(const char *path, enum hls_kind kind)
{
    struct hls_address a;

    if (hls_address_read(&a, str_from(path)) != kind) {
        fail_msg("%s: kind %d, not %d", path, (int)a.kind, (int)kind);
    }
    assert_int_equal(a.kind, kind);
    return a;
}

static void
assert_text(struct str got, const char *wanted)
{
    if (!str_eq(got, str_from(wanted))) {
        fail_msg("\"%.*s\", not \"%s\"", STR_ARGS(got), wanted);
    }
}

static void
test_streams(void **state)
{
    struct hls_address a = read_path("live/film.m3u8", HLS_PLAYLIST);

    (void)state;
    assert_text(a.app, "live");
    assert_text(a.stream, "live/film");
    assert_text(a.name, "film");
    a = read_path("live/a/b.c.m3u8", HLS_PLAYLIST);
    assert_text(a.stream, "live/a/b.c");
    assert_text(a.name, "a/b.c");
    a = read_path("live/film.mp4", HLS_ENDLESS);
    assert_text(a.stream, "live/film");
    a = read_path("live/film.still.mp4", HLS_STILL);
    assert_text(a.stream, "live/film");
    a = read_path("live/" WORD "/x.m3u8", HLS_PLAYLIST);
    assert_text(a.name, WORD "/x");
}

static void
test_objects(void **state)
{
    struct hls_address a =
        read_path("live/film/" WORD "/186000000.m4s", HLS_SEGMENT);

    (void)state;
    assert_text(a.app, "live");
    assert_text(a.stream, "live/film");
    assert_text(a.name, "film");
    assert_text(a.rendition, "");
    assert_text(a.suffix, ".m4s");
    assert_true(a.word == UINT64_C(0x0123456789abcdef));
    assert_true(a.segment == 186000000);
    a = read_path("live/a/b/" WORD "/a0-5.11.ts", HLS_PART);
    assert_text(a.stream, "live/a/b");
    assert_text(a.rendition, "a0");
    assert_text(a.suffix, ".ts");
    assert_true(a.segment == 5 && a.part == 11);
    a = read_path("live/film/" WORD "/init-3.mp4", HLS_INIT);
    assert_text(a.rendition, "");
    assert_int_equal(a.header, 3);
    a = read_path("live/film/" WORD "/v-init-0.mp4", HLS_INIT);
    assert_text(a.rendition, "v");
    assert_int_equal(a.header, 0);
}

/* Each object has one name, and numbers do not wrap. */
static void
test_numbers(void **state)
{
    struct hls_address a =
        read_path("l/f/" WORD "/9007199254740991.4294967295.m4s", HLS_PART);

    (void)state;
    assert_true(a.segment == HLS_SEGMENT_MAX && a.part == UINT32_MAX);
    read_path("l/f/" WORD "/9007199254740992.m4s", HLS_NOTHING);
    read_path("l/f/" WORD "/18446744073709551617.m4s", HLS_NOTHING);
    read_path("l/f/" WORD "/1.4294967296.m4s", HLS_NOTHING);
    read_path("l/f/" WORD "/init-4294967296.mp4", HLS_ENDLESS);
    read_path("l/f/" WORD "/0.0.m4s", HLS_PART);
    read_path("l/f/" WORD "/01.m4s", HLS_NOTHING);
    read_path("l/f/" WORD "/1.00.m4s", HLS_NOTHING);
    read_path("l/f/" WORD "/+1.m4s", HLS_NOTHING);
    read_path("l/f/" WORD "/-1.m4s", HLS_NOTHING);
}

static void
test_nothing(void **state)
{
    static const char *const paths[] = {
        "",
        "/",
        ".",
        "..",
        "index.html",
        "film.m3u8",
        "/film.m3u8",
        "live/.m3u8",
        "live/a/.m3u8",
        "live/.still.mp4/.mp4",
        "live/film.flv",
        "live/film.M3U8",
        "live/film.",
        "live/film",
        "live/film.m3u8/",
        "live/film.abcdefgh",
        "a.b/film",
        "live/film/" WORD "/1",
        "live/film/" WORD "/1.",
        "live/film/" WORD "/.m4s",
        "live/film/" WORD "/1..m4s",
        "live/film/" WORD "/1.2.3.m4s",
        "live/film/" WORD "/a-.m4s",
        "live/film/" WORD "/A0-1.m4s",
        "live/film/" WORD "/0a-1.m4s",
        "live/film/" WORD "/a_-1.m4s",
        "live/film/" WORD "/abcdefghi-1.m4s",
        "live/film/" WORD "/init-1.2.m4s",
        "live/film/" WORD "/init-.m4s",
        "live/film/" WORD "/x.m4s",
        "live/film/" WORD "/1.longer78",
        "live/film/0123456789ABCDEF/1.m4s",
        "live/film/0123456789abcde/1.m4s",
        "live/film/0123456789abcdef0/1.m4s",
        "live/film/0123456789abcdeg/1.m4s",
        "live/" WORD "/1.m4s",
        WORD "/1.m4s",
        "/film/" WORD "/1.m4s",
        "live//" WORD "/1.m4s",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct hls_address a = read_path(paths[i], HLS_NOTHING);

        assert_int_equal(a.stream.len + a.suffix.len, 0);
    }
}

static void
assert_base(const char *name, uint64_t word, const char *wanted)
{
    struct buf out;

    buf_init(&out, 200);
    assert_int_equal(hls_address_base(&out, str_from(name), word), 0);
    assert_text(buf_str(&out), wanted);
    buf_clear(&out);
    for (size_t limit = 0; limit < strlen(wanted); limit++) {
        buf_init(&out, limit);
        assert_int_equal(hls_address_base(&out, str_from(name), word), -1);
        buf_clear(&out);
    }
}

static void
test_base(void **state)
{
    (void)state;
    assert_base("film", UINT64_C(0x0123456789abcdef), "film/" WORD "/");
    assert_base("a/b c", 1, "b%20c/0000000000000001/");
    assert_base("x:\"\n\xc3\xa9-._~%", 1,
                "x%3A%22%0A%C3%A9-._~%25/0000000000000001/");
}

static const char *
directed(const char *query, struct hls_directives *d)
{
    return hls_directives_read(d, str_from(query));
}

static void
test_directives(void **state)
{
    struct hls_directives d;

    (void)state;
    assert_null(directed("", &d));
    assert_false(d.has_segment || d.has_part || d.skip);
    assert_null(directed("rendition=v&_HLS_msn=12&_HLS_part=3&token=x", &d));
    assert_true(d.has_segment && d.has_part && !d.skip);
    assert_true(d.segment == 12 && d.part == 3);
    assert_null(directed("_HLS_part=0&_HLS_msn=0", &d));
    assert_true(d.has_segment && d.has_part && d.segment == 0 && d.part == 0);
    assert_null(directed("_HLS_skip=YES", &d));
    assert_true(d.skip && !d.has_segment);
    assert_null(directed("_HLS_msn=18446744073709551615&_HLS_skip=v2", &d));
    assert_true(d.skip && d.segment == UINT64_MAX);
    assert_null(directed("_HLS_skip=no&_HLS_other=%&_HLS_=&&_hls_msn=x", &d));
    assert_false(d.has_segment || d.has_part || d.skip);
}

static void
test_bad_directives(void **state)
{
    static const char *const queries[] = {
        "_HLS_msn",
        "_HLS_msn=",
        "_HLS_msn=-1",
        "_HLS_msn=1x",
        "_HLS_msn=0x1",
        "_HLS_msn=%31",
        "_HLS_msn=18446744073709551616",
        "_HLS_msn=99999999999999999999999999",
        "_HLS_msn=1&_HLS_msn=1",
        "_HLS_msn=1&_HLS_part=",
        "_HLS_msn=1&_HLS_part=4294967296",
        "_HLS_msn=1&_HLS_part=1&_HLS_part=2",
        "_HLS_part=0",
        "a=b&_HLS_part=0&_HLS_skip=YES",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        struct hls_directives d;

        if (directed(queries[i], &d) == NULL) {
            fail_msg("taken: %s", queries[i]);
        }
    }
}

static bool
is_refused(const char *query, uint64_t last_segment, int64_t last_part)
{
    struct hls_directives d;

    assert_null(directed(query, &d));
    return hls_directives_refused(&d, last_segment, last_part, 3) != NULL;
}

static void
test_too_far_ahead(void **state)
{
    (void)state;
    assert_false(is_refused("", 10, 2));
    assert_false(is_refused("_HLS_msn=1&_HLS_part=999", 10, 2));
    assert_false(is_refused("_HLS_msn=10", 10, 2));
    assert_false(is_refused("_HLS_msn=12", 10, 2));
    assert_true(is_refused("_HLS_msn=13", 10, 2));
    assert_true(is_refused("_HLS_msn=18446744073709551615", 10, 2));
    assert_false(is_refused("_HLS_msn=10&_HLS_part=5", 10, 2));
    assert_true(is_refused("_HLS_msn=10&_HLS_part=6", 10, 2));
    assert_false(is_refused("_HLS_msn=11&_HLS_part=3", 10, 2));
    assert_true(is_refused("_HLS_msn=11&_HLS_part=4", 10, 2));
    /* A part behind the last one of a segment that has ended is the first of
     * the next, however many it had. */
    assert_false(is_refused("_HLS_msn=10&_HLS_part=2", 10, -1));
    assert_false(is_refused("_HLS_msn=10&_HLS_part=12", 10, -1));
    assert_false(is_refused("_HLS_msn=10&_HLS_part=4294967295", 10, -1));
    assert_false(is_refused("_HLS_msn=11&_HLS_part=3", 10, -1));
    assert_true(is_refused("_HLS_msn=11&_HLS_part=4", 10, -1));
    assert_true(is_refused("_HLS_msn=13", 10, -1));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_directives),
        cmocka_unit_test(test_bad_directives),
        cmocka_unit_test(test_too_far_ahead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
