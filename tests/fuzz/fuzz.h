/*
 * What fuzz targets share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void
require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Takes n bytes off the input; zeros when there are fewer. */
static inline void
take_bytes(struct str *input, void *dst, size_t n)
{
    struct str from = str_first(*input, n);

    memset(dst, 0, n);
    if (from.len > 0) {
        memcpy(dst, from.ptr, from.len);
    }
    *input = str_skip(*input, n);
}

static inline unsigned
take_byte(struct str *input)
{
    uint8_t n;

    take_bytes(input, &n, 1);
    return n;
}

/* "NAME: VALUE" is cut in two; false: there is no colon. */
static inline bool
cut_field(struct str line, struct str *name, struct str *value)
{
    size_t colon = str_find(line, ':', 0);

    *name = str_first(line, colon);
    *value = str_trim(str_skip(line, colon + 1));
    return colon < line.len;
}

/* Into a directory, and back: relative paths of the fuzzer itself stand on
 * where it was started. */
static inline void
go_to(const char *path, int *home)
{
    *home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(*home != -1 && chdir(path) == 0);
}

static inline void
go_home(int home)
{
    require(fchdir(home) == 0);
    close(home);
}

/* Descriptors that are open. */
static inline size_t
open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    require(d != NULL);
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n - 3; /* ".", ".." and the folder itself */
}

#endif
