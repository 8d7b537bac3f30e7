/*
 * The rows of the control socket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "base/places.h"
#include "conf/rows.h"
#include "net/addr.h"
#include "proc/life.h"

#define MODE_MAX 0777

/* Of one user or group: CONTROL_USER and up. */
static const char *const levels[] = { "user", "operator", "admin", NULL };
static const char *const levels_of_others[] = { "none", "user", "operator",
                                                "admin", NULL };

static int
read_mode(struct str value, unsigned *mode)
{
    *mode = 0;
    if (value.len < 3 || value.len > 4) {
        return -1;
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '7') {
            return -1;
        }
        *mode = *mode * 8 + (unsigned)(value.ptr[i] - '0');
    }
    return *mode <= MODE_MAX ? 0 : -1;
}

static int
check_mode(struct str value, struct errmsg *err)
{
    unsigned mode;

    if (read_mode(value, &mode) == -1) {
        return errmsg_set(err,
                          "\"%.*s\" must be octal digits, \"0600\" to "
                          "\"0777\"",
                          STR_ARGS(value));
    }
    return 0;
}

static int
check_socket(struct str value, struct errmsg *err)
{
    if (value.len > ADDR_PATH_MAX) {
        return errmsg_set(err, "must not be longer than %d bytes",
                          ADDR_PATH_MAX);
    }
    return 0;
}

static int
check_user(struct str value, struct errmsg *err)
{
    uid_t id;

    return privilege_user_id(value, &id, err);
}

static int
check_group(struct str value, struct errmsg *err)
{
    gid_t id;

    return privilege_group_id(value, &id, err);
}

static int
check_rule(const void *settings, struct errmsg *err)
{
    const struct control_user_settings *s = settings;

    if ((s->uid.len > 0) == (s->gid.len > 0)) {
        return errmsg_set(err, "must have either uid or gid");
    }
    return 0;
}

static const struct conf_key user_keys[] = {
    ROW_WHERE(control_user_settings),
    ROW(control_user_settings, uid, CONF_STRING, .preset = "",
        .check = check_user, .help = "A user, by name or number."),
    ROW(control_user_settings, gid, CONF_STRING, .preset = "",
        .check = check_group,
        .help = "A group, by name or number, of those who ask."),
    ROW(control_user_settings, level, CONF_ENUM, .words = levels,
        .help = "Their rights: look; also send sessions away and set states; "
                "everything."),
    CONF_END,
};

const struct conf_key settings_control_keys[] = {
    ROW(control_settings, socket, CONF_STRING, .preset = places_control,
        .check = check_socket,
        .help = "Path of the control socket; \"\": there is none."),
    ROW(control_settings, mode, CONF_STRING, .preset = "0600",
        .check = check_mode, .help = "Its mode: who may connect at all."),
    ROW(control_settings, group, CONF_STRING, .preset = "",
        .check = check_group, .help = "Its group; empty: as it comes."),
    ROW_AS("default", control_settings, others, CONF_ENUM, .preset = "user",
           .words = levels_of_others,
           .help = "The rights of all that are in no item of users.  Root and "
                   "the master's own user are always admin."),
    ROW(control_settings, timeout, CONF_TIME, .min = 100, .max = 3600000,
        .preset = "10s",
        .help = "How long a client may leave a line unfinished or an answer "
                "unread."),
    ROW(control_settings, users, CONF_GROUPS, .keys = user_keys,
        .size = sizeof(struct control_user_settings), .preset = "",
        .check_group = check_rule,
        .help = "The rights of users; the highest that fits holds."),
    CONF_END,
};

const struct control_user_settings *
settings_control_user(const struct control_settings *s, size_t i)
{
    return (const struct control_user_settings *)s->users.items + i;
}

unsigned
settings_control_mode(const struct control_settings *s)
{
    unsigned mode;

    return read_mode(s->mode, &mode) == 0 ? mode : 0600;
}
