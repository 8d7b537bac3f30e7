/*
 * A request: the thing that it asks for, and answers to it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_ASKED_H
#define MODULES_HLS_ASKED_H

#include "address.h"
#include "blocked.h"
#include "count.h"
#include "object.h"
#include "viewer.h"

/* One lives in the pool of its request, until it is answered. */
struct asked {
    struct http_request *request;
    const struct hls_layer *layer;
    const struct rtmp_application *application;
    struct str name; /* "app/name" */
    struct str room; /* "name" */
    enum hls_counted kind;
    struct object_key key; /* of playlists the container and rendition */
    struct hls_directives directives;
    const char *wrong; /* 400 with this */
    bool has_viewer;   /* its address has the id of one */
    bool counted;      /* as a request of that viewer */
    bool of_ladder; /* its viewer watches the ladder, not this stream alone */
    struct str shown_as; /* the stream whose player its viewer is */
    struct live_viewer_id viewer;
    struct blocked blocked;
};

/* False: the path is none of this module. */
bool asked_read(struct asked *a, struct http_request *r,
                const struct hls_layer *layer);

/* "NAME.m3u8?rendition=R" of a stream beside the one of the request, and
 * "NAME/WORD/" for a playlist of that one. */
struct str asked_uri(const struct asked *a, struct str room,
                     const char *rendition);
struct str asked_base(const struct asked *a, uint64_t word);
/* "?signed=..." behind the names of its objects, for players that send no
 * headers; empty where the location wants no such thing. */
struct str asked_object_query(const struct asked *a, uint64_t word);

/* 404 and 503 with a reason, counted. */
enum http_result asked_refuse(struct asked *a, int status, enum hls_refused why,
                              const char *reason);
/* Waits for the place: HTTP_WAIT, or the answer that no more may wait. */
enum http_result asked_wait(struct asked *a, const struct live_cuts *c,
                            uint64_t segment, uint32_t part);

/* texts.c, bytes.c: the answer, after the checks of hls.c. */
enum http_result texts_answer(struct asked *a);
enum http_result bytes_answer(struct asked *a);

struct member;
/* variants.c: the multivariant playlist of streams that can be offered. */
int variants_write(const struct asked *a, const struct member *members,
                   size_t count, struct buf *out);

#endif
