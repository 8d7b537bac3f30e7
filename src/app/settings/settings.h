/*
 * The settings of weir.conf that are not a module's: root, live, rtmp, http.
 *
 * settings_load() reads and checks a file; the settings live in the struct conf
 * and never change.  This header has the structs that are filled, the other
 * files of this folder the rows of each block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SETTINGS_SETTINGS_H
#define APP_SETTINGS_SETTINGS_H

#include "conf/conf.h"
#include "http/http.h"
#include "live/live.h"
#include "net/tls.h"
#include "rtmp/rtmp.h"
#include "sio/channel.h"
#include "store/store.h"

/* Values that stand for a word, or for a key that was left out. */
enum {
    WORKERS_AUTO = -1,   /* worker_processes: one a processor */
    GATHER_INHERIT = -2, /* application: as live.gather */
    HOLD_INHERIT = -1,   /* application: as live.hold */
    BODY_INHERIT = -1,   /* location: as its server */
    RETURN_AUTO = -1,    /* return: 302 or 200 */
};

#define WORKERS_MAX 64 /* worker_processes, at most */

enum stop_how { STOP_FAST, STOP_GRACEFUL };

/* ---- both ---- */

struct tls_certificate_settings { /* an item of "certificates" */
    struct conf_where where;
    struct str certificate, certificate_key;
};

struct tls_settings {
    struct conf_where where;
    struct str certificate, certificate_key;
    struct conf_groups certificates; /* struct tls_certificate_settings */
    int min_version, max_version;    /* enum tls_version */
    struct str ciphers, ciphersuites, groups;
    struct str client_ca;
    int client_verify; /* enum tls_client_rule */
    int64_t client_depth;
    struct str client_crl;
    bool session_tickets;
    bool ktls;
    int64_t session_timeout, handshake_timeout;
};

struct listen_settings { /* an item of a server's "listen" */
    struct conf_where where;
    struct str address; /* as written: "1935", "127.0.0.1:0", "unix:PATH" */
    bool proxy_protocol;
    int64_t backlog;
    bool so_keepalive;
    int ipv6only;           /* enum listen_ip6only */
    int64_t rcvbuf, sndbuf; /* bytes; 0: the system's */
    bool deferred;
    bool freebind;
    bool is_default;        /* HTTP: of the servers at this address */
    struct conf_groups tls; /* struct tls_settings: one, or none */
};

#define LISTEN_BACKLOG 4096 /* where the file says nothing */

const struct listen_settings *settings_listen(const struct conf_groups *listen,
                                              size_t i);
/* Whether both are one address; port 0 is another one each time. */
bool settings_same_address(struct str a, struct str b);

bool settings_wants_ktls(const struct listen_settings *l);
/* The context that an address wants; *out is NULL when it wants none.  0, or
 * -1 with err. */
int settings_tls(const struct listen_settings *l, bool http,
                 struct tls_context **out, struct errmsg *err);

/* ---- rtmp ---- */

struct rtmp_application_settings {
    struct conf_where where;
    struct str name;
    struct str publish;   /* "open", or the value of a module; "": nobody */
    int publish_conflict; /* enum live_conflict */
    struct conf_strings publish_access, play_access;
    bool gop_cache;
    int64_t idle_timeout; /* ms without a message from a publisher */
    int64_t gather;       /* ms, LIVE_GATHER_AUTO or GATHER_INHERIT */
    int64_t hold;         /* ms or HOLD_INHERIT */
    int64_t segment, max_segment, part; /* ms */
    bool strict_keys;
    struct conf_strings ladder; /* suffixes of names */
    struct conf_parts modules;
};

struct rtmp_server_settings {
    struct conf_where where;
    struct conf_groups listen; /* struct listen_settings */
    struct conf_strings trusted_proxies;
    int64_t chunk_size;
    int64_t handshake_timeout, connect_timeout;
    int64_t ping_interval, ping_timeout;
    int64_t send_timeout;
    int64_t max_message, max_memory;
    int64_t window_ack;
    struct str access_log; /* "" and "off": none */
    struct str access_log_format;
    struct conf_strings mask_args;
    struct conf_groups applications; /* struct rtmp_application_settings */
};

struct rtmp_block {
    struct conf_groups servers; /* struct rtmp_server_settings */
};

