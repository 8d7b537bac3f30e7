/*
 * The formats in which articles and authors are read and written.
 *
 * A format is one struct article_format and knows nothing of requests, the
 * store or settings.  Accept chooses the format of an answer, Content-Type
 * tells that of a body.
 *
 *   format_json.c  JSON
 *   format_xml.c   XML
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_FORMAT_H
#define MODULES_ARTICLES_FORMAT_H

#include "base/buf.h"
#include "base/errmsg.h"
#include "base/pool.h"
#include "http/accept.h"

/* ---- writing ---- */

/* Texts are UTF-8 without U+0000; times are seconds since 1970, written by
 * article_time_write(). */
struct author {
    int64_t id;
    struct str name; /* may be empty */
    int64_t created_at, updated_at;
};

struct article {
    int64_t id;
    struct str title, content;
    struct author author;
    int64_t created_at, updated_at;
};

/* The envelope of the data where the layer has envelope = true: an item's is {
 * data, links: { self } }, a list's { data: [], links: { self, next } }. */
struct article_links {
    struct str self; /* "/api/articles?num=2", as it may stand in a URL */
    struct str next; /* of a list: empty on the last page */
};

/* An error: message, and the members of RFC 9457 (type "about:blank", title:
 * http_status_text(), status, detail). */
struct article_error {
    int status;
    struct str message; /* "your requested Item is not found" */
    struct str detail;  /* details, for people */
};

/* ---- reading ---- */

enum article_given {
    GIVEN_NOT,
    GIVEN_NULL,
    GIVEN_WRONG, /* of another type than it has to be */
    GIVEN_VALUE,
};

struct article_text {
    enum article_given given;
    struct str text; /* valid UTF-8 (U+0000 too, which is refused later); in
                        the pool */
};

struct article_number {
    enum article_given given; /* GIVEN_WRONG as well: no whole number of 64
                                 bits */
    int64_t n;
};

/* The members of a body that count; all others are ignored. */
struct article_input {
    struct article_text title, content;
    struct article_text created_at, updated_at; /* not checked yet */
    enum article_given author; /* GIVEN_VALUE: the next two are filled */
    struct article_number author_id;
    struct article_text author_name;
};

enum article_read {
    ARTICLE_READ,
    ARTICLE_BROKEN, /* cannot be parsed: 422 */
    ARTICLE_WRONG,  /* no article (a list, a string): 400 */
};

/* ---- a format ---- */

/* Writers append to out: 0, or -1 when out is full.  links is NULL where
 * there is no envelope. */
struct article_format {
    const char *name;         /* "json" */
    const char *type;         /* "application/json": of bodies */
    const char *suffix;       /* "+json": such types are this format too */
    const char *content_type; /* of answers, with its charset */
    const char *problem_type; /* "application/problem+json" */
    const char *patch_type;   /* another type that PATCH takes; NULL: none */

    int (*write_article)(struct buf *out, const struct article *a,
                         const struct article_links *links);
    int (*write_articles)(struct buf *out, const struct article *a,
                          size_t count, const struct article_links *links);
    int (*write_author)(struct buf *out, const struct author *a,
                        const struct article_links *links);
    int (*write_authors)(struct buf *out, const struct author *a, size_t count,
                         const struct article_links *links);
    int (*write_error)(struct buf *out, const struct article_error *e);

    /* A body that comes piece by piece: a reader, in the pool; its pieces, as
     * http_feed.piece; and what is in it, once all of it was fed.  *in is
     * zeroed by the caller; texts are put in the pool.  err has the reason
     * unless ARTICLE_READ. */
    void *(*begin)(struct pool *pool);
    size_t (*feed)(void *reader, struct str piece, bool last);
    enum article_read (*read)(struct pool *pool, void *reader,
                              struct article_input *in, struct errmsg *err);
};

/* format_json.c */
extern const struct article_format article_format_json;
/* format_xml.c: the same, called application/xml and text/xml. */
extern const struct article_format article_format_xml;
extern const struct article_format article_format_text_xml;

/* All of them, in the order of preference; the two tables go together: place
 * n of the one is place n of the other. */
extern const struct article_format *const article_formats[]; /* NULL ends */
extern const struct http_format article_accepts[];

/* Reads a body that is there whole. */
enum article_read article_read(const struct article_format *f,
                               struct pool *pool, struct str body,
                               struct article_input *in, struct errmsg *err);
/* By a Content-Type, parameters and case ignored; empty: JSON.  patch: types
 * that only PATCH takes, too.  NULL: none of ours. */
const struct article_format *article_format_of_body(struct str content_type,
                                                    bool patch);
/* "application/json, application/xml": for Accept-Post and messages. */
struct str article_types(struct pool *pool, bool patch);

/* ---- times ---- */

#define ARTICLE_TIME_TEXT 21
/* "2026-01-02T03:04:05Z" of a time of the years 1 to 9999; else the first or
 * the last second of these. */
struct str article_time_write(char dst[ARTICLE_TIME_TEXT], int64_t s);
/* RFC 3339, with any offset; fractions of a second are dropped.  False: it is
 * no time, or not of those years. */
bool article_time_read(struct str text, int64_t *s);

#endif
