/*
 * Relay's settings beside its layers: the block "relays" at the root, and in
 * each application pushes, pulls and the rules for keys.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_SETTINGS_H
#define MODULES_RELAY_SETTINGS_H

#include "app/settings/settings.h"

#include <stdio.h>

/* "publish" of an application that takes keys. */
#define RELAY_PUBLISH "key"

struct relays_settings {
    int64_t max;             /* tasks */
    int64_t connect_timeout; /* ms: until the remote lets us play or publish */
    int64_t idle_timeout;    /* ms: a remote that is silent */
    struct str tls_ca;       /* a file; "": the system's */
    bool tls_verify;
};

struct relay_root { /* of relay_root_keys */
    struct relays_settings relays;
};

enum key_change { KEY_CHANGE_CLOSE, KEY_CHANGE_KEEP };

struct push_settings { /* an item of "push" */
    struct conf_where where;
    struct str url;
    struct str name; /* "": every stream of the application */
};

struct pull_settings { /* an item of "pull" */
    struct conf_where where;
    struct str name, url;
};

struct relay_application {   /* of relay_application_keys */
    int on_key_change;       /* enum key_change */
    int64_t key_grace;       /* ms; 0: none */
    struct conf_groups push; /* struct push_settings */
    struct conf_groups pull; /* struct pull_settings */
};

extern const struct conf_key relay_root_keys[], relay_application_keys[];

const struct relays_settings *relays_of(const struct settings *s);
const struct relay_application *relay_application_of(
    const struct rtmp_application_settings *a);

/* Whether a relay of that application's stream to or from url is allowed (url
 * is one that url_parse() takes, of rtmp:// or rtmps://). -1 with err: the
 * stream would be relayed to itself, as far as this node can tell. */
int relay_check_url(const struct settings *s, struct str app, struct str name,
                    struct str url, struct errmsg *err);
/* -1 with err when url has an address that s->egress refuses.  A name is looked
 * up only when the relay connects. */
int relay_check_egress(const struct settings *s, struct str url,
                       struct errmsg *err);
/* Reports the mistakes of each push and pull of the file. */
void relay_check_file(const struct settings *s, FILE *out);

#endif
