/*
 * Answers of the name service: users and groups.
 *
 * It is asked while a configuration is read.  Later, the master and every
 * process that was forked since find here what it said then: processes come
 * back, and clients of the control socket are judged, while the name service
 * is away, and nobody waits for it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_PRIVILEGE_NAMES_H
#define PROC_PRIVILEGE_NAMES_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

#define PRIVILEGE_NAME_SIZE 256

/* From now on every name is asked for anew (true: while a configuration is
 * read), or only those that are not known.  A name that is known stays where
 * the name service does not answer. */
void privilege_ask(bool ask);

struct privilege_user_entry {
    char name[PRIVILEGE_NAME_SIZE];
    bool none; /* the name service said that there is none */
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* all that it is in; owned */
    int group_count;
};

/* A user: what is known, else the name service is asked.  Lives until the user
 * is asked for anew.  NULL with err: there is none. */
const struct privilege_user_entry *privilege_names_user(struct str name,
                                                        struct errmsg *err);
/* The number of a group, in the same way; -1 with err. */
int privilege_names_group(struct str name, gid_t *gid, struct errmsg *err);
/* The group of a user whose number is known; a number that no user has is its
 * own group. */
gid_t privilege_names_group_of(uid_t uid);
#endif
