/*
 * Fuzz target: Range.
 *
 * The first line is the size of the file, the rest the header.  Each range
 * lies within the file, all of them are no more than it; written again they
 * are read as the same.
 *
 * covers: src/http/file/range.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/pool.h"
#include "http/file/range.h"

static struct str
print(struct pool *pool, const struct http_range *ranges, size_t count)
{
    struct str text = STR("bytes=");

    for (size_t i = 0; i < count; i++) {
        text = pool_printf(pool, "%.*s%lld-%lld,", STR_ARGS(text),
                           (long long)ranges[i].offset,
                           (long long)(ranges[i].offset + ranges[i].len - 1));
    }
    return text;
}

static void
look_at(const struct http_range *ranges, size_t count, int64_t size)
{
    int64_t sum = 0;

    require(count > 0 && count <= HTTP_RANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        require(ranges[i].offset >= 0 && ranges[i].len > 0 &&
                ranges[i].offset < size &&
                ranges[i].len <= size - ranges[i].offset &&
                ranges[i].len <= size - sum);
        sum += ranges[i].len;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_range ranges[HTTP_RANGES_MAX], again[HTTP_RANGES_MAX];
    struct str value = str_of(data, size);
    struct pool *pool = pool_new(1024);
    int64_t length = 1000;
    size_t count = 0, other = 0;

    str_to_int(str_cut(&value, '\n'), 0, INT64_MAX, &length);
    if (http_range_parse(value, length, ranges, &count) == HTTP_RANGE_PARTS) {
        look_at(ranges, count, length);
        require(http_range_parse(print(pool, ranges, count), length, again,
                                 &other) == HTTP_RANGE_PARTS &&
                count == other);
        for (size_t i = 0; i < count; i++) {
            require(ranges[i].offset == again[i].offset &&
                    ranges[i].len == again[i].len);
        }
    }
    pool_free(&pool);
    return 0;
}
