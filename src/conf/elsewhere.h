/*
 * Values of keys that the file does not have and that are no presets: from the
 * environment, from the rest of the group.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_ELSEWHERE_H
#define CONF_ELSEWHERE_H

#include "conf/reader.h"

/* Takes the value of the key's variable; false: there is none, or not one that
 * the key takes. */
bool elsewhere_variable(struct reader *r, const struct conf_key *key,
                        void *field);
/* Takes what the filled group says for the key (conf_key.otherwise).  False
 * after a report: it says nothing, or what the key does not take. */
bool elsewhere_group(struct reader *r, const struct scope *in,
                     const struct conf_key *key, const void *group,
                     void *field);

#endif
