/*
 * Heads of answers, names and endings of files.
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

#include "head.h"

#include <string.h>

static struct head
read_head(const char *status, const char *line)
{
    struct head h = { .status = 0 };

    head_line(&h, str_from(status));
    head_line(&h, str_from(line));
    return h;
}

#define OK "HTTP/1.1 200 OK"
#define PART "HTTP/1.1 206 Partial Content"

static void
test_status_begins_anew(void **state)
{
    struct head h = read_head("HTTP/2 302", "Location: http://a/");

    (void)state;
    assert_int_equal(h.status, 302);
    assert_true(h.moved);
    head_line(&h, STR("HTTP/1.1 200"));
    assert_int_equal(h.status, 200);
    assert_false(h.moved);
    assert_int_equal(h.length, -1);
}

static void
test_status_is_three_digits(void **state)
{
    (void)state;
    assert_int_equal(read_head("HTTP/1.1 99999999999", "").status, 0);
    assert_int_equal(read_head("HTTP/1.1 -200", "").status, 0);
    assert_int_equal(read_head("HTTP/1.1", "").status, 0);
}

static void
test_length(void **state)
{
    static const struct {
        const char *line;
        int64_t length;
    } rows[] = {
        { "content-length: 12", 12 },
        { "Content-Length:0", 0 },
        { "Content-Length: -5", -1 },
        { "Content-Length: 4611686018427387904", -1 },
        { "Content-Length: 1x", -1 },
        { "Content-Length: 1\x01", -1 },
        { "Content-Length:", -1 },
        { "Content-Length: 99999999999999999999", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_head(OK, rows[i].line).length, rows[i].length);
    }
}

static void
test_range(void **state)
{
    static const struct {
        const char *value;
        int64_t first, last, total;
    } rows[] = {
        { "bytes 5-9/10", 5, 9, 10 },    { "bytes 0-0/*", 0, 0, -1 },
        { "bytes */10", -1, -1, 10 },    { "bytes 5-4/10", -1, -1, 10 },
        { "bytes 5-10/10", -1, -1, 10 }, { "items 5-9/10", -1, -1, -1 },
        { "bytes -5-9/10", -1, -1, 10 }, { "bytes", -1, -1, -1 },
        { "bytes x-y/z", -1, -1, -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[64] = "Content-Range: ";
        struct head h;

        strncat(line, rows[i].value, sizeof(line) - strlen(line) - 1);
        h = read_head(PART, line);
        assert_int_equal(h.first, rows[i].first);
        assert_int_equal(h.last, rows[i].last);
        assert_int_equal(h.total, rows[i].total);
    }
}

static void
test_disposition(void **state)
{
    static const char *const rows[][2] = {
        { "attachment; filename=a.mp4", "a.mp4" },
        { "attachment; filename=\"a b.mp4\"; size=3", "a b.mp4" },
        { "attachment; filename=\"a\\\"b.mp4\"", "a\"b.mp4" },
        { "attachment; filename=\"a;b.mp4\"; x=y", "a;b.mp4" },
        { "attachment; filename=\"/etc/passwd\"", "passwd" },
        { "attachment; filename=\"..\\\\..\\\\a.exe\"", "a.exe" },
        { "attachment; filename=\"..\"", "" },
        { "attachment; FileName*=utf-8''%E2%82%AC%20a.mp4",
          "\xe2\x82\xac a.mp4" },
        { "attachment; filename*=UTF-8''b.mp4; filename=a.mp4", "b.mp4" },
        { "attachment; filename=a.mp4; filename*=UTF-8''b.mp4", "b.mp4" },
        { "attachment; filename=a.mp4; filename*=KOI8''b.mp4", "a.mp4" },
        { "attachment; filename*=UTF-8''%2Fetc%2Fa.mp4", "a.mp4" },
        { "attachment; filename*=UTF-8''%ff.mp4", "" },
        { "attachment; filename*=UTF-8''%0a%zz.mp4", "_%zz.mp4" },
        { "attachment; filename=\"a", "a" },
        { "attachment", "" },
        { "attachment; filename", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128] = "Content-Disposition: ";

        strncat(line, rows[i][0], sizeof(line) - strlen(line) - 1);
        assert_string_equal(read_head(OK, line).name, rows[i][1]);
    }
}

static void
test_validators(void **state)
{
    (void)state;
    assert_string_equal(read_head(OK, "ETag: \"x\"").etag, "\"x\"");
    assert_string_equal(read_head(OK, "ETag: W/\"x\"").etag, "");
    assert_string_equal(read_head(OK, "ETag: \"x\r\nHost: a\"").etag, "");
    assert_string_equal(read_head(OK, "Last-Modified: Mon").modified, "Mon");
}

