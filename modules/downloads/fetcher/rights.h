/*
 * Rights of the fetcher and of its programs, and where these are.
 *
 * Programs have the fetcher's rights (proc/rights.h); weir-supervisor narrows
 * those of an engine to the folder of its run and to the proxy's port.
 *
 * Where root starts weir, programs have a user of their own.  The fetcher makes
 * the folder of a run in one that others cannot enter (DIRECTORY/.weir, 0700),
 * but opens the folder itself to everybody (0777): an engine gets it as a
 * descriptor, calls it ".", and makes files in it, no folders.  So weir's user
 * can move and remove them, and no other user comes near.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_RIGHTS_H
#define MODULES_DOWNLOADS_FETCHER_RIGHTS_H

#include "base/errmsg.h"
#include "base/str.h"
#include "downloads.h"

#include <stdbool.h>

struct rights;

/* The search path of engines, and of programs that are named without one. */
#define FETCH_PATH "/usr/local/bin:/usr/bin:/bin"

/* Of struct role: may(), of struct downloads_root.  Program 0 is
 * weir-supervisor; the folders are the directories of the instances. */
void fetch_rights(const void *root, struct rights *r);
/* Whether the rights differ: the role has to be started again.  The order of
 * the instances does not count. */
bool fetch_rights_changed(const struct settings *before,
                          const struct settings *now);

/* Of struct role: check().  The programs beside weir can be executed. */
int fetch_check(const void *root, struct errmsg *err);

/* Logs a line at notice where engines could pass by the proxy, and so by the
 * rules of egress.  Forks, and waits for that. */
void fetch_rights_tell(void);

/* The absolute path of a program: `named` itself, or where it is in FETCH_PATH.
 * Lives as long as the process, with a NUL.  STR_NONE with err: it is not
 * there, or cannot be executed. */
struct str fetch_program(struct str named, struct errmsg *err);
/* The same of one that weir-supervisor executes: the way to it may be closed to
 * others than root (proc/reach.h). */
struct str fetch_engine_program(struct str named, struct errmsg *err);
/* The same of a program that is installed with weir: "weir-fetch". */
struct str fetch_program_beside(const char *name);

#endif
