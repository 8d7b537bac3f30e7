/*
 * Settings, metrics, calls, and the table of the module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "downloads.h"

#include <string.h>

#include "app/settings/settings.h"
#include "conf/rows.h"
#include "fetcher/place.h"
#include "fetcher/rights.h"
#include "request.h"

#define HOURS(n) ((int64_t)(n)*3600 * 1000)
#define TIB(n) ((int64_t)(n) << 40)

/* ---- checks ---- */

static bool
is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* The name stands in endpoints and in rows of the store, and beside names of
 * lists in commands. */
static int
check_name(struct str value, struct errmsg *err)
{
    static const char *const lists[] = { "pending", "queue", "done" };

    for (size_t i = 0; i < value.len; i++) {
        if (!is_name_char(value.ptr[i])) {
            return errmsg_set(err,
                              "must be letters, digits, \"-\", \"_\" and "
                              "\".\", not \"%.*s\"",
                              STR_ARGS(value));
        }
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (str_eq(value, str_from(lists[i]))) {
            return errmsg_set(err, "must not be \"%s\", the name of a list",
                              lists[i]);
        }
    }
    return 0;
}

static int
check_program(struct str value, struct errmsg *err)
{
    if (!str_starts(value, STR("/"))) {
        return errmsg_set(err,
                          "must be an absolute path, as \"/usr/bin/x\", not "
                          "\"%.*s\"",
                          STR_ARGS(value));
    }
    return 0;
}

/* A template of names: relative, and it stays below the directory. */
static int
check_template(struct str value, struct errmsg *err)
{
    struct str rest = value;

    if (str_starts(value, STR("/"))) {
        return errmsg_set(err, "must not begin with \"/\": \"%.*s\"",
                          STR_ARGS(value));
    }
    while (rest.len > 0) {
        struct str part = str_cut(&rest, '/');

        if (part.len == 0 || str_starts(part, STR("."))) {
            return errmsg_set(err,
                              "must be parts with \"/\" between them, none of "
                              "which is empty or begins with \".\", not "
                              "\"%.*s\"",
                              STR_ARGS(value));
        }
    }
    return value.len > 0 ? place_check_template(value, err)
                         : errmsg_set(err, "must not be empty");
}

static struct str
without_slashes(struct str path)
{
    while (path.len > 1 && str_ends(path, STR("/"))) {
        path.len--;
    }
    return path;
}

/* One would sweep away the runs of the other. */
static int
check_directory_among(const struct conf_groups *all, size_t i,
                      struct errmsg *err)
{
    const struct downloads_instance *items = all->items;

    for (size_t k = 0; k < i; k++) {
        if (str_eq(without_slashes(items[k].directory),
                   without_slashes(items[i].directory))) {
            return errmsg_set(err,
                              "has the directory \"%.*s\" of the one in line "
                              "%d",
                              STR_ARGS(items[i].directory),
                              items[k].where.line);
        }
    }
    return 0;
}

/* Also of a variable, which may have anything in it. */
static int
check_prefix(struct str value, struct errmsg *err)
{
    struct str rest = str_skip(without_slashes(value), 1);
    bool good = str_starts(value, STR("/"));

    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        good = good && c > ' ' && c <= '~' && c != '?' && c != '#' && c != '%';
    }
    while (rest.len > 0) {
        struct str part = str_cut(&rest, '/');

        good = good && part.len > 0 && !str_eq(part, STR(".")) &&
               !str_eq(part, STR(".."));
    }
    return good ? 0
                : errmsg_set(err,
                             "must be a path as \"/downloads/\", not \"%.*s\"",
                             STR_ARGS(value));
}

/* ---- settings ---- */

static const char *const payload_words[] = { "object", "string", NULL };
static const char *const engine_words[] = { "auto", "yt-dlp", "direct", NULL };

static const struct conf_key keys[] = {
    ROW(downloads_settings, instance, CONF_INSTANCE, .of = "downloads",
        .help = "Name of the item of downloads that is served here; the only "
                "one if left out."),
    ROW(downloads_settings, url_prefix, CONF_STRING, .max = 1024,
        .check = check_prefix, .preset = "/", .variable = "URL_PREFIX",
        .help = "The path of its location where that has none and this module "
                "alone.  Left out: the variable URL_PREFIX of the "
                "environment, if it is set."),
    ROW(downloads_settings, event_payload, CONF_ENUM, .preset = "object",
        .words = payload_words,
        .help = "How events carry their values: as JSON values, or as texts "
                "with JSON in them and under the names that MeTube uses, for "
                "its web client."),
    ROW_AS("socket_io", downloads_settings, sockets, CONF_GROUP,
           .keys = sio_keys, .size = sizeof(struct sio_settings), .preset = "",
           .check_group = sio_check,
           .help = "Clients of the events, below socket.io/."),
    CONF_END,
};

