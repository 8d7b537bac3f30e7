/*
 * The root of weir.conf and what is common to loading it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/module.h"
#include "app/settings/filters.h"
#include "app/settings/servers.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/places.h"
#include "conf/rows.h"
#include "net/egress.h"
#include "proc/life.h"
#include "proc/privilege_names.h"
#include "proc/slot.h"

#define DAYS(n) ((int64_t)(n)*24 * 3600 * 1000)
#define MIB(n) ((int64_t)(n)*1024 * 1024)

static const char *const word_auto[] = { "auto", NULL };
static const char *const levels[] = { "alert",  "crit", "error", "warn",
                                      "notice", "info", "debug", NULL };
static const char *const formats[] = { "text", "json", NULL };

static int
check_not_empty(struct str value, struct errmsg *err)
{
    if (value.len == 0) {
        return errmsg_set(err, "must not be empty");
    }
    return 0;
}

static int
check_program_user(struct str value, struct errmsg *err)
{
    uid_t ignored;

    return value.len == 0 ? 0 : privilege_user_id(value, &ignored, err);
}

static const struct conf_key error_log_keys[] = {
    ROW(error_log_settings, file, CONF_STRING, .preset = "stderr",
        .check = check_not_empty, .help = "A file, \"stderr\" or \"stdout\"."),
    ROW(error_log_settings, level, CONF_ENUM, .preset = "info", .words = levels,
        .help = "The least important lines that are still written."),
    ROW(error_log_settings, format, CONF_ENUM, .preset = "text",
        .words = formats, .help = "How a line looks."),
    CONF_END,
};

static int
check_live(const void *settings, struct errmsg *err)
{
    const struct live_settings *s = settings;

    /* Where it is not told, no more than there is. */
    if (s->max_stream_memory > s->memory &&
        s->max_stream_memory != LIVE_STREAM_MEMORY) {
        return errmsg_set(err,
                          "max_stream_memory (%lld bytes) must not be more "
                          "than memory (%lld bytes)",
                          (long long)s->max_stream_memory,
                          (long long)s->memory);
    }
    if (s->gather >= s->window) {
        return errmsg_set(err,
                          "gather (%lld ms) must be less than window "
                          "(%lld ms)",
                          (long long)s->gather, (long long)s->window);
    }
    return 0;
}

static const struct conf_key live_keys[] = {
    ROW(live_settings, memory, CONF_SIZE, .min = MIB(4),
        .max = MIB(1024 * 1024), .preset = "512M", .change = CONF_RESTART,
        .help = "Shared memory for live media, taken as streams need it, and "
                "given back."),
    ROW(live_settings, max_streams, CONF_INT, .min = 1, .max = 65536,
        .preset = "4096", .change = CONF_RESTART,
        .help = "Streams at once, those on hold included."),
    ROW(live_settings, max_sessions, CONF_INT, .min = 1, .max = 10000000,
        .preset = "65536", .change = CONF_RESTART,
        .help = "Publishers and players at once."),
    ROW(live_settings, history_streams, CONF_INT, .min = 0, .max = 65536,
        .preset = "256", .change = CONF_RESTART,
        .help = "Streams whose speeds are kept for a day, 12 KB each; those "
                "that ended longest ago give way; 0 keeps none."),
    ROW(live_settings, window, CONF_TIME, .min = 500, .max = LIVE_WINDOW_MAX,
        .preset = "8s",
        .help =
            "The past of a stream that is kept for players that fall behind; "
            "of one without players the newest GOP is kept."),
    ROW(live_settings, max_stream_memory, CONF_SIZE, .min = MIB(1),
        .max = MIB(128), .preset = "32M",
        .help = "The most one stream may take of memory; by default no more "
                "than there is."),
    ROW(live_settings, hold, CONF_TIME, .min = 0, .max = LIVE_HOLD_MAX,
        .preset = "10s",
        .help = "How long players wait for a publisher that went; however "
                "short, they get what was published, within window."),
    ROW(live_settings, gather, CONF_TIME, .min = 0, .max = 10000,
        .preset = "auto", .words = word_auto,
        .help = "How long frames may wait to be sent together; \"auto\": "
                "audio waits for its next video frame."),
    ROW(live_settings, kick_time, CONF_TIME, .min = 0, .max = LIVE_KICK_MAX,
        .preset = "60s",
        .help = "How long a kicked viewer of HLS is refused, if it asks again "
                "as the same."),
    ROW(live_settings, io_uring, CONF_BOOL, .preset = "true",
        .help = "Send to many players by one system call, where the kernel "
                "has io_uring (Linux 6.1) and allows it; false: keep weir off "
                "a part of the kernel that has had its share of faults, at "
                "about a tenth more CPU."),
    CONF_END,
};

