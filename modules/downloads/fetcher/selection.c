/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/selection.h"

#include <stdio.h>
#include <string.h>

#include "fetcher/engine.h"

#define CUSTOM STR("custom:")
/* Protocols that go through the checking proxy, as yt-dlp names them. */
#define BY_HTTP                                                \
    "[protocol~='^(https?|m3u8|m3u8_native|http_dash_segments" \
    "|http_dash_segments_generator|ism|f4m)$']"
#define HEIGHT_MAX 20000 /* pixels */
#define KBITS_MAX 2000

enum chooses {
    CHOOSES_BEST,
    CHOOSES_WORST,
    CHOOSES_AUDIO,
    CHOOSES_IOS,
    CHOOSES_NUMBER,
};

struct selection {
    enum chooses quality;
    int64_t number; /* lines of the picture, or kbit/s */
    struct str custom;
    const char *audio; /* the format to convert to; NULL: none */
    bool mp4, thumbnail;
};

/* ---- what it is ---- */

static bool
is_word(struct str s, const char *word)
{
    return str_eq_nocase(str_trim(s), str_from(word));
}

static bool
read_quality(struct str s, int64_t max, struct selection *out)
{
    static const struct {
        const char *word;
        enum chooses is;
    } words[] = { { "", CHOOSES_BEST },
                  { "best", CHOOSES_BEST },
                  { "worst", CHOOSES_WORST },
                  { "audio", CHOOSES_AUDIO },
                  { "best_ios", CHOOSES_IOS } };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (is_word(s, words[i].word)) {
            out->quality = words[i].is;
            return true;
        }
    }
    out->quality = CHOOSES_NUMBER;
    return str_to_int(str_trim(s), 1, max, &out->number);
}

/* The state of selection_is_selector() at a character. */
struct selector_scan {
    char quote; /* open; '\0': none */
    bool bracket;
    int depth; /* of parentheses */
};

static bool
is_selector_char(char c)
{
    static const char others[] = "+/()[]<>=!?*^$~|.:_- '\"";

    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (c != '\0' && strchr(others, c) != NULL);
}

static bool
scan_selector(struct selector_scan *s, char c, char before)
{
    if (c == '\'' || c == '"') {
        bool closes = s->quote == c;

        if (!s->bracket || (s->quote != '\0' && !closes) ||
            (closes && before == c)) {
            return false;
        }
        s->quote = closes ? '\0' : c;
    } else if (c == '[' || c == ']') {
        if (s->quote != '\0' || s->bracket == (c == '[')) {
            return false;
        }
        s->bracket = c == '[';
    } else if ((c == '(' || c == ')') && s->quote == '\0') {
        s->depth += c == '(' ? 1 : -1;
        return !s->bracket && s->depth >= 0;
    }
    return true;
}

/* A selector is read by the tokenizer of Python.  A selector that
 * could be seen otherwise there than here is refused: the filter behind it must
 * hold for all of it. */
bool
selection_is_selector(struct str s)
{
    struct selector_scan scan = { '\0', false, 0 };

    for (size_t i = 0; i < s.len; i++) {
        if (!is_selector_char(s.ptr[i]) ||
            !scan_selector(&scan, s.ptr[i], i > 0 ? s.ptr[i - 1] : '\0')) {
            return false;
        }
    }
    return s.len > 0 && scan.quote == '\0' && !scan.bracket && scan.depth == 0;
}

static bool
read_format(struct str s, struct selection *out)
{
    static const char *const audio[] = { "m4a", "mp3", "opus", "wav", "flac" };

    for (size_t i = 0; i < sizeof(audio) / sizeof(audio[0]); i++) {
        if (is_word(s, audio[i])) {
            out->audio = audio[i];
        }
    }
    out->mp4 = is_word(s, "mp4");
    out->thumbnail = is_word(s, "thumbnail");
    if (str_starts(s, CUSTOM)) {
        out->custom = str_skip(s, CUSTOM.len);
        return selection_is_selector(out->custom);
    }
    return out->audio != NULL || out->mp4 || out->thumbnail || s.len == 0 ||
           is_word(s, "any");
}

static int
read_selection(struct str quality, struct str format, struct selection *out,
               struct errmsg *err)
{
    *out = (struct selection){ .custom = STR_NONE };
    if (!read_format(format, out)) {
        return errmsg_set(
            err, "%s",
            out->custom.len > 0 || str_starts(format, CUSTOM)
                ? "format: behind \"custom:\" stands one format selector of "
                  "yt-dlp, without ',', '\\' and '#'"
                : "format: any, mp4, m4a, mp3, opus, wav, flac, thumbnail, or "
                  "\"custom:\" and a format selector of yt-dlp");
    }
    if (!read_quality(quality, out->audio != NULL ? KBITS_MAX : HEIGHT_MAX,
                      out)) {
        return errmsg_set(err, "%s",
                          out->audio != NULL
                              ? "quality: best, worst, audio, or kbit/s from 1 "
                                "to 2000"
                              : "quality: best, worst, audio, best_ios, or a "
                                "height from 1 to 20000");
    }
    return 0;
}

