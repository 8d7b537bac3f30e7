/*
 * The directory of an instance.
 *
 *     DIRECTORY/.weir/NUMBER/   where the run of an entry writes, and only it
 *     DIRECTORY/FOLDER/NAME     a result, moved there by weir
 *
 *   place.c          its life, folders of runs
 *   place_work.c     work for threads, one after the other
 *   place_walk.c     folders beneath it, opened and made
 *   place_move.c     results: the move, removal
 *   place_clear.c    folders of runs: removal, the sweep
 *   place_name.c     names: templates, parts that are safe
 *   place_folders.c  the list of its folders
 *
 * An engine never chooses where a file goes: weir computes its name, makes it
 * safe (one part of a path, at most 200 bytes, no control characters, no dot in
 * front), and moves the file beneath the directory without following a link
 * (openat2, renameat2 with RENAME_NOREPLACE).  A taken name gets " (2)".
 *
 * Users.  .weir is the role's and closed to all others (0700); a folder of a
 * run is open (0777), because programs may have another user and get it as a
 * descriptor (rights.h).  A result has mode 0644 at the end; its owner stays
 * the user of programs.
 *
 * Work that may take long (removal, moves, listing) is done by threads, one
 * after the other.  A result is not flushed to the disk: when the machine
 * breaks down, it may be gone although the store knows it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PLACE_H
#define MODULES_DOWNLOADS_FETCHER_PLACE_H

#include "base/buf.h"
#include "base/errmsg.h"
#include "base/pool.h"
#include "base/str.h"
#include "event/loop.h"

struct task_threads;

#define PLACE_PART_MAX 200         /* bytes of a part of a name */
#define PLACE_PATH_MAX 1024        /* bytes of a folder, or of a name */
#define PLACE_FOLDERS 1000         /* that are listed */
#define PLACE_FOLDERS_KEPT_MS 5000 /* for so long they are not looked for */

struct place;

/* Opens the directory; makes it and .weir where they are missing.  NULL with
 * err. */
struct place *place_new(struct loop *l, struct task_threads *t,
                        struct str directory, struct errmsg *err);
/* Work that a thread is at is done to its end, work that waits is not; no
 * callback of any work is called any more.  It may be called in a callback,
 * and before task_threads_free() or just after it. */
void place_free(struct place **p);

/* ---- runs ---- */

/* Makes the folder of a run, or finds it: a descriptor of it, the caller's.
 * A negative number is of an extraction: its folder has a name of its own, so
 * that no other process finds it.  -1 with err. */
int place_begin(struct place *p, int64_t number, struct errmsg *err);

/* ok: done; else msg says why ("No space left on device"), without a path of
 * weir's own. name: of the result below the folder. */
typedef void place_done(void *arg, bool ok, struct str name, const char *msg,
                        int64_t size);
struct place_work; /* under way; invalid when its callback is called */

struct place_move {    /* texts are borrowed for the call */
    int64_t number;    /* of the run */
    struct str file;   /* in its folder */
    struct str folder; /* beneath the directory */
    struct str wanted; /* the name, without its ending */
};
/* Moves the file to folder/wanted.ENDING, the ending being that of file, and
 * removes the run's folder; makes folders on the way.  Each part of wanted is
 * made safe.  When it fails, the run's folder stays. */
struct place_work *place_take(struct place *p, const struct place_move *m,
                              place_done *done, void *arg);
/* Whether a fetcher that died has moved the run's file already: ok, its name
 * and size.  place_drop() forgets that it was. */
struct place_work *place_find(struct place *p, int64_t number,
                              struct str folder, place_done *done, void *arg);
/* Removes the run's folder with all that is in it; ok when there was none. */
struct place_work *place_drop(struct place *p, int64_t number, place_done *done,
                              void *arg);
/* Removes a result: folder/name beneath the directory; ok when there was
 * none. */
struct place_work *place_remove(struct place *p, struct str folder,
                                struct str name, place_done *done, void *arg);
/* done is not called any more.  The work is done all the same, in its turn.
 * NULL inside is fine. */
void place_forget(struct place_work **w);
/* Removes folders of runs that `known` does not know.  It is called on the
 * loop, soon and before place_free(), but not for runs that this process has
 * begun.  Extractions of processes that live are left alone. */
void place_sweep(struct place *p, bool (*known)(void *arg, int64_t number),
                 void *arg);

/* ---- names ---- */

/* Whether a client may name this folder: relative, no ".." or ".", no part
 * that begins with '.', no control characters, at most PLACE_PATH_MAX bytes.
 * "" is the directory itself.  With `make` it need not be there.  -1 with
 * err. */
int place_check_folder(struct place *p, struct str folder, bool make,
                       struct errmsg *err);

/* Appends one part of a name, made safe: never empty, no '/', and at most
 * PLACE_PART_MAX bytes of whole characters. */
void place_safe_part(struct str s, struct buf *to);

/* A field of a template; absent where the value is empty: "NA". */
struct place_field {
    const char *name;
    struct str value;
};
/* Fills "%(title)s", "%(playlist_index)03d", "%(title).50s" (characters) and
 * "%%" of a template: fields are pairs of name and value, ended by a NULL name.
 * Values are not looked at for further fields, and a '/' in one becomes '_':
 * '/' of the template alone separates.  -1 with err: an unknown field, a bad
 * form, or `to` is full. */
int place_fill(struct str template, const struct place_field *fields,
               struct buf *to, struct errmsg *err);
/* The check of a row: whether a template has the form above, and names the
 * fields title, id, ext, uploader, playlist, playlist_title, playlist_id,
 * playlist_uploader, playlist_index alone.  -1 with err. */
int place_check_template(struct str template, struct errmsg *err);

/* ---- looking ---- */

/* Bytes free for weir's user; -1: unknown. */
int64_t place_free_bytes(const struct place *p);

/* Folders below it as JSON, ["", "sub", "sub/x"], at most PLACE_FOLDERS, in
 * the order of their bytes; hidden ones and those that begin with '@' are left
 * out.  They are those of the last look; place_look() looks again. */
struct str place_folders(const struct place *p);
/* Calls back when place_folders() is at most PLACE_FOLDERS_KEPT_MS old, which
 * can be at once. */
typedef void place_looked(void *arg);
void place_look(struct place *p, place_looked *looked, void *arg);
void place_look_forget(struct place *p, const void *arg);

#endif
