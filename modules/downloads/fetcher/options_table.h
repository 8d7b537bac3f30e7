/*
 * The options that a file of engine options may have, and why others may not
 * stand there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_OPTIONS_TABLE_H
#define MODULES_DOWNLOADS_FETCHER_OPTIONS_TABLE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,      /* true: word; false: off, or nothing */
    OPTION_TEXT,      /* 1 to 1024 bytes */
    OPTION_FORMAT,    /* such a text, one format selector */
    OPTION_NAME,      /* letters, digits and "._+-/:>" */
    OPTION_WHOLE,     /* a number from min to max */
    OPTION_SECONDS,   /* up to a day, with decimals */
    OPTION_BYTES,     /* "50K", "4.2M", 1000 */
    OPTION_TRIES,     /* a number up to 100, or "infinite" */
    OPTION_LIST,      /* JSON: an array, or a text, with commas in between */
    OPTION_LINES,     /* JSON: an array, or a text; a word for each */
    OPTION_HEADERS,   /* JSON: an object of texts; else "NAME:VALUE" */
    OPTION_EXTRACTOR, /* JSON: {"ie": {"key": ["value"]}}; else
                         "ie:key=value" */
    OPTION_COOKIES,   /* a file in the folder of the options */
    OPTION_IGNORED,   /* in a postprocessor: what it says is so anyway */
};

struct option_row {
    const char *api; /* in JSON; NULL: in command lines alone */
    enum option_kind kind;
    const char *word;  /* on the command line: "--limit-rate" */
    const char *off;   /* FLAG: for false; NULL: nothing */
    const char *other; /* other spellings: "-r --rate-limit"; NULL: none */
    int64_t min, max;  /* WHOLE */
    bool secret;
};

/* A postprocessor, which JSON has as an object. */
struct option_processor {
    const char *key;               /* NULL ends the table */
    const char *word;              /* NULL: its members have words alone */
    const struct option_row *rows; /* its members; api NULL ends them */
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const struct option_processor option_processors[];

/* A member of JSON; NULL: there is none of that name. */
const struct option_row *option_find_api(struct str name);
/* A word of a command line, "--limit-rate" or "-r".  *off: it is the row's
 * other word. */
const struct option_row *option_find_word(struct str word, bool *off);
/* Why an option is never taken, NULL if it is merely not on the list.  name:
 * in either form. */
const char *option_refusal(struct str name);
/* The nearest name that is taken, in the form of `name`; NULL: none is near. */
const char *option_nearest(struct str name);

#endif
