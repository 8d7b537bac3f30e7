/*
 * Quality and format, and the options of yt-dlp for them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "fetcher/engine.h"
#include "fetcher/selection.h"

#define BY_HTTP                                                \
    "[protocol~='^(https?|m3u8|m3u8_native|http_dash_segments" \
    "|http_dash_segments_generator|ism|f4m)$']"
#define IOS "[vcodec~='^((he|a)vc|h26[45])']"

static const struct {
    const char *quality, *format, *options;
} table[] = {
    { "best", "any", "--format=(bestvideo+bestaudio/best)" BY_HTTP },
    { "", "", "--format=(bestvideo+bestaudio/best)" BY_HTTP },
    { "worst", "any", "--format=(worstvideo+worstaudio/worst)" BY_HTTP },
    { "1080", "any",
      "--format=(bestvideo[height<=?1080]+bestaudio/"
      "best[height<=?1080])" BY_HTTP },
    { "best", "mp4",
      "--format=(bestvideo[ext=mp4]+bestaudio[ext=m4a]/"
      "best[ext=mp4])" BY_HTTP },
    { "720", "mp4",
      "--format=(bestvideo[height<=?720][ext=mp4]+bestaudio[ext=m4a]/"
      "best[height<=?720][ext=mp4])" BY_HTTP },
    { "audio", "any", "--format=(bestaudio/best)" BY_HTTP },
    { "audio", "mp4", "--format=(bestaudio/best)" BY_HTTP },
    { "best_ios", "any",
      "--format=(bestvideo" IOS "+bestaudio[acodec=aac]/bestvideo" IOS
      "+bestaudio/bestvideo+bestaudio/best)" BY_HTTP },
    { "best_ios", "mp4",
      "--format=(bestvideo" IOS "+bestaudio[acodec=aac]/bestvideo" IOS
      "+bestaudio[ext=m4a]/bestvideo[ext=mp4]+bestaudio[ext=m4a]/"
      "best[ext=mp4])" BY_HTTP },
    { "best", "wav",
      "--format=(bestaudio[ext=wav]/bestaudio/best)" BY_HTTP
      " --extract-audio --audio-format=wav --audio-quality=0" },
    { "192", "MP3",
      "--format=(bestaudio[ext=mp3]/bestaudio/best)" BY_HTTP
      " --extract-audio --audio-format=mp3 --audio-quality=192K"
      " --embed-metadata --write-thumbnail --convert-thumbnails=jpg"
      " --embed-thumbnail" },
    { "best", "thumbnail",
      "--format=bestaudio/best --skip-download --write-thumbnail"
      " --convert-thumbnails=jpg" },
    { "best", "custom:(a[x~='(]']/b)", NULL },
    { "best", "custom:(bv*[ext=mp4]/b)+ba[acodec~='^(mp4a|aac)']",
      "--format=((bv*[ext=mp4]/b)+ba[acodec~='^(mp4a|aac)'])" BY_HTTP },
    /* Selections that do not exist. */
    { "1080p", "any", NULL },
    { "0", "any", NULL },
    { "-1", "any", NULL },
    { "20001", "any", NULL },
    { "best_ios2", "any", NULL },
    { "2001", "mp3", NULL },
    { "best", "avi", NULL },
    { "best", "custom:", NULL },
    { "best", "custom:best)/(best", NULL },
    { "best", "custom:best#", NULL },
    { "best", "custom:a,b", NULL },
    { "best", "custom:a\\b", NULL },
    { "best", "custom:a'b'", NULL },
    { "best", "custom:a[b", NULL },
    { "best", "custom:a[b='c]", NULL },
    { "best", "custom:a[b='']", NULL },
    { "best", "custom:a[(]", NULL },
    { "best", "custom:a\n", NULL },
    { "best", "custom:(a", NULL },
};

static void
test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct str quality = str_from(table[i].quality);
        struct str format = str_from(table[i].format);
        struct fetch_line line = { .pool = pool_new(1024) };
        struct errmsg err = { "" };
        char options[1024] = "";
        size_t n = 0;

        assert_int_equal(selection_check(quality, format, &err),
                         table[i].options != NULL ? 0 : -1);
        assert_int_equal(err.text[0] != '\0', table[i].options == NULL);
        selection_add(&line, quality, format);
        for (size_t k = 0; k < line.count; k++) {
            n = str_append(options, sizeof(options), n,
                           str_from(k > 0 ? " " : ""));
            n = str_append(options, sizeof(options), n, str_from(line.argv[k]));
        }
        if (table[i].options != NULL) {
            assert_string_equal(options, table[i].options);
        }
        pool_free(&line.pool);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
