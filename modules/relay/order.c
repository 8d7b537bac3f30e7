/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "order.h"

#include "control.h"
#include "key_verbs.h"

#define ORDERS 64 /* as many as the control socket has clients */

struct rpc_method order_methods[] = {
    [ORDER_TASK] = { .name = "relay.task",
                     .role = "relayer",
                     .caller = BUS_MASTER,
                     .request_max = RELAY_VERBS_ORDER_MAX,
                     .open_max = ORDERS },
    [ORDER_KEY] = { .name = "relay.key",
                    .role = "relayer",
                    .caller = BUS_MASTER,
                    .request_max = KEY_VERBS_ORDER_MAX,
                    .answer_max = KEY_VERBS_ANSWER_MAX,
                    .open_max = ORDERS },
    { .name = NULL },
};
