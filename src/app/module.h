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

#include <stdio.h>

struct worker;           /* app/worker.h */
struct settings;         /* app/settings/settings.h */
struct control_verb;     /* app/control/verb.h */
struct rtmp_application; /* app/service/rtmp_service.h */
struct rtmp_request;     /* rtmp/rtmp.h */
struct rtmp_refusal;
struct metric;       /* proc/metric.h */
struct rights;       /* proc/rights.h */
struct rpc_method;   /* proc/rpc.h */
struct store_schema; /* store/store.h */
struct http_service; /* app/service/http_service.h */

/* What a module's settings belong to: one layer of one location. */
struct module_layer {
    struct worker *worker;        /* the process this is in */
    const void *settings;         /* filled from the module's rows */
    struct str location;          /* its path, for messages */
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
    /* Asked last, when it would be let in, with the name that it then has
     * ("app/name"): false refuses with *no. */
    bool (*accepts)(const struct rtmp_request *r, struct str stream,
                    struct rtmp_refusal *no);
    /* Whether what a player of any protocol names in that application may be
     * a secret, by its form.  If it is no stream that is published now the
     * player is refused, before any other question, and it is shown nowhere. */
    bool (*is_secret)(const struct rtmp_application *a, struct str name);
    /* The publish or play that this module was asked about is over, or was
     * refused by whomever.  If it still waits for a decision, that must not
     * be given any more: r is not valid after this call. */
    void (*on_end)(struct rtmp_request *r);
};

/* What a role process is handed; all of it lives as long as the process. */
struct role_process {
    struct loop *loop; /* it is the process's: borrowed */
    unsigned index;    /* which of the role's processes: 0 .. count - 1 */
    /* What the module's rows at the root were filled with; NULL: it has none.
     * A role of weir itself (app/store_role.h) is handed struct settings. */
    const void *settings;
    struct str description; /* as for configure(); empty without describe() */
    struct str node;        /* this weir among those on one database */
};

/* Bytes that describe() may add. */
#define ROLE_SETTINGS_MAX ((size_t)16 << 20)

/* A process that a module needs once, or that must outlive a reload.  Its
 * state is what start() makes: a role has no globals, and count of its
 * processes run side by side. */
struct role {
    const char *name; /* "relayer": in ps, logs; NULL ends a table */
    unsigned count;
    bool first; /* workers and the other roles start when it is READY */
    bool live;  /* reads or writes live streams: a hub runs on its loop */
    bool lease; /* takes leases (store/lease.h), under its name */
    /* Master: whether a weir with these settings needs it.  A reload starts
     * and ends it accordingly.  NULL: always. */
    bool (*wanted)(const struct settings *s);
    /* Runs in the process on its own loop until told to stop.  It opens what
     * it needs, then enters the sandbox; threads are made after that.  The
     * settings are those that were in force when it was forked. */
    int (*start)(const struct role_process *p, void **state,
                 struct errmsg *err);
    void (*drain)(void *state); /* finish what runs, take nothing new */
    void (*stop)(void *state);  /* frees state; the last call */
    /* Role, before start(): what it may do in the sandbox (proc/rights.h), of
     * the settings that it is handed, in which the texts it adds have to be.
     * Paths have to be there when start() is over.  What its resolver and the
     * store need is added.  NULL: nothing more. */
    void (*may)(const void *settings, struct rights *r);
    /* Master, at a reload: whether what the role depends on differs, so that
     * it has to be started again.  NULL: it goes on through all reloads. */
    bool (*changed)(const struct settings *before, const struct settings *now);
    /* For one that goes on: at a reload the master describes to it what it has
     * to know of the new file, which is the only way it can learn of it.
     * Both, or none. */
    void (*describe)(const struct settings *s, struct buf *out); /* master */
    void (*configure)(void *state, struct str description);      /* role */
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
    /* What is wrong between those and others, in a file that is right by
     * itself: a line "FILE:LINE: what" for each.  NULL: nothing can be. */
    void (*check_file)(const struct settings *s, FILE *out);
    /* A value of "publish" of an application, where its on_publish() decides
     * about every publisher, and whether that is the default. */
    const char *publish;
    bool publish_default;

    /* Its life, in this order; each may be NULL.  0 goes on; -1 stops the
     * start (or the reload) with err filled in. */
    int (*check)(const void *settings, struct errmsg *err); /* master */
    /* Each worker, for each layer: makes its state and, when the table of
     * routes depends on the settings, *routes. */
    int (*start)(const struct module_layer *layer, void **state,
                 const struct http_route **routes, struct errmsg *err);
    void (*drain)(void *state); /* finish what runs, take nothing new */
    void (*stop)(void *state);  /* frees state; the last call */

    /* Directories and files that a layer reads while it serves: all others
     * are out of reach of a worker that has started (proc/sandbox.h).  A role
     * has its own (may). */
    void (*paths)(const void *settings, void (*add)(void *arg, struct str path),
                  void *arg);

    /* What it serves. */
    const struct http_route *routes; /* the same for all layers, or NULL */
    /* Of a module whose layers have layers of their own: chooses among them
     * instead of having routes. */
    http_selector *select;
    /* And shows all of them: each list in its settings that has rows
     * settings_layer_keys.  start() makes them by http_service_layers(). */
    void (*layers)(const void *settings, module_each_layers *each, void *arg);
    /* What else a started layer is: formats, vary, lines. */
    void (*describe)(const void *state, struct http_layer *layer);
    const struct rtmp_hooks *rtmp;
    const struct role *roles;
    /* What its roles can be asked (proc/rpc.h), by which names. */
    struct rpc_method *methods;
    /* How error answers look where it is a layer, those of the filters and
     * of sizes too; NULL: as everywhere (http/http.h). */
    http_error_body *error_body;
    /* How often a client on another host may ask where it is a layer and the
     * location has no rate: "20/s", by address; NULL: as often as it likes. */
    const char *rate;
    /* What it adds to the control socket; they run in the master. */
    const struct control_verb *verbs;
    struct metric *metrics; /* proc/metric.h: names "weir_NAME_..." */

    /* What all processes share; each may be NULL. */
    const struct store_schema *store; /* store/store.h; static */
    /* Master, once, before any fork: makes shared memory. */
    int (*share)(struct errmsg *err);
    /* Master: gives back what the process of that slot left there. */
    void (*sweep)(uint32_t slot);
};

extern const struct module *const modules[]; /* build/modules.c; NULL ends */
const struct module *module_find(struct str name);
/* Says that there is none of that name, and the nearest; returns -1. */
int module_unknown(struct str name, struct errmsg *err);
/* Whether each name of a table is one module's: of the modules, of their
 * commands, metrics, rows at the root and in an application, and values of
 * publish.  -1 with err, which names the two modules. */
int module_check_table(const struct module *const *table, struct errmsg *err);

#endif
