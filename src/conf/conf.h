/*
 * The configuration file: libconfig syntax, read through rows.
 *
 * One struct conf_key row says all about a setting: its type, bounds and
 * default (checked here), whether a reload may change it, and its text in the
 * manual (printed by "weir -K", compared with weir.conf(5) in make check).
 * conf_load() reads a file, reports EVERY mistake with file and line, and
 * fills the caller's settings structs with all defaults in place.
 * Texts may take values from the environment and from files (conf/expand.h).
 *
 * It knows no other folder: rows that need more checks (an address, an access
 * rule) bring a function.
 *
 *   print.c  weir -T and weir -K
 *   same.c   what a reload cannot change
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "base/str.h"

#include <stdio.h>

enum conf_type {
    CONF_STRING,   /* struct str, NUL terminated; one of words if it has some */
    CONF_INT,      /* int64_t; or one of words: -1, -2, ... in their order */
    CONF_BOOL,     /* bool */
    CONF_TIME,     /* int64_t ms; "10s", unit needed: ms s m h d; "0" needs
                      none; words as in CONF_INT */
    CONF_SIZE,     /* int64_t bytes; "16M": k m g, any case; or plain bytes;
                      words as in CONF_INT */
    CONF_DECIMAL,  /* int64_t millionths; 1.5, 2; bounds in millionths; words as
                      in CONF_INT */
    CONF_ENUM,     /* int: position in words; true and false may be two */
    CONF_STRINGS,  /* struct conf_strings; "x", [ "x" ] and ( "x" ) */
    CONF_GROUP,    /* the embedded struct of keys */
    CONF_GROUPS,   /* struct conf_groups of structs of size */
    CONF_WHERE,    /* struct conf_where of the group it stands in; no key */
    CONF_EXTRA,    /* struct conf_extra: keys chosen by another key; no key */
    CONF_PARTS,    /* struct conf_parts: keys that others add; no key */
    CONF_INSTANCE, /* struct conf_instance; the name of an item of a list */
};

enum conf_change {
    CONF_RELOAD,  /* takes effect at SIGHUP */
    CONF_RESTART, /* a reload that changes it is refused */
};

struct conf_where {
    const char *file; /* the path it was opened by */
    int line;         /* of the group's opening */
};

struct conf_strings {
    struct str *items;
    size_t count;
};

struct conf_groups {
    void *items; /* count structs, each size bytes (the row's size) */
    size_t count;
};

/* The settings of the thing that a group names, for example its module. */
struct conf_extra {
    struct str name;  /* value of the key that chooses; empty: none given */
    const void *what; /* `what` of the choice, NULL if not given */
    void *settings;   /* filled by the keys of the choice, or NULL */
};

struct conf_choice {
    const void *what;            /* stored in struct conf_extra */
    const struct conf_key *keys; /* its rows */
    size_t size;                 /* of its settings struct */
};

/* Rows that modules add to a group. */
struct conf_part {
    const struct conf_key *keys; /* NULL: none */
    size_t size;                 /* of the struct that they fill */
};

/* The settings that these rows filled. */
struct conf_parts {
    void **settings; /* of part i; NULL where it has no rows */
    size_t count;
};

/* One item of a list at the root, chosen by its name. */
struct conf_instance {
    struct str name;      /* empty: the list is empty, as it may be */
    const void *settings; /* the item; NULL: none */
};

struct conf_key {
    const char *name; /* NULL ends a table */
    enum conf_type type;
    size_t offset; /* of the field in the settings struct */
    /* Bounds of INT, TIME (ms), SIZE and DECIMAL, of the bytes of a STRING, of
     * the count of STRINGS and GROUPS.  No upper one unless max > min. */
    int64_t min, max;
    bool or_zero; /* INT, TIME, SIZE, DECIMAL: 0 is allowed below min */
    /* Default, as the text in the file without quotes; NULL: required.
     * STRINGS: the items with commas between them.  GROUP: "", for its own
     * defaults.  GROUPS: "", for none.  It is not passed to check(). */
    const char *preset;
    enum conf_change change;
    bool secret;      /* shown as "***" by -T and in messages; not from a
                         file that everybody can read */
    bool dollars;     /* STRING, STRINGS: "$" has a meaning of its own in it,
                         "$$" is left to it (conf/expand.h) */
    const char *help; /* one or two sentences for the manual */
    const char *const *words; /* NULL-ended, for INT, TIME, SIZE, DECIMAL, ENUM,
                                 STRING */

