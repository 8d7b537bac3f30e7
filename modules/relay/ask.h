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
/* weir.conf has what is to be stopped, whatever its URL. */
bool relay_ask_is_of_file(const struct settings *s, const struct relay_ask *a);
/* 409 and err: it has to be changed there.  For a stop: if the store has none,
 * too. */
int relay_ask_refuse(const struct relay_ask *a, struct errmsg *err);

/* How many relays the store may have: what those of weir.conf leave of
 * relays.max. */
int64_t relay_ask_room(const struct settings *s);
/* room: as relay_ask_room() says.  The answer is STORE_OK (a start's id is in
 * the first cell) or STORE_MISSING: a stop of what is not there, or a start
 * that something is in the way of (relay_ask_look() tells). */
struct store_call *relay_ask_write(const struct relay_ask *a, int64_t room,
                                   store_done *done, void *arg);

/* Why a start was not written. */
enum relay_obstacle {
    RELAY_NO_ROOM,   /* as many as relays.max */
    RELAY_OTHER_URL, /* it is there with another one */
    RELAY_RING,      /* the stream is already pulled from, or pushed to, what
                        it was to go to, or come from: it would feed itself */
};
/* Asks for it: done reads it with relay_ask_obstacle() if it was STORE_OK. */
struct store_call *relay_ask_look(const struct relay_ask *a, store_done *done,
                                  void *arg);
enum relay_obstacle relay_ask_obstacle(const struct relay_ask *a,
                                       const struct store_result *r);

#endif
