/*
 * This module's tables in the store, and their statements.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_SCHEMA_H
#define MODULES_ARTICLES_SCHEMA_H

#include "store/store.h"

/* Times are seconds since 1970; an edition is a random number that is drawn
 * whenever a row changes. */
enum articles_statement {
    SQL_SECRET,      /* -> secret */
    SQL_ITEM,        /* id -> enum item_column */
    SQL_PAGE,        /* created_at, id, limit, bytes: those behind it ->
                        enum item_column; content NULL if it has more bytes */
    SQL_PAGE_OF,     /* the same and author_id: those of that author */
    SQL_AUTHOR,      /* id -> enum author_column */
    SQL_AUTHORS,     /* id, limit: those behind it -> enum author_column */
    SQL_POSTED,      /* key, oldest made -> enum posted_column */
    SQL_ADD_AUTHOR,  /* id, name, now, edition: unless it is there */
    SQL_NAME_AUTHOR, /* id, name, now, edition: if it has another one */
    SQL_NAME_OF,     /* the same, with the id of an article of the author */
    SQL_ADD,    /* title, author_id, created_at, updated_at, edition, bytes,
                   content -> id; conflict: the title is taken */
    SQL_EDIT,   /* the same, NULL: unchanged; id, edition that it must have or
                   NULL, now: updated_at if none is given.  When no value
                   changes, edition and updated_at stay */
    SQL_EDITED, /* id, content is wanted (1, 0) -> enum item_column */
    SQL_REMOVE, /* id */
    SQL_REMOVE_EDITION, /* id, edition that it must have */
    SQL_FORGET_POSTS,   /* key, oldest made: this one and some others, if they
                           are older */
    SQL_REMEMBER_POST,  /* key, print, now, title; conflict: it is there */
    SQL_STATEMENTS
};

enum item_column {
    ITEM_ID,
    ITEM_TITLE,
    ITEM_CREATED_AT,
    ITEM_UPDATED_AT,
    ITEM_EDITION,
    ITEM_AUTHOR_ID,
    ITEM_AUTHOR_NAME,
    ITEM_AUTHOR_CREATED_AT,
    ITEM_AUTHOR_UPDATED_AT,
    ITEM_AUTHOR_EDITION,
    ITEM_BYTES, /* of content */
    ITEM_CONTENT,
    ITEM_COLUMNS
};

enum author_column {
    AUTHOR_ID,
    AUTHOR_NAME,
    AUTHOR_CREATED_AT,
    AUTHOR_UPDATED_AT,
    AUTHOR_EDITION,
    AUTHOR_COLUMNS
};

/* The columns behind POSTED_PRINT are those of an item up to
 * ITEM_AUTHOR_EDITION: the rest is in the repeated body. */
enum posted_column { POSTED_PRINT, POSTED_ITEM };

extern const struct store_schema articles_schema;
extern const struct store_statement articles_statements[];

#endif