    const struct conf_key *keys; /* GROUP, GROUPS: rows of one */
    size_t size;                 /* GROUP, GROUPS: sizeof its struct */
    const char *shorthand; /* GROUPS: "x" stands for { shorthand = "x"; } */
    bool named; /* GROUPS: no two items have the same "name", a row of keys
                   that is a STRING */
    /* INSTANCE: the row at the root of the named list to which the item
     * belongs.  Without the key it is the only item.  With preset "" the list
     * may be empty. */
    const char *of;

    /* STRING with a preset: the value of this variable of the environment
     * stands for an absent key, if it is set, not empty, and one that the key
     * takes.  It never is a mistake: a file that is wrong with variables is
     * read without them. */
    const char *variable;
    /* STRING without a preset: what the group, all else of which is filled,
     * says for an absent key; empty: the key is missing. */
    struct str (*otherwise)(const void *group);

    /* STRING, STRINGS: checks one string: 0, or -1 with err, whose text is put
     * behind the key's path.  An empty string that is the preset means
     * "nothing" and is not checked. */
    int (*check)(struct str value, struct errmsg *err);
    /* GROUP, GROUPS: looks at a filled struct as a whole; 0 or -1. */
    int (*check_group)(const void *settings, struct errmsg *err);
    /* GROUPS: checks item i of the list against those before it (which may be
     * wrong themselves); mistakes are reported at item i. 0 or -1. */
    int (*check_among)(const struct conf_groups *all, size_t i,
                       struct errmsg *err);
    /* EXTRA: this row's name is the key whose value chooses ("module"); the
     * key may have a row of its own too, of type STRING or ENUM.
     * Returns 0 and fills *choice, or -1 with err (unknown name: say the
     * nearest).  The key's absence is no mistake here. */
    int (*choose)(struct str value, struct conf_choice *choice,
                  struct errmsg *err);
    /* EXTRA: the key that stands in this one's place; a group may not have
     * both. */
    const char *instead;
    /* PARTS: what is added, one by one and always the same; false behind the
     * last.  Rows of parts are of other types than EXTRA and PARTS. */
    bool (*part)(size_t i, struct conf_part *part);
};

#define CONF_END     \
    {                \
        .name = NULL \
    }

struct conf; /* one loaded file with its includes */

/* Reads path into settings of size bytes laid out by keys.  NULL after
 * printing every mistake, one "FILE:LINE: what" a line, into *mistakes (a
 * string the caller frees with mem_free). */
struct conf *conf_load(const char *path, const struct conf_key *keys,
                       size_t size, char **mistakes);
void conf_free(struct conf **c);
const void *conf_settings(const struct conf *c);

/* From now on a file of that name is not opened: it has this text, of which a
 * copy is kept.  For one name, "(-x)", in a process; an empty text ends it. */
void conf_builtin(const char *name, struct str text);

/* Reads one string of a file by its path ("control.socket") and ignores the
 * rest. *value, for mem_free(), is NULL when the file has none. -1 with
 * *mistakes, as conf_load() has them: the file cannot be read, or its syntax is
 * wrong. */
int conf_peek(const char *path, const char *key, char **value, char **mistakes);
struct pool *conf_pool(const struct conf *c); /* lives as long as c */

/* The settings marked CONF_RESTART in which b differs from a, one a line:
 * "live.memory (from 512M to 16M)" (secrets masked), for mem_free().  0 when
 * there is none (then *differences is NULL), else -1. */
int conf_same_start(const struct conf *a, const struct conf *b,
                    char **differences);

/* weir -T: the settings in force, with defaults filled in and secrets masked;
 * conf_load() can read the output again. */
void conf_print(const struct conf *c, FILE *out);
/* The same without settings that have their default. */
void conf_print_changed(const struct conf *c, FILE *out);
/* weir -K: a line for every key, prefix.key first. */
void conf_print_keys(const struct conf_key *keys, const char *prefix,
                     FILE *out);

/* One value outside a file (also for tests). */
int conf_parse_time(struct str s, int64_t *ms, struct errmsg *err);
int conf_parse_size(struct str s, int64_t *bytes, struct errmsg *err);

#endif
