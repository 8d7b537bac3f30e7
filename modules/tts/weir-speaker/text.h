/*
 * A text as libespeak-ng may have it.
 *
 * Bytes below 0x20 are commands to the library (0x01 changes the voice, its
 * file, the list of punctuation), and an SSML text can write them as character
 * references: "&#1;".  Both become blanks here.  Each character stays one
 * character, so that the positions of words are those of the client's text.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_TEXT_H
#define MODULES_TTS_WEIR_SPEAKER_TEXT_H

#include "base/str.h"

#include <stdbool.h>

/* A copy that ends with a NUL, for mem_free(); NULL: memory is out. */
char *text_clean(struct str text, bool ssml);

#endif
