/*
 * The servers of all upstreams, as all processes of all generations know them:
 * what the operator has set, which of them are down, what is open, and what was
 * counted.
 *
 * A server has a place in the table by the name of its upstream and its own, so
 * that it finds everything again after a reload.  The master alone gives places
 * and writes names and what the operator sets, in memory that the others can
 * only read.  Everybody writes the rest:
 *
 *   fails and checks   a state for each place, for all
 *   what was counted   some rows for each place, for all
 *   open requests      numbers for each place and process
 *
 * A process writes its own numbers only, so that the master can give back what
 * a dead one had open.  Nothing is locked, and a reader believes nothing: a
 * server is shut, and a check holds, no longer than its upstream's settings
 * say; what a process has open it knows by itself, and mends where others have
 * written; texts end.
 *
 * All times are clock_ms(), which the caller tells.
 *
 *   servers.c        the memory, places, fails, checks
 *   servers_count.c  what is open, what is counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_SERVERS_H
#define MODULES_PROXY_SERVERS_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define SERVERS_MAX 512 /* places */
/* Those of one weir.conf: the generation before it has some, too. */
#define SERVERS_CONF_MAX (SERVERS_MAX / 2)
#define SERVERS_UPSTREAM_MAX 256 /* bytes of a name, NUL included */
#define SERVERS_NAME_MAX 272
#define SERVERS_WHY_MAX 160
#define SERVERS_TIMEOUT_MAX (3600 * 1000) /* ms, of fail_timeout */
#define SERVERS_WEIGHT_MAX 1000

/* ---- the master ---- */

/* Before any fork; a second call does nothing. */
int servers_create(struct errmsg *err);
/* Gives back what the process of that slot had open. */
void servers_sweep(uint32_t slot);

/* The longest times that settings of a server allow, ms. */
struct server_limits {
    int64_t shut;  /* fail_timeout; 0: fails never shut it */
    int64_t check; /* a verdict holds; 0: it is not checked */
};

/* The place of a server that this generation has, with these limits from now
 * on.  A new one gets one that is free, or that no generation with running
 * workers has had.  -1: there is none. */
int servers_learn(struct str upstream, struct str server, uint32_t generation,
                  const struct server_limits *limits);

/* Settings of the operator, which hold until weir ends. */
void servers_set_drained(int place, bool drained, int64_t now);
void servers_set_weight(int place, int64_t weight); /* 0: that of the file */

/* ---- any process ---- */

int servers_find(struct str upstream, struct str server); /* -1: none */
/* No place from here on was ever taken. */
int servers_end(void);
struct str servers_upstream(int place); /* empty: the place is free */
struct str servers_name(int place);
/* Whether a generation with running workers may have it. */
bool servers_is_used(int place);
/* Another number: the place has gone to another server. */
uint32_t servers_incarnation(int place);
bool servers_is_drained(int place);
int64_t servers_weight(int place); /* 0: that of the file */

/* ---- fails of requests ---- */

struct server_rules {
    int64_t max_fails; /* 0: they do not count */
    int64_t fail_timeout;
};

/* As max_fails and fail_timeout of nginx: so many fails within fail_timeout,
 * and for fail_timeout it gets nothing; then one request at a time tries, and
 * its answer decides. */
enum server_gate { SERVER_OPEN, SERVER_SHUT, SERVER_TRIAL };
enum server_gate servers_gate(int place, int64_t now);
/* At SERVER_TRIAL: whether this request is the one that tries. */
bool servers_try(int place, const struct server_rules *rules, int64_t now);
/* One more fail, for that reason; whether it has shut the server, which was
 * open. */
bool servers_fail(int place, const struct server_rules *rules, int64_t now,
                  struct str why);
/* An answer, or good checks; whether the server had been shut. */
bool servers_good(int place, int64_t now);

/* ---- checks ---- */

enum server_check { SERVER_UNCHECKED, SERVER_CHECKED_UP, SERVER_CHECKED_DOWN };

struct server_verdict {
    enum server_check check;
    int64_t holds;  /* ms, as the limits say at most */
    struct str why; /* it is down */
};

/* The role: what its last check says of the server. */
void servers_set_check(int place, int64_t now, const struct server_verdict *v);
/* A verdict that is too old counts for nothing. */
enum server_check servers_check(int place, int64_t now);

/* Since when the server is back after it had been down or drained; 0: it was
 * never away. */
int64_t servers_back(int place, int64_t now);

struct server_story {          /* for people */
    int64_t checked_ms;        /* 0: never */
    uint64_t checker;          /* slot_owner */
    char why[SERVERS_WHY_MAX]; /* of its last fail, if nothing was good since */
};
void servers_story(int place, int64_t now, struct server_story *story);

/* ---- what is open ---- */

void servers_open(int place, int change); /* in this process */
int64_t servers_opened(int place);        /* in all */
/* From time to time: mends what others may have written over numbers of this
 * process. */
void servers_tell_open(int place);

/* ---- what is counted ---- */

#define SERVER_FAILURES 5 /* ways to fail (upstream.h) */

enum server_count {
    SERVER_ANSWERS,                    /* + status / 100, 0: none came */
    SERVER_FAILS = SERVER_ANSWERS + 6, /* + outcome - UPSTREAM_UNREACHED */
    /* requests that others had first */
    SERVER_RETRIES = SERVER_FAILS + SERVER_FAILURES,
    SERVER_CHECKS = SERVER_RETRIES + 1, /* 0: good, 1: failed */
    SERVER_TIME = SERVER_CHECKS + 2,    /* ms to heads of answers */
    SERVER_WITHIN = SERVER_TIME + 1,    /* + i: heads within bound i */
    SERVER_COUNTS = SERVER_WITHIN + 12
};

/* Numbers of now rather than since the start. */
enum server_gauge {
    SERVER_OPENED, /* servers_open() */
    SERVER_WAITING,
    SERVER_CONNECTIONS,
    SERVER_GAUGES
};

#define SERVER_BOUNDS 11
extern const int64_t server_bounds[SERVER_BOUNDS]; /* ms */

void servers_count(int place, unsigned which, int64_t n);
void servers_gauge(int place, enum server_gauge which, int change);
int64_t servers_counted(int place, unsigned which); /* it never falls */
/* Master, about once a second: looks at all that is counted (proc/told.h). */
void servers_look(void);
int64_t servers_gauged(int place, enum server_gauge which);
/* A head that came after so many ms. */
void servers_observe(int place, int64_t ms);

#endif
