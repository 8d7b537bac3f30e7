/*
 * A configuration file with its includes, cut into tokens.
 *
 * weir cuts the files itself, before libconfig sees them.  So it follows
 * @include relative to the including file, refuses text that libconfig 1.5
 * silently misreads, and knows the place of each token. libconfig then gets the
 * tokens, one a line, so that its line numbers are numbers of tokens: token i
 * is line i + 1.
 *
 * Mistakes are gathered here too, each with its token, and reported in the
 * order of the text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_SOURCE_H
#define CONF_SOURCE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/pool.h"
#include "base/str.h"

#define SOURCE_NESTING 64 /* brackets in brackets, at most */

struct token {
    uint32_t file, line;
    uint32_t start, len; /* in the text of the file; len 0: the root */
    bool is_string;
    bool joined;     /* a string right behind another one */
    bool is_include; /* not a token for libconfig */
    bool twice;      /* a key that its group has already */
    bool told;       /* bad was reported with the key's path */
    bool wrong;      /* a value that its row does not take */
    const char *bad; /* fault of the value, NULL: none */
};

struct source_file {
    const char *path; /* lives in the keep pool */
    struct str text;
    uint32_t parent; /* file that includes it; the first has itself */
    dev_t device;    /* with inode: the file itself, under any name */
    ino_t inode;
};

struct mistake {
    size_t at;    /* token */
    size_t order; /* among those of one token */
    const char *text;
};

struct source {
    struct pool *pool; /* owned; holds all of this */
    struct pool *keep; /* borrowed; paths, which outlive this */
    struct source_file *files;
    size_t file_count, file_room;
    size_t bytes;         /* of all files */
    struct token *tokens; /* [0] stands for the root */
    size_t count, room;
    struct mistake *mistakes;
    size_t mistake_count, mistake_room;
    size_t open[SOURCE_NESTING]; /* tokens of brackets not yet closed */
    size_t depth;
    bool broken;  /* cannot be given to libconfig, or was not taken by it */
    size_t fatal; /* the token where that was seen */
};

void source_init(struct source *s, struct pool *keep);
void source_clear(struct source *s);

/* Reads path and the files that it includes.  Notes mistakes, and sets broken
 * when the text cannot be parsed. */
void source_read(struct source *s, const char *path);

/* Cuts file number i, which was read; -1: so wrong that the rest is not worth
 * reading. */
int source_lex(struct source *s, uint32_t i);
/* Reads the file that the @include at a token names, and cuts it; or all that
 * fit a pattern of glob(7), of which there may be none.  One that cannot be
 * read is a mistake, but no reason to stop. */
int source_include(struct source *s, struct str name, size_t at);

size_t source_add(struct source *s, const struct token *t); /* its number */
/* The token's text; quotes included. */
struct str source_text(const struct source *s, size_t token);
/* The line of the token, without blanks at its ends. */
struct str source_line(const struct source *s, size_t token);
/* Copies text of a file for a message: cut to fit, only printable text. */
void source_show(char *dst, size_t size, struct str s);
/* The text for libconfig.  Without strings, a number replaces each string. */
void source_render(const struct source *s, bool strings, struct buf *out);

/* Notes a mistake at a token. */
void source_say(struct source *s, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The last mistake is one of the syntax: the rest cannot be read. */
void source_break(struct source *s);
/* All mistakes, one a line, for mem_free(); NULL if there are none.  Of a file
 * that looks like one of another server: whose, and what broke it alone. */
char *source_report(struct source *s);

#endif
