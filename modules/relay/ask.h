/*
 * What a start or stop of a relay is checked for before it is written into the
 * store, and how it is written: the same for the API and for weirctl.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_ASK_H
#define MODULES_RELAY_ASK_H

#include "app/settings/settings.h"
#include "store/store.h"
#include "tasks.h"

struct relay_ask {
    bool start; /* else: stop */
    enum relay_kind kind;
    struct str app, name, url; /* stop: url may be empty */
};

/* 0: may be written.  Else the HTTP status to answer at once: 200 (weir.conf
 * has this very relay), or an error with its words in err. */
int relay_ask_check(const struct settings *s, const struct relay_ask *a,
                    struct errmsg *err);

/* max: relays.max.  The answer is STORE_OK (a start's id is in the first cell)
 * or STORE_MISSING: a stop of what is not there; a start that is there with
 * another URL (relay_ask_look() tells), or there is no room. */
struct store_call *relay_ask_write(const struct relay_ask *a, int64_t max,
                                   store_done *done, void *arg);
/* Reads the URL of such a task: a row, or none. */
struct store_call *relay_ask_look(const struct relay_ask *a, store_done *done,
                                  void *arg);

#endif
