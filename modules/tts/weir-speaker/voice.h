/*
 * A voice with its variant, flutter and roughness, as one file in memory.
 *
 * libespeak-ng has no parameter for the variability of a voice: flutter and
 * roughness are lines of voice files.  So a file is composed: the lines of the
 * voice, those of its variant, and ours.  A variant forgets what the voice has
 * said about its tone, so these lines are left out; the result sounds as if the
 * library had loaded one after the other.
 *
 * A voice that an SSML text changes to has the library's own variability.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_VOICE_H
#define MODULES_TTS_WEIR_SPEAKER_VOICE_H

#include "base/buf.h"
#include "base/errmsg.h"

#define VOICE_FILE_MAX ((size_t)16384) /* bytes of a file of a voice */

/* Loads a voice: its file below lang/ or voices/, a variant's below voices/!v
 * or none, and a noise_scale in millionths (-1: the files' own).  0; or with
 * err 404, a file is gone, or 500, one cannot be read or is too long. */
int voice_load(struct str file, struct str variant, int64_t noise_scale,
               struct errmsg *err);

/* The composed file.  A variant of STR_NONE is none. */
void voice_compose(struct str voice, struct str variant, int64_t noise_scale,
                   struct buf *out);

#endif
