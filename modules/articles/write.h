/*
 * Writes of an article, as steps.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_WRITE_H
#define MODULES_ARTICLES_WRITE_H

#include "input.h"

#define WRITE_PARAMS 10

/* Steps in the making: their parameters live here until store_write(). */
struct write_steps {
    struct store_step steps[STORE_STEPS];
    struct store_value params[STORE_STEPS][WRITE_PARAMS];
    size_t count;
};

/* Adds a step; returns room for its parameters. */
struct store_value *write_step(struct write_steps *w,
                               enum articles_statement which, size_t params,
                               bool must_change);
/* The author of the draft, made if there is none yet; now: s since 1970. */
void write_author(struct write_steps *w, const struct draft *d, int64_t now);
/* The name that the draft gives the author of the article of this id. */
void write_name(struct write_steps *w, const struct draft *d,
                struct store_value id, int64_t now);
/* Fills the parameters of SQL_ADD, which are the first of SQL_EDIT: members
 * that the draft lacks are NULL, which only SQL_EDIT takes. */
void write_article(struct store_value *params, const struct draft *d,
                   int64_t edition);

#endif
