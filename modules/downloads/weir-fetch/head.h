/*
 * The head of an answer, as far as a download asks for it, and names of files.
 *
 * It comes line by line, in any order, from somebody who may be hostile: what
 * makes no sense is as if it were not there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_WEIR_FETCH_HEAD_H
#define MODULES_DOWNLOADS_WEIR_FETCH_HEAD_H

#include "base/str.h"
#include "net/sha256.h"

#include <stdbool.h>
#include <stdint.h>

#define HEAD_TEXT 256 /* bytes of a text with its NUL; a longer one is none */
#define HEAD_ENDING 16

struct head {
    int status;                 /* of HTTP; 0: no answer yet */
    int64_t length;             /* Content-Length; -1: unknown */
    int64_t first, last, total; /* Content-Range; -1: unknown */
    char type[HEAD_TEXT];       /* Content-Type, lower case, no parameters */
    char name[HEAD_TEXT];       /* of Content-Disposition; no path, no control
                                   characters, UTF-8 */
    char etag[HEAD_TEXT];       /* a strong one, with its quotes */
    char modified[HEAD_TEXT];   /* Last-Modified, as it was written */
    bool moved;                 /* it has a Location */
    /* Of the whole file.  Content-MD5 and Content-Digest are of what this
     * answer sends: those of a part are left out by head_is_whole(). */
    bool has_sha256, has_md5;
    bool of_content; /* they are Content-MD5's or Content-Digest's */
    uint8_t sha256[DIGEST_SHA256], md5[DIGEST_MD5];
};

/* Takes the next line, without its end.  A status line begins another head,
 * because a redirect has one of its own. */
void head_line(struct head *h, struct str line);

/* Whether a digest of this answer is that of the file: a part of it has one
 * that counts only if it is of the whole. */
bool head_digests_file(const struct head *h);

/* The name of the file, in UTF-8 and safe to show: that of the head, or the
 * last part of the address's path, decoded; "" if there is none. */
void head_name(const struct head *h, struct str url, char out[HEAD_TEXT]);

/* The ending of a file, without its dot, letters and digits alone: that of the
 * name unless it says what a server ran ("php"), else the type's, else
 * "bin". */
void head_ending(const struct head *h, const char *name, char out[HEAD_ENDING]);
/* Takes the ending, if it is one, off the name. */
void head_cut_ending(char name[HEAD_TEXT]);

/* Whether this is a page, a feed or a list of parts: not a file to keep. */
bool head_is_page(const struct head *h);

#endif