static const struct conf_key instance_keys[] = {
    ROW_WHERE(downloads_instance),
    ROW(downloads_instance, name, CONF_STRING, .min = 1,
        .max = DOWNLOADS_NAME_MAX, .check = check_name,
        .help = "Its name: a layer names it as its instance."),
    ROW(downloads_instance, directory, CONF_STRING, .min = 1, .max = 1024,
        .help = "Where the files go; what runs have not ended yet lies in "
                ".weir below it."),
    ROW(downloads_instance, engine, CONF_STRING, .words = engine_words,
        .preset = "auto",
        .help = "The program that downloads: yt-dlp; direct, which is weir's "
                "own for single files; or auto: yt-dlp, and direct while that "
                "is not installed."),
    ROW(downloads_instance, engine_path, CONF_STRING, .max = 1024,
        .check = check_program, .preset = "/usr/bin/yt-dlp",
        .help = "Where yt-dlp is."),
    ROW(downloads_instance, ffmpeg_path, CONF_STRING, .max = 1024,
        .check = check_program, .preset = "/usr/bin/ffmpeg",
        .help = "Where ffmpeg is, which yt-dlp runs."),
    ROW(downloads_instance, engine_options_file, CONF_STRING, .max = 1024,
        .preset = "", .variable = "ENGINE_OPTIONS_FILE",
        .help = "File with options for the engine, which is watched; empty: "
                "none.  Left out: the file that the variable "
                "ENGINE_OPTIONS_FILE of the environment names, if it is "
                "set."),
    ROW(downloads_instance, max_concurrent, CONF_INT, .min = 1, .max = 64,
        .preset = "3", .help = "Downloads that run at once on this node."),
    ROW(downloads_instance, max_extractions, CONF_INT, .min = 1, .max = 64,
        .preset = "4",
        .help = "Addresses that are looked at at once; 128 more wait, by "
                "clients in turn, and what comes then is refused (503)."),
    ROW(downloads_instance, extract_timeout, CONF_TIME, .min = 1000,
        .max = HOURS(1) / 2, .preset = "60s",
        .help = "How long the engine may look at an address."),
    ROW(downloads_instance, timeout, CONF_TIME, .min = 100, .max = 60000,
        .preset = "10s",
        .help = "A request that is not answered in this time, beside that of "
                "the engine, is refused (503)."),
    ROW(downloads_instance, max_entries, CONF_INT, .min = 1, .max = 100000,
        .preset = "20000",
        .help = "Downloads in all lists; one more is refused (503)."),
    ROW(downloads_instance, max_done, CONF_INT, .min = 0, .max = 100000,
        .preset = "1000",
        .help = "Records of ended downloads that are kept, the newest; 0: any "
                "number."),
    ROW(downloads_instance, clear_completed_after, CONF_TIME, .min = 1000,
        .or_zero = true, .max = HOURS(24 * 366), .preset = "0",
        .help = "How long the record of an ended download is kept; 0: until "
                "it is cleared."),
    ROW(downloads_instance, min_free, CONF_SIZE, .min = 0, .max = TIB(1024),
        .preset = "1G",
        .help = "Bytes that the disk has to have free: with less no download "
                "starts, and what has written most is ended."),
    ROW(downloads_instance, max_file_size, CONF_SIZE, .min = 0,
        .max = TIB(1024), .preset = "0",
        .help = "A larger file is not downloaded; 0: any size."),
    ROW(downloads_instance, max_memory, CONF_SIZE, .min = 64 << 20,
        .or_zero = true, .max = TIB(1), .preset = "2G",
        .help = "Memory of a run, its processes together: with more it is "
                "ended; 0: any."),
    ROW(downloads_instance, max_processes, CONF_INT, .min = 4, .max = 999,
        .preset = "64",
        .help = "Processes of a run at once, with 16 threads for each: with "
                "more it is ended."),
    ROW(downloads_instance, max_cpu, CONF_TIME, .min = 1000, .or_zero = true,
        .max = HOURS(24 * 366), .preset = "4h",
        .help = "Processor time of a run, its processes together: with more "
                "it is ended; 0: any."),
    ROW(downloads_instance, max_files, CONF_INT, .min = 4, .max = 1000000,
        .preset = "10000",
        .help = "Files that a run has at once: with more it is ended."),
    ROW(downloads_instance, max_bytes, CONF_SIZE, .min = 0, .max = TIB(1024),
        .preset = "256G",
        .help = "Bytes of these files together: with more it is ended; 0: "
                "any."),
    ROW(downloads_instance, playlist_item_limit, CONF_INT, .min = 0,
        .max = DOWNLOAD_LIMIT_MAX, .preset = "0",
        .help = "Items of a playlist, for requests that do not say; 0: all."),
    ROW(downloads_instance, playlist_strict_mode, CONF_BOOL, .preset = "false",
        .help = "Whether an address that names both a video and its playlist "
                "means the video alone, for requests that do not say."),
    ROW(downloads_instance, delete_files, CONF_BOOL, .preset = "false",
        .help = "Whether clearing the record of a download removes its file "
                "too."),
    ROW(downloads_instance, custom_dirs, CONF_BOOL, .preset = "true",
        .help = "Whether a request may name a folder below the directory."),
    ROW(downloads_instance, create_custom_dirs, CONF_BOOL, .preset = "true",
        .help = "Whether such a folder is made when it is not there."),
    ROW(downloads_instance, template, CONF_STRING, .max = 512,
        .check = check_template, .preset = "%(title)s.%(ext)s",
        .help = "The name of a file."),
    ROW(downloads_instance, playlist_template, CONF_STRING, .max = 512,
        .check = check_template,
        .preset = "%(playlist_title)s/%(title)s.%(ext)s",
        .help = "The name of a file of a playlist."),
    CONF_END,
};

