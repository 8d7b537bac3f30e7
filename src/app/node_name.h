/*
 * The name of this weir among those on one database (store/lease.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_NODE_NAME_H
#define APP_NODE_NAME_H

#include "app/settings/settings.h"
#include "store/lease.h"

/* "host:/srv/weir/run/weir.pid", or the setting store.node: the same after a
 * restart. dst has LEASE_NODE_MAX + 1 bytes; before the sandbox. */
struct str node_name(const struct settings *s, char *dst);
/* A name that only this weir's pid file has, whose lock the master holds: boot
 * of the kernel, device, inode.  A master that finds the file after this one
 * was killed has the same name; dst as above. */
struct str node_place(const struct settings *s, char *dst);

#endif
