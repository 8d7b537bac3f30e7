/*
 * Commands of the control socket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_VERBS_H
#define MODULES_HLS_VERBS_H

#include "app/control/verb.h"

extern const struct control_verb hls_verbs[];

#endif
