/*
 * Reports keys of the file that have no row: with what another server means by
 * them (conf/others.h), or with the nearest name that has a row.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_KNOWN_H
#define CONF_KNOWN_H

#include "conf/reader.h"

/* The rows of a group: its own, chosen ones, and those of modules. */
struct rows {
    const struct conf_key **tables; /* in the source's pool */
    size_t count;
    bool unsure; /* the key that chooses is wrong: any key may be right */
};

void known_add(struct reader *r, struct rows *rows,
               const struct conf_key *keys);

/* Whether c, a setting of the group, has a row.  False when it has none, or is
 * set twice, which is then reported. */
bool known_check(struct reader *r, const struct scope *in,
                 const config_setting_t *c, const struct rows *rows);

#endif
