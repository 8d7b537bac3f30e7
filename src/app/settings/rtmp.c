/*
 * The "rtmp" block of weir.conf: servers and their applications.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "conf/rows.h"
#include "net/access.h"
#include "rtmp/log.h"

#define MIB(n) ((int64_t)(n)*1024 * 1024)
#define HOURS(n) ((int64_t)(n)*3600 * 1000)

static const char *const conflicts[] = { "replace", "refuse", NULL };
/* -1 is LIVE_GATHER_AUTO, -2 GATHER_INHERIT. */
static const char *const gather_words[] = { "auto", "inherit", NULL };
static const char *const hold_words[] = { "inherit", NULL };

static int
check_name(struct str value, struct errmsg *err)
{
    if (value.len == 0 || value.len > RTMP_NAME_MAX ||
        str_find(value, '/', 0) < value.len ||
        str_find(value, '?', 0) < value.len) {
        return errmsg_set(err,
                          "must be 1 to %d characters without '/' and '?', "
                          "not \"%.*s\"",
                          RTMP_NAME_MAX, STR_ARGS(value));
    }
    return 0;
}

const struct conf_key settings_application_keys[] = {
    ROW_WHERE(rtmp_application_settings),
    ROW(rtmp_application_settings, name, CONF_STRING, .check = check_name,
        .help = "The first part of a stream's path: rtmp://HOST/NAME/..."),
    ROW(rtmp_application_settings, publish, CONF_STRING,
        .preset = settings_publish_preset, .words = settings_publish_words,
        .help = "Clients that may publish: \"open\": everybody that "
                "publish_access lets in; a module may add values, told in its "
                "page, and "
                "make one the default."),
    ROW(rtmp_application_settings, publish_conflict, CONF_ENUM,
        .preset = "replace", .words = conflicts,
        .help = "Fate of a second publisher of a name: it takes the first "
                "one's place, or is refused."),
    ROW(rtmp_application_settings, publish_access, CONF_STRINGS,
        .preset = "allow all", .check = access_check_rule,
        .help = "From where one may publish: rules \"allow|deny ADDRESS\", "
                "the first that matches counts."),
    ROW(rtmp_application_settings, play_access, CONF_STRINGS,
        .preset = "allow all", .check = access_check_rule,
        .help = "From where one may play."),
    ROW(rtmp_application_settings, gop_cache, CONF_BOOL, .preset = "true",
        .help = "Players start at the newest key frame that is there, "
                "instead of waiting for the next."),
    ROW(rtmp_application_settings, idle_timeout, CONF_TIME, .min = 1000,
        .max = HOURS(24), .preset = "15s",
        .help = "A publisher that sends nothing for so long is closed."),
    ROW(rtmp_application_settings, gather, CONF_TIME, .min = 0, .max = 10000,
        .preset = "inherit", .words = gather_words,
        .help = "As live.gather, for this application; \"inherit\": what "
                "live.gather says."),
    ROW(rtmp_application_settings, hold, CONF_TIME, .min = 0,
        .max = LIVE_HOLD_MAX, .preset = "inherit", .words = hold_words,
        .help = "As live.hold, for this application; \"inherit\": what "
                "live.hold says."),
    ROW(rtmp_application_settings, segment, CONF_TIME, .min = 1000,
        .max = 60000, .preset = "2s",
        .help = "How long a segment of a stream is at least, where a module "
                "offers segments: it ends before the next key frame."),
    ROW(rtmp_application_settings, max_segment, CONF_TIME, .min = 1000,
        .max = 60000, .preset = "6s",
        .help = "How long a segment is at most: it ends without a key frame "
                "then, unless strict_keys is set."),
    ROW(rtmp_application_settings, part, CONF_TIME, .min = 100, .max = 5000,
        .preset = "333ms",
        .help = "How long a part of a segment is at most, for low latency."),
    ROW(rtmp_application_settings, strict_keys, CONF_BOOL, .preset = "false",
        .help = "Every segment begins with a key frame: a stream with none "
                "within max_segment is not offered in segments."),
    ROW(rtmp_application_settings, ladder, CONF_STRINGS, .preset = "",
        .help = "How the names end of streams that are the same content in "
                "several qualities, the best one first: with ( \"_720\", "
                "\"_360\" ) the streams film_720 and film_360 are cut at the "
                "same places, and are offered together as film."),
    ROW(rtmp_application_settings, modules, CONF_PARTS,
        .part = settings_application_part),
    CONF_END,
};

static int
check_application_among(const struct conf_groups *all, size_t i,
                        struct errmsg *err)
{
    const struct rtmp_application_settings *a = all->items;

    for (size_t k = 0; k < i; k++) {
        if (str_eq(a[k].name, a[i].name)) {
            return errmsg_set(err,
                              "there is an application \"%.*s\" in line %d "
                              "already",
                              STR_ARGS(a[i].name), a[k].where.line);
        }
    }
    return 0;
}

static int
check_server(const void *settings, struct errmsg *err)
{
    const struct rtmp_server_settings *s = settings;

    if (settings_check_listens(&s->listen, err) == -1 ||
        settings_check_proxies(&s->listen, &s->trusted_proxies, err) == -1) {
        return -1;
    }
    if (s->max_memory < s->max_message) {
        return errmsg_set(err,
                          "max_memory (%lld bytes) must not be less than "
                          "max_message (%lld bytes)",
                          (long long)s->max_memory, (long long)s->max_message);
    }
    return 0;
}

