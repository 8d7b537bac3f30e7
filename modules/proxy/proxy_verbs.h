/*
 * The words of weirctl; they run in the master.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_PROXY_VERBS_H
#define MODULES_PROXY_PROXY_VERBS_H

#include "app/control/verb.h"

extern const struct control_verb proxy_verbs[];

#endif
