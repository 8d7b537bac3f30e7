/*
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

#include "ask.h"
#include "json/read.h"

static const struct tts_instance instance = {
    .name = { "main", 4 },
    .voice = { "en-us", 5 },
    .speaker = { "f2", 2 },
    .max_text = 100,
    .max_audio = 600000,
    .buffer = 1 << 20,
    .length_scale = 1500000,
    .noise_scale = -1,
    .noise_w_scale = 0,
    .sentence_silence = 200,
};

static struct pool *pool;
static struct speech_request got;
static struct ask_error err;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    memset(&got, 0, sizeof(got));
    memset(&err, 0, sizeof(err));
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static int
json(const char *body)
{
    return ask_json(pool, &instance, json_reader_whole(pool, str_from(body)),
                    &got, &err);
}

static int
query(const char *text)
{
    struct http_request r = { .pool = pool, .query = str_from(text) };

    return ask_query(&r, &instance, &got, &err);
}

static void
assert_text(struct str s, const char *expected)
{
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.ptr, expected, s.len);
}

static void
assert_refused(int result, int status, const char *field, const char *message)
{
    assert_int_equal(result, -1);
    assert_int_equal(err.status, status);
    assert_string_equal(err.field, field);
    assert_string_equal(err.message.text, message);
}

/* With a text beside it. */
static int
with(const char *members)
{
    char body[256];

    snprintf(body, sizeof(body), "{\"text\":\"hi\",%s}", members);
    return json(body);
}

static void
a_text_alone_gets_the_defaults(void **state)
{
    (void)state;
    assert_int_equal(json("{\"text\":\"hi\"}"), 0);
    assert_text(got.instance, "main");
    assert_text(got.text, "hi");
    assert_int_equal(got.voice.len, 0);
    assert_int_equal(got.speaker.len, 0);
    assert_int_equal(got.speaker_id, -1);
    assert_int_equal(got.length_scale, 1500000);
    assert_int_equal(got.noise_scale, -1);
    assert_int_equal(got.noise_w_scale, 0);
    assert_int_equal(got.pitch, -1);
    assert_int_equal(got.range, -1);
    assert_int_equal(got.volume, -1);
    assert_int_equal(got.sentence_silence, 200);
    assert_false(got.ssml);
    assert_false(got.stream);
    assert_int_equal(got.format, SPEECH_WAV);
    assert_int_equal(got.sample_rate, 0);
    assert_int_equal(got.buffer, 1 << 20);
    assert_int_equal(got.max_audio, 600000);
}

static void
every_field_is_taken(void **state)
{
    (void)state;
    assert_int_equal(
        with("\"voice\":\"de\",\"speaker\":\"m1\",\"speaker_id\":3,"
             "\"length_scale\":0.1,\"noise_scale\":0.667,"
             "\"noise_w_scale\":2,\"pitch\":99,\"range\":0,\"volume\":200,"
             "\"sentence_silence\":0.25,\"ssml\":true,\"stream\":true,"
             "\"format\":\"OPUS\",\"sample_rate\":16000,\"other\":[1,{}]"),
        0);
    assert_text(got.voice, "de");
    assert_text(got.speaker, "m1");
    assert_int_equal(got.speaker_id, 3);
    assert_int_equal(got.length_scale, 100000);
    assert_int_equal(got.noise_scale, 667000);
    assert_int_equal(got.noise_w_scale, 2000000);
    assert_int_equal(got.pitch, 99);
    assert_int_equal(got.range, 0);
    assert_int_equal(got.volume, 200);
    assert_int_equal(got.sentence_silence, 250);
    assert_true(got.ssml);
    assert_true(got.stream);
    assert_int_equal(got.format, SPEECH_OPUS);
    assert_int_equal(got.sample_rate, 16000);
}

static void
a_query_has_the_same_fields(void **state)
{
    (void)state;
    assert_int_equal(query("text=h%C3%A4+%2B&voice=de%2Bf3&length_scale=2.0"
                           "&pitch=5e1&ssml=1&stream=false&timings=true"
                           "&noise_scale="),
                     0);
    assert_text(got.text, "h\xc3\xa4 +");
    assert_text(got.voice, "de+f3");
    assert_int_equal(got.length_scale, 2000000);
    assert_int_equal(got.noise_scale, -1);
    assert_int_equal(got.pitch, 50);
    assert_true(got.ssml);
    assert_false(got.stream);
    assert_int_equal(got.format, SPEECH_TIMINGS);
}

