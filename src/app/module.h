/*
 * A module: one folder under modules/, one struct in the handler table.
 *
 * configure finds the folders and writes build/modules.c, the ordered table;
 * nothing outside a module's folder names it.  A module never includes
 * another module.  Adding one is "cp -r modules/hello modules/mine",
 * ./configure, make: weir-module(7).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MODULE_H
#define APP_MODULE_H

#include "base/errmsg.h"
#include "conf/conf.h"
#include "event/loop.h"
#include "http/http.h"
#include "net/conn.h"

#include <stdio.h>

struct worker;           /* app/worker.h */
struct settings;         /* app/settings/settings.h */
struct control_verb;     /* app/control/verb.h */
struct rtmp_application; /* app/service/rtmp_service.h */
struct rtmp_request;     /* rtmp/rtmp.h */
struct rtmp_refusal;
struct metric;       /* proc/metric.h */
struct rights;       /* proc/rights.h */
struct starter;      /* proc/starter.h */
struct rpc_method;   /* proc/rpc.h */
struct store_schema; /* store/store.h */
struct http_service; /* app/service/http_service.h */
struct listening;    /* app/settings/servers.h */
struct sio_module;   /* sio/sio.h */

/* The place of a module's settings: one layer of one location. */
struct module_layer {
    struct worker *worker;        /* the process this is in */
    const void *settings;         /* filled from the module's rows */
    struct str location;          /* its path, for messages */
    const struct regex *pattern;  /* of that location; NULL: it has none */
    struct http_service *service; /* for http_service_layers() */
};

/* Visitor of lists of layers. */
typedef void module_each_layers(void *arg, const struct conf_groups *layers);

enum rtmp_hook_result { HOOK_NEXT, HOOK_DONE, HOOK_REFUSE, HOOK_WAIT };

/* Asked in the order of the table before weir decides; HOOK_NEXT asks the
 * next, HOOK_DONE allows without asking further, HOOK_REFUSE answers *no (its
 * reason; the code is preset), HOOK_WAIT is ended by rtmp_service_decide().
 * Each may be NULL.  app/service/rtmp_service.h has what hooks may call. */
struct rtmp_hooks {
    enum rtmp_hook_result (*on_publish)(struct rtmp_request *r,
                                        struct rtmp_refusal *no);
    enum rtmp_hook_result (*on_play)(struct rtmp_request *r,
                                     struct rtmp_refusal *no);
    /* Asked last, when all others allow it, with the name that it then has
     * ("app/name"): false refuses with *no. */
    bool (*accepts)(const struct rtmp_request *r, struct str stream,
                    struct rtmp_refusal *no);
    /* Whether a player's name in that application, over any protocol, may be a
     * secret, by its form.  Unless a stream of that name is published now, weir
     * refuses the player before any other question, and shows the name
     * nowhere. */
    bool (*is_secret)(const struct rtmp_application *a, struct str name);
    /* The publish or play that this module was asked about is over, or was
     * refused.  If it still waits for a decision, the module must not give one
     * any more: r is not valid after this call. */
    void (*on_end)(struct rtmp_request *r);
};

/* Handed to a role process; all of it lives as long as the process. */
struct role_process {
    struct loop *loop; /* it is the process's: borrowed */
    unsigned index;    /* which of the role's processes: 0 .. count - 1 */
    /* The module's settings at the root; NULL: it has none there.  A role of
     * weir itself (app/store_role.h) is handed struct settings. */
    const void *settings;
    struct str description; /* as for configure(); empty without describe() */
    struct str node;        /* this weir among those on one database */
    /* Runs the programs that may() named, by their places in that list; folder
     * 0 is "/", folder n the n-th path that may() lets it write below.  It can
     * be asked once start() is over.  NULL: may() named none. */
    struct starter *starter;
};

/* Bytes that describe() may add. */
#define ROLE_SETTINGS_MAX ((size_t)16 << 20)

/* A process that a module needs once, or that must outlive a reload.  Its
 * state is what start() makes: a role has no globals, and count of its
 * processes run side by side. */
