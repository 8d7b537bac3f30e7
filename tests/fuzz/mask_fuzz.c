/*
 * Fuzz target: taking secrets out of text.
 *
 * Nothing changes but to '*', the same again changes nothing, and a secret
 * put anywhere into the text is not seen.
 *
 * covers: src/base/mask.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/mask.h"

#define SECRET "\001\002"

/* A copy without a byte to spare, masked; the caller frees it. */
static char *
masked(const char *text, size_t len)
{
    char *copy = malloc(len + (len == 0));

    require(copy != NULL);
    memcpy(copy, text, len);
    mask_secrets(copy, len);
    return copy;
}

static void
put_secret(struct str text, size_t at, const char *said)
{
    size_t len = text.len + strlen(said);
    char *all = malloc(len), *seen;

    require(all != NULL);
    memcpy(all, text.ptr, at);
    memcpy(all + at, said, strlen(said));
    memcpy(all + at + strlen(said), text.ptr + at, text.len - at);
    seen = masked(all, len);
    require(memmem(seen, len, SECRET, strlen(SECRET)) == NULL ||
            memmem(text.ptr, text.len, "\001", 1) != NULL);
    free(seen);
    free(all);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_of(data, size);
    unsigned where = take_byte(&text);
    char *once = masked(text.ptr, text.len), *twice;
    size_t at = text.len * where / 255;

    for (size_t i = 0; i < text.len; i++) {
        require(once[i] == text.ptr[i] || once[i] == '*');
    }
    twice = masked(once, text.len);
    require(memcmp(once, twice, text.len) == 0);
    put_secret(text, at, "key=" SECRET);
    put_secret(text, at, "Password: \"a b" SECRET "\"");
    put_secret(text, at, "\nAuthorization: Basic " SECRET "\n");
    put_secret(text, at, "/x?" SECRET " ");
    free(twice);
    free(once);
    return 0;
}
