/*
 * Names and words are those of yt-dlp's parse_options().
 *
 * Not on the list though harmless: what weir decides itself for each run (which
 * items, how many, what is printed), because its answer would be wrong then.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/options_table.h"

/* clang-format off */
#define FLAG(name, on, no, others)                                  \
    { .api = name, .kind = OPTION_FLAG, .word = on, .off = no, .other = others }
#define PLAIN(name, is, on, others)                                 \
    { .api = name, .kind = is, .word = on, .other = others }
#define WHOLE(name, on, others, least, most)                        \
    { .api = name, .kind = OPTION_WHOLE, .word = on, .other = others, \
      .min = least, .max = most }
#define SECRET(name, is, on, others)                                \
    { .api = name, .kind = is, .word = on, .other = others, .secret = true }
#define IGNORED(name) { .api = name, .kind = OPTION_IGNORED }
#define END { .api = NULL }

const struct option_row option_rows[] = {
    /* which format */
    PLAIN("format", OPTION_FORMAT, "--format", "-f"),
    PLAIN("format_sort", OPTION_LIST, "--format-sort", "-S"),
    FLAG("format_sort_force", "--format-sort-force",
         "--no-format-sort-force", "--S-force"),
    FLAG("allow_multiple_video_streams", "--video-multistreams",
         "--no-video-multistreams", NULL),
    FLAG("allow_multiple_audio_streams", "--audio-multistreams",
         "--no-audio-multistreams", NULL),
    FLAG("prefer_free_formats", "--prefer-free-formats",
         "--no-prefer-free-formats", NULL),
    PLAIN("merge_output_format", OPTION_NAME, "--merge-output-format", NULL),
    FLAG(NULL, "--check-formats", "--no-check-formats", NULL),
    /* what else is fetched */
    FLAG("writesubtitles", "--write-subs", "--no-write-subs", "--write-srt"),
    FLAG("writeautomaticsub", "--write-auto-subs", "--no-write-auto-subs",
         "--write-automatic-subs"),
    FLAG("allsubtitles", "--all-subs", NULL, NULL),
    PLAIN("subtitleslangs", OPTION_LIST, "--sub-langs", "--srt-langs"),
    PLAIN("subtitlesformat", OPTION_NAME, "--sub-format", NULL),
    FLAG("writethumbnail", "--write-thumbnail", "--no-write-thumbnail", NULL),
    FLAG("writeinfojson", "--write-info-json", "--no-write-info-json", NULL),
    FLAG("clean_infojson", "--clean-info-json", "--no-clean-info-json",
         "--clean-infojson"),
    FLAG("writedescription", "--write-description",
         "--no-write-description", NULL),
    FLAG("getcomments", "--write-comments", "--no-write-comments",
         "--get-comments"),
    /* which of it */
    PLAIN("min_filesize", OPTION_BYTES, "--min-filesize", NULL),
    PLAIN("max_filesize", OPTION_BYTES, "--max-filesize", NULL),
    WHOLE("age_limit", "--age-limit", NULL, 0, 150),
    PLAIN("match_filter", OPTION_LINES, "--match-filters", "--match-filter"),
    PLAIN("matchtitle", OPTION_TEXT, "--match-title", NULL),
    PLAIN("rejecttitle", OPTION_TEXT, "--reject-title", NULL),
    FLAG("live_from_start", "--live-from-start", "--no-live-from-start", NULL),
    FLAG("ignoreerrors", "--ignore-errors", "--abort-on-error",
         "-i --no-abort-on-error --no-ignore-errors"),
    /* how it is fetched */
    PLAIN("ratelimit", OPTION_BYTES, "--limit-rate", "-r --rate-limit"),
    PLAIN("throttledratelimit", OPTION_BYTES, "--throttled-rate", NULL),
    PLAIN("retries", OPTION_TRIES, "--retries", "-R"),
    PLAIN("file_access_retries", OPTION_TRIES, "--file-access-retries", NULL),
    PLAIN("fragment_retries", OPTION_TRIES, "--fragment-retries", NULL),
    PLAIN("extractor_retries", OPTION_TRIES, "--extractor-retries", NULL),
    PLAIN(NULL, OPTION_LINES, "--retry-sleep", NULL),
    FLAG("skip_unavailable_fragments", "--skip-unavailable-fragments",
         "--abort-on-unavailable-fragments",
         "--no-abort-on-unavailable-fragments "
         "--no-skip-unavailable-fragments"),
    WHOLE("concurrent_fragment_downloads", "--concurrent-fragments", "-N", 1,
          16),
    PLAIN("buffersize", OPTION_BYTES, "--buffer-size", NULL),
    FLAG("noresizebuffer", "--no-resize-buffer", "--resize-buffer", NULL),
    PLAIN("http_chunk_size", OPTION_BYTES, "--http-chunk-size", NULL),
    PLAIN("socket_timeout", OPTION_SECONDS, "--socket-timeout", NULL),
    PLAIN("sleep_interval", OPTION_SECONDS, "--sleep-interval",
          "--min-sleep-interval"),
    PLAIN("max_sleep_interval", OPTION_SECONDS, "--max-sleep-interval", NULL),
    PLAIN("sleep_interval_requests", OPTION_SECONDS, "--sleep-requests", NULL),
    WHOLE("sleep_interval_subtitles", "--sleep-subtitles", NULL, 0, 86400),
    FLAG("hls_use_mpegts", "--hls-use-mpegts", "--no-hls-use-mpegts", NULL),
    FLAG("hls_split_discontinuity", "--hls-split-discontinuity",
         "--no-hls-split-discontinuity", NULL),
    FLAG("dynamic_mpd", "--allow-dynamic-mpd", "--ignore-dynamic-mpd",
         "--no-ignore-dynamic-mpd --no-allow-dynamic-mpd"),
    FLAG("continuedl", "--continue", "--no-continue", "-c"),
    FLAG("nopart", "--no-part", "--part", NULL),
    FLAG("updatetime", "--mtime", "--no-mtime", NULL),
    FLAG("keepvideo", "--keep-video", "--no-keep-video", "-k"),
    /* to whom it speaks */
    FLAG("nocheckcertificate", "--no-check-certificates", NULL, NULL),
    FLAG("legacyserverconnect", "--legacy-server-connect", NULL, NULL),
    FLAG("prefer_insecure", "--prefer-insecure", NULL, "--prefer-unsecure"),
    FLAG("geo_bypass", "--geo-bypass", "--no-geo-bypass", NULL),
    PLAIN("geo_bypass_country", OPTION_NAME, "--geo-bypass-country", NULL),
    PLAIN("geo_bypass_ip_block", OPTION_NAME, "--geo-bypass-ip-block", NULL),
    SECRET("http_headers", OPTION_HEADERS, "--add-headers", "--add-header"),
    PLAIN(NULL, OPTION_TEXT, "--user-agent", NULL),
    PLAIN(NULL, OPTION_TEXT, "--referer", NULL),
    SECRET("extractor_args", OPTION_EXTRACTOR, "--extractor-args", NULL),
    /* as whom */
    SECRET("username", OPTION_TEXT, "--username", "-u"),
    SECRET("password", OPTION_TEXT, "--password", "-p"),
    SECRET("twofactor", OPTION_TEXT, "--twofactor", "-2"),
    SECRET("videopassword", OPTION_TEXT, "--video-password", NULL),
    SECRET("ap_mso", OPTION_NAME, "--ap-mso", NULL),
    SECRET("ap_username", OPTION_TEXT, "--ap-username", NULL),
    SECRET("ap_password", OPTION_TEXT, "--ap-password", NULL),
    PLAIN("cookiefile", OPTION_COOKIES, "--cookies", NULL),
    /* what becomes of it; in JSON, most of it are postprocessors */
    PLAIN("fixup", OPTION_NAME, "--fixup", NULL),
    FLAG(NULL, "--extract-audio", NULL, "-x"),
    PLAIN(NULL, OPTION_NAME, "--audio-format", NULL),
    PLAIN(NULL, OPTION_NAME, "--audio-quality", NULL),
    PLAIN(NULL, OPTION_NAME, "--remux-video", NULL),
    PLAIN(NULL, OPTION_NAME, "--recode-video", NULL),
    FLAG(NULL, "--embed-subs", "--no-embed-subs", NULL),
    FLAG(NULL, "--embed-thumbnail", "--no-embed-thumbnail", NULL),
    FLAG(NULL, "--embed-metadata", "--no-embed-metadata",
         "--add-metadata --no-add-metadata"),
    FLAG(NULL, "--embed-chapters", "--no-embed-chapters",
         "--add-chapters --no-add-chapters"),
    FLAG(NULL, "--embed-info-json", "--no-embed-info-json", NULL),
    FLAG(NULL, "--xattrs", NULL, "--xattr"),
    PLAIN(NULL, OPTION_NAME, "--convert-subs",
          "--convert-sub --convert-subtitles"),
    PLAIN(NULL, OPTION_NAME, "--convert-thumbnails", NULL),
    FLAG(NULL, "--force-keyframes-at-cuts", "--no-force-keyframes-at-cuts",
         NULL),
    PLAIN(NULL, OPTION_LIST, "--sponsorblock-mark", NULL),
    PLAIN(NULL, OPTION_LIST, "--sponsorblock-remove", NULL),
    FLAG(NULL, "--no-sponsorblock", NULL, NULL),
};

