/*
 * Settings of other servers, for those who come from one: each name with what
 * it is called here, or that weir has no such thing.
 *
 * It is looked at only when a file is wrong: a setting that no row knows, and
 * a text that is not in weir's syntax at all.
 *
 *   others_nginx.c       rows: nginx
 *   others_nginx_http.c  rows: what nginx's HTTP passes on
 *   others_rtmp.c        rows: nginx's RTMP module, and its HTTP-FLV fork
 *   others_srs.c         rows: SRS
 *   others_mediamtx.c    rows: MediaMTX
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_OTHERS_H
#define CONF_OTHERS_H

#include "base/pool.h"
#include "base/str.h"

/* Names that have one answer. */
struct other_row {
    /* With spaces between them; "BLOCK.name": only in a group BLOCK, for
     * names that weir has, too; "begin*": all that begin so. */
    const char *names; /* NULL ends a table */
    const char *here;  /* the setting as weir -K prints it; NULL: none */
    const char *note;  /* what else there is to say, or NULL */
};

struct other_server {
    const char *name;
    const char *page; /* of docs/: both configurations side by side */
    const char *root; /* the only answer below this group; NULL: none is */
    const struct other_row *const *tables; /* NULL-ended */
};

extern const struct other_row other_rows_nginx[], other_rows_nginx_http[],
    other_rows_rtmp[], other_rows_srs[], other_rows_mediamtx[];

/* The answer for a setting that weir does not know, in the pool: "chunk_size
 * of SRS is rtmp.servers.chunk_size here".  root: the outermost group that it
 * stands in, group: the innermost; both are empty at the root.  Empty: no
 * other server has the name. */
struct str others_answer(struct pool *pool, struct str root, struct str group,
                         struct str name);

/* Has another server a setting of that name, for which there is none here? */
bool others_lacking(struct str name);

/* The server whose configuration a text looks like; NULL: none's, or weir's. */
const struct other_server *others_guess(struct str text);

#endif
