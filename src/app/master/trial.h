/*
 * Tries to open the log files and addresses of a start or a reload.
 *
 * A file that is right by itself may name a log in a directory that is not
 * there, an address that this host does not have, a port that another program
 * has.  Only trying shows that.  The trial leaves nothing behind, and nothing
 * listens meanwhile.
 *
 *   port_owner.c  who listens on a port that is taken
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_TRIAL_H
#define APP_MASTER_TRIAL_H

#include "app/settings/settings.h"
#include "net/addr.h"

/* Called for an address in use: NULL when the weir that would open it has it
 * already, else its owner ("in use by nginx, pid 12"; in err). */
typedef const char *trial_owner(void *arg, const struct addr_listen *where,
                                struct errmsg *err);

/* 0, or -1 with every mistake, "FILE:LINE: what" a line, in *mistakes (for
 * mem_free()). */
int trial_open(const struct settings *s, trial_owner *owner, void *arg,
               char **mistakes);

/* Only the mistakes outside of the file that modules find (check_there): lines
 * for mem_free(), or NULL. */
char *trial_there(const struct settings *s);

/* An owner function for a process other than the running weir, whose pid is in
 * *(pid_t *) arg, -1 if none runs.  It reads /proc, which may take long. */
const char *trial_ask_system(void *arg, const struct addr_listen *where,
                             struct errmsg *err);

#endif