static const struct conf_key root_keys[] = {
    ROW_AS("downloads", downloads_root, instances, CONF_GROUPS,
           .keys = instance_keys, .size = sizeof(struct downloads_instance),
           .max = DOWNLOADS_INSTANCES, .preset = "", .named = true,
           .check_among = check_directory_among,
           .help = "Queues of downloads, by name; see weir-downloads(7)."),
    CONF_END,
};

/* ---- metrics ---- */

static const char *
end_name(unsigned i)
{
    static const char *const names[DOWNLOADS_ENDS] = {
        [DOWNLOADS_END_FINISHED] = "finished",
        [DOWNLOADS_END_ERROR] = "error",
        [DOWNLOADS_END_CANCELED] = "canceled",
    };

    return names[i];
}

static const char *
refusal_name(unsigned i)
{
    static const char *const names[DOWNLOADS_REFUSALS] = {
        [DOWNLOADS_BAD_REQUEST] = "request",
        [DOWNLOADS_BUSY] = "busy",
        [DOWNLOADS_NO_ENGINE] = "engine",
        [DOWNLOADS_EXTRACTION] = "extraction",
        [DOWNLOADS_TIMEOUT] = "timeout",
        [DOWNLOADS_NO_STORE] = "store",
        [DOWNLOADS_NO_FETCHER] = "fetcher",
        [DOWNLOADS_MAX_ENTRIES] = "max_entries",
    };

    return names[i];
}

/* In the order of enum entry_list. */
static const char *
list_name(unsigned i)
{
    static const char *const names[] = { "pending", "queue", "done" };

    return names[i];
}

struct metric downloads_metrics[] = {
    [DOWNLOADS_ADDED] = { .name = "weir_downloads_added_total",
                          .help = "Downloads that were added." },
    [DOWNLOADS_ENDED] = { .name = "weir_downloads_ended_total",
                          .help = "Downloads that are over.",
                          .labels = { { "result", end_name,
                                        DOWNLOADS_ENDS } } },
    [DOWNLOADS_REFUSED] = { .name = "weir_downloads_refused_total",
                            .help = "Requests that were refused.",
                            .labels = { { "reason", refusal_name,
                                          DOWNLOADS_REFUSALS } } },
    [DOWNLOADS_ENTRIES] = { .name = "weir_downloads_entries",
                            .help = "Downloads in the lists of this node.",
                            .type = METRIC_GAUGE,
                            .labels = { { "list", list_name, 3 } } },
    [DOWNLOADS_RUNS] = { .name = "weir_downloads_runs",
                         .help = "Downloads that run.",
                         .type = METRIC_GAUGE },
    [DOWNLOADS_BYTES] = { .name = "weir_downloads_bytes_total",
                          .help = "Bytes that engines have fetched." },
    [DOWNLOADS_EGRESS_REFUSED] = { .name =
                                       "weir_downloads_egress_refused_total",
                                   .help = "Connections of engines that the "
                                           "egress rules refused." },
    [DOWNLOADS_METRICS] = METRIC_END,
};

