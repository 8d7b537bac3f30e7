/*
 * Logins of publishers at Flash Media Server (authmod=adobe) and Limelight
 * (authmod=llnw).
 *
 * Their makers have published neither; this follows their clients.  A server
 * that wants a login refuses connect, with its demand in the description of the
 * refusal.  Each answer goes in the query of app and tcUrl of a new connection:
 *
 *   -> app                      <- [ code=403 need auth; authmod=adobe ]
 *   -> app?authmod=adobe&user=  <- ?reason=needauth&user=&salt=&challenge=&...
 *   -> app?authmod=adobe&user=&challenge=&response=&opaque=
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_LOGIN_H
#define RTMP_LOGIN_H

#include "rtmp/client.h"

struct login_who {
    struct str user, password; /* empty: none */
    struct str app;            /* without its arguments */
};

enum login_result {
    LOGIN_NONE,    /* the refusal has nothing to do with a login */
    LOGIN_AGAIN,   /* login->query has the answer */
    LOGIN_REFUSED, /* err says why */
};

/* description: of a refused connect. login NULL: no answer can be given. */
enum login_result login_answer(struct rtmp_login *login,
                               const struct login_who *who,
                               struct str description, struct errmsg *err);

#endif
