/*
 * Writing JSON (RFC 8259), through yajl.
 *
 *     struct json_out o;
 *
 *     json_begin(&o, body, false);
 *     json_open(&o);
 *     json_put_str(&o, "name", name);
 *     json_key(&o, "tags");
 *     json_open_array(&o);
 *     ...
 *     json_close(&o);
 *     json_close(&o);
 *     if (json_end(&o) == -1) { the buffer's limit was met }
 *
 * Nothing need be checked between: the first failure is kept until the end.
 * Calls in a wrong order (a value without its key) fail as well.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include "base/buf.h"
#include "base/pool.h"
#include "base/str.h"

#define JSON_DEPTH 64 /* objects and arrays in one another, at most */

struct json_out {
    struct yajl_gen_t *gen; /* owned, until the end */
    struct buf *to;         /* borrowed; or &own */
    struct buf own;
    bool failed;
    bool complete; /* a whole value was written */
    bool keyed;    /* a key was written, its value comes next */
    unsigned depth;
    uint64_t objects; /* bit n: an object is open at depth n, not an array */
};

/* Appends to a buffer, which must live until json_end(). */
void json_begin(struct json_out *o, struct buf *to, bool pretty);
/* For a text that is wanted in a pool: json_end_pool() must follow. */
void json_begin_own(struct json_out *o, bool pretty);
/* Frees o's memory. 0 if `to` has one whole value; -1 if not: then the appended
 * bytes are of no use. */
int json_end(struct json_out *o);
int json_end_pool(struct json_out *o, struct pool *p, struct str *text);

void json_open(struct json_out *o); /* { */
void json_open_array(struct json_out *o);
void json_close(struct json_out *o); /* whichever is open */
void json_key(struct json_out *o, const char *key);

/* Strings: invalid UTF-8 becomes U+FFFD, byte by byte. */
void json_str(struct json_out *o, struct str s);
void json_int(struct json_out *o, int64_t n);
/* A number with up to three decimals: 29970 is written as 29.97. */
void json_thousandths(struct json_out *o, int64_t n);
void json_bool(struct json_out *o, bool b);
void json_null(struct json_out *o);

/* A key with its value. */
void json_put_str(struct json_out *o, const char *key, struct str s);
void json_put_int(struct json_out *o, const char *key, int64_t n);
void json_put_bool(struct json_out *o, const char *key, bool b);
void json_put_null(struct json_out *o, const char *key);

#endif
