/*
 * Fills the settings structs from libconfig's tree.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_FILL_H
#define CONF_FILL_H

#include "conf/conf.h"
#include "conf/origin.h"
#include "conf/source.h"

/* Fills settings (zeroed) by its rows from the source, which is not broken;
 * strings and lists are made in pool, and so is what origins holds.  Mistakes
 * are noted in the source.  *variables: whether those of the environment count
 * (conf_key.variable); then, whether one did. */
void conf_fill(struct source *s, const struct conf_key *keys, void *settings,
               struct pool *pool, struct origins *origins, bool *variables);

#endif
