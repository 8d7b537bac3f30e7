/*
 * A string is a pointer and a length; it owns nothing and needs no NUL.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *ptr; /* borrowed */
    size_t len;      /* bytes */
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
#define STR_NONE ((struct str){ "", 0 })
/* An array of them and its size, two arguments of a call. */
#define STRS(...)                        \
    (const struct str[]){ __VA_ARGS__ }, \
        sizeof((const struct str[]){ __VA_ARGS__ }) / sizeof(struct str)
/* For printf's "%.*s". */
#define STR_ARGS(s) (int)(s).len, (s).ptr

static inline struct str
str_from(const char *nul_terminated) /* NULL gives STR_NONE */
{
    return nul_terminated == NULL
               ? STR_NONE
               : (struct str){ nul_terminated, strlen(nul_terminated) };
}

static inline struct str
str_of(const void *ptr, size_t len) /* the same */
{
    return ptr == NULL ? STR_NONE : (struct str){ ptr, len };
}

/* n bytes each; ASCII letters only are the same in either case. */
bool str_same_nocase(const char *a, const char *b, size_t n);

static inline bool
str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool
str_eq_nocase(struct str a, struct str b)
{
    return a.len == b.len && str_same_nocase(a.ptr, b.ptr, a.len);
}

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
int str_compare(struct str a, struct str b);
int str_compare_nocase(struct str a, struct str b); /* ASCII letters only */

/* First position of c at or after from, or s.len. */
size_t str_find(struct str s, char c, size_t from);

/* s without its first n bytes (all of them if it is shorter). */
static inline struct str
str_skip(struct str s, size_t n)
{
    return n >= s.len ? STR_NONE : (struct str){ s.ptr + n, s.len - n };
}

static inline struct str
str_first(struct str s, size_t n)
{
    return (struct str){ s.ptr, n < s.len ? n : s.len };
}

struct str str_trim(struct str s);       /* spaces and tabs at both ends */
struct str str_trim_space(struct str s); /* ends of lines and pages, too */

/* Cuts s at the first c: returns what is before it, leaves in *s what is
 * after it (STR_NONE when there is no c). */
struct str str_cut(struct str *s, char c);

/* A whole decimal number from min to max and nothing else; false leaves *out
 * alone.  An optional '-' is taken when min < 0. */
bool str_to_int(struct str s, int64_t min, int64_t max, int64_t *out);
/* Writes n bytes as 2 * n lower-case hexadecimal digits, and a NUL. */
void str_hex(char *dst, const void *bytes, size_t n);
/* The value of a hexadecimal digit of either case, or -1 when c is none. */
int str_hex_digit(char c);

/* Copies s into dst (size bytes, NUL added, cut to fit); returns bytes
 * copied without the NUL. */
size_t str_copy(char *dst, size_t size, struct str s);
/* The same behind the len bytes that are in dst; returns how many are there
 * now, NUL not counted.  A len of size or more is a dst that is full. */
size_t str_append(char *dst, size_t size, size_t len, struct str s);

/* Writes s to dst so that it can stand in a log line: bytes below 0x20, 0x7f,
 * '"', '\\' and invalid UTF-8 become \xHH.  Cut to fit, NUL added. */
size_t str_escape(char *dst, size_t size, struct str s);
/* The same for a sentence, parts of which may be escaped already: '"' and '\\'
 * stay as they are, so that nothing is escaped twice. */
size_t str_escape_words(char *dst, size_t size, struct str s);

/* How far a is from b in single-character edits, at most limit + 1.  Only for
 * names: texts over 128 bytes that differ count as limit + 1. */
size_t str_distance(struct str a, struct str b, size_t limit);

#endif