static void
null_is_as_if_it_was_not_there(void **state)
{
    (void)state;
    assert_int_equal(with("\"voice\":null,\"speaker\":null,\"speaker_id\":null,"
                          "\"length_scale\":null,\"ssml\":null,\"format\":null,"
                          "\"timings\":null"),
                     0);
    assert_int_equal(got.voice.len, 0);
    assert_int_equal(got.speaker_id, -1);
    assert_int_equal(got.length_scale, 1500000);
    assert_int_equal(got.format, SPEECH_WAV);
}

static void
numbers_may_have_a_point(void **state)
{
    (void)state;
    assert_int_equal(with("\"speaker_id\":2.0,\"pitch\":1e1"), 0);
    assert_int_equal(got.speaker_id, 2);
    assert_int_equal(got.pitch, 10);
}

/* The speaker knows those of the instance, and which of them wins. */
static void
names_are_left_to_the_speaker(void **state)
{
    (void)state;
    assert_int_equal(with("\"voice\":\"de+f3\""), 0);
    assert_text(got.voice, "de+f3");
    assert_int_equal(got.speaker.len, 0);
    assert_int_equal(with("\"voice\":\"\",\"speaker\":\"\""), 0);
    assert_int_equal(got.voice.len + got.speaker.len, 0);
}

static void
what_is_no_body_is_refused(void **state)
{
    (void)state;
    assert_refused(json(""), 400, "",
                   "the body is empty: it must be a JSON object");
    assert_refused(json("[]"), 400, "", "the body must be a JSON object");
    assert_refused(json("{\"text\":"), 400, "",
                   "not valid JSON: it ends too early (line 1, column 9)");
    assert_int_equal(json("{\"text\":\"a\",\"length_scale\":NaN}"), -1);
    assert_int_equal(err.status, 400);
    assert_int_equal(json("text=hi"), -1);
    assert_int_equal(err.status, 400);
    assert_int_equal(json("{\"text\":\"a\",\"text\":\"b\"}"), -1);
    assert_int_equal(err.status, 400);
}

static void
what_is_no_text_is_refused(void **state)
{
    char body[200] = "{\"text\":\"";

    (void)state;
    assert_refused(json("{}"), 400, "text", "text is missing");
    assert_refused(json("{\"text\":null}"), 400, "text", "text is missing");
    assert_refused(json("{\"text\":5}"), 400, "text",
                   "text must be a string, not 5");
    assert_refused(json("{\"text\":\"\"}"), 400, "text",
                   "the text must not be empty");
    assert_refused(json("{\"text\":\" \\n\\t\"}"), 400, "text",
                   "the text must not be empty");
    assert_refused(query("voice=de"), 400, "text", "text is missing");
    assert_refused(query("text=a%ff"), 400, "text",
                   "the text is not UTF-8: see its byte 1");
    memset(body + 9, 'a', 101);
    memcpy(body + 110, "\"}", 3);
    assert_refused(json(body), 413, "text",
                   "the text has 101 bytes, at most 100 are taken");
}

