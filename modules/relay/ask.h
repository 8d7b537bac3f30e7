/*
 * Checks a start or stop of a relay and writes it into the store: the same for
 * the API and for weirctl.
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
    struct str app, name, url; /* stop of a pull: url does not matter; of a
                                  push: empty if it is the only one */
};

/* 0: may be written.  Else the HTTP status to answer at once: 200 (weir.conf
 * has this very relay), or an error with its words in err. */
int relay_ask_check(const struct settings *s, const struct relay_ask *a,
                    struct errmsg *err);
/* Whether weir.conf has the relay that a stop names. */
bool relay_ask_is_of_file(const struct settings *s, const struct relay_ask *a);

/* How many relays the store may have: relays.max less those of weir.conf. */
int64_t relay_ask_room(const struct settings *s);
/* room: from relay_ask_room().  The answer is STORE_OK (a start's id is in the
 * first cell) or STORE_MISSING: the relay to stop is not there, or an obstacle
 * prevents the start (relay_ask_look() finds it). */
struct store_call *relay_ask_write(const struct relay_ask *a, int64_t room,
                                   store_done *done, void *arg);

/* Why a start was not written. */
enum relay_obstacle {
    RELAY_NO_ROOM,   /* as many as relays.max */
    RELAY_OTHER_URL, /* it is there with another one */
    RELAY_RING,      /* the stream already comes from, or goes to, the other
                        end: it would feed itself */
};
/* Asks the store why one was not written.  If that is STORE_OK, done reads the
 * reason with relay_ask_obstacle() for a start, relay_ask_missing() for a
 * stop. */
struct store_call *relay_ask_look(const struct relay_ask *a, store_done *done,
                                  void *arg);
enum relay_obstacle relay_ask_obstacle(const struct relay_ask *a,
                                       const struct store_result *r);
/* Why a stop was not written: the HTTP status, and words without secrets.
 * of_file: relay_ask_is_of_file(). */
#define RELAY_WORDS_MAX 960
int relay_ask_missing(const struct relay_ask *a, bool of_file,
                      const struct store_result *r,
                      char words[RELAY_WORDS_MAX]);

#endif
