/*
 * Lines of engines, whole and cut anywhere, and the texts in them.
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
#include "fetcher/lines.h"

static char seen[4096];

static void
on_line(void *arg, struct str line)
{
    size_t n = strlen(seen);

    (void)arg;
    snprintf(seen + n, sizeof(seen) - n, "<%.*s>", STR_ARGS(line));
}

static void
feed(const char *text, size_t step, size_t len)
{
    struct line_reader r;

    seen[0] = '\0';
    line_reader_init(&r);
    for (size_t i = 0; i < len; i += step) {
        line_reader_take(&r, str_first(str_of(text + i, len - i), step),
                         on_line, NULL);
    }
    line_reader_end(&r, on_line, NULL);
    line_reader_clear(&r);
}

static void
test_lines_are_the_same_however_they_come(void **state)
{
    static const char text[] = "one\ntwo\r\n\n\rthree\rfour";

    (void)state;
    for (size_t step = 1; step < sizeof(text); step++) {
        feed(text, step, sizeof(text) - 1);
        assert_string_equal(seen, "<one><two><three><four>");
    }
}

static void
test_line_that_is_too_long_is_dropped(void **state)
{
    static char text[4 * LINE_MAX_BYTES];

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "before\n", 7);
    memcpy(text + 2 * LINE_MAX_BYTES, "\nafter\n", 7);
    for (size_t step = 1000; step < sizeof(text); step *= 7) {
        feed(text, step, 2 * LINE_MAX_BYTES + 7);
        assert_string_equal(seen, "<before><after>");
    }
    feed(text, 4096, sizeof(text)); /* the last one has no end */
    assert_string_equal(seen, "<before><after>");
    memset(text, 'y', LINE_MAX_BYTES);
    feed(text, 4096, LINE_MAX_BYTES); /* just not too long */
    assert_int_equal(seen[1], 'y');
}

static void
test_numbers_that_are_none(void **state)
{
    static const char *const wrong[] = { "",    "-5",  "-0.5e9", "4e18",
                                         "inf", "nan", "1e400" };

    (void)state;
    assert_int_equal(line_number(STR("12.9")), 12);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(line_number(str_from(wrong[i])), -1);
    }
}

static void
test_counts_that_cannot_be(void **state)
{
    struct run_state s;

    (void)state;
    run_state_init(&s);
    run_state_count(&s, 10, 4); /* a server had told of less */
    assert_int_equal(s.percent, 100000);
    assert_int_equal(s.eta, -1);
    run_state_count(&s, -7, -7);
    assert_int_equal(s.percent, -1);
    assert_int_equal(s.fetched, -1);
    assert_int_equal(s.total, -1);
}

static void
assert_clean(const char *from, const char *to)
{
    char text[200];

    line_clean(text, sizeof(text), str_from(from));
    assert_string_equal(text, to);
}

static void
test_errors_are_cleaned(void **state)
{
    char small[6];

    (void)state;
    assert_clean("\x1b[0;31mERROR:\x1b[0m a\tb\x1b", "ERROR: a b");
    assert_clean("ERROR: '/srv/d/.weir/12/media.mp4.part': No",
                 "ERROR: 'media.mp4.part': No");
    assert_clean("/srv/d/.weir/12/a b", "a b");
    assert_clean("see /usr/bin/x and http://h/.weir/y",
                 "see /usr/bin/x and http://h/.weir/y");
    assert_clean("\xff\xc3\xa4", "?\xc3\xa4");
    assert_clean("/a/.weir/\xff\x01", "??");
    line_clean(small, sizeof(small), STR("abcd\xc3\xa4"));
    assert_string_equal(small, "abcd"); /* no character is cut */
}

static void
test_error_is_not_lost_behind_others(void **state)
{
    char msg[RUN_TEXT_MAX] = "";

    (void)state;
    line_take_error(msg, sizeof(msg), STR("WARNING: slow"));
    assert_string_equal(msg, "");
    line_take_error(msg, sizeof(msg), STR("Traceback"));
    line_take_error(msg, sizeof(msg), STR("ImportError: x"));
    assert_string_equal(msg, "ImportError: x");
    line_take_error(msg, sizeof(msg), STR("ERROR: first"));
    line_take_error(msg, sizeof(msg), STR("more"));
    assert_string_equal(msg, "ERROR: first");
    line_take_error(msg, sizeof(msg), STR("ERROR: last"));
    assert_string_equal(msg, "ERROR: last");
    line_take_error(msg, sizeof(msg), STR("ERROR: "));
    line_take_error(msg, sizeof(msg), STR("WARNING: slow"));
    line_take_error(msg, sizeof(msg), STR("[download] Got error: late"));
    line_take_error(msg, sizeof(msg), STR("more"));
    assert_string_equal(msg, "ERROR: [download] Got error: late");
    line_take_error(msg, 12, STR("ERROR:"));
    line_take_error(msg, 12, STR("ab\xe2\x82\xac"));
    assert_string_equal(msg, "ERROR: ab");
}

