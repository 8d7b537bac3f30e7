/*
 * RTMP in a worker: sessions (src/rtmp) joined to live streams (src/live) by
 * the rules of rtmp.servers[].applications[].
 *
 * Before the session answers, these decide in turn whether a name may be
 * published or played: the address, the check that a player has not named a
 * key, the hooks of the modules in the order of their table, and the
 * application's own policy.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_RTMP_SERVICE_H
#define APP_SERVICE_RTMP_SERVICE_H

#include "app/module.h"
#include "app/settings/settings.h"
#include "rtmp/rtmp.h"

/* An application in force, as players of any protocol need it. */
struct rtmp_application {
    const struct rtmp_application_settings *settings;
    const struct access_list *publish_access, *play_access;
    int64_t gather, hold; /* ms */
    struct live_cut_rules cuts;
    unsigned place; /* among METRIC_APPS */
};

void rtmp_service_start(struct worker *w);
/* Takes over a socket accepted for server i of the settings. */
void rtmp_service_accept(size_t i, const struct conn_socket *socket);
/* Ends every session, with time for its client to read the reason. */
void rtmp_service_finish(const char *reason);
void rtmp_service_stop(void); /* closes every session */

/* The application of that name, NULL if there is none. */
const struct rtmp_application *rtmp_service_application(struct str name);

/* Whether a player's name in that application, over any protocol, may be a
 * publisher's secret, and no stream of that name is published now.  The caller
 * refuses such a player with that text, and shows the name nowhere. */
#define RTMP_SERVICE_SECRET \
    "this may be a stream key: what is played is the room's name"
bool rtmp_service_is_secret(const struct rtmp_application *a, struct str name);

/* ---- for hooks ---- */

/* The application that r is for. */
const struct rtmp_application *rtmp_service_application_of(
    const struct rtmp_request *r);
/* on_publish: the stream that is published under a key appears under this name.
 * -1: it is too long for this application. */
int rtmp_service_rename(struct rtmp_request *r, struct str name);
/* The answer to HOOK_WAIT. */
void rtmp_service_decide(struct rtmp_request *r, enum rtmp_hook_result result,
                         const struct rtmp_refusal *no);

#endif
