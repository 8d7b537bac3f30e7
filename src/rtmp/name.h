/*
 * Resolves a client's app, tcUrl and stream name.
 *
 * Clients put the same URL into these three fields in different ways
 * (rtmp://HOST/live/inst/movie?token=x is app "live/inst" and name
 * "movie?token=x" for some, app "live" and name "inst/movie" for others), so
 * they are made into one form:
 *
 *  - queries are cut off all three and merged: the name's first, then the
 *    app's, then tcUrl's; a piece that is there already is not repeated;
 *  - without an app, tcUrl's path is the app;
 *  - leading, trailing and doubled slashes and "_definst_" are gone;
 *  - the first segment is the application, the rest joins the name, so that
 *    an empty name takes what the app has left over;
 *  - control characters, bytes that are not UTF-8, "." and ".." as segments
 *    and texts that are too long are refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_NAME_H
#define RTMP_NAME_H

#include "base/errmsg.h"
#include "base/str.h"
#include "rtmp/rtmp.h"

struct rtmp_name {
    struct str app, name, args; /* into text */
    char text[2 * RTMP_NAME_MAX + RTMP_ARGS_MAX];
};

/* 0, or -1 with err.  wants_name: an empty name is an error (a connect has
 * none yet: out->name is then what the app has left over). */
int rtmp_name_resolve(struct rtmp_name *out, struct str app, struct str tc_url,
                      struct str name, bool wants_name, struct errmsg *err);

/* Whether s can be a stream's name, or with one_segment a segment of it, which
 * rtmp_name_resolve() does not change: 0, or -1 with err ("must not ..."). */
int rtmp_name_check(struct str s, bool one_segment, struct errmsg *err);

/* Another name that a player may mean by this one: players put the kind of a
 * file before it ("mp4:", "flv:", "mp3:"; before its last segments, too), or
 * its ending behind it (".mp4", ".f4v", ".flv", ".mp3").  n 0: without the
 * former, 1: without the latter, 2: without both.  In out; false: it has no
 * such part, or nothing is left of it. */
#define RTMP_NAME_MEANINGS 3
struct rtmp_meaning {
    size_t len;
    char text[RTMP_NAME_MAX];
};
bool rtmp_name_meaning(struct rtmp_meaning *out, struct str name, unsigned n);

/* Bytes a name may hold: valid UTF-8 without control characters. */
bool rtmp_name_is_clean(struct str s);

/* tcUrl without quotes around it and without its query. */
struct str rtmp_name_tc_url(struct str tc_url);

#endif
