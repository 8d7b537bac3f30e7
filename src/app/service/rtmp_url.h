/*
 * The URL of a NetStream, as statistics show it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_RTMP_URL_H
#define APP_SERVICE_RTMP_URL_H

#include "base/line_format.h"
#include "net/addr.h"
#include "rtmp/rtmp.h"

#define RTMP_URL_MAX                                        \
    1024 /* bytes of one, NUL included; longer ones are cut \
          */

/* "rtmp://host/app/room" for r, whose stream is name ("app/room"); it lies in
 * dst.  Scheme and host are those of tcUrl, without a user; where it has none,
 * those of local.  The client's own part behind the host is ignored: it may be
 * a key.  A player's (mask is not NULL) has its query, with the values of
 * secret arguments masked.
 * used: the scheme of the connection, where tcUrl has none. */
struct str rtmp_url(char dst[RTMP_URL_MAX], const struct rtmp_request *r,
                    const char *used, struct str name, const struct addr *local,
                    const struct line_mask *mask);

#endif
