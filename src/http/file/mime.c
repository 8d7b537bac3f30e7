/*
 * Media types by the ending of a name: what a console and media players are
 * made of.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/http.h"

static const struct {
    const char *ending, *type;
} types[] = {
    { "html", "text/html; charset=utf-8" },
    { "htm", "text/html; charset=utf-8" },
    { "css", "text/css; charset=utf-8" },
    { "js", "text/javascript; charset=utf-8" },
    { "mjs", "text/javascript; charset=utf-8" },
    { "json", "application/json" },
    { "map", "application/json" },
    { "txt", "text/plain; charset=utf-8" },
    { "log", "text/plain; charset=utf-8" },
    { "md", "text/markdown; charset=utf-8" },
    { "csv", "text/csv; charset=utf-8" },
    { "xml", "text/xml; charset=utf-8" },
    { "xhtml", "application/xhtml+xml" },
    { "rss", "application/rss+xml" },
    { "atom", "application/atom+xml" },
    { "ttml", "application/ttml+xml" },
    { "vtt", "text/vtt; charset=utf-8" },
    { "srt", "application/x-subrip" },
    { "svg", "image/svg+xml" },
    { "png", "image/png" },
    { "jpg", "image/jpeg" },
    { "jpeg", "image/jpeg" },
    { "gif", "image/gif" },
    { "webp", "image/webp" },
    { "jxl", "image/jxl" },
    { "bmp", "image/bmp" },
    { "avif", "image/avif" },
    { "ico", "image/x-icon" },
    { "woff", "font/woff" },
    { "woff2", "font/woff2" },
    { "ttf", "font/ttf" },
    { "otf", "font/otf" },
    { "wasm", "application/wasm" },
    { "webmanifest", "application/manifest+json" },
    { "flv", "video/x-flv" },
    { "mp4", "video/mp4" },
    { "m4v", "video/mp4" },
    { "m4s", "video/iso.segment" },
    { "cmfv", "video/mp4" },
    { "cmfa", "audio/mp4" },
    { "3gp", "video/3gpp" },
    { "avi", "video/x-msvideo" },
    { "mpg", "video/mpeg" },
    { "mpeg", "video/mpeg" },
    { "ogv", "video/ogg" },
    { "webm", "video/webm" },
    { "mkv", "video/x-matroska" },
    { "mov", "video/quicktime" },
    { "ts", "video/mp2t" },
    { "m3u8", "application/vnd.apple.mpegurl" },
    { "mpd", "application/dash+xml" },
    { "mp3", "audio/mpeg" },
    { "m4a", "audio/mp4" },
    { "aac", "audio/aac" },
    { "ac3", "audio/ac3" },
    { "weba", "audio/webm" },
    { "ogg", "audio/ogg" },
    { "oga", "audio/ogg" },
    { "opus", "audio/ogg" },
    { "flac", "audio/flac" },
    { "wav", "audio/wav" },
    { "pdf", "application/pdf" },
    { "zip", "application/zip" },
    { "gz", "application/gzip" },
    { "tgz", "application/gzip" },
    { "xz", "application/x-xz" },
    { "zst", "application/zstd" },
    { "tar", "application/x-tar" },
};

const char *
http_mime_type(struct str path)
{
    const char *known = http_mime_known(http_name_ending(path));

    return known != NULL ? known : "application/octet-stream";
}

struct str
http_name_ending(struct str path)
{
    size_t dot = path.len;

    while (dot > 0 && path.ptr[dot - 1] != '.' && path.ptr[dot - 1] != '/') {
        dot--;
    }
    return dot > 0 && path.ptr[dot - 1] == '.' ? str_skip(path, dot) : STR_NONE;
}

const char *
http_mime_known(struct str ending)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_eq_nocase(ending, str_from(types[i].ending))) {
            return types[i].type;
        }
    }
    return NULL;
}