static const struct conf_key metrics_keys[] = {
    ROW(metrics_settings, stream_labels, CONF_BOOL, .preset = "false",
        .help = "Metrics of single streams as well, of 1000 at most: their "
                "names become labels."),
    CONF_END,
};

static const char *const term_words[] = { "fast", "graceful", NULL };

static const struct conf_key keys[] = {
    ROW_WHERE(settings),
    ROW(settings, worker_processes, CONF_INT, .min = 1, .max = WORKERS_MAX,
        .preset = "auto", .words = word_auto,
        .help = "Worker processes; \"auto\": one a processor."),
    ROW(settings, worker_connections, CONF_INT, .min = 1,
        .max = SLOT_CONNECTIONS_MOST, .preset = "65536",
        .help = "Connections of one worker; at the limit it accepts no more "
                "until one ends.  Beyond half of them, an address has half "
                "at most."),
    ROW(settings, worker_rlimit_nofile, CONF_INT, .min = 0, .max = 10000000,
        .preset = "0",
        .help = "Open files of one process, at least what weir itself "
                "needs; 0: enough for worker_connections, as far as the "
                "system allows."),
    ROW(settings, pid, CONF_STRING, .preset = places_pid,
        .change = CONF_RESTART,
        .help = "File with the master's process number; \"\": there is "
                "none."),
    ROW(settings, user, CONF_STRING, .preset = "", .change = CONF_RESTART,
        .check = privilege_find_user,
        .help = "User that all processes but the master become; empty: when "
                "root starts weir, \"weir\" if there is such a user, else "
                "\"nobody\"; otherwise as started.  \"root\" keeps root."),
    ROW(settings, group, CONF_STRING, .preset = "", .change = CONF_RESTART,
        .check = privilege_find_group,
        .help = "Group to go with user; empty: the user's own."),
    ROW(settings, program_user, CONF_STRING, .preset = "",
        .change = CONF_RESTART, .check = check_program_user,
        .help = "User, by name or number, that programs of roles become "
                "when root starts weir, with that user's group: neither "
                "root nor user; empty: \"weir-program\" if there is such a "
                "user, else number 65533."),
    ROW(settings, daemon, CONF_BOOL, .preset = "false", .change = CONF_RESTART,
        .help = "Go to the background."),
    ROW(settings, error_log, CONF_GROUP, .keys = error_log_keys,
        .size = sizeof(struct error_log_settings), .preset = "",
        .help = "The log."),
    ROW(settings, max_generations, CONF_INT, .min = 2, .max = 16, .preset = "8",
        .help = "Generations of workers at once; when a reload makes one "
                "more, the oldest is closed."),
    ROW(settings, reload_drain, CONF_TIME, .min = 0, .max = DAYS(30),
        .preset = "24h",
        .help = "How long connections may stay on workers that a reload "
                "has replaced."),
    ROW(settings, keepalive_min_timeout, CONF_TIME, .min = 0,
        .max = 3600 * 1000, .preset = "5s",
        .help = "A worker that drains closes an HTTP connection only when "
                "it has been idle for so long, so that a request on its way "
                "is still answered."),
    ROW(settings, control, CONF_GROUP, .keys = settings_control_keys,
        .size = sizeof(struct control_settings), .preset = "",
        .help = "The control socket; see weirctl(8)."),
    ROW(settings, stop_grace, CONF_TIME, .min = 0, .max = 3600 * 1000,
        .preset = "5s",
        .help = "How long a graceful stop goes on accepting while /readyz "
                "says 503: time for load balancers to notice."),
    ROW(settings, stop_drain, CONF_TIME, .min = 0, .max = DAYS(30),
        .preset = "30s",
        .help = "How long a graceful stop waits for connections to end."),
    ROW(settings, term, CONF_ENUM, .words = term_words, .preset = "fast",
        .help = "At SIGTERM: \"fast\" closes all connections, "
                "\"graceful\" does as QUIT, and the next TERM closes them; for "
                "containers, which are stopped by TERM."),
    ROW(settings, watchdog, CONF_TIME, .min = 200, .max = DAYS(1),
        .or_zero = true, .preset = "2s",
        .help = "A process that is stuck for so long is killed and started "
                "again; 0: never."),
    ROW(settings, limits, CONF_GROUP, .keys = settings_limits_keys,
        .size = sizeof(struct limits_settings), .preset = "",
        .help = "Limits of one client, over all workers."),
    ROW(settings, sandbox, CONF_GROUP, .keys = settings_sandbox_keys,
        .size = sizeof(struct sandbox_settings), .preset = "",
        .help = "Rights that workers and roles give up when they have started; "
                "see weir(8)."),
    ROW(settings, metrics, CONF_GROUP, .keys = metrics_keys,
        .size = sizeof(struct metrics_settings), .preset = "",
        .help = "The content of /metrics."),
    ROW(settings, egress, CONF_STRINGS, .preset = EGRESS_PRESET,
        .check = egress_check_rule,
        .help =
            "Addresses that weir may connect to by itself, in order, first "
            "match wins: \"allow\" or \"deny\" and an address, ADDRESS/BITS, "
            "\"loopback\", \"private\", \"linklocal\" or \"all\". \"allow "
            "all\" leaves out loopback and reserved addresses (by IANA's "
            "registries not globally reachable): \"allow loopback\" before it "
            "opens this host's own services."),
    ROW(settings, store, CONF_GROUP, .keys = settings_store_keys,
        .size = sizeof(struct store_settings), .preset = "",
        .check_group = settings_check_store,
        .help = "The data of modules that outlive weir, such as stream keys."),
    ROW(settings, channel, CONF_GROUP, .keys = channel_keys,
        .size = sizeof(struct channel_settings), .preset = "",
        .help = "The process that has all clients of Socket.IO."),
    ROW(settings, live, CONF_GROUP, .keys = live_keys,
        .size = sizeof(struct live_settings), .preset = "",
        .check_group = check_live, .help = "Live streams."),
    ROW(settings, rtmp, CONF_GROUP, .keys = settings_rtmp_keys,
        .size = sizeof(struct rtmp_block), .preset = "", .help = "RTMP."),
    ROW(settings, http, CONF_GROUP, .keys = settings_http_keys,
        .size = sizeof(struct http_block), .preset = "", .help = "HTTP."),
    ROW(settings, modules, CONF_PARTS, .part = settings_root_part),
    CONF_END,
};