static void
wrong_values_are_named(void **state)
{
    static const struct {
        const char *members, *field, *message;
    } rows[] = {
        { "\"voice\":5", "voice", "voice must be a string, not 5" },
        { "\"speaker\":true", "speaker", "speaker must be a string, not true" },
        { "\"speaker_id\":\"1\"", "speaker_id",
          "speaker_id must be a whole number from 0 to 2147483647, not "
          "\"1\"" },
        { "\"speaker_id\":-1", "speaker_id",
          "speaker_id must be a whole number from 0 to 2147483647, not -1" },
        { "\"speaker_id\":1.5", "speaker_id",
          "speaker_id must be a whole number from 0 to 2147483647, not 1.5" },
        { "\"length_scale\":\"0.5\"", "length_scale",
          "length_scale must be a number from 0.1 to 10, not \"0.5\"" },
        { "\"length_scale\":0", "length_scale",
          "length_scale must be a number from 0.1 to 10, not 0" },
        { "\"length_scale\":1e999", "length_scale",
          "length_scale must be a number from 0.1 to 10, not 1e999" },
        { "\"length_scale\":[]", "length_scale",
          "length_scale must be a number from 0.1 to 10, not an array" },
        { "\"noise_scale\":10.01", "noise_scale",
          "noise_scale must be a number from 0 to 10, not 10.01" },
        { "\"noise_w_scale\":{}", "noise_w_scale",
          "noise_w_scale must be a number from 0 to 2, not an object" },
        { "\"pitch\":100", "pitch",
          "pitch must be a whole number from 0 to 99, not 100" },
        { "\"volume\":201", "volume",
          "volume must be a whole number from 0 to 200, not 201" },
        { "\"sentence_silence\":11", "sentence_silence",
          "sentence_silence must be a number from 0 to 10, not 11" },
        { "\"ssml\":1", "ssml", "ssml must be true or false, not 1" },
        { "\"format\":\"aac\"", "format",
          "format must be one of wav, pcm, mulaw, flac, opus, mp3, not "
          "\"aac\"" },
        { "\"format\":\"timings\"", "format",
          "format must be one of wav, pcm, mulaw, flac, opus, mp3, not "
          "\"timings\"" },
        { "\"sample_rate\":7999", "sample_rate",
          "sample_rate must be a whole number from 8000 to 48000, not "
          "7999" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_refused(with(rows[i].members), 400, rows[i].field,
                       rows[i].message);
    }
}

static void
wrong_values_of_a_query_are_named(void **state)
{
    (void)state;
    assert_refused(query("text=a&pitch=x"), 400, "pitch",
                   "pitch must be a whole number from 0 to 99, not \"x\"");
    assert_refused(query("text=a&length_scale=nan"), 400, "length_scale",
                   "length_scale must be a number from 0.1 to 10, not "
                   "\"nan\"");
    assert_refused(query("text=a&length_scale=1-"), 400, "length_scale",
                   "length_scale must be a number from 0.1 to 10, not "
                   "\"1-\"");
    assert_refused(query("text=a&ssml=yes"), 400, "ssml",
                   "ssml must be true or false, not \"yes\"");
    assert_refused(query("text=a&voice=%ff"), 400, "voice",
                   "voice is not UTF-8");
}

/* The library takes them for commands. */
static void
control_characters_become_spaces(void **state)
{
    (void)state;
    assert_int_equal(json("{\"text\":\"a\\u0001b\\u0000c\\td\\ne\\u007f\"}"),
                     0);
    assert_text(got.text, "a b c\td\ne ");
}

static void
a_long_name_is_cut_between_characters(void **state)
{
    char body[300] = "{\"text\":\"a\",\"voice\":\"";
    size_t n = strlen(body);

    (void)state;
    memset(body + n, 'v', SPEECH_VOICE_MAX - 1);
    memcpy(body + n + SPEECH_VOICE_MAX - 1, "\xc3\xa4xyz\"}", 8);
    assert_int_equal(json(body), 0);
    assert_int_equal(got.voice.len, SPEECH_VOICE_MAX - 1);
}

static void
a_long_value_is_shown_in_part(void **state)
{
    char members[200] = "\"format\":\"";

    (void)state;
    memset(members + 10, 'x', 100);
    memcpy(members + 110, "\"", 2);
    assert_int_equal(with(members), -1);
    assert_non_null(strstr(err.message.text, "xxx...\""));
    assert_null(strstr(err.message.text,
                       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                       "xxxxxxx"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_alone_gets_the_defaults),
        cmocka_unit_test(every_field_is_taken),
        cmocka_unit_test(a_query_has_the_same_fields),
        cmocka_unit_test(null_is_as_if_it_was_not_there),
        cmocka_unit_test(numbers_may_have_a_point),
        cmocka_unit_test(names_are_left_to_the_speaker),
        cmocka_unit_test(what_is_no_body_is_refused),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(wrong_values_of_a_query_are_named),
        cmocka_unit_test(control_characters_become_spaces),
        cmocka_unit_test(a_long_name_is_cut_between_characters),
        cmocka_unit_test(a_long_value_is_shown_in_part),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
