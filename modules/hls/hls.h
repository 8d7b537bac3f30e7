/*
 * HLS: live streams as playlists and segments over HTTP.
 *
 *   GET APP/NAME.m3u8                     the multivariant playlist; with
 *                                         ?rendition=R a media playlist
 *   GET APP/NAME/WORD/OBJECT              a segment, a part, an initialisation
 *                                         segment: the same bytes for ever
 *   GET APP/NAME.mp4                      endless progressive MP4
 *   GET APP/NAME.still.mp4                the newest key frame alone
 *
 *   hls.c       the module: settings, layers, routes, who may play
 *   address.c   which stream and object a path names; asked.c the request
 *   texts.c     answers with playlists; variants.c the multivariant one
 *   members.c   streams of a ladder
 *   bytes.c     answers with objects; sending.c one on its way to a client
 *   offer.c     the list of segments; playlist.c, multivariant.c  the texts
 *   object.c    the bytes of an object: boxes, and ranges of the arena
 *   message.c   data messages; captions.c  lines of text as WebVTT
 *   made.c      objects and playlists, made once in a process for all
 *   blocked.c   requests for what is not there yet
 *   viewer.c    who watches; count.c  metrics
 *   endless.c   NAME.mp4; still.c  NAME.still.mp4; verbs.c  weirctl
 *
 * Nothing is made for a stream that nobody asks for: no timer, no copy, no
 * file.  Whichever worker is asked answers from the arena.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_HLS_H
#define MODULES_HLS_HLS_H

#include "app/module.h"
#include "app/service/rtmp_service.h"
#include "live/cuts.h"
#include "media/container.h"

struct hls_settings {
    int format; /* of media_containers */
    struct str allow_origin;
    int64_t max_waiting; /* blocked requests of this worker */
    int64_t cache;       /* bytes of copies in this worker */
    bool separate_audio;
};

/* A layer of a location in this worker. */
struct hls_layer {
    struct loop *loop;
    const struct hls_settings *settings;
    const struct media_container *container;
};

#endif
