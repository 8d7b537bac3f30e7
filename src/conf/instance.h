/*
 * Items of a list at the root that are chosen by name.
 *
 * The list may stand below what names it: instance_wish() notes the wish while
 * the settings are filled, instance_find_all() grants all when they are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_INSTANCE_H
#define CONF_INSTANCE_H

#include "conf/reader.h"

/* field, whose name is filled in or stays empty, is what key (an INSTANCE) is
 * for; mistakes are told of the token. */
void instance_wish(struct reader *r, const struct scope *in,
                   const struct conf_key *key, struct conf_instance *field,
                   size_t at);

/* Finds what was wished for among the settings that keys filled, and says of
 * each wish that cannot be granted why. */
void instance_find_all(struct reader *r, const struct conf_key *keys,
                       const void *settings);

/* The name of item i of a named list. */
struct str instance_name(const struct conf_key *key,
                         const struct conf_groups *all, size_t i);

#endif
