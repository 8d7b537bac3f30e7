/*
 * Clock, messages, memory and numbers in network order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

int64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t
wall_ahead_ns(void)
{
    struct timespec t = { 0 };
    int64_t before = 0, after = 0;

    for (int i = 0; i < 100 && (i == 0 || after - before > 2000); i++) {
        before = now_ns();
        clock_gettime(CLOCK_REALTIME, &t);
        after = now_ns(); /* much later: we were not running meanwhile */
    }
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec - before;
}

int64_t
cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void say(const char *fmt, va_list args)
    __attribute__((format(printf, 1, 0)));

static void
say(const char *fmt, va_list args)
{
    fputs("weir-load: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

void
fatal(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
    exit(2);
}

void
warn(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(fmt, args);
    va_end(args);
}

void *
mem_new(size_t count, size_t size)
{
    void *p = calloc(count != 0 ? count : 1, size);

    if (p == NULL) {
        fatal("out of memory (%zu x %zu bytes)", count, size);
    }
    return p;
}

void *
mem_grow(void *p, size_t size)
{
    void *grown = realloc(p, size);

    if (grown == NULL) {
        fatal("out of memory (%zu bytes)", size);
    }
    return grown;
}

void
mem_drop(void *p)
{
    void *old;

    memcpy(&old, p, sizeof(old));
    free(old);
    old = NULL;
    memcpy(p, &old, sizeof(old));
}

void
raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1) {
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == -1) {
        warn("the limit of descriptors stays as it is");
    }
}

uint8_t *
put_be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}

uint8_t *
put_be24(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 16);
    return put_be16(p + 1, v);
}

uint8_t *
put_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    return put_be24(p + 1, v);
}

uint8_t *
put_le32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
    return p + 4;
}

uint8_t *
put_bytes(uint8_t *p, const void *bytes, size_t n)
{
    memcpy(p, bytes, n);
    return p + n;
}

uint32_t
get_be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

uint32_t
get_be24(const uint8_t *p)
{
    return (uint32_t)p[0] << 16 | get_be16(p + 1);
}

uint32_t
get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | get_be24(p + 1);
}

uint32_t
get_le32(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 |
           p[0];
}
