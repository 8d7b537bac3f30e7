/*
 * crypt(5).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/password.h"

#include <crypt.h>
#include <string.h>

#include "base/mem.h"
#include "net/sha256.h"

_Static_assert(PASSWORD_MAX <= CRYPT_MAX_PASSPHRASE_SIZE, "");
_Static_assert(PASSWORD_HASH_MAX <= CRYPT_OUTPUT_SIZE, "");

/* The beginning of each kind of hash, and the length of its part behind the
 * last '$' (bcrypt: 22 letters of salt stand there too). */
static const struct {
    const char *prefix;
    size_t tail;
} kinds[] = {
    { "$2a$", 53 }, { "$2b$", 53 }, { "$2y$", 53 },
    { "$5$", 43 },  { "$6$", 86 },  { "$y$", 43 },
};

static size_t
after_last_dollar(struct str hash)
{
    size_t n = 0;

    while (n < hash.len && hash.ptr[hash.len - 1 - n] != '$') {
        n++;
    }
    return n;
}

static bool
is_salt_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '$' ||
           c == '=';
}

bool
password_hash_ok(struct str hash)
{
    if (hash.len >= PASSWORD_HASH_MAX) {
        return false;
    }
    for (size_t i = 0; i < hash.len; i++) {
        if (!is_salt_char(hash.ptr[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_starts(hash, str_from(kinds[i].prefix))) {
            return after_last_dollar(hash) == kinds[i].tail;
        }
    }
    return false;
}

bool
password_fits(struct str password, struct str hash)
{
    struct crypt_data *data; /* 32 KB: too much for a thread's stack */
    char phrase[PASSWORD_MAX], setting[PASSWORD_HASH_MAX];
    bool fits = false;

    if (password.len >= sizeof(phrase) || hash.len >= sizeof(setting) ||
        memchr(password.ptr, '\0', password.len) != NULL) {
        return false;
    }
    data = mem_zero(sizeof(*data));
    str_copy(phrase, sizeof(phrase), password);
    str_copy(setting, sizeof(setting), hash);

    const char *made = crypt_rn(phrase, setting, data, sizeof(*data));

    if (made != NULL && strlen(made) == hash.len) {
        fits = digest_equal(made, hash.ptr, hash.len);
    }
    explicit_bzero(phrase, sizeof(phrase));
    explicit_bzero(data, sizeof(*data));
    mem_free(&data);
    return fits;
}
