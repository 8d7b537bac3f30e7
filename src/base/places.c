/*
 * The Makefile compiles this again with the paths of the prefix, for what is
 * installed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/places.h"

#ifndef PLACES_CONF
#define PLACES_CONF "conf/weir.conf"
#define PLACES_RUN "run"
#define PLACES_STATE "run"
#define PLACES_PROGRAMS ""
#endif

const char places_conf[] = PLACES_CONF;
const char places_pid[] = PLACES_RUN "/weir.pid";
const char places_control[] = PLACES_RUN "/control.sock";
const char places_database[] = PLACES_STATE "/weir.db";
const char places_programs[] = PLACES_PROGRAMS;
