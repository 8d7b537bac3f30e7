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
 * Which file owns what:
 *
 *   hls.c        the module: settings, its layers and routes, metrics
 *   address.c    which stream and object a path names
 *   offer.c      what a stream has now (live/cuts.h), as playlists need it
 *   playlist.c, multivariant.c   the texts
 *   cache.c      objects and playlists, made once in a process for all who ask
 *   object.c     the bytes of an object: boxes, and ranges of the arena
 *   sending.c    an object on its way to one client
 *   blocked.c    requests for what is not there yet
 *   viewer.c     who watches
 *   endless.c    NAME.mp4;  still.c  NAME.still.mp4
 *   verbs.c      weirctl show hls
 *
 * Nothing is made for a stream that nobody asks for: no timer, no copy, no
 * file.  Whichever worker is asked answers from the arena.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HLS_HLS_H
#define HLS_HLS_H

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
