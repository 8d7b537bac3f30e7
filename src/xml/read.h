/*
 * Reading an XML document (XML 1.0, namespaces in XML 1.0) into a tree,
 * through libxml2.
 *
 * Strict and closed: one whole document in UTF-8 and nothing behind it.  There
 * are no document types: a DOCTYPE is an error, so nothing can be declared.
 * The only entities are the five that are built in.  The reader opens no file
 * and no connection.  It leaves out comments and processing instructions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef XML_READ_H
#define XML_READ_H

#include "base/errmsg.h"
#include "base/pool.h"

#define XML_READ_DEPTH 16           /* elements in one another, at most */
#define XML_READ_NODES 4096         /* elements and attributes of a document */
#define XML_READ_ATTRIBUTES 32      /* of one element */
#define XML_READ_TAG ((size_t)8192) /* bytes of one start tag */

struct xml_attribute {
    struct str name;  /* without its prefix */
    struct str space; /* its namespace; empty: none */
    struct str value; /* decoded */
    struct xml_attribute *next;
};

struct xml_element {
    struct str name;  /* without its prefix */
    struct str space; /* its namespace; empty: none */
    /* All character data directly in it, decoded, joined in order; that of
     * its children is theirs. */
    struct str text;
    int line;                         /* where its start tag ends, from 1 */
    struct xml_attribute *attributes; /* NULL: none; no xmlns among them */
    struct xml_element *first,
        *last;                /* elements in it, NULL if there are none */
    struct xml_element *next; /* beside it */
};

/* To be called once before a process enters its sandbox. */
void xml_init(void);

/* A text that is read piece by piece, as the body of a request is
 * (http_feed.piece).  The tree and the reader lie in the pool. */
struct xml_reader;
struct xml_reader *xml_reader_new(struct pool *pool);
/* Returns how many bytes were taken: what may go on behind the piece waits for
 * the next one; of the last one all are taken. */
size_t xml_reader_feed(struct xml_reader *r, struct str piece, bool last);
/* As xml_read(), once all was fed. */
const struct xml_element *xml_reader_end(struct xml_reader *r,
                                         struct errmsg *err);

/* The root element of text; all of it lies in the pool.  Callers bound the
 * text's size first: time and memory are linear in it.  NULL with err, which
 * says the line. */
const struct xml_element *xml_read(struct pool *pool, struct str text,
                                   struct errmsg *err);

/* The first child of that name in the namespace of e itself; NULL: none. */
const struct xml_element *xml_child(const struct xml_element *e,
                                    const char *name);
/* The attribute of that name; space "" means without a namespace. */
const struct xml_attribute *xml_attribute_of(const struct xml_element *e,
                                             const char *space,
                                             const char *name);
/* Nothing but white space (XML 1.0, 2.3). */
bool xml_blank(struct str text);

#endif
