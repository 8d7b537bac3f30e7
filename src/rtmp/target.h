/*
 * The path of an RTMP URL taken apart into application, stream name and
 * arguments, as senders and players of such URLs do it.
 *
 *   /live/movie?t=x       live        movie       t=x
 *   /live/inst/movie      live/inst   movie       from three segments on the
 *   /live/inst/a/b        live/inst   a/b         application has two
 *   /vod/mp4:a/b          vod         mp4:a/b     unless the second has a ':'
 *   /ondemand/a/b         ondemand    a/b         or the first is "ondemand"
 *   /live?k=v/movie       live?k=v    movie       arguments of the application
 *   /live                 live        (none)
 *   /live/inst/           live/inst   (none)      a slash ends the application
 *
 * The last form counts only where one segment stands before the '?': in
 * /live/movie?t=a/b the slash is part of the token.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_TARGET_H
#define RTMP_TARGET_H

#include "base/errmsg.h"
#include "base/str.h"

struct rtmp_target { /* pieces of the path, not decoded */
    struct str app;  /* with its own arguments: "live?k=v" */
    struct str name; /* empty: none is in the URL */
    struct str args; /* without the '?' */
};

/* path: the part of the URL behind the host, with the query: "/live/movie?t=x".
 * 0, or -1 with err: no application, an empty segment ("//"), a control
 * character or a byte that is not UTF-8. */
int rtmp_target_split(struct rtmp_target *t, struct str path,
                      struct errmsg *err);

#endif