/* Whether every address that publish_access allows may publish. */
bool settings_is_open(const struct rtmp_application_settings *a);

const struct rtmp_server_settings *settings_rtmp_server(
    const struct rtmp_block *b, size_t i);
/* Copies a server's settings for its sessions. */
void settings_of_rtmp(const struct rtmp_server_settings *s,
                      struct rtmp_settings *out);

/* ---- http ---- */

struct http_layer_settings {
    struct conf_where where;
    struct conf_extra module; /* what: const struct module * */
};

/* Rows of one layer, wherever layers stand, and the check of it as a whole. */
extern const struct conf_key settings_layer_keys[];
int settings_check_layer(const void *layer, struct errmsg *err);

enum auth_type { AUTH_TYPE_BEARER, AUTH_TYPE_BASIC, AUTH_TYPE_JWT };

struct auth_settings {
    struct conf_where where;
    int type; /* enum auth_type */
    struct str realm;
    struct str query;           /* bearer, jwt */
    struct conf_strings tokens; /* bearer */
    struct str tokens_file;
    struct str users_file;          /* basic */
    struct conf_strings algorithms; /* jwt, and the rest */
    struct str secret, secret_file;
    struct conf_strings public_key_files;
    struct str jwks_file;
    struct str issuer;
    struct conf_strings audience;
    int64_t leeway; /* ms */
    struct conf_strings required;
};

struct cors_settings {
    struct conf_strings allow_origins; /* none: off */
    struct conf_strings allow_methods, allow_headers, expose_headers;
    bool credentials;
    int64_t max_age; /* ms */
};

enum { RATE_BURST_AUTO = -1 }; /* what a second brings */

struct rate_settings {
    struct conf_where where;
    struct str key, rate;
    int64_t burst; /* or RATE_BURST_AUTO */
};

struct return_settings {
    struct conf_where where;
    int64_t status; /* or RETURN_AUTO */
    struct str to, text, type;
};

struct rewrite_settings {
    struct conf_where where;
    struct str pattern, to;
    int then; /* enum http_then */
};

struct added_header_settings {
    struct conf_where where;
    struct str name, value;
    bool always;
};

struct http_location_settings {
    struct conf_where where;
    struct str path;
    struct conf_groups returns;     /* struct return_settings: one, or none */
    struct conf_groups rewrite;     /* struct rewrite_settings */
    struct conf_groups add_headers; /* struct added_header_settings */
    int trailing_slash;             /* enum http_slash */
    struct conf_strings access;
    struct conf_groups auth; /* struct auth_settings */
    struct cors_settings cors;
    struct conf_groups rate;           /* struct rate_settings */
    const struct http_auth *made_auth; /* of auth and its files; NULL: none */
    int64_t client_max_body_size;      /* bytes or BODY_INHERIT */
    struct conf_extra module;          /* one layer beside the path ... */
    struct conf_groups layers;         /* ... or several, in order */
};

struct http_server_settings {
    struct conf_where where;
    struct conf_groups listen;       /* struct listen_settings */
    struct conf_strings server_name; /* net/host_names.h */
    struct conf_strings trusted_proxies;
    struct conf_strings hosts;
    int forwarded_header;  /* enum http_forwarded_header */
    struct str access_log; /* "" and "off": none */
    int64_t client_max_body_size;
    struct conf_strings gzip_types;
    struct http_settings http; /* access_*, gzip_types and mask are filled by
                                  http_service */
    struct str access_log_format;
    struct conf_strings mask_args;
    struct conf_groups rewrite;     /* struct rewrite_settings */
    struct conf_groups add_headers; /* struct added_header_settings */
    struct conf_groups locations;   /* struct http_location_settings */
};

struct module; /* app/module.h */
struct settings;
struct http_block {
    int64_t max_unsent;         /* bytes, over the node */
    struct conf_groups servers; /* struct http_server_settings */
};

const struct http_server_settings *settings_http_server(
    const struct http_block *b, size_t i);
/* The layers of a location, wherever they stand: layer i, NULL behind the
 * last. */
const struct conf_extra *settings_http_layer(
    const struct http_location_settings *l, size_t i);

/* Whether its access rules keep anybody out. */
bool settings_restricts(const struct http_location_settings *l);

