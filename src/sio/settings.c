/*
 * The rows of an endpoint's settings, and of the channel's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/rows.h"
#include "sio/channel.h"

#define MINUTES(n) ((int64_t)(n)*60 * 1000)
#define MIB(n) ((int64_t)(n)*1024 * 1024)
#define COOKIE_MAX 64 /* bytes of a cookie's name */

static bool
is_transport(struct str s)
{
    return str_eq(s, STR("polling")) || str_eq(s, STR("websocket"));
}

static int
check_transport(struct str value, struct errmsg *err)
{
    return is_transport(value)
               ? 0
               : errmsg_set(err,
                            "must be \"polling\" or \"websocket\", not "
                            "\"%.*s\"",
                            STR_ARGS(value));
}

static bool
is_cookie_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static int
check_cookie(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!is_cookie_char(value.ptr[i])) {
            return errmsg_set(err,
                              "must be letters, digits, \"-\", \"_\" and "
                              "\".\", not \"%.*s\"",
                              STR_ARGS(value));
        }
    }
    return 0;
}

const struct conf_key sio_keys[] = {
    ROW(sio_settings, ping_interval, CONF_TIME, .min = 100, .max = SIO_PING_MAX,
        .preset = "25s",
        .help = "How often weir asks whether a client is still there."),
    ROW(sio_settings, ping_timeout, CONF_TIME, .min = 100, .max = SIO_PING_MAX,
        .preset = "20s",
        .help = "A client that does not answer in this time is gone."),
    ROW(sio_settings, upgrade_timeout, CONF_TIME, .min = 100,
        .max = MINUTES(10), .preset = "10s",
        .help = "How long the upgrade of a session to a WebSocket may take."),
    ROW(sio_settings, connect_timeout, CONF_TIME, .min = 100,
        .max = MINUTES(10), .preset = "45s",
        .help = "A client that has joined no namespace in this time is "
                "closed, and one that has not taken its snapshot."),
    ROW(sio_settings, max_payload, CONF_SIZE, .min = 1024, .max = SIO_PAYLOAD,
        .preset = "1000000",
        .help = "The most that a client may send at once, in a message or in "
                "the body of a request."),
    ROW(sio_settings, max_queue, CONF_SIZE, .min = 16 * 1024, .max = SIO_QUEUE,
        .preset = "1M",
        .help = "The most that may wait for a client; beyond, it gets a new "
                "snapshot in place of events, or is closed where there is "
                "none."),
    ROW(sio_settings, transports, CONF_STRINGS, .min = 1, .max = 2,
        .preset = "polling, websocket", .check = check_transport,
        .help = "Transports that clients may use: polling, websocket."),
    ROW(sio_settings, cookie, CONF_STRING, .preset = "", .max = COOKIE_MAX,
        .check = check_cookie,
        .help = "Name of a cookie with the session's id, for balancers that "
                "keep a client at one server by it; empty: none is set."),
    ROW(sio_settings, deflate, CONF_BOOL, .preset = "false",
        .help = "Compress messages of 1 KB and more on WebSockets of clients "
                "that offer it; each that has sent some costs about 40 KB."),
    ROW(sio_settings, recovery, CONF_TIME, .min = 1000, .max = MINUTES(10),
        .or_zero = true, .preset = "0s",
        .help = "How long a client that lost its connection can have its "
                "socket back, with the events that it missed; 0: not at all.  "
                "Events then have an argument more, the last."),
    CONF_END,
};

int
sio_check(const void *settings, struct errmsg *err)
{
    const struct sio_settings *s = settings;

    if (s->cookie.len > 0 && !sio_allows(s, STR("polling"))) {
        return errmsg_set(err, "cookie needs transport \"polling\": answers "
                               "of it set the cookie");
    }
    return 0;
}

bool
sio_allows(const struct sio_settings *s, struct str transport)
{
    for (size_t i = 0; i < s->transports.count; i++) {
        if (str_eq(s->transports.items[i], transport)) {
            return true;
        }
    }
    return false;
}

const struct conf_key channel_keys[] = {
    ROW(channel_settings, max_sessions, CONF_INT, .min = 1, .max = 100000,
        .preset = "10000", .change = CONF_RESTART,
        .help = "Clients of Socket.IO and Engine.IO at once, of all "
                "endpoints; more are refused (503)."),
    ROW(channel_settings, max_deflated, CONF_INT, .min = 0, .max = 100000,
        .preset = "256", .change = CONF_RESTART,
        .help = "WebSockets with compression at once; the others go on "
                "without it."),
    CONF_END,
};
