/*
 * A request: the thing that it asks for, and answers to it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_ASKED_H
#define MODULES_HLS_ASKED_H

#include "blocked.h"
#include "count.h"
#include "object.h"

/* One lives in the pool of its request, until it is answered. */
struct asked {
    struct http_request *request;
    const struct hls_layer *layer;
    const struct rtmp_application *application;
    struct str name; /* "app/name" */
    struct str room; /* "name" */
    struct str base; /* its last segment, as it stands in URIs */
    enum hls_counted kind;
    struct object_key key; /* of playlists the container and rendition */
    /* Directives of delivery (RFC 8216bis, 6.2.5); -1: not given. */
    int64_t msn, part;
    bool skip;
    const char *wrong; /* 400 with this */
    struct str viewer; /* the id that stands in its address; empty: none */
    struct blocked blocked;
};

/* False: the path is none of this module. */
bool asked_read(struct asked *a, struct http_request *r,
                const struct hls_layer *layer);

/* 404 and 503 with a reason, counted. */
enum http_result asked_refuse(struct asked *a, int status, enum hls_refused why,
                              const char *reason);
/* Waits for the place: HTTP_WAIT, or the answer that no more may wait. */
enum http_result asked_wait(struct asked *a, const struct live_cuts *c,
                            uint64_t segment, uint32_t part);

/* texts.c, bytes.c: the answer, after the checks of hls.c. */
enum http_result texts_answer(struct asked *a);
enum http_result bytes_answer(struct asked *a);

/* variants.c: the multivariant playlist of the stream. */
int variants_write(const struct asked *a, const struct live_cuts *c,
                   struct buf *out);

#endif