/* Calls each for every layer of every location of s, and for those within
 * layers. */
void settings_each_layer(const struct settings *s,
                         void (*each)(void *arg, const struct conf_extra *l),
                         void *arg);

/* Calls each for every endpoint of Socket.IO that layers of s have: one that
 * several layers name comes once. */
void settings_each_endpoint(const struct settings *s,
                            void (*each)(void *arg, const struct module *m,
                                         const struct sio_endpoint *e),
                            void *arg);

/* ---- root ---- */

struct error_log_settings {
    struct str file; /* a path, "stderr" or "stdout" */
    int level;       /* enum log_level */
    int format;      /* enum log_format */
};

struct limits_settings {
    int64_t connections_per_address;  /* 0: any */
    int64_t incomplete_per_address;   /* 0: any */
    struct conf_strings exempt;       /* access rules */
    int64_t ipv4_prefix, ipv6_prefix; /* bits */
    int64_t keys;
};

struct metrics_settings {
    bool stream_labels;
};

struct sandbox_settings { /* proc/sandbox.h */
    int seccomp;          /* enum sandbox_seccomp */
    bool landlock;
    bool capabilities;
    bool core_dumps;
};

/* ---- control ---- */

struct control_user_settings {
    struct conf_where where;
    struct str uid, gid; /* one of them: a name or a number */
    int level;           /* enum control_level less CONTROL_NONE */
};

struct control_settings {
    struct str socket;        /* "": there is none */
    struct str mode;          /* octal digits */
    struct str group;         /* "": as it comes */
    int others;               /* enum control_level */
    int64_t timeout;          /* ms */
    struct conf_groups users; /* struct control_user_settings */
};

const struct control_user_settings *settings_control_user(
    const struct control_settings *s, size_t i);
unsigned settings_control_mode(const struct control_settings *s);

/* ---- all ---- */

struct settings {
    struct conf_where where;
    int64_t worker_processes; /* 1 .. 64 or WORKERS_AUTO */
    int64_t worker_connections;
    int64_t worker_rlimit_nofile; /* 0: as it is */
    struct str pid;
    struct str user, group, program_user;
    bool daemon;
    struct error_log_settings error_log;
    int64_t max_generations;       /* with workers at once */
    int64_t reload_drain;          /* ms */
    int64_t keepalive_min_timeout; /* ms */
    int64_t stop_grace;            /* ms */
    int64_t stop_drain;            /* ms */
    int term;                      /* enum stop_how: at SIGTERM */
    int64_t watchdog;              /* ms, 0: off */
    struct limits_settings limits;
    struct control_settings control;
    struct sandbox_settings sandbox;
    struct metrics_settings metrics;
    struct conf_strings egress; /* rules of net/egress.h */
    struct store_settings store;
    struct channel_settings channel;
    struct live_settings live;
    struct rtmp_block rtmp;
    struct http_block http;
    struct conf_parts modules;
};

/* The settings of that module at the root, or in the application; NULL if it
 * has no rows there. */
const void *settings_of_module(const struct settings *s,
                               const struct module *m);
const void *settings_of_application(const struct rtmp_application_settings *a,
                                    const struct module *m);

/* Names that weir itself has at the root and in an application, and for
 * publish: number i, NULL behind the last. */
const char *settings_own_name(size_t i);
const char *settings_own_application_name(size_t i);
const char *settings_own_publish_value(size_t i);

/* The rows of struct settings. */
const struct conf_key *settings_rows(void);

/* Reads and checks a file; NULL with every mistake in *mistakes (see
 * conf_load()). */
struct conf *settings_load(const char *path, char **mistakes);
const struct settings *settings_of(const struct conf *c);

/* Logs settings that are allowed but doubtful, for "weir -t". */
void settings_warn(const struct settings *s);

/* The number of workers: as set, or one for each processor. */
unsigned settings_workers(const struct settings *s);
/* The values in force for an application. */
int64_t settings_gather(const struct settings *s,
                        const struct rtmp_application_settings *a);
int64_t settings_hold(const struct settings *s,
                      const struct rtmp_application_settings *a);
/* Where its streams are cut: nowhere unless a module of s reads cuts. */
struct live_cut_rules settings_cuts(const struct settings *s,
                                    const struct rtmp_application_settings *a);

#endif