static const struct option_row audio[] = {
    PLAIN("preferredcodec", OPTION_NAME, "--audio-format", NULL),
    PLAIN("preferredquality", OPTION_NAME, "--audio-quality", NULL),
    IGNORED("nopostoverwrites"),
    IGNORED("when"),
    END,
};
static const struct option_row remux[] = {
    PLAIN("preferedformat", OPTION_NAME, "--remux-video", NULL),
    IGNORED("when"),
    END,
};
static const struct option_row recode[] = {
    PLAIN("preferedformat", OPTION_NAME, "--recode-video", NULL),
    IGNORED("when"),
    END,
};
static const struct option_row metadata[] = {
    FLAG("add_metadata", "--embed-metadata", "--no-embed-metadata", NULL),
    FLAG("add_chapters", "--embed-chapters", "--no-embed-chapters", NULL),
    FLAG("add_infojson", "--embed-info-json", "--no-embed-info-json", NULL),
    IGNORED("when"),
    END,
};
static const struct option_row embed[] = {
    IGNORED("already_have_subtitle"),
    IGNORED("already_have_thumbnail"),
    IGNORED("when"),
    END,
};
static const struct option_row subtitles[] = {
    PLAIN("format", OPTION_NAME, "--convert-subs", NULL),
    IGNORED("when"),
    END,
};
static const struct option_row thumbnails[] = {
    PLAIN("format", OPTION_NAME, "--convert-thumbnails", NULL),
    IGNORED("when"),
    END,
};
static const struct option_row sponsors[] = {
    PLAIN("categories", OPTION_LIST, "--sponsorblock-mark", NULL),
    IGNORED("when"),
    END,
};
static const struct option_row chapters[] = {
    PLAIN("remove_sponsor_segments", OPTION_LIST, "--sponsorblock-remove",
          NULL),
    FLAG("force_keyframes", "--force-keyframes-at-cuts", NULL, NULL),
    IGNORED("when"),
    END,
};

