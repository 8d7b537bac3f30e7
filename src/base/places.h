/*
 * Where things are when nobody says: constants that differ between the weir
 * of a source tree, where they stand on the folder it is started in, and the
 * one that "make install" links.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_PLACES_H
#define BASE_PLACES_H

extern const char places_conf[];     /* the configuration */
extern const char places_pid[];      /* the pid file */
extern const char places_control[];  /* the control socket */
extern const char places_database[]; /* of SQLite */

#endif
