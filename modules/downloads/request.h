/*
 * The bodies of POST add, delete and start, and their bytes on the way from a
 * worker to the fetcher (request_wire.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_REQUEST_H
#define MODULES_DOWNLOADS_REQUEST_H

#include "base/buf.h"
#include "base/errmsg.h"
#include "base/pool.h"
#include "downloads.h"
#include "net/share.h"

struct json_reader; /* json/read.h */

#define DOWNLOAD_URL_MAX 8192      /* bytes */
#define DOWNLOAD_WORD_MAX 512      /* bytes of quality, format, prefix */
#define DOWNLOAD_FOLDER_MAX 1024   /* bytes of folder */
#define DOWNLOAD_IDS_MAX 10000     /* of a request */
#define DOWNLOAD_LIMIT_MAX 1000000 /* of playlist_item_limit */

struct download_wish {          /* POST add; texts are borrowed */
    struct tally_holder client; /* not packed: it comes before the wish */
    struct str instance;
    struct str url;
    struct str quality; /* "best", "1080" */
    struct str format;  /* "any" */
    struct str folder;  /* "": the directory itself */
    struct str prefix;  /* custom_name_prefix; "": none */
    int strict;         /* playlist_strict_mode; -1: as weir.conf says */
    int64_t limit;      /* playlist_item_limit; -1: as weir.conf says */
    bool auto_start;
};

struct download_ids { /* POST delete, start */
    struct str instance;
    bool done;             /* where = "done"; else "queue" */
    const struct str *ids; /* as the client said them */
    size_t count;
};

void download_wish_defaults(struct download_wish *out);
/* Whether its texts keep the rules.  -1 with err, which names the field and
 * what is allowed. */
int download_wish_check(const struct download_wish *w, struct errmsg *err);
/* Of a body that was fed.  Texts lie in the pool of its reader, instance is
 * empty.  in_texts: a number may stand in a string, as MeTube's web
 * client sends it.  -1 with err, which names the field and what is allowed. */
int download_wish_parse(struct json_reader *body, bool in_texts,
                        struct download_wish *out, struct errmsg *err);
/* with_where: a delete. */
int download_ids_parse(struct pool *p, struct json_reader *body,
                       bool with_where, struct download_ids *out,
                       struct errmsg *err);

/* A client stands before the bytes of a wish or of ids. */
void download_client_pack(const struct tally_holder *client, struct buf *to);
/* Returns the bytes behind it. */
struct str download_client_unpack(struct str bytes,
                                  struct tally_holder *client);
void download_wish_pack(const struct download_wish *w, struct buf *to);
void download_ids_pack(const struct download_ids *i, struct buf *to);
/* -1: the bytes make no sense, or a rule of above is broken.  Texts are
 * borrowed from the bytes, ids from the pool, each once. */
int download_wish_unpack(struct str bytes, struct download_wish *out);
int download_ids_unpack(struct pool *p, struct str bytes,
                        struct download_ids *out);

/* The answer of the fetcher: a head, and a body of JSON behind it or, when fd
 * came along, in a sealed memfd. */
struct downloads_answer {
    uint32_t status;      /* of HTTP */
    uint32_t retry_after; /* s; 0: none */
    uint64_t length;      /* bytes of the memfd */
};
void downloads_answer_pack(struct buf *to, const struct downloads_answer *a,
                           struct str body);
/* -1: the bytes make no sense. */
int downloads_answer_unpack(struct str bytes, struct downloads_answer *a,
                            struct str *body);

#endif