const struct option_processor option_processors[] = {
    { "FFmpegExtractAudio", "--extract-audio", audio },
    { "FFmpegVideoRemuxer", NULL, remux },
    { "FFmpegVideoConvertor", NULL, recode },
    { "FFmpegMetadata", "--embed-metadata", metadata },
    { "FFmpegEmbedSubtitle", "--embed-subs", embed },
    { "EmbedThumbnail", "--embed-thumbnail", embed },
    { "XAttrMetadata", "--xattrs", embed },
    { "FFmpegSubtitlesConvertor", NULL, subtitles },
    { "FFmpegThumbnailsConvertor", NULL, thumbnails },
    { "SponsorBlock", NULL, sponsors },
    { "ModifyChapters", NULL, chapters },
    { NULL, NULL, NULL },
};

/* Names of both forms, without dashes at the front and with '_' for '-'; short
 * options with their dash. */
static const struct {
    const char *names, *why;
} refused[] = {
    { "exec exec_cmd exec_before_download exec_before_dl_cmd",
      "it would run a program" },
    { "netrc_cmd", "it would run a program" },
    { "downloader external_downloader downloader_args external_downloader_args",
      "it would run a program" },
    { "postprocessor_args ppa",
      "it could name any file or address to ffmpeg" },
    { "use_postprocessor plugin_dirs", "it would load code" },
    { "ffmpeg_location avconv_location sponskrub_location js_runtimes",
      "it would run a program; weir.conf has ffmpeg_path" },
    { "proxy geo_verification_proxy cn_verification_proxy",
      "engines have the proxy that weir gives them" },
    { "source_address force_ipv4 force_ipv6 -4 -6",
      "engines connect to weir's proxy alone" },
    { "enable_file_urls", "weir downloads http and https alone" },
    { "paths -P outtmpl output -o id autonumber_size autonumber_start "
      "outtmpl_na_placeholder output_na_placeholder restrictfilenames "
      "restrict_filenames windowsfilenames windows_filenames trim_file_name "
      "trim_filenames trim_file_names overwrites force_overwrites "
      "no_overwrites -w",
      "weir itself names the files; weir.conf has template" },
    { "download_archive force_write_download_archive break_on_existing",
      "an engine writes to the folder of its run alone; the queue knows what "
      "is done" },
    { "print_to_file write_pages load_pages dump_pages cachedir cache_dir "
      "rm_cache_dir",
      "an engine reads and writes the folder of its run alone" },
    { "cookiesfrombrowser cookies_from_browser",
      "weir reads no browser's files; cookiefile names a file beside this "
      "one" },
    { "usenetrc netrc -n netrc_location client_certificate "
      "client_certificate_key client_certificate_password",
      "it names a file elsewhere" },
    { "config_location config_locations ignore_config no_config "
      "no_config_locations alias preset_alias -t compat_options compat_opts",
      "this file is the only configuration" },
    { "batchfile batch_file -a load_info load_info_json load_info_filename",
      "weir says what is downloaded" },
    { "playliststart playlist_start playlistend playlist_end playlist_items "
      "-I playlistreverse playlist_reverse playlistrandom playlist_random "
      "lazy_playlist noplaylist no_playlist yes_playlist max_downloads "
      "flat_playlist extract_flat concat_playlist download_ranges "
      "download_sections split_chapters skip_playlist_after_errors "
      "break_on_reject",
      "a request says which items it wants, and each is a run of its own" },
    { "skip_download simulate -s print -O forceprint quiet -q verbose -v "
      "noprogress progress no_progress newline progress_with_newline "
      "progress_template consoletitle console_title dump_json -j "
      "dump_single_json -J print_json list_formats listformats -F "
      "listsubtitles list_subs list_thumbnails test update -U no_warnings "
      "wait_for_video get_url -g get_title -e",
      "weir reads what the engine prints" },
};
/* clang-format on */

