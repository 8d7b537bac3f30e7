/*
 * A catalogue from within: what the files of catalogue.h share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_CATALOGUE_IMPL_H
#define MODULES_TTS_CATALOGUE_IMPL_H

#include "catalogue.h"
#include "voice_file.h"

#include "base/pool.h"

struct catalogue_entry {
    struct catalogue_voice voice;
    const struct voice_language *languages; /* in the pool */
    size_t language_count;
};

struct catalogue_variant {
    struct str name;    /* of its file */
    struct str display; /* "female3"; may be empty */
};

struct catalogue {
    struct pool *pool;               /* owned: all that is below */
    struct catalogue_entry *entries; /* sorted by name */
    size_t count;
    struct catalogue_variant *variants; /* sorted by name */
    size_t variant_count;
    bool has_phontab; /* one of the directories has it */
    bool is_full;     /* more were found than it takes */
};

/* Whether a name may be asked for: not too long, UTF-8 without controls, '+'
 * or '/', and no leading '.'. */
bool catalogue_takes_name(struct str name);
/* Whether a blank, '_' and '-', and letters of both cases, are all that
 * differs. */
bool catalogue_is_like(struct str a, struct str b);
/* catalogue_tag.c: the voice of a language tag; NULL: none. */
const struct catalogue_voice *catalogue_find_tag(const struct catalogue *c,
                                                 struct str asked);
/* Empty; catalogue_sort() once all is added. */
struct catalogue *catalogue_new(void);
void catalogue_sort(struct catalogue *c);
/* Adds a file's voice, unless one of that name or no language is there. */
void catalogue_add_voice(struct catalogue *c, struct str file, struct str text);
void catalogue_add_variant(struct catalogue *c, struct str name,
                           struct str text);
/* catalogue_files.c: adds what is below a directory.  -1 with err: it cannot be
 * opened, or has nothing. */
int catalogue_add_directory(struct catalogue *c, struct str path,
                            struct errmsg *err);

#endif
