/*
 * A voice file of espeak-ng, as far as a list of voices needs it: its name,
 * its languages, whether it is for MBROLA.
 *
 * Its lines are an attribute and its value.  A line that begins with '#' is a
 * comment, as is all behind "//".  The file's other attributes are for the
 * library, which reads them itself.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_VOICE_FILE_H
#define MODULES_TTS_VOICE_FILE_H

#include "base/str.h"

#include <stdbool.h>

#define VOICE_LANGUAGES 16  /* of a file; what is beyond them is not read */
#define VOICE_PRIORITY 5    /* of a language that comes without one */
#define VOICE_LINE_MAX 4096 /* bytes; what is beyond them is not read */

struct voice_language {
    struct str tag; /* "en-us": letters, digits, '-' and '_' */
    int priority;   /* 0 .. 127: the lowest is the best */
};

struct voice_facts {
    struct str display; /* "English (America)", UTF-8; empty: none */
    struct voice_language languages[VOICE_LANGUAGES];
    size_t language_count; /* 0: it is no voice */
    bool mbrola;           /* needs a program that weir has not */
};

/* Reads a file's text, into which the texts of out point. */
void voice_file_read(struct str text, struct voice_facts *out);

#endif
