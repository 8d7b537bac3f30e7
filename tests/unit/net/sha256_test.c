/*
 * HMAC-SHA-256 by the vectors of RFC 4231.
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
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/sha256.h"

static const char hex[] = "0123456789abcdef";

static void
to_hex(const uint8_t *digest, char text[2 * DIGEST_SHA256 + 1])
{
    for (size_t i = 0; i < DIGEST_SHA256; i++) {
        text[2 * i] = hex[digest[i] >> 4];
        text[2 * i + 1] = hex[digest[i] & 15];
    }
    text[(size_t)2 * DIGEST_SHA256] = '\0';
}

static void
gives(const void *key, size_t key_len, const void *data, size_t len,
      const char *expected)
{
    uint8_t out[DIGEST_SHA256];
    char text[2 * DIGEST_SHA256 + 1];

    digest_hmac_sha256(key, key_len, data, len, out);
    to_hex(out, text);
    assert_string_equal(text, expected);
}

/* A key gives the same whatever it signed before. */
static void
a_key_signs_many(void **state)
{
    static const uint8_t data[300] = "data";
    struct digest_key *keys[3];
    static const size_t lengths[] = { 1, 64, 131 };

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        keys[k] = digest_key_new(data, lengths[k]);
    }
    for (size_t n = 0; n < sizeof(data); n++) {
        for (size_t k = 0; k < 3; k++) {
            uint8_t out[DIGEST_SHA256], expected[DIGEST_SHA256];

            digest_key_sign(keys[k], data, n, out);
            digest_hmac_sha256(data, lengths[k], data, n, expected);
            assert_memory_equal(out, expected, sizeof(out));
        }
    }
    for (size_t k = 0; k < 3; k++) {
        digest_key_free(&keys[k]);
        assert_null(keys[k]);
    }
}

static void
fips_180(void **state)
{
    uint8_t out[DIGEST_SHA256];
    char text[2 * DIGEST_SHA256 + 1];

    (void)state;
    digest_sha256("abc", 3, out);
    to_hex(out, text);
    assert_string_equal(
        text,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_sha256("", 0, out);
    to_hex(out, text);
    assert_string_equal(
        text,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void
rfc_4231(void **state)
{
    uint8_t key[131];
    const char *data = "Test Using Larger Than Block-Size Key - Hash Key First";

    (void)state;
    memset(key, 0x0b, 20);
    gives(key, 20, "Hi There", 8,
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    gives("Jefe", 4, "what do ya want for nothing?", 28,
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    gives(key, sizeof(key), data, strlen(data),
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void
nothing_has_a_digest_too(void **state)
{
    (void)state;
    gives(NULL, 0, "", 0,
          "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

/* RFC 1321, A.5. */
static void
rfc_1321(void **state)
{
    static const uint8_t abc[DIGEST_MD5] = { 0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2,
                                             0x4f, 0xb0, 0xd6, 0x96, 0x3f, 0x7d,
                                             0x28, 0xe1, 0x7f, 0x72 };
    uint8_t sum[DIGEST_MD5];

    (void)state;
    assert_int_equal(digest_md5("abc", 3, sum), 0);
    assert_memory_equal(sum, abc, sizeof(abc));
    assert_int_equal(digest_md5("", 0, sum), 0);
    assert_int_equal(sum[0], 0xd4);
}

static void
comparing(void **state)
{
    (void)state;
    assert_true(digest_equal("abc", "abc", 3));
    assert_false(digest_equal("abc", "abd", 3));
    assert_false(digest_equal("xbc", "abc", 3));
    assert_true(digest_equal("abc", "abd", 2));
    assert_true(digest_equal("a", "b", 0));
}

static void
on_fault(int number)
{
    (void)number;
    _exit(42);
}

/* How a process ends that compares what differs in the first byte, when the
 * last page of one cannot be read: it was read all the same. */
static int
end_of_comparing(size_t page)
{
    uint8_t *a = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *b = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (a == MAP_FAILED || b == MAP_FAILED) {
        return 1;
    }
    a[0] = 1;
    mprotect(b + page, page, PROT_NONE);
    signal(SIGSEGV, on_fault);
    return digest_equal(a, b, 2 * page) ? 2 : 3;
}

static void
comparing_goes_to_the_end(void **state)
{
    pid_t pid = fork();
    int status = -1;

    (void)state;
    if (pid == 0) {
        _exit(end_of_comparing((size_t)sysconf(_SC_PAGESIZE)));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fips_180),
        cmocka_unit_test(rfc_4231),
        cmocka_unit_test(a_key_signs_many),
        cmocka_unit_test(nothing_has_a_digest_too),
        cmocka_unit_test(rfc_1321),
        cmocka_unit_test(comparing),
        cmocka_unit_test(comparing_goes_to_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