struct role {
    const char *name; /* "relayer": in ps, logs; NULL ends a table */
    unsigned count;
    /* Workers and the other roles start when it is READY; it has no store, for
     * the keeper starts beside it. */
    bool first;
    bool live;  /* reads or writes live streams: a hub runs on its loop */
    bool lease; /* takes leases (store/lease.h), under its name */
    /* Master: whether a weir with these settings needs it.  A reload starts
     * and ends it accordingly.  NULL: always. */
    bool (*wanted)(const struct settings *s);
    /* Role, before start(), and `weir -t`: whether there is what it cannot do
     * without, for the user that it has then.  -1 with err, which says what to
     * do.  NULL: it needs nothing. */
    int (*check)(const void *settings, struct errmsg *err);
    /* Runs in the process on its own loop until told to stop.  It opens what it
     * needs; the process enters the sandbox behind it, and makes threads after
     * that.  The settings are those in force at its fork. */
    int (*start)(const struct role_process *p, void **state,
                 struct errmsg *err);
    void (*drain)(void *state); /* finish what runs, take nothing new */
    void (*stop)(void *state);  /* frees state; the last call */
    /* Role, before start(): adds its rights in the sandbox (proc/rights.h).
     * They come from the settings that it is handed, which own the texts that
     * it adds.  Paths have to exist when start() is over, those of a role with
     * programs before.  weir adds the rights of its resolver and of the store.
     * Programs have the same rights but for these two, and what the dynamic
     * loader reads.  The master asks, too.  NULL: it has no others. */
    void (*may)(const void *settings, struct rights *r);
    /* Master, at a reload: whether settings of the role differ, so that it has
     * to be started again.  NULL: it goes on through all reloads. */
    bool (*changed)(const struct settings *before, const struct settings *now);
    /* For a role that goes on: at a reload the master sends it a description of
     * the new settings, the only way in which it can learn them.  Both, or
     * none. */
    void (*describe)(const struct settings *s, struct buf *out); /* master */
    void (*configure)(void *state, struct str description);      /* role */
};

/* A server of a module: one of those that its rows at the root tell. */
struct module_server {
    struct worker *worker; /* the process this is in */
    const void *settings;  /* filled from the module's rows at the root */
    size_t number;         /* among the module's servers */
};

/* The servers of a module on listeners of its own, with a protocol of its own.
 * weir opens them, keeps them over reloads and accepts on them in every worker,
 * as on those of rtmp and http; it reads PROXY protocol headers, judges by
 * access rules and limits, does the TLS handshake and counts.  The rest is the
 * module's. */
struct module_servers {
    /* The addresses of server i of the rows at the root, for which it has
     * ROWS_LISTENING(); NULL behind the last. */
    const struct listening *(*find)(const void *settings, size_t i);
    /* Each worker, for each server: makes its state.  -1 with err stops the
     * start, or the reload. */
    int (*start)(const struct module_server *server, void **state,
                 struct errmsg *err);
    /* Takes over the socket of a client: conn_new(), or conn_socket_close(). */
    void (*on_accept)(void *state, const struct conn_socket *socket);
    /* How many it has of them.  A worker that drains ends when there are none,
     * and accepts none while it has worker_connections of all kinds. */
    size_t (*connections)(const void *state);
    /* No more are accepted; those that are idle end, others may go on, but not
     * for longer than reload_drain or stop_drain.  NULL: they all go on. */
    void (*drain)(void *state);
    /* The process ends: connections send what they still have
     * (conn_finish()), for 250 ms at most.  NULL: they are cut. */
    void (*finish)(void *state, const char *reason);
    void (*stop)(void *state); /* closes all, frees state; the last call */
};

/* An option of the command line. */
struct alone_option {
    const char *name;     /* "host": --host; NULL ends a table */
    char letter;          /* 'm': -m; '\0': it has none */
    const char *argument; /* "HOST", for weir -h; NULL: it takes none */
    const char *help;     /* NULL: another spelling, not shown by weir -h */
    int what;             /* the module's own number for it */
};

struct alone_given {
    const struct alone_option *option;
    const char *value; /* NULL: it takes none */
};

/* The options of a command line, in their order. */
struct alone_line {
    const struct alone_given *given;
    size_t count;
    bool has_prefix; /* -p was given: paths may stand on it */
};

/* Running weir for this module alone, without a file.  The first option of the
 * table, which has a letter, asks for it; the others are known only beside it.
 * A letter means what the module says even if weir has such an
 * option itself, and both take an argument, or neither. */
struct module_alone {
    const char *file; /* the name of the configuration in messages: "(-x)" */
    const struct alone_option *options;
    /* Writes weir.conf as a text: weir reads it as if it were a file, at each
     * reload again.  Relative paths start at the current directory.  -1 with
     * err, which names the option. */
    int (*write)(const struct alone_line *line, struct buf *out,
                 struct errmsg *err);
};

struct module {
    const char *name;  /* as "module" in a location */
    const char *about; /* one line, shown by weir -V */

    const struct conf_key *keys; /* settings of a layer; NULL: none */
    size_t settings_size;
    /* Settings that stand among weir's own: at the root of weir.conf, for
     * example a block with the module's name or a list of named ones, and in
     * each application of rtmp.  No key may be weir's or another module's.
     * settings_of_module() and settings_of_application() find them. */
    struct conf_part root, application;
    /* Checks those and other settings against each other, in a file whose rows
     * are right: a line "FILE:LINE: what" for each mistake.  NULL: no check. */
    void (*check_file)(const struct settings *s, FILE *out);
    /* The same for what lies outside of the file, which a role checks when it
     * starts: `weir -t` and a reload refuse it, a start goes on without that
     * role.  NULL: no check. */
    void (*check_there)(const struct settings *s, FILE *out);
    /* Logs settings that are allowed but doubtful, for "weir -t".  NULL: it has
     * no doubts. */
    void (*warn)(const struct settings *s);
    /* A value of "publish" of an application, with which the module's
     * on_publish() decides about every publisher, and whether that is the
     * default. */
    const char *publish;
    bool publish_default;

