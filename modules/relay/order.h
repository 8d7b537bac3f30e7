/*
 * Orders of weirctl to the relayer, which has the store, as calls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_ORDER_H
#define MODULES_RELAY_ORDER_H

#include "app/control/ask.h"
#include "proc/rpc.h"

enum { ORDER_TASK, ORDER_KEY }; /* places in order_methods */

extern struct rpc_method order_methods[];

#endif
