/*
 * Lines that an engine writes on a pipe while it downloads.  Nobody believes
 * them: they are bounded in length, and read by the row of its engine.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_LINES_H
#define MODULES_DOWNLOADS_FETCHER_LINES_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_ARGUMENTS 240 /* of an engine; the supervisor has some more */
#define LINE_MAX_BYTES 65536  /* a longer one is dropped */
#define RUN_TEXT_MAX 1025     /* bytes of a message, with its NUL */

/* The state of a run so far; -1: unknown. */
struct run_state {
    int status; /* enum entry_status */
    int64_t percent, speed, eta, fetched, total;
    int64_t items;          /* of the list that the address is */
    char name[256];         /* of the file, in the run's folder */
    char file[256];         /* it is whole; "": not yet */
    char msg[RUN_TEXT_MAX]; /* the last error */
};

/* One line of standard output, or of standard error, without its end.  True:
 * something has changed that clients should hear of. */
typedef bool fetch_on_line(struct run_state *s, struct str line, bool is_error);

void run_state_init(struct run_state *s);

/* ---- cutting ---- */

struct line_reader {
    struct buf part; /* the beginning of a line */
    bool dropping;   /* it is too long */
};

typedef void line_handler(void *arg, struct str line);

void line_reader_init(struct line_reader *r);
void line_reader_clear(struct line_reader *r);
/* Calls on_line for each line that ends in these bytes, without its "\n" or
 * "\r".  Empty ones are not told. */
void line_reader_take(struct line_reader *r, struct str bytes,
                      line_handler *on_line, void *arg);
/* Nothing more comes: a line without an end ends here. */
void line_reader_end(struct line_reader *r, line_handler *on_line, void *arg);

/* ---- texts of engines ---- */

/* Copies an error for clients: no escape sequences, no control characters,
 * valid UTF-8, cut to fit with a NUL.  Paths of weir are cut to their last
 * part. */
void line_clean(char *dst, size_t size, struct str s);
/* Puts a line of standard error into msg if it tells more than what is there:
 * "ERROR: ..." does, a warning never does.  Behind "ERROR:" alone comes its
 * text: yt-dlp writes "ERROR: \r[download] Got error: ...". */
void line_take_error(char *msg, size_t size, struct str line);
/* A number of JSON or of yt-dlp, without what is behind its point; -1: it is
 * none ("NA"), negative, or too large. */
int64_t line_number(struct str text);
/* Copies the last part of a path, if that can be the name of a file of the run:
 * no dot in front, no control characters, under 256 bytes.  False: it cannot,
 * and nothing is changed. */
bool line_file_name(char dst[static 256], struct str path);
/* Sets fetched, total (-1: unknown) and what follows: percent, and eta where
 * the engine has not said it. */
void run_state_count(struct run_state *s, int64_t fetched, int64_t total);

#endif
