/*
 * The user of the programs of roles, and the few of root's rights that their
 * starter keeps.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/life.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/privilege_names.h"

#define NAME "weir-program"

/* ---- who ---- */

/* As root. */
static int
find(struct str program_user, struct privilege_ids *ids, struct errmsg *err)
{
    uid_t uid;
    struct errmsg ignored;

    if (program_user.len > 0) {
        if (privilege_user_id(program_user, &uid, err) == -1) {
            return -1;
        }
    } else if (privilege_user_id(STR(NAME), &uid, &ignored) == -1) {
        uid = PRIVILEGE_PROGRAM;
    }
    *ids = (struct privilege_ids){ uid, privilege_names_group_of(uid) };
    return 0;
}

int
privilege_program(struct str program_user, struct privilege_ids *ids,
                  struct errmsg *err)
{
    if (geteuid() == 0) {
        return find(program_user, ids, err);
    }
    *ids = (struct privilege_ids){ geteuid(), getegid() };
    return 0;
}

int
privilege_check_program(struct str program_user, struct str user,
                        struct errmsg *err)
{
    struct privilege_ids ids;
    uid_t own = 0;

    if (find(program_user, &ids, err) == -1) {
        return -1;
    }
    if (ids.uid == 0) {
        return errmsg_set(err, "program_user is root");
    }
    if (ids.gid == 0) {
        return errmsg_set(err, "program_user has the group of root");
    }
    user = privilege_user(user);
    if (user.len > 0 && privilege_user_id(user, &own, err) == -1) {
        return -1;
    }
    return user.len > 0 && own == ids.uid
               ? errmsg_set(err,
                            "programs would be user %u, as workers and roles "
                            "are: program_user has to be another than user",
                            (unsigned)own)
               : 0;
}

void
privilege_tell_program(struct str program_user)
{
    struct privilege_ids ids;
    struct errmsg err;

    if (geteuid() == 0 && find(program_user, &ids, &err) == 0) {
        log_notice("programs of roles run as user %u: root has started weir%s",
                   (unsigned)ids.uid,
                   program_user.len > 0 ? "" : ", and program_user is not set");
    }
}

/* ---- capabilities ---- */

int
privilege_capabilities(uint32_t set)
{
    struct __user_cap_header_struct head = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
        { set, set, 0 },
    };

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 &&
        errno != EINVAL) { /* EINVAL: before Linux 4.3 */
        return -1;
    }
    return (int)syscall(SYS_capset, &head, data);
}

int
privilege_keep(const struct privilege_ids *ids, uint32_t set,
               struct errmsg *err)
{
    if (geteuid() != 0) {
        return privilege_capabilities(0) == -1
                   ? errmsg_sys(err, "cannot give up capabilities")
                   : 0;
    }
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    }
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 ||
        setgroups(1, &ids->gid) == -1 ||
        setresgid(ids->gid, ids->gid, ids->gid) == -1 ||
        setresuid(ids->uid, ids->uid, ids->uid) == -1 ||
        prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == -1 ||
        privilege_capabilities(set) == -1) {
        return errmsg_sys(err, "cannot become user %u", (unsigned)ids->uid);
    }
    return 0;
}
