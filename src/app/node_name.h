/*
 * Which of the weirs on one database this one is (store/lease.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_NODE_NAME_H
#define APP_NODE_NAME_H

#include "app/settings/settings.h"
#include "store/lease.h"

/* "host:/srv/weir/run/weir.pid", or what store.node says: the same after a
 * restart.  dst has LEASE_NODE_MAX + 1 bytes; before the sandbox. */
struct str node_name(const struct settings *s, char *dst);
/* The pid file, whose lock the master holds, as no other file on any host is
 * called: boot of the kernel, device, inode.  The same after the master was
 * killed and another one found the file; dst as above. */
struct str node_place(const struct settings *s, char *dst);

#endif