const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

static bool
is_in_words(const char *words, struct str word)
{
    struct str rest = str_from(words);

    while (rest.len > 0) {
        if (str_eq(str_cut(&rest, ' '), word)) {
            return true;
        }
    }
    return false;
}

const struct option_row *
option_find_api(struct str name)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const char *api = option_rows[i].api;

        if (api != NULL && str_eq(name, str_from(api))) {
            return &option_rows[i];
        }
    }
    return NULL;
}

/* Of the other spellings, those of off begin with "--no-" where word does not,
 * or are among these. */
static bool
spells_off(const struct option_row *r, struct str word)
{
    static const char negatives[] = "--no-add-metadata --no-add-chapters "
                                    "--no-ignore-errors "
                                    "--no-skip-unavailable-fragments "
                                    "--no-allow-dynamic-mpd";

    return r->off != NULL &&
           (str_eq(word, str_from(r->off)) || is_in_words(negatives, word));
}

const struct option_row *
option_find_word(struct str word, bool *off)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *r = &option_rows[i];

        if (str_eq(word, str_from(r->word)) || is_in_words(r->other, word) ||
            (r->off != NULL && str_eq(word, str_from(r->off)))) {
            *off = spells_off(r, word);
            return r;
        }
    }
    return NULL;
}

/* ---- names that are not taken ---- */

#define NAME_MAX_BYTES 64

/* As the tables of names have it. */
static struct str
plain_name(struct str name, char room[static NAME_MAX_BYTES])
{
    bool is_long = str_starts(name, STR("--"));
    size_t n;

    if (str_starts(name, STR("-")) && !is_long) {
        return name;
    }
    n = str_copy(room, NAME_MAX_BYTES, is_long ? str_skip(name, 2) : name);
    for (size_t i = 0; i < n; i++) {
        room[i] = (char)(room[i] == '-' ? '_' : room[i]);
    }
    return str_of(room, n);
}

const char *
option_refusal(struct str name)
{
    char room[NAME_MAX_BYTES];
    struct str plain = plain_name(name, room);

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (is_in_words(refused[i].names, plain)) {
            return refused[i].why;
        }
    }
    return NULL;
}

const char *
option_nearest(struct str name)
{
    const char *nearest = NULL;
    size_t distance = 4;

    for (size_t i = 0; i < option_row_count; i++) {
        const char *own = str_starts(name, STR("-")) ? option_rows[i].word
                                                     : option_rows[i].api;
        size_t d = own == NULL ? distance
                               : str_distance(name, str_from(own), distance);

        if (d < distance) {
            distance = d;
            nearest = own;
        }
    }
    return nearest;
}