    /* Its life, in this order; each may be NULL.  0 goes on; -1 stops the
     * start (or the reload) with err filled in. */
    int (*check)(const void *settings, struct errmsg *err); /* master */
    /* The same of a layer where it stands: the path of its location as in the
     * file ("~ ^/x"), and that path's pattern (NULL: it has none). */
    int (*check_at)(const void *settings, struct str location,
                    const struct regex *pattern, struct errmsg *err);
    /* Each worker, for each layer: makes its state and, when the table of
     * routes depends on the settings, *routes. */
    int (*start)(const struct module_layer *layer, void **state,
                 const struct http_route **routes, struct errmsg *err);
    void (*drain)(void *state); /* finish what runs, take nothing new */
    void (*stop)(void *state);  /* frees state; the last call */

    /* The path of a location that has none and this module alone, in the form
     * that http.servers.locations.path takes.  NULL: it needs one. */
    struct str (*path)(const void *settings);
    /* It sends the client from "/x" to "/x/" (folders): a location of it cannot
     * send it back (trailing_slash). */
    bool adds_slash;
    /* Directories and files that a layer reads while it serves: all others
     * are out of reach of a worker that has started (proc/sandbox.h).  A role
     * has its own (may). */
    void (*paths)(const void *settings, void (*add)(void *arg, struct str path),
                  void *arg);
    /* Worker, once its layers have started: adds their other rights in the
     * sandbox, those to connect above all (proc/rights.h).  s owns the texts
     * that it adds.  weir adds the rights of a resolver.  NULL: none. */
    void (*may)(const struct settings *s, struct rights *r);

    /* Its routes. */
    const struct http_route *routes; /* the same for all layers, or NULL */
    /* Of a module whose layers have layers of their own: chooses among them
     * instead of having routes. */
    http_selector *select;
    /* And shows all of them: each list in its settings that has rows
     * settings_layer_keys.  start() makes them by http_service_layers(). */
    void (*layers)(const void *settings, module_each_layers *each, void *arg);
    /* They read cuts of live streams (live/cuts.h): streams are cut where there
     * is one. */
    bool cuts;
    /* Sets the other members of a started layer: formats, console, vary,
     * lines. */
    void (*describe)(const void *state, struct http_layer *layer);
    const struct module_servers *servers;
    /* Socket.IO: weir answers below "socket.io/" of a layer that has an
     * endpoint, in front of the layer's own routes. */
    const struct sio_module *sio;
    const struct rtmp_hooks *rtmp;
    const struct role *roles;
    /* The calls that its roles serve, by name (proc/rpc.h). */
    struct rpc_method *methods;
    /* The form of error answers in its locations, those of the filters and of
     * sizes too; NULL: weir's usual one (http/http.h). */
    http_error_body *error_body;
    /* The rate of a client on another host in its locations without a rate:
     * "20/s", by address; NULL: no limit. */
    const char *rate;
    /* Its options with which weir runs without a file; NULL: none. */
    const struct module_alone *alone;
    /* Its commands of the control socket; they run in the master. */
    const struct control_verb *verbs;
    struct metric *metrics; /* proc/metric.h: names "weir_NAME_..." */

    /* Pools that clients share (net/share.h), behind the last one a name of
     * NULL; NULL: none. */
    struct tally_pool *pools;
    /* State that all processes share; each may be NULL. */
    const struct store_schema *store; /* store/store.h; static */
    /* Master, once, before any fork: makes shared memory. */
    int (*share)(struct errmsg *err);
    /* Master, before processes with these settings are forked, at the start
     * and at each reload that may come to nothing yet: puts names of theirs
     * into that memory.  generation is that of struct slot_card. */
    void (*learn)(const struct settings *s, uint32_t generation);
    /* Master: gives back all that the process of that slot left there. */
    void (*sweep)(uint32_t slot);
};

extern const struct module *const modules[]; /* build/modules.c; NULL ends */
const struct module *module_find(struct str name);
/* Sets err: there is no module of that name, and the nearest name; returns
 * -1. */
int module_unknown(struct str name, struct errmsg *err);

/* Names that weir itself takes: number i of each kind, NULL behind the last. */
struct own_names {
    const char *(*command)(size_t i);
    const char *(*metric)(size_t i);
    const char *(*setting)(size_t i); /* at the root */
    const char *(*application_setting)(size_t i);
    const char *(*publish_value)(size_t i);
};

/* Whether each name of a table is one module's, and not weir's own: of the
 * modules, of their commands, metrics, rows at the root and in an application,
 * and values of publish.  -1 with err, which names the two modules, or the one
 * and says that the name is weir's own. */
int module_check_table(const struct module *const *table,
                       const struct own_names *own, struct errmsg *err);

#endif