/* ---- calls ---- */

#define FOR_WORKERS(called)                                         \
    {                                                               \
        .name = (called), .role = "fetcher", .caller = BUS_ANYBODY, \
        .request_max = DOWNLOADS_REQUEST_MAX,                       \
        .answer_max = DOWNLOADS_ANSWER_MAX, .open_max = 1024        \
    }
/* The channel asks for these: parts and an answer. */
#define FOR_CHANNEL(called)                                         \
    {                                                               \
        .name = (called), .role = "fetcher", .caller = BUS_ANYBODY, \
        .request_max = 1024, .answer_max = DOWNLOADS_ANSWER_MAX,    \
        .open_max = 256                                             \
    }
#define FOR_MASTER(called, most)                                   \
    {                                                              \
        .name = (called), .role = "fetcher", .caller = BUS_MASTER, \
        .request_max = (most), .answer_max = 32000, .open_max = 64 \
    }

struct rpc_method downloads_methods[] = {
    [DOWNLOADS_ADD] = FOR_WORKERS("downloads.add"),
    [DOWNLOADS_DELETE] = FOR_WORKERS("downloads.delete"),
    [DOWNLOADS_START] = FOR_WORKERS("downloads.start"),
    [DOWNLOADS_HISTORY] = FOR_WORKERS("downloads.history"),
    [DOWNLOADS_VERSION] = FOR_WORKERS("downloads.version"),
    [DOWNLOADS_ALL] = FOR_CHANNEL("downloads.all"),
    [DOWNLOADS_CONFIGURATION] = FOR_CHANNEL("downloads.configuration"),
    [DOWNLOADS_CUSTOM_DIRS] = FOR_CHANNEL("downloads.custom_dirs"),
    [DOWNLOADS_OPTIONS_CHANGED] = FOR_CHANNEL("downloads.options_changed"),
    [DOWNLOADS_OPTIONS_ALIAS] = FOR_CHANNEL("downloads.options_alias"),
    [DOWNLOADS_SHOW] = FOR_MASTER("downloads.show", 1024),
    [DOWNLOADS_ORDER] = FOR_MASTER("downloads.order", 65536),
    { .name = NULL },
};

/* ---- the module ---- */

static void
warn(const struct settings *s)
{
    if (downloads_wanted(s)) {
        fetch_rights_tell();
    }
}

/* "/downloads/" is "/downloads" as a location's path. */
static struct str
path(const void *settings)
{
    const struct downloads_settings *s = settings;

    return without_slashes(s->url_prefix);
}

/* GET download/NAME reads there. */
static void
paths(const void *settings, void (*add)(void *arg, struct str path), void *arg)
{
    const struct downloads_settings *s = settings;
    const struct downloads_instance *i = s->instance.settings;

    add(arg, i->directory);
}

const struct module downloads_module = {
    .name = "downloads",
    .about = "a queue of downloads: yt-dlp behind HTTP and Socket.IO",
    .keys = keys,
    .settings_size = sizeof(struct downloads_settings),
    .root = { root_keys, sizeof(struct downloads_root) },
    .warn = warn,
    .start = downloads_start,
    .stop = downloads_stop,
    .path = path,
    .paths = paths,
    .routes = downloads_routes,
    .error_body = downloads_error_body,
    .sio = &downloads_sockets,
    .roles = downloads_roles,
    .methods = downloads_methods,
    .store = &downloads_schema,
    .verbs = downloads_verbs,
    .metrics = downloads_metrics,
    .pools = downloads_pools,
};

const struct downloads_root *
downloads_root_of(const struct settings *s)
{
    return settings_of_module(s, &downloads_module);
}

static void
look_at_layer(void *arg, const struct conf_extra *layer)
{
    bool *found = arg;

    *found |= layer->what == &downloads_module;
}

bool
downloads_wanted(const struct settings *s)
{
    bool found = false;

    settings_each_layer(s, look_at_layer, &found);
    return found;
}
