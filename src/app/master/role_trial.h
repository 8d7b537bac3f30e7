/*
 * Whether roles could start: what they cannot do without is there, and open to
 * the user that they become (struct role, check).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_ROLE_TRIAL_H
#define APP_MASTER_ROLE_TRIAL_H

#include "app/settings/settings.h"

#include <stdio.h>

/* For weir -t, not for a master: asks a process with the roles' user, and waits
 * for it.  A line "FILE:LINE: ROLE: what is wrong" for each that could not. */
void role_trial(const struct settings *s, FILE *out);

#endif
