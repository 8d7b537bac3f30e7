/*
 * The parts of a loaded configuration.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_LAYOUT_H
#define CONF_LAYOUT_H

#include "conf/conf.h"
#include "conf/origin.h"

struct conf {
    struct pool *pool; /* holds all of it, this struct too */
    const struct conf_key *keys;
    void *settings;
    struct origins origins;
};

/* Does the row stand for a value of its own in the file? */
bool conf_is_key(const struct conf_key *key);
/* The rows that an EXTRA row chose; NULL if it chose none. */
const struct conf_key *conf_extra_keys(const struct conf_key *key,
                                       const struct conf_extra *extra);

#endif
