/*
 * Lines from a terminal, with history and completion (libedit).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef WEIRCTL_PROMPT_H
#define WEIRCTL_PROMPT_H

#include "base/str.h"

/* Calls on_line for each line until it returns false or there are no more. */
void prompt_run(bool (*on_line)(void *arg, struct str line), void *arg);

#endif
