/*
 * Describes the effects of a reload.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_RELOAD_DRY_H
#define APP_MASTER_RELOAD_DRY_H

#include "app/master/state.h"

/* Lines about putting g, which was loaded and not opened, in force now; for
 * mem_free(). */
char *reload_describe(struct master *m, const struct generation *g);

#endif
