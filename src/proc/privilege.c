/*
 * Giving root away for good.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/life.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/privilege_names.h"

/* The user that a process becomes. */
struct identity {
    const struct privilege_user_entry *user; /* NULL: who it is */
    uid_t uid;
    gid_t gid;
    bool one_group; /* a group was named: no others */
};

static int
find_user(struct str user, struct identity *who, struct errmsg *err)
{
    who->user = privilege_names_user(user, err);
    if (who->user == NULL) {
        return -1;
    }
    who->uid = who->user->uid;
    who->gid = who->user->gid;
    return 0;
}

static int
find_group(struct str group, struct identity *who, struct errmsg *err)
{
    who->one_group = true;
    return privilege_names_group(group, &who->gid, err);
}

/* ---- who ---- */

struct str
privilege_user(struct str user)
{
    static struct str chosen;
    struct identity ignored;
    struct errmsg err;

    if (user.len > 0 || (chosen.len == 0 && geteuid() != 0)) {
        return user;
    }
    if (chosen.len == 0) {
        chosen = find_user(STR("weir"), &ignored, &err) == 0 ? STR("weir")
                                                             : STR("nobody");
    }
    return chosen;
}

void
privilege_tell(struct str user)
{
    uid_t id;
    struct errmsg err;

    if (geteuid() != 0) {
        return;
    }
    if (user.len == 0) {
        log_notice("workers run as user \"%.*s\": root has started weir, and "
                   "user is not set",
                   STR_ARGS(privilege_user(user)));
    } else if (privilege_user_id(user, &id, &err) == 0 && id == 0) {
        log_warn("workers run as root: user = \"%.*s\"", STR_ARGS(user));
    }
}

const char *
privilege_who(void)
{
    static char text[PRIVILEGE_NAME_SIZE + 16];
    char room[4096];
    struct passwd pw, *found = NULL;
    int why = errno;

    getpwuid_r(geteuid(), &pw, room, sizeof(room), &found);
    errno = why;
    if (found != NULL) {
        snprintf(text, sizeof(text), "user \"%.200s\"", pw.pw_name);
    } else {
        snprintf(text, sizeof(text), "user %u", (unsigned)geteuid());
    }
    return text;
}

/* ---- becoming somebody ---- */

int
privilege_find_user(struct str user, struct errmsg *err)
{
    struct identity ignored;

    return find_user(user, &ignored, err);
}

int
privilege_find_group(struct str group, struct errmsg *err)
{
    struct identity ignored;

    return find_group(group, &ignored, err);
}

static int
become(const struct identity *who, struct errmsg *err)
{
    const struct privilege_user_entry *user = who->user;
    int groups = who->one_group || user->group_count == 0
                     ? setgroups(1, &who->gid)
                     : setgroups((size_t)user->group_count, user->groups);

    if (groups == -1 || setresgid(who->gid, who->gid, who->gid) == -1 ||
        setresuid(who->uid, who->uid, who->uid) == -1) {
        return errmsg_sys(err, "cannot become user \"%s\"", user->name);
    }
    return 0;
}

/* That all three ids are the new ones and root is out of reach. */
static int
verify(const struct identity *who, struct errmsg *err)
{
    uid_t u[3];
    gid_t g[3];

    if (getresuid(&u[0], &u[1], &u[2]) == -1 ||
        getresgid(&g[0], &g[1], &g[2]) == -1) {
        return errmsg_sys(err, "cannot read the ids of the process");
    }
    for (int i = 0; i < 3; i++) {
        if (u[i] != who->uid || g[i] != who->gid) {
            return errmsg_set(err, "user %u was not taken on whole",
                              (unsigned)who->uid);
        }
    }
    if (who->uid != 0 &&
        (setresuid(0, 0, 0) == 0 || setuid(0) == 0 || seteuid(0) == 0)) {
        return errmsg_set(err, "root could be had back from user %u",
                          (unsigned)who->uid);
    }
    return 0;
}

int
privilege_drop(struct str user, struct str group, struct errmsg *err)
{
    struct identity who = { .uid = geteuid(), .gid = getegid() };

    if (user.len == 0 && group.len > 0) {
        return errmsg_set(err, "group \"%.*s\" needs a user beside it",
                          STR_ARGS(group));
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return errmsg_sys(err, "cannot give up new privileges");
    }
    user = privilege_user(user);
    if (user.len == 0) {
        return 0;
    }
    if (find_user(user, &who, err) == -1 ||
        (group.len > 0 && find_group(group, &who, err) == -1)) {
        return -1;
    }
    if (who.uid == geteuid() && who.gid == getegid()) {
        return verify(&who, err); /* started as that user */
    }
    if (geteuid() != 0) {
        return errmsg_set(err, "cannot become user \"%s\": not started as root",
                          who.user->name);
    }
    return become(&who, err) == -1 ? -1 : verify(&who, err);
}

int
privilege_user_id(struct str user, uid_t *id, struct errmsg *err)
{
    struct identity who = { .uid = 0 };
    int64_t number;

    if (str_to_int(user, 0, UINT32_MAX - 1, &number)) {
        *id = (uid_t)number;
        return 0;
    }
    if (find_user(user, &who, err) == -1) {
        return -1;
    }
    *id = who.uid;
    return 0;
}

int
privilege_group_id(struct str group, gid_t *id, struct errmsg *err)
{
    struct identity who = { .gid = 0 };
    int64_t number;

    if (str_to_int(group, 0, UINT32_MAX - 1, &number)) {
        *id = (gid_t)number;
        return 0;
    }
    if (find_group(group, &who, err) == -1) {
        return -1;
    }
    *id = who.gid;
    return 0;
}

int
privilege_ids(struct str user, struct str group, struct privilege_ids *ids,
              struct errmsg *err)
{
    struct identity who = { .uid = geteuid(), .gid = getegid() };

    user = privilege_user(user);
    if (geteuid() == 0 && user.len > 0 &&
        (find_user(user, &who, err) == -1 ||
         (group.len > 0 && find_group(group, &who, err) == -1))) {
        return -1;
    }
    *ids = (struct privilege_ids){ who.uid, who.gid };
    return 0;
}
