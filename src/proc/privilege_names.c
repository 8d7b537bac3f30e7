/*
 * Answers of the name service, in memory of the process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/privilege_names.h"

#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "base/mem.h"

/* A configuration names four of each, and those of control.access. */
#define KEPT 64
#define ROOM 16384 /* bytes of a line of /etc/group */

struct group_entry {
    char name[PRIVILEGE_NAME_SIZE];
    bool none; /* the name service said that there is none */
    gid_t gid;
};

struct number_entry {
    uid_t uid;
    gid_t gid;
};

static struct privilege_user_entry users[KEPT];
static struct group_entry groups[KEPT];
static struct number_entry numbers[KEPT];
static size_t user_count, group_count, number_count;
static bool asking = true;

void
privilege_ask(bool ask)
{
    asking = ask;
}

/* The place of a new entry: one after the other, the oldest goes. */
static size_t
next_of(size_t *count)
{
    return (*count)++ % KEPT;
}

static size_t
size_of(size_t count)
{
    return count < KEPT ? count : KEPT;
}

/* "there is no user "x": why"; -1. */
static int
tell(const char *kind, const char *name, int why, struct errmsg *err)
{
    return errmsg_set(err, "there is no %s \"%s\"%s%s", kind, name,
                      why != 0 ? ": " : "", why != 0 ? strerror(why) : "");
}

/* ---- users ---- */

static struct privilege_user_entry *
known_user(const char *name)
{
    for (size_t i = 0; i < size_of(user_count); i++) {
        if (strcmp(users[i].name, name) == 0) {
            return &users[i];
        }
    }
    return NULL;
}

/* All groups of a user; its own alone where the memory is not there. */
static void
ask_for_groups(struct privilege_user_entry *u)
{
    int n = 0;

    mem_free(&u->groups);
    getgrouplist(u->name, u->gid, NULL, &n);
    u->groups = n > 0 ? try_alloc((size_t)n * sizeof(gid_t)) : NULL;
    u->group_count =
        u->groups != NULL && getgrouplist(u->name, u->gid, u->groups, &n) != -1
            ? n
            : 0;
}

/* Asks for what stands at known, or for a new one.  NULL: there is none, or the
 * name service is away, and *why says why.  An entry of one that has gone
 * stays: processes of the configuration in force are that one. */
static struct privilege_user_entry *
ask_for_user(const char *name, struct privilege_user_entry *known, int *why)
{
    char room[ROOM];
    struct passwd pw, *found = NULL;

    *why = getpwnam_r(name, &pw, room, sizeof(room), &found);
    if (found == NULL && known != NULL && !known->none) {
        return *why != 0 ? known : NULL;
    }
    if (found == NULL && *why != 0) {
        return NULL;
    }
    known = known != NULL ? known : &users[next_of(&user_count)];
    str_copy(known->name, sizeof(known->name), str_from(name));
    known->none = found == NULL;
    if (found != NULL) {
        known->uid = pw.pw_uid;
        known->gid = pw.pw_gid;
        ask_for_groups(known);
    }
    return known;
}

const struct privilege_user_entry *
privilege_names_user(struct str name, struct errmsg *err)
{
    char text[PRIVILEGE_NAME_SIZE];
    int why = 0;

    str_copy(text, sizeof(text), name);
    struct privilege_user_entry *known = known_user(text);

    if (known == NULL || asking) {
        known = ask_for_user(text, known, &why);
    }
    if (known == NULL || known->none) {
        tell("user", text, why, err);
        return NULL;
    }
    return known;
}

/* ---- groups ---- */

static struct group_entry *
known_group(const char *name)
{
    for (size_t i = 0; i < size_of(group_count); i++) {
        if (strcmp(groups[i].name, name) == 0) {
            return &groups[i];
        }
    }
    return NULL;
}

static struct group_entry *
ask_for_group(const char *name, struct group_entry *known, int *why)
{
    char room[ROOM];
    struct group gr, *found = NULL;

    *why = getgrnam_r(name, &gr, room, sizeof(room), &found);
    if (found == NULL && known != NULL && !known->none) {
        return *why != 0 ? known : NULL;
    }
    if (found == NULL && *why != 0) {
        return NULL;
    }
    known = known != NULL ? known : &groups[next_of(&group_count)];
    str_copy(known->name, sizeof(known->name), str_from(name));
    known->none = found == NULL;
    known->gid = found != NULL ? gr.gr_gid : 0;
    return known;
}

int
privilege_names_group(struct str name, gid_t *gid, struct errmsg *err)
{
    char text[PRIVILEGE_NAME_SIZE];
    int why = 0;

    str_copy(text, sizeof(text), name);
    struct group_entry *known = known_group(text);

    if (known == NULL || asking) {
        known = ask_for_group(text, known, &why);
    }
    if (known == NULL || known->none) {
        return tell("group", text, why, err);
    }
    *gid = known->gid;
    return 0;
}

/* ---- numbers ---- */

gid_t
privilege_names_group_of(uid_t uid)
{
    char room[ROOM];
    struct passwd pw, *found = NULL;
    struct number_entry *known = NULL;

    for (size_t i = 0; i < size_of(number_count); i++) {
        known = numbers[i].uid == uid ? &numbers[i] : known;
    }
    if (known != NULL && !asking) {
        return known->gid;
    }
    int why = getpwuid_r(uid, &pw, room, sizeof(room), &found);

    if (known != NULL && why != 0) {
        return known->gid; /* the name service is away */
    }
    known = known != NULL ? known : &numbers[next_of(&number_count)];
    *known =
        (struct number_entry){ uid, found != NULL ? pw.pw_gid : (gid_t)uid };
    return known->gid;
}