bool
selection_converts(struct str format)
{
    struct selection s = { .custom = STR_NONE };

    return !read_format(format, &s) || s.audio != NULL || s.thumbnail ||
           s.custom.len > 0;
}

bool
selection_is_best(struct str quality)
{
    return quality.len == 0 || is_word(quality, "best");
}

bool
selection_is_thumbnail(struct str format)
{
    struct selection s = { .custom = STR_NONE };

    return read_format(format, &s) && s.thumbnail;
}

int
selection_check(struct str quality, struct str format, struct errmsg *err)
{
    struct selection s;

    return read_selection(quality, format, &s, err);
}

/* ---- what yt-dlp is told ---- */

static void
add_video(struct fetch_line *to, const struct selection *s)
{
    const char *worst = s->quality == CHOOSES_WORST ? "worst" : "best";
    const char *video = s->mp4 ? "[ext=mp4]" : "";
    const char *audio = s->mp4 ? "[ext=m4a]" : "";
    char height[40] = ""; /* "?": where it is not known, too */

    if (s->quality == CHOOSES_NUMBER) {
        snprintf(height, sizeof(height), "[height<=?%lld]",
                 (long long)s->number);
    }
    fetch_line_printf(to, "--format=(%svideo%s%s+%saudio%s/%s%s%s)%s", worst,
                      height, video, worst, audio, worst, height, video,
                      BY_HTTP);
}

static void
add_ios(struct fetch_line *to, const struct selection *s)
{
    static const char codecs[] = "[vcodec~='^((he|a)vc|h26[45])']";
    const char *video = s->mp4 ? "[ext=mp4]" : "";
    const char *audio = s->mp4 ? "[ext=m4a]" : "";

    fetch_line_printf(to,
                      "--format=(bestvideo%s+bestaudio[acodec=aac]/"
                      "bestvideo%s+bestaudio%s/bestvideo%s+bestaudio%s/"
                      "best%s)%s",
                      codecs, codecs, audio, video, audio, video, BY_HTTP);
}

static void
add_audio(struct fetch_line *to, const struct selection *s)
{
    int64_t quality = s->quality == CHOOSES_WORST ? 10 : 0;

    fetch_line_printf(to, "--format=(bestaudio[ext=%s]/bestaudio/best)%s",
                      s->audio, BY_HTTP);
    fetch_line_add(to, "--extract-audio");
    fetch_line_printf(to, "--audio-format=%s", s->audio);
    if (s->quality == CHOOSES_NUMBER) {
        fetch_line_printf(to, "--audio-quality=%lldK", (long long)s->number);
    } else {
        fetch_line_printf(to, "--audio-quality=%lld", (long long)quality);
    }
    if (!str_eq(str_from(s->audio), STR("wav"))) {
        fetch_line_add(to, "--embed-metadata");
        fetch_line_add(to, "--write-thumbnail");
        fetch_line_add(to, "--convert-thumbnails=jpg");
        fetch_line_add(to, "--embed-thumbnail");
    }
}

static void
add_thumbnail(struct fetch_line *to)
{
    fetch_line_add(to, "--format=bestaudio/best");
    fetch_line_add(to, "--skip-download");
    fetch_line_add(to, "--write-thumbnail");
    fetch_line_add(to, "--convert-thumbnails=jpg");
}

void
selection_add_selector(struct fetch_line *to, struct str selector)
{
    fetch_line_printf(to, "--format=(%.*s)%s", STR_ARGS(selector), BY_HTTP);
}

void
selection_add(struct fetch_line *to, struct str quality, struct str format)
{
    struct selection s;
    struct errmsg err;

    if (read_selection(quality, format, &s, &err) == -1) {
        s = (struct selection){ .quality = CHOOSES_BEST };
    }
    if (s.thumbnail) {
        add_thumbnail(to);
    } else if (s.custom.len > 0) {
        selection_add_selector(to, s.custom);
    } else if (s.audio != NULL) {
        add_audio(to, &s);
    } else if (s.quality == CHOOSES_AUDIO) {
        fetch_line_add(to, "--format=(bestaudio/best)" BY_HTTP);
    } else if (s.quality == CHOOSES_IOS) {
        add_ios(to, &s);
    } else {
        add_video(to, &s);
    }
}
