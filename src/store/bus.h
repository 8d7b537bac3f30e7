/*
 * The messages of the store's processes over the bus (proc/bus.h).
 *
 *   WRITE   asks the keeper: struct wire_request, steps, notice
 *   ANSWER  the keeper's: struct wire_answer, rows
 *   HELLO   the keeper's to all: it is there, or notices were lost.
 *           Subscribers check everything; calls that wait for an answer of
 *           another keeper go to this one again
 *   NOTICE  the keeper's to all: topic and text
 *
 * All processes hear them; those that have no use for one ignore it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_BUS_H
#define STORE_BUS_H

#include "proc/bus.h"

/* The role's name, by which it is found. */
#define KEEPER_NAME "keeper"

bus_handler keeper_on_write;  /* store/sqlite/keeper.c */
bus_handler link_on_answer;   /* store/sqlite/keeper_client.c */
bus_handler link_on_hello;    /* store/sqlite/keeper_client.c */
bus_handler listen_on_notice; /* store/notices.c */

/* A number for this start of weir; 0 before store_prepare(). */
uint64_t store_boot(void);

#endif
