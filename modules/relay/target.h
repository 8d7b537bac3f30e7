/*
 * The remote ends of relays, in a form that can be compared: a stream that is
 * pulled from and pushed to one place feeds itself, with its own last frames,
 * for ever.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_TARGET_H
#define MODULES_RELAY_TARGET_H

#include "app/settings/settings.h"
#include "base/pool.h"
#include "net/url.h"

#include <stdio.h>

struct relay_target {
    struct str host;   /* lower case; "localhost" for 127.0.0.1 and ::1, too */
    uint16_t port;     /* 0: the one of its scheme.  rtmp:// and rtmps:// of a
                          host, each at its own port, are one server. */
    struct str stream; /* "app/name", without queries */
    struct str text;   /* "host/app/name", "host:port/app/name": equal ones are
                          the same stream of the same server */
};

/* url as relay_check_url() takes it, of a relay of a stream that is called
 * name here.  Texts live in pool; text is a secret as url is.  0, or -1 with
 * err and *out empty. */
int relay_target_read(struct pool *pool, struct str url, struct str name,
                      struct relay_target *out, struct errmsg *err);

/* A URL of a push as it is shown: without its secrets, and with a mark behind
 * them ("#1f2e3d4c") that tells it from others that look alike: a part of a
 * hash under a key that only this weir has, until it is started anew.  The text
 * before the mark is cut to fit; returns dst. */
#define RELAY_SHOWN_MAX 512
const char *relay_target_shown(char dst[RELAY_SHOWN_MAX], struct str url,
                               const struct url *parsed);

/* -1 with err when a pull of app/name from url would bring back the stream of a
 * push of s (pull is true), or when a push would send there the stream that a
 * pull of s brings back. */
int relay_target_check(const struct settings *s, bool pull, struct str app,
                       struct str name, struct str url, struct errmsg *err);

/* Reports each pull of the file that one of its pushes would feed. */
void relay_target_check_file(const struct settings *s, FILE *out);

#endif
