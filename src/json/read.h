/*
 * Reading a JSON text (RFC 8259) into a tree, through yajl.
 *
 * Strict: one whole value and nothing behind it, valid UTF-8, no half of a
 * surrogate pair (so all texts are valid UTF-8), no name twice in an object
 * (another reader might take the other one).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include "base/errmsg.h"
#include "base/pool.h"

#include <stdbool.h>

#define JSON_READ_DEPTH 16      /* objects and arrays in one another, at most */
#define JSON_READ_VALUES 100000 /* of a text */
#define JSON_READ_NUMBER 63     /* bytes of one */

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_value {
    enum json_kind kind;
    struct str name;                 /* as a member of an object */
    struct str text;                 /* STRING: decoded; NUMBER: as written */
    double number;                   /* NUMBER */
    bool truth;                      /* BOOL */
    struct json_value *first, *last; /* of ARRAY and OBJECT, NULL if empty */
    struct json_value *next;         /* beside it */
};

/* A text that is read piece by piece, as the body of a request is
 * (http_feed.piece).  The tree and the reader lie in the pool. */
struct json_reader;
struct json_reader *json_reader_new(struct pool *pool);
/* Returns how many bytes were taken: a character or an escape that may be cut
 * at the end waits for the next piece; of the last one all are taken. */
size_t json_reader_feed(struct json_reader *r, struct str piece, bool last);
/* Of a text that is there whole. */
struct json_reader *json_reader_whole(struct pool *pool, struct str text);
/* Nothing was fed. */
bool json_reader_is_empty(const struct json_reader *r);
/* As json_read(), once all was fed. */
const struct json_value *json_reader_end(struct json_reader *r,
                                         struct errmsg *err);

/* The value of text; all of it lies in the pool.  Callers bound the text's
 * size first, because reading it takes one turn.  NULL with err: a limit or a
 * mistake, with its place: "not valid JSON (line 2, column 7)". */
const struct json_value *json_read(struct pool *pool, struct str text,
                                   struct errmsg *err);

/* The first byte that yajl takes for a space and JSON does not (vertical tab,
 * form feed); text.len: there is none. */
size_t json_wrong_space(struct str text);

/* The member of that name; NULL if there is none, or v is no object. */
const struct json_value *json_member(const struct json_value *v,
                                     const char *name);
/* Its text if it is a string; else STR_NONE. */
struct str json_member_str(const struct json_value *v, const char *name);

#endif
