/*
 * Keys of the file that no row is for: told with the nearest name that is one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_KNOWN_H
#define CONF_KNOWN_H

#include "conf/reader.h"

/* The rows that a group has: its own, those chosen, those of others. */
struct rows {
    const struct conf_key **tables; /* in the source's pool */
    size_t count;
    bool unsure; /* something wrong was to choose: any key may be right */
};

void known_add(struct reader *r, struct rows *rows,
               const struct conf_key *keys);

/* Whether c, a setting of the group, has a row; false after saying that it
 * has none, or is set twice. */
bool known_check(struct reader *r, const struct scope *in,
                 const config_setting_t *c, const struct rows *rows);

#endif