/* echo -n abc | openssl dgst -sha256 -binary | base64 */
#define SHA "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
#define MD5 "kAFQmDzST7DWlj99KOF/cg=="
/* 48 bytes, which begin as the digest does. */
#define LONGER \
    "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1hYmNhYmNhYmNhYmNhYmNh"

static void
test_digests(void **state)
{
    static const struct {
        const char *status, *line;
        bool sha256, md5, of_file;
    } rows[] = {
        { OK, "Repr-Digest: sha-256=:" SHA ":", true, false, true },
        { PART, "Repr-Digest: md5=:" MD5 ":, sha-256=:" SHA ":", true, true,
          true },
        { PART, "Digest: SHA-256=" SHA, true, false, true },
        { OK, "Digest: md5=" MD5, false, true, true },
        { OK, "Content-MD5: " MD5, false, true, true },
        { PART, "Content-MD5: " MD5, false, true, false },
        { OK, "Content-Digest: sha-256=:" SHA ":", true, false, true },
        { PART, "Content-Digest: sha-256=:" SHA ":", true, false, false },
        { OK, "Digest: sha-256=" MD5, false, false, false },
        { OK, "Digest: sha-256=" LONGER, false, false, false },
        { OK, "Digest: sha-256=", false, false, false },
        { OK, "Digest: sha-512=" SHA, false, false, false },
        { OK, "Content-MD5: nonsense", false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct head h = read_head(rows[i].status, rows[i].line);

        assert_int_equal(h.has_sha256, rows[i].sha256);
        assert_int_equal(h.has_md5, rows[i].md5);
        assert_int_equal(head_digests_file(&h), rows[i].of_file);
        if (h.has_sha256) {
            assert_int_equal(h.sha256[0], 0xba);
        }
        if (h.has_md5) {
            assert_int_equal(h.md5[0], 0x90);
        }
    }
}

/* Of all that it is, whatever comes behind it. */
static void
test_a_digest_of_the_whole_stays(void **state)
{
    struct head h = read_head(PART, "Repr-Digest: sha-256=:" SHA ":");

    (void)state;
    head_line(&h, STR("Content-Digest: md5=:" MD5 ":"));
    assert_true(head_digests_file(&h));
    assert_false(h.has_md5);
}

static void
test_names(void **state)
{
    static const struct {
        const char *url, *type, *name, *ending;
    } rows[] = {
        { "http://a/b/c%20d.MP4?x=/y.avi#z", "", "c d", "mp4" },
        { "http://a/b", "video/mp4", "b", "mp4" },
        { "http://a/get.php", "audio/mpeg; x=y", "get", "mp3" },
        { "http://a/get.php", "application/octet-stream", "get", "php" },
        { "http://a/a.b.tar", "", "a.b", "tar" },
        { "http://a/%2e%2e/x.mp4", "", "x", "mp4" },
        { "http://a/%2e%2e", "", "", "bin" },
        { "http://a/", "", "", "bin" },
        { "http://a", "", "", "bin" },
        { "http:", "", "", "bin" },
        { "http://a/.mp4", "", ".mp4", "bin" },
        { "http://a/x.thatisnoending", "", "x.thatisnoending", "bin" },
        { "http://a/x.m%2f4", "", "4", "bin" },
        { "http://a/x.%00", "", "x.%00", "bin" },
        { "http://a/x.mp%c3", "", "", "bin" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128] = "Content-Type: ", name[HEAD_TEXT], ending[HEAD_ENDING];
        struct head h;

        strncat(line, rows[i].type, sizeof(line) - strlen(line) - 1);
        h = read_head(OK, line);
        head_name(&h, str_from(rows[i].url), name);
        head_ending(&h, name, ending);
        head_cut_ending(name);
        assert_string_equal(name, rows[i].name);
        assert_string_equal(ending, rows[i].ending);
    }
}

static void
test_pages(void **state)
{
    struct head page = read_head(OK, "Content-Type: Text/HTML; charset=utf-8");
    struct head file = read_head(OK, "Content-Type: video/mp4");

    (void)state;
    assert_true(head_is_page(&page));
    assert_false(head_is_page(&file));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_begins_anew),
        cmocka_unit_test(test_status_is_three_digits),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_disposition),
        cmocka_unit_test(test_validators),
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_a_digest_of_the_whole_stays),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
