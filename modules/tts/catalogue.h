/*
 * The voices of data directories: their names, languages and variants.
 *
 * A voice is a file below lang/ or voices/, a variant one below voices/!v.
 * A voice's name is the last part of its file's path ("en-US" of
 * "gmw/en-US").  Requests may also give a language tag or the display name, in
 * any case.  MBROLA voices (mb/) are left out: they need a program that is
 * not free.
 *
 * The files are read once; a catalogue never changes.  Each is read whole, 16
 * KB at most, as text that may have been written to hurt.  No link below a
 * directory is followed.
 *
 *   catalogue.c        voices and variants, found by what a client asks
 *   catalogue_tag.c    voices by language tag
 *   catalogue_files.c  the files below a directory
 *   catalogue_near.c   names that are near
 *   catalogue_json.c   the answer of GET /voices
 *   voice_file.[ch]    the lines of one file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_CATALOGUE_H
#define MODULES_TTS_CATALOGUE_H

#include "base/buf.h"
#include "base/errmsg.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define CATALOGUE_VOICES 1024  /* at most; more are left out, with a warning */
#define CATALOGUE_VARIANTS 512 /* the same */

struct catalogue_voice {
    struct str name;     /* "en-US" */
    struct str file;     /* "gmw/en-US" */
    struct str display;  /* "English (America)" */
    struct str language; /* of the best priority: "en-us" */
};

struct catalogue;

/* The system's directory espeak-ng-data, wherever the machine's kind of
 * Debian has it; "" if there is none. */
const char *catalogue_system_directory(void);
/* Whether a directory has anything of use: espeak-ng-data/, or itself phontab,
 * lang/ or voices/.  -1 with err, which names the path. */
int catalogue_check_directory(struct str path, struct errmsg *err);
/* The directories in the order in which they win; the system's comes last, and
 * need not be among them.  NULL with err: one of them has nothing of use, or
 * all together have no voice, or no phontab. */
struct catalogue *catalogue_read(const struct str *directories, size_t count,
                                 struct errmsg *err);
void catalogue_free(struct catalogue **c);

/* A voice by name, file, display name or language tag, in this order; in any
 * case, '_' for '-' or a blank.  Of several with a tag the one that says the
 * lowest priority number speaks, of these the first by name; where no voice has
 * "de-DE", the language alone counts.  NULL: none. */
const struct catalogue_voice *catalogue_find(const struct catalogue *c,
                                             struct str asked);
/* A variant by its name: the name as its file has it, or STR_NONE.  Exact case
 * first, any case then, then the display name ("female3" is f3). */
struct str catalogue_variant(const struct catalogue *c, struct str asked);
/* Variant by index: 0 is no variant, an empty text; 1.. the names sorted.
 * Beyond them there is none: a text whose ptr is NULL. */
struct str catalogue_variant_at(const struct catalogue *c, int64_t index);
size_t catalogue_variants(const struct catalogue *c);
size_t catalogue_voices(const struct catalogue *c);
const struct catalogue_voice *catalogue_voice_at(const struct catalogue *c,
                                                 size_t i);
/* Up to three names that are near, as `"en-US", "en-GB"`; empty: none. */
void catalogue_nearest(const struct catalogue *c, struct str asked,
                       struct buf *out);
void catalogue_nearest_variant(const struct catalogue *c, struct str asked,
                               struct buf *out);

/* The answer of GET /voices: an object by voice name, each with name,
 * sample_rate (in Hz), and what clients of Piper look for.  -1: the buffer's
 * limit was met, its bytes are of no use. */
int catalogue_json(const struct catalogue *c, unsigned sample_rate,
                   struct buf *out);

#endif