static void
test_names_of_files(void **state)
{
    static const char *const bad[] = {
        "", "/a/", "/a/.b", "..", "a\nb", "\xff"
    };
    char name[256] = "as before", longest[300];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(line_file_name(name, str_from(bad[i])));
    }
    memset(longest, 'n', sizeof(longest));
    assert_false(line_file_name(name, str_of(longest, 256)));
    assert_string_equal(name, "as before");
    assert_true(line_file_name(name, STR("/x/.weir/1/media.mp4")));
    assert_string_equal(name, "media.mp4");
    assert_true(line_file_name(name, str_of(longest, 255)));
}

/* ---- those of yt-dlp ---- */

static bool
says(struct run_state *s, const char *line)
{
    return ytdlp_engine.read_line(s, str_from(line), false);
}

static void
test_progress_of_ytdlp(void **state)
{
    struct run_state s;

    (void)state;
    run_state_init(&s);
    assert_int_equal(s.status, STATUS_PREPARING);
    assert_true(says(&s, "B|"));
    assert_int_equal(s.status, STATUS_DOWNLOADING);
    assert_true(says(&s, "P|{\"status\":\"downloading\",\"downloaded_bytes\":"
                         "1024,\"total_bytes\":4096,\"filename\":\"media.mp4\","
                         "\"eta\":null,\"speed\":512.9,\"x\":{\"eta\":7}}"));
    assert_int_equal(s.percent, 25000);
    assert_int_equal(s.fetched, 1024);
    assert_int_equal(s.speed, 512);
    assert_int_equal(s.eta, 6); /* (4096 - 1024) / 512 */
    assert_string_equal(s.name, "media.mp4");
    assert_true(says(&s, "P|{\"status\":\"downloading\",\"downloaded_bytes\":5,"
                         "\"total_bytes_estimate\":1e1,\"eta\":3}"));
    assert_int_equal(s.percent, 50000);
    assert_int_equal(s.eta, 3);
    assert_true(says(&s, "P|{\"status\":\"downloading\","
                         "\"downloaded_bytes\":9}"));
    assert_int_equal(s.percent, -1);
    assert_true(says(&s, "P|{\"status\":\"finished\",\"downloaded_bytes\":9,"
                         "\"total_bytes\":9,\"speed\":4,\"eta\":1}"));
    assert_int_equal(s.percent, 100000);
    assert_int_equal(s.speed, -1);
    assert_int_equal(s.eta, -1);
    assert_true(says(&s, "W|"));
    assert_int_equal(s.status, STATUS_POSTPROCESSING);
    assert_true(says(&s, "F|/d/.weir/1/media.mp3"));
    assert_string_equal(s.file, "media.mp3");
    assert_string_equal(s.name, "media.mp3");
}

static void
test_nonsense_of_ytdlp_changes_nothing(void **state)
{
    static const char *const lines[] = {
        "",      "P|", "P|[1]",   "P|{",  "P|null", "P|{\"status\":1}x",
        "media", "F|", "F|/a/..", "F|a/", "Q|",     "P",
    };
    struct run_state s, before;

    (void)state;
    run_state_init(&s);
    before = s;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_false(says(&s, lines[i]));
        assert_memory_equal(&s, &before, sizeof(s));
    }
    assert_true(says(&s, "P|{\"downloaded_bytes\":-5,\"total_bytes\":1e400,"
                         "\"speed\":1e300,\"eta\":\"x\",\"filename\":\"..\"}"));
    assert_int_equal(s.percent, -1);
    assert_int_equal(s.fetched, -1);
    assert_int_equal(s.speed, -1);
    assert_string_equal(s.name, "");
    assert_false(ytdlp_engine.read_line(&s, STR("ERROR: no"), true));
    assert_string_equal(s.msg, "ERROR: no");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_the_same_however_they_come),
        cmocka_unit_test(test_line_that_is_too_long_is_dropped),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_counts_that_cannot_be),
        cmocka_unit_test(test_errors_are_cleaned),
        cmocka_unit_test(test_error_is_not_lost_behind_others),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_progress_of_ytdlp),
        cmocka_unit_test(test_nonsense_of_ytdlp_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
