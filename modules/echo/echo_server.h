/*
 * The server of this module: it sends each line of a TCP connection back.
 *
 * A line ends with LF.  Its bytes go to the client as they came, straight from
 * the buffer that they were read to: what the client does not take stays
 * there, and nothing is read while that buffer is full.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ECHO_ECHO_SERVER_H
#define MODULES_ECHO_ECHO_SERVER_H

#include "app/module.h"
#include "proc/metric.h"

struct echo_server_root {
    struct conf_groups servers; /* struct echo_server_settings */
};

/* Of struct echo_server_root. */
extern const struct conf_key echo_server_keys[];
extern const struct module_servers echo_servers;
extern struct metric echo_server_metrics[];

#endif
