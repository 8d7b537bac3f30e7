/*
 * Data messages of publishers (onCuePoint, onTextData and what they invent), as
 * players of HLS get them.
 *
 * A name and values in AMF0, from strangers: what is too long, or malformed, is
 * left out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_MESSAGE_H
#define MODULES_HLS_MESSAGE_H

#include "hls.h"
#include "rtmp/amf.h"

#define MESSAGE_MAX ((size_t)16 * 1024) /* bytes; longer ones are left out */

struct message {
    struct str name;
    struct amf_reader values;
    uint8_t bytes[MESSAGE_MAX]; /* the others point into it */
};

/* Of so many bytes in m->bytes.  False: they are no message. */
bool message_begin(struct message *m, size_t len);
/* False: it is not kept, or none that is passed on (metadata is not). */
bool message_read(const struct live_cuts *c, const struct live_cut_frame *f,
                  struct message *m);
/* Whether it is a line of text (onTextData) with its text. */
bool message_text(const struct message *m, struct str *text);

/* As a tag of ID3v2.4 with one frame TXXX: the name, and the values as a JSON
 * array.  hls.js and Apple's players hand it to the page. -1: no room. */
#define MESSAGE_SCHEME "https://aomedia.org/emsg/ID3"
int message_id3(const struct message *m, struct buf *out);

#endif
