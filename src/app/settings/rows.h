/*
 * Shared by the files of this folder, each of which has the rows of one block.
 *
 *   listen.c   what a server listens on
 *   tls.c      certificates
 *   rtmp.c     RTMP servers and applications
 *   cuts.c     where streams are cut
 *   http.c     HTTP servers and locations
 *   names.c    HTTP servers that share an address
 *   routing.c  what a location does without a module
 *   bypass.c   patterns that come before a guarded location
 *   layer.c    modules of a location
 *   auth.c     the auth filter
 *   parts.c    what modules add
 *   control.c  the control socket
 *   sandbox.c  the sandbox
 *   store.c    the store
 *   endpoints.c  endpoints of Socket.IO
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SETTINGS_ROWS_H
#define APP_SETTINGS_ROWS_H

#include "app/settings/settings.h"
#include "base/line_format.h"

extern const struct conf_key settings_rtmp_keys[]; /* of struct rtmp_block */
extern const struct conf_key settings_http_keys[]; /* of struct http_block */
/* Of struct rtmp_application_settings. */
extern const struct conf_key settings_application_keys[];

/* Rows that modules add: parts by the place in the table of modules. */
bool settings_root_part(size_t i, struct conf_part *part);
bool settings_application_part(size_t i, struct conf_part *part);

/* Words and default of the row "publish": modules add to both. */
extern const char *settings_publish_words[];
extern char settings_publish_preset[];
void settings_publish_fill(void);

/* Of a layer or location: choose() of its EXTRA row, and the check that
 * follows. */
int settings_choose_module(struct str value, struct conf_choice *choice,
                           struct errmsg *err);
int settings_check_module(const struct conf_extra *module, struct errmsg *err);
/* The check_at of all layers of a location, those within others too. */
int settings_check_layers_at(const struct http_location_settings *l,
                             const struct regex *pattern, struct errmsg *err);
extern const struct conf_key settings_control_keys[]; /* control_settings */
extern const struct conf_key settings_sandbox_keys[]; /* sandbox_settings */
extern const struct conf_key settings_store_keys[];   /* store_settings */
int settings_check_store(const void *settings, struct errmsg *err);
/* Writes a line for each layer that names the endpoint of another one and has
 * other settings for it. */
void settings_check_endpoints(const struct settings *s, FILE *out);

/* Of an application: its rows about cuts against each other. */
int settings_check_cut_rows(const void *application, struct errmsg *err);
/* Writes a line for each application whose cuts live.max_stream_memory cannot
 * keep at any bit rate of use. */
void settings_check_cuts(const struct settings *s, FILE *out);
/* Logs how much can be kept. */
void settings_warn_cuts(const struct settings *s);
/* Logs patterns that may get requests for a guarded location's paths. */
void settings_warn_bypass(const struct settings *s);

extern const struct conf_key settings_listen_keys[]; /* of listen_settings */
#define SETTINGS_LISTEN_HELP                                                \
    "Where it listens: addresses, or groups with an address and what else " \
    "holds for it."
/* The row "listen" of a server. */
#define ROW_LISTEN(type)                                                   \
    ROW(type, listen, CONF_GROUPS, .min = 1, .keys = settings_listen_keys, \
        .size = sizeof(struct listen_settings), .shorthand = "address",    \
        .help = SETTINGS_LISTEN_HELP)
extern const struct conf_key settings_tls_keys[]; /* of tls_settings */
int settings_check_tls(const void *tls_settings, struct errmsg *err);

/* Default of a "mask_args" row. */
#define MASK_ARGS "key,token,access_token,password,passwd,secret,auth,sig,url"
/* check of a "mask_args" row: can it be the name of an argument? */
int settings_check_arg(struct str value, struct errmsg *err);

/* check of an "access_log.format" row. */
int settings_check_format(struct str value,
                          const struct line_variable *variables,
                          const struct line_preset *presets,
                          struct errmsg *err);

/* Refuses addresses of one server that take the same connections. */
int settings_check_listens(const struct conf_groups *listen,
                           struct errmsg *err);
/* Refuses a listener with proxy_protocol in a server that trusts no proxies. */
int settings_check_proxies(const struct conf_groups *listen,
                           const struct conf_strings *trusted,
                           struct errmsg *err);
/* Refuses an address that takes connections of an earlier server, in that line:
 * the very same address where they may not share it. */
int settings_check_apart(const struct conf_groups *before, int line,
                         const struct conf_groups *listen, bool may_share,
                         struct errmsg *err);

#endif
