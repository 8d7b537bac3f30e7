/*
 * The description of a layer as tables: openapi_write.c makes the document of
 * them.
 *
 * Texts that name a component ("Article", "Problem") are keys of the other
 * tables here.  All tables end with a row whose first member is NULL.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_OPENAPI_TABLES_H
#define MODULES_ARTICLES_OPENAPI_TABLES_H

#include <stdbool.h>

/* Whether a row is there, by the settings of the layer. */
enum openapi_when {
    WHEN_ALWAYS,
    WHEN_EDIT,       /* PUT and PATCH are */
    WHEN_RESTRICTED, /* write_access is not for all */
    WHEN_ENVELOPE,
    WHEN_BARE,
    WHEN_AUTH,      /* clients have to log in */
    WHEN_VERSIONED, /* it is a version of an API */
    WHEN_DEPRECATED,
    WHEN_SUNSET,
};

enum openapi_kind {
    KIND_ID,     /* integer from 1 */
    KIND_NUMBER, /* integer from 0 */
    KIND_STATUS,
    KIND_TEXT,
    KIND_TIME,
    KIND_LINK,
    KIND_LINK_OR_NULL,
    KIND_LIST, /* of what ref names */
    KIND_REF,  /* what ref names */
};

/* Bounds of a text that is given. */
enum openapi_limit { LIMIT_NONE, LIMIT_TITLE, LIMIT_CONTENT, LIMIT_NAME };

struct openapi_property {
    const char *name;
    enum openapi_kind kind;
    const char *ref;
    enum openapi_limit limit;
    bool optional;
    const char *help; /* NULL: the name says it */
};

struct openapi_schema { /* an object, or a list where list is not NULL */
    const char *name;
    const char *xml; /* its element */
    const struct openapi_property *properties;
    const char *list; /* schema of its items */
    enum openapi_when when;
    bool partial; /* all of its properties are optional */
};

struct openapi_parameter { /* of a request, or a header of an answer */
    const char *key;       /* among the components */
    const char *in;        /* "query", "path", "header"; NULL: of an answer */
    const char *name;      /* NULL: the key */
    enum openapi_kind kind;
    const char *help;
    enum openapi_when when;
};

#define OPENAPI_HEADERS 4
struct openapi_response {
    const char *name;
    const char *schema; /* of its body; NULL: it has none */
    const char *headers[OPENAPI_HEADERS];
    const char *help;
    enum openapi_when when;
};

struct openapi_body { /* of a request */
    const char *name;
    const char *schema;
    bool patch; /* types that only PATCH takes, too */
    enum openapi_when when;
};

struct openapi_answer {
    int status; /* 0: any other error */
    const char *response;
    enum openapi_when when;
};

#define OPENAPI_PARAMETERS 6
#define OPENAPI_ANSWERS 13
struct openapi_operation {
    const char *path; /* those of one path stand together */
    const char *method;
    const char *id;
    enum openapi_when when;
    const char *help;
    const char *parameters[OPENAPI_PARAMETERS];
    const char *body; /* NULL: it has none */
    struct openapi_answer answers[OPENAPI_ANSWERS];
};

extern const struct openapi_schema openapi_schemas[];
extern const struct openapi_parameter openapi_parameters[];
extern const struct openapi_parameter openapi_headers[];
/* The headers of every answer, as far as they exist there. */
extern const struct openapi_parameter openapi_common_headers[];
extern const struct openapi_response openapi_responses[];
extern const struct openapi_body openapi_bodies[];
extern const struct openapi_operation openapi_operations[];

#endif
