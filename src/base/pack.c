/*
 * Packing of numbers and texts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/pack.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

void
pack_bytes(struct pack *p, const void *data, size_t n)
{
    p->full = p->full || buf_add(p->to, data, n) == -1;
}

void
pack_u8(struct pack *p, uint8_t n)
{
    pack_bytes(p, &n, sizeof(n));
}

void
pack_u32(struct pack *p, uint32_t n)
{
    pack_bytes(p, &n, sizeof(n));
}

void
pack_int(struct pack *p, int64_t n)
{
    pack_bytes(p, &n, sizeof(n));
}

void
pack_text(struct pack *p, struct str s)
{
    if (s.len > UINT32_MAX) {
        p->full = true;
        return;
    }
    pack_u32(p, (uint32_t)s.len);
    pack_bytes(p, s.ptr, s.len);
    pack_u8(p, 0);
}

void
pack_path(struct pack *p, struct str path)
{
    char here[PATH_MAX], whole[PATH_MAX];

    if (path.len == 0 || str_starts(path, STR("/")) ||
        getcwd(here, sizeof(here)) == NULL ||
        snprintf(whole, sizeof(whole), "%s/%.*s", here, STR_ARGS(path)) >=
            (int)sizeof(whole)) {
        pack_text(p, path);
    } else {
        pack_text(p, str_from(whole));
    }
}

/* ---- reading ---- */

bool
unpack_bytes(struct unpack *u, void *data, size_t n)
{
    if (u->bad || u->rest.len < n) {
        u->bad = true;
        memset(data, 0, n);
        return false;
    }
    memcpy(data, u->rest.ptr, n);
    u->rest = str_skip(u->rest, n);
    return true;
}

uint8_t
unpack_u8(struct unpack *u)
{
    uint8_t n;

    unpack_bytes(u, &n, sizeof(n));
    return n;
}

uint32_t
unpack_u32(struct unpack *u)
{
    uint32_t n;

    unpack_bytes(u, &n, sizeof(n));
    return n;
}

int64_t
unpack_int(struct unpack *u)
{
    int64_t n;

    unpack_bytes(u, &n, sizeof(n));
    return n;
}

struct str
unpack_text(struct unpack *u)
{
    size_t len = unpack_u32(u);
    struct str text;

    if (u->bad || u->rest.len <= len || u->rest.ptr[len] != '\0') {
        u->bad = true;
        return STR_NONE;
    }
    text = str_first(u->rest, len);
    u->rest = str_skip(u->rest, len + 1);
    return text;
}

size_t
unpack_count(struct unpack *u, size_t size)
{
    int64_t n = unpack_int(u);

    if (n < 0 || (uint64_t)n > u->rest.len / size) {
        u->bad = true;
        return 0;
    }
    return (size_t)n;
}

bool
unpack_ends(const struct unpack *u)
{
    return !u->bad && u->rest.len == 0;
}
