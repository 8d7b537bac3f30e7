/*
 * The default paths.  The weir of a source tree has paths in the folder that it
 * is started in; the weir that "make install" links has those of the system.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_PLACES_H
#define BASE_PLACES_H

extern const char places_conf[];     /* the configuration */
extern const char places_pid[];      /* the pid file */
extern const char places_control[];  /* the control socket */
extern const char places_database[]; /* of SQLite */
extern const char places_programs[]; /* the folder of programs that weir starts;
                                        "": that of weir itself */

#endif
