/*
 * Shared by the files of this module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_PROXY_H
#define MODULES_PROXY_PROXY_H

#include "conf/conf.h"

struct proxy_settings { /* of a layer */
    struct conf_where where;
    struct str upstream;
};

#endif
