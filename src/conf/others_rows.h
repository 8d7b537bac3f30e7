/*
 * Shorter ways to write rows of others.h, and answers that several servers
 * share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_OTHERS_ROWS_H
#define CONF_OTHERS_ROWS_H

#include "conf/others.h"

/* The names are a setting here; the same, with more to say; there is none. */
#define IS(names, here)       \
    {                         \
        (names), (here), NULL \
    }
#define IS_BUT(names, here, note) \
    {                             \
        (names), (here), (note)   \
    }
#define NONE(names, note)     \
    {                         \
        (names), NULL, (note) \
    }
#define END_OF_ROWS      \
    {                    \
        NULL, NULL, NULL \
    }

/* ---- beginnings of paths ---- */

#define RTMP "rtmp.servers."
#define APP RTMP "applications."
#define HTTP "http.servers."
#define LOCATION HTTP "locations."
#define MODULE(name) HTTP "locations[" name "]."
#define UPSTREAM "upstreams."

/* ---- answers ---- */

#define NO_RECORDING \
    "weir does not record; ffmpeg -i rtmp://HOST/APP/NAME -c copy FILE does"
#define NO_PROGRAMS                                                  \
    "weir starts no programs for streams; run ffmpeg beside it, on " \
    "rtmp://HOST/APP/NAME"
#define NO_TRANSCODING \
    "weir encodes nothing; ffmpeg can play from weir and publish to it"
#define NO_CALLS                                                            \
    "weir calls no addresses; keys let publishers in (publish = \"key\"), " \
    "and weirctl show events -w tells what happens"
#define NO_DASH                                                          \
    "weir has no DASH; its HLS (module hls) has fragmented MP4 and low " \
    "latency"
#define NO_FILES_OF_HLS "weir keeps segments in memory and writes no files"
#define NO_ENCRYPTION "weir does not encrypt segments; https does"
#define NO_VOD "weir has live streams alone; files are served by module static"
#define NO_WEBRTC "weir has no WebRTC; HLS with low latency and FLV are near"
#define NO_SRT "weir has no SRT; ffmpeg can take it and publish here over RTMP"
#define NO_RTSP \
    "weir has no RTSP; ffmpeg can play it and publish here over RTMP"
#define NO_NEED_OF_FLUSH                                               \
    "weir sends frames together for as long as gather says, and sets " \
    "TCP_NODELAY itself"
#define HLS_IS_A_MODULE \
    "{ module = \"hls\"; } among the layers of a location serves HLS"
#define A_LIST_OF_URLS "a list of rtmp:// and rtmps:// URLs"
#define SEGMENTS_END \
    "it is a shortest time: a segment ends before the next key frame"
#define LIST_IS_AS_LONG "a playlist has what is kept of the stream in memory"

#endif
