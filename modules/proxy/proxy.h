/*
 * Shared by the files of this module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_PROXY_H
#define MODULES_PROXY_PROXY_H

#include "base/str.h"

struct proxy_settings { /* of a layer */
    struct str upstream;
};

#endif
