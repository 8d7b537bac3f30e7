/*
 * Walking through a JSON text (RFC 8259) without a tree of it, through yajl:
 * to see that it is right, and to find something in it.
 *
 * As strict as json/read.h about grammar and UTF-8.  Names may stand twice in
 * an object, and "\ud800" may stand alone: such a text can be handed on, and
 * its reader decides.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef JSON_WALK_H
#define JSON_WALK_H

#include "json/read.h"

#define JSON_WALK_DEPTH 64 /* objects and arrays in one another, at most */

enum json_step_is {
    JSON_STEP_VALUE, /* of an array or object: its beginning */
    JSON_STEP_NAME,  /* of the member whose value comes next */
    JSON_STEP_END,   /* of an array or object */
};

struct json_step {
    enum json_step_is is;
    enum json_kind kind; /* of the value; not set for a name */
    struct str text;     /* name and STRING: decoded; NUMBER: as written */
    bool truth;          /* BOOL */
    unsigned depth;      /* the outermost value has 0, its members 1 */
    size_t end;          /* bytes up to the end of this token */
};

/* False ends the walk. */
typedef bool json_on_step(void *arg, const struct json_step *s);

/* -1: text is no JSON value, is deeper than JSON_WALK_DEPTH, on_step (which may
 * be NULL) ended the walk, or there is no memory for a long text.  Steps before
 * a mistake are told, but of a text that is no UTF-8 none is. */
int json_walk(struct str text, json_on_step *on_step, void *arg);

#endif