const struct conf_key *
settings_rows(void)
{
    settings_publish_fill();
    return keys;
}

/* ---- what no single group can see ---- */

/* Mistakes between the groups of a file whose rows are right, or in the files
 * that it names; a string for mem_free(), NULL if there are none. */
static char *
find_conflicts(struct pool *pool, const struct settings *s)
{
    char *text = NULL;
    char *mistakes;
    size_t len = 0;
    struct errmsg err;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL) {
        return mem_dup("out of memory\n", 14);
    }
    if (s->user.len == 0 && s->group.len > 0) {
        fprintf(out, "%s:%d: group \"%.*s\" needs a user beside it\n",
                s->where.file, s->where.line, STR_ARGS(s->group));
    }
    if (geteuid() == 0 && s->program_user.len > 0 &&
        privilege_check_program(s->program_user, s->user, &err) == -1) {
        fprintf(out, "%s:%d: %s\n", s->where.file, s->where.line, err.text);
    }
    settings_check_servers(s, out);
    settings_check_endpoints(s, out);
    settings_check_cuts(s, out);
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->check_file != NULL) {
            modules[i]->check_file(s, out);
        }
    }
    settings_make_auth(pool, s, out);
    fclose(out);
    mistakes = len > 0 ? mem_dup(text, len) : NULL;
    mem_free(&text);
    return mistakes;
}

/* The users and groups of the processes are known from now on; one that cannot
 * be found is told when a process begins. */
static void
know_users(const struct settings *s)
{
    struct privilege_ids ignored;
    struct errmsg err;

    privilege_ids(s->user, s->group, &ignored, &err);
    privilege_program(s->program_user, &ignored, &err);
}

struct conf *
settings_load(const char *path, char **mistakes)
{
    privilege_ask(true); /* the names of users, from now on as they are now */
    struct conf *c =
        conf_load(path, settings_rows(), sizeof(struct settings), mistakes);

    if (c != NULL) {
        *mistakes = find_conflicts(conf_pool(c), settings_of(c));
    }
    if (c != NULL && *mistakes != NULL) {
        conf_free(&c);
    }
    if (c != NULL) {
        know_users(settings_of(c));
    }
    privilege_ask(false);
    return c;
}

const struct settings *
settings_of(const struct conf *c)
{
    return conf_settings(c);
}

unsigned
settings_workers(const struct settings *s)
{
    cpu_set_t set;
    int count;

    if (s->worker_processes != WORKERS_AUTO) {
        return (unsigned)s->worker_processes;
    }
    if (sched_getaffinity(0, sizeof(set), &set) == -1) {
        return 1;
    }
    count = CPU_COUNT(&set);
    return count > WORKERS_MAX ? WORKERS_MAX : (unsigned)count;
}

int64_t
settings_gather(const struct settings *s,
                const struct rtmp_application_settings *a)
{
    return a->gather == GATHER_INHERIT ? s->live.gather : a->gather;
}

int64_t
settings_hold(const struct settings *s,
              const struct rtmp_application_settings *a)
{
    return a->hold == HOLD_INHERIT ? s->live.hold : a->hold;
}
