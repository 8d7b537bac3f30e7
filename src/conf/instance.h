/*
 * Items of a list at the root that are chosen by name.
 *
 * The list may stand below the setting that names an item: instance_wish()
 * notes the name while the settings are filled, instance_find_all() finds all
 * items afterwards.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_INSTANCE_H
#define CONF_INSTANCE_H

#include "conf/reader.h"

/* field is that of key (an INSTANCE); its name is filled in, or empty.
 * Mistakes are reported at the token. */
void instance_wish(struct reader *r, const struct scope *in,
                   const struct conf_key *key, struct conf_instance *field,
                   size_t at);

/* Finds the named items among the settings that keys filled, and reports each
 * name that has none. */
void instance_find_all(struct reader *r, const struct conf_key *keys,
                       const void *settings);

/* The name of item i of a named list. */
struct str instance_name(const struct conf_key *key,
                         const struct conf_groups *all, size_t i);

#endif
