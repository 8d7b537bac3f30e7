/*
 * Life and death of processes: fork with a slot, the life pipe, titles,
 * privileges.
 *
 *   pidfile.c            the pid file
 *   privilege.c          giving root away
 *   privilege_names.c    what the name service said (privilege_names.h)
 *   privilege_program.c  the user of programs, what their starter keeps
 *   title.c              process titles
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_LIFE_H
#define PROC_LIFE_H

#include "base/str.h"
#include "event/loop.h"

#include <stdint.h>
#include <sys/types.h>

/* The master alone holds the write end of the life pipe: end of file means that
 * the master is gone. */
int life_create(struct errmsg *err); /* master, before any fork */
void life_destroy(void);
/* The end that children have; it is readable when the master is gone.  -1:
 * there is none. */
int life_descriptor(void);
/* Child, after fork (and after the privilege drop, which clears PDEATHSIG):
 * calls on_master_gone once, also when the master ended before this call.  The
 * kernel then sends SIGQUIT too: catch it before. */
int life_watch(struct loop *l, void (*on_master_gone)(void *arg), void *arg,
               struct errmsg *err);

/* "weir: worker 0" in ps; title_init() must be given main's argv first. */
void title_init(int argc, char **argv);
void title_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The user that children become: `user` of the settings when it is set.  When
 * it is not set and root has started weir, it is "weir" if there is such a
 * user, else "nobody", and does not change while the process and its children
 * live.  Empty: children keep the user that they have. */
struct str privilege_user(struct str user);
/* Logs the user of privilege_user(): at level notice when weir chose it, at
 * level warn when it is root. */
void privilege_tell(struct str user);
/* Becomes privilege_user(user) (with its groups, or with group) for good, and
 * gives up new privileges; verifies that root cannot come back.  Does not
 * change a user or group that is right already. */
int privilege_drop(struct str user, struct str group, struct errmsg *err);
/* Numbers of a user and a group. */
struct privilege_ids {
    uid_t uid;
    gid_t gid;
};
/* The user and group that privilege_drop() makes those of this process. */
int privilege_ids(struct str user, struct str group, struct privilege_ids *ids,
                  struct errmsg *err);
/* The user of the programs of roles (proc/starter.h): program_user of the
 * settings, a name or a number, with its own group alone.  When that is empty:
 * "weir-program" if there is such a user, else user and group
 * PRIVILEGE_PROGRAM.  A weir that root has not started keeps its own numbers.
 */
#define PRIVILEGE_PROGRAM 65533
int privilege_program(struct str program_user, struct privilege_ids *ids,
                      struct errmsg *err);
/* Logs that user at level notice, if root starts weir. */
void privilege_tell_program(struct str program_user);
/* Checks, if root starts weir, that programs are neither root nor of the user
 * of the children. */
int privilege_check_program(struct str program_user, struct str user,
                            struct errmsg *err);

/* Capabilities, by the kernel's numbers. */
enum { PRIVILEGE_KILL = 5, PRIVILEGE_SETGID = 6, PRIVILEGE_SETUID = 7 };
/* The process has those of the set (bits of such numbers) alone from now on, at
 * most those that it had.  -1 with errno. */
int privilege_capabilities(uint32_t set);
/* Becomes *ids for good, in that group alone, and keeps that set of root's
 * rights.  A process that is not root's keeps its user, and no rights. */
int privilege_keep(const struct privilege_ids *ids, uint32_t set,
                   struct errmsg *err);
/* The user of this process for messages: "user \"nobody\"", or its number.
 * Static, until the next call; errno stays. */
const char *privilege_who(void);
/* Whether there is such a user / group: 0, or -1 with err. */
int privilege_find_user(struct str user, struct errmsg *err);
int privilege_find_group(struct str group, struct errmsg *err);

/* The number of a user or group, given by name or as a number. */
int privilege_user_id(struct str user, uid_t *id, struct errmsg *err);
int privilege_group_id(struct str group, gid_t *id, struct errmsg *err);

/* Forks.  The child gives up writing to the master's memory, closes all
 * descriptors except those of the list (proc/descriptors.h) and the count ones
 * in own, resets signals (SIGPIPE stays ignored), sets the slot, listens for
 * last words and leaves the terminal's process group.  Returns as fork(). */
pid_t life_fork(uint32_t slot, const int *own, size_t count);

/* Pid file: created with a lock that lives as long as the process (not its
 * children: after daemonise()); -1 with err when another weir holds it ("is
 * running as pid 123"). */
int pidfile_create(const char *path, struct errmsg *err);
void pidfile_remove(void);
/* Pid of the weir that holds path; -1 with err. */
pid_t pidfile_read(const char *path, struct errmsg *err);

int daemonise(struct errmsg *err); /* fork, setsid, / as cwd, stdio to null */

#endif
