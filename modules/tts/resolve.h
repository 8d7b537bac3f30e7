/*
 * From the voice that a client names to files of the catalogue.
 *
 * `voice` may be NAME+VARIANT, or +VARIANT of the default; `speaker` beside it
 * wins, `speaker_id` wins over both, and 0 is no variant.  The instance has
 * those that are left out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_RESOLVE_H
#define MODULES_TTS_RESOLVE_H

#include "catalogue.h"
#include "request.h"

struct resolve_defaults {
    struct str voice, speaker; /* of the instance */
    bool lenient;              /* a voice that is not there is the default */
};

struct resolved {
    struct str file;    /* of the voice; the catalogue's */
    struct str variant; /* file of the variant, or empty; the catalogue's */
    char name[2 * SPEECH_FILE_MAX + 2]; /* "en-US", "en-US+f3" */
};

/* Fills *out.  -1 with no: its status (404, 400, 503), field and message, whose
 * text lies in err. */
int resolve_voice(const struct catalogue *c, const struct resolve_defaults *d,
                  const struct speech_request *asked, struct resolved *out,
                  struct speech_answer *no, struct errmsg *err);

#endif