static int
check_server_among(const struct conf_groups *all, size_t i, struct errmsg *err)
{
    const struct rtmp_server_settings *s = all->items;

    for (size_t k = 0; k < i; k++) {
        if (settings_check_apart(&s[k].listen, s[k].where.line, &s[i].listen,
                                 false, err) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
check_format(struct str value, struct errmsg *err)
{
    return settings_check_format(value, rtmp_log_variables, rtmp_log_presets,
                                 err);
}

static const struct conf_key server_keys[] = {
    ROW_WHERE(rtmp_server_settings),
    ROW_LISTEN(rtmp_server_settings),
    ROW(rtmp_server_settings, trusted_proxies, CONF_STRINGS, .preset = "",
        .check = access_check_name,
        .help = "Load balancers whose word on the client is taken (PROXY "
                "protocol): addresses, ADDRESS/BITS, \"loopback\", "
                "\"private\", \"linklocal\", \"unix:\", \"all\"."),
    ROW(rtmp_server_settings, chunk_size, CONF_INT, .min = LIVE_CHUNK_MIN,
        .max = LIVE_CHUNK_MAX, .preset = "60000",
        .help = "Bytes of a chunk towards peers."),
    ROW(rtmp_server_settings, handshake_timeout, CONF_TIME, .min = 100,
        .max = HOURS(1), .preset = "5s",
        .help = "How long the handshake may take."),
    ROW(rtmp_server_settings, connect_timeout, CONF_TIME, .min = 100,
        .max = HOURS(1), .preset = "10s",
        .help = "How long connect may take to come, then the first publish or "
                "play, and the decision on any of them."),
    ROW(rtmp_server_settings, ping_interval, CONF_TIME, .min = 1000,
        .max = HOURS(1), .preset = "30s",
        .help = "After so long a silence the peer is pinged."),
    ROW(rtmp_server_settings, ping_timeout, CONF_TIME, .min = 1000,
        .max = HOURS(1), .preset = "30s",
        .help = "How long the answer to a ping may take."),
    ROW(rtmp_server_settings, send_timeout, CONF_TIME, .min = 1000,
        .max = HOURS(1), .preset = "30s",
        .help = "A peer that takes nothing for so long is closed."),
    ROW(rtmp_server_settings, max_message, CONF_SIZE, .min = 64 * 1024,
        .max = MIB(16), .preset = "16M",
        .help =
            "The largest message that is taken from a publisher; a peer that "
            "does not publish yet: 128 KB."),
    ROW(rtmp_server_settings, max_memory, CONF_SIZE, .min = 64 * 1024,
        .max = MIB(256), .preset = "24M",
        .help = "The most memory for half-received messages of a publisher; a "
                "peer that does not publish yet: 256 KB."),
    ROW(rtmp_server_settings, window_ack, CONF_SIZE, .min = 4096,
        .max = MIB(1024), .preset = "2500000",
        .help = "After so many bytes a peer is asked to acknowledge."),
    ROW(rtmp_server_settings, access_log, CONF_STRING, .preset = "off",
        .help = "A file with a line for every publish and play, and for "
                "every connect that was refused, at its end; \"stderr\", "
                "\"stdout\" or \"off\"."),
    ROW(rtmp_server_settings, access_log_format, CONF_STRING, .min = 1,
        .max = 4096, .preset = "combined", .dollars = true,
        .check = check_format,
        .help = "How a line of it looks: \"combined\", \"json\", text with "
                "$variables, or \"json: member=$variable ...\"."),
    ROW(rtmp_server_settings, mask_args, CONF_STRINGS, .preset = MASK_ARGS,
        .check = settings_check_arg,
        .help = "Query arguments whose values are written as *** in the "
                "access log and in statistics."),
    ROW(rtmp_server_settings, applications, CONF_GROUPS,
        .keys = settings_application_keys,
        .size = sizeof(struct rtmp_application_settings), .min = 1,
        .check_group = settings_check_cut_rows,
        .check_among = check_application_among,
        .help = "The applications in which clients publish and play."),
    CONF_END,
};

const struct conf_key settings_rtmp_keys[] = {
    ROW(rtmp_block, servers, CONF_GROUPS, .keys = server_keys,
        .size = sizeof(struct rtmp_server_settings), .preset = "",
        .check_group = check_server, .check_among = check_server_among,
        .help = "RTMP servers."),
    CONF_END,
};

bool
settings_is_open(const struct rtmp_application_settings *a)
{
    return str_eq(a->publish, STR("open"));
}

const struct rtmp_server_settings *
settings_rtmp_server(const struct rtmp_block *b, size_t i)
{
    const struct rtmp_server_settings *all = b->servers.items;

    return &all[i];
}

void
settings_of_rtmp(const struct rtmp_server_settings *s,
                 struct rtmp_settings *out)
{
    *out = (struct rtmp_settings){
        .chunk_size = (uint32_t)s->chunk_size,
        .handshake_timeout = s->handshake_timeout,
        .connect_timeout = s->connect_timeout,
        .ping_interval = s->ping_interval,
        .ping_timeout = s->ping_timeout,
        .send_timeout = s->send_timeout,
        .max_message = s->max_message,
        .max_memory = s->max_memory,
        .window_ack = (uint32_t)s->window_ack,
    };
}
