/*
 * Voices of directories that each test makes, and those of the system.
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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue.h"
#include "voice_file.h"

static char directory[] = "/tmp/weir-catalogue-XXXXXX";
static const char *const folders[] = { "a",
                                       "a/lang",
                                       "a/lang/gmw",
                                       "a/voices",
                                       "a/voices/mb",
                                       "a/voices/!v",
                                       "b",
                                       "b/espeak-ng-data",
                                       "b/espeak-ng-data/voices",
                                       "b/espeak-ng-data/voices/!v",
                                       "empty" };
static const char *const files[][2] = {
    { "a/lang/gmw/en-US", "name Mine (America)\nlanguage en-us 1\n" },
    { "a/voices/mb/mb-us9", "name us-mbrola-9\nlanguage en-us 1\n" },
    { "a/voices/robot", "name Robot\nlanguage x-robot\nmbrola us1\n" },
    { "a/voices/plus+", "name Plus\nlanguage x-plus\n" },
    { "a/voices/note", "this is no voice\n" },
    { "a/voices/slow-US", "name Slow (America)\nlanguage en-us 40\n"
                          "language slo 5 // mine\n" },
    { "a/voices/!v/f3", "language variant\nname mine3\n" },
    { "a/voices/!v/zz top", "language variant\nname Bearded\n" },
    { "b/espeak-ng-data/voices/slow-US", "name Hidden\nlanguage x-hidden\n" },
    { "b/espeak-ng-data/voices/quick", "language x-quick\nname Quick\n" },
    { "b/espeak-ng-data/voices/!v/low", "language variant\nname Low\n" },
};

/* One of four texts that change. */
static const char *
path_of(const char *name)
{
    static char paths[4][sizeof(directory) + 64];
    static size_t next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static int
set_up(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (mkdir(path_of(folders[i]), 0755) == -1) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        FILE *f = fopen(path_of(files[i][0]), "w");

        if (f == NULL || fputs(files[i][1], f) == EOF || fclose(f) == EOF) {
            return -1;
        }
    }
    return symlink("/etc/passwd", path_of("a/voices/linked")) == -1 ||
           symlink("../../b/espeak-ng-data/voices", path_of("a/lang/link")) ==
               -1;
}

static int
clean_up(void **state)
{
    (void)state;
    unlink(path_of("a/voices/linked"));
    unlink(path_of("a/lang/link"));
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        unlink(path_of(files[i][0]));
    }
    for (size_t i = sizeof(folders) / sizeof(*folders); i > 0; i--) {
        rmdir(path_of(folders[i - 1]));
    }
    return rmdir(directory);
}

/* Of the directories a and b, and the system's. */
static struct catalogue *
read_both(void)
{
    struct str both[] = { str_from(path_of("a")), str_from(path_of("b")) };
    struct errmsg err;
    struct catalogue *c;

    if (catalogue_system_directory()[0] == '\0') {
        print_message("SKIPPED: no espeak-ng-data on this machine\n");
        skip();
    }
    c = catalogue_read(both, 2, &err);
    if (c == NULL) {
        fail_msg("%s", err.text);
    }
    return c;
}

static void
finds(const struct catalogue *c, const char *asked, const char *name)
{
    const struct catalogue_voice *v = catalogue_find(c, str_from(asked));
    struct str found = v == NULL ? STR("nothing") : v->name;

    if (!str_eq(found, str_from(name))) {
        fail_msg("%s finds %.*s, not %s", asked, STR_ARGS(found), name);
    }
}

/* ---- one file ---- */

static void
test_lines(void **state)
{
    struct voice_facts f;

    (void)state;
    voice_file_read(STR("// comment\n#name No\nname  A b\t\r\n"
                        "language en-gb  2\nlanguage en\t7x\nlanguage\n"
                        "language ../x 1\nlanguage fr 300\nnames Not\n"
                        "language de-at 0 // best"),
                    &f);
    assert_true(str_eq(f.display, STR("A b")));
    assert_int_equal(f.language_count, 4);
    assert_true(str_eq(f.languages[0].tag, STR("en-gb")));
    assert_int_equal(f.languages[0].priority, 2);
    assert_int_equal(f.languages[1].priority, VOICE_PRIORITY);
    assert_int_equal(f.languages[2].priority, VOICE_PRIORITY);
    assert_true(str_eq(f.languages[3].tag, STR("de-at")));
    assert_int_equal(f.languages[3].priority, 0);
    assert_false(f.mbrola);
    voice_file_read(STR("name \xff\nlanguage x"), &f);
    assert_int_equal(f.display.len, 0);
    voice_file_read(STR("mbrola us1 us1_phtrans"), &f);
    assert_true(f.mbrola);
    assert_int_equal(f.language_count, 0);
}

static void
test_many_languages(void **state)
{
    char text[40 * 16];
    struct voice_facts f;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 40; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "language x%d\n", i);
    }
    voice_file_read(str_of(text, n), &f);
    assert_int_equal(f.language_count, VOICE_LANGUAGES);
}

/* ---- directories ---- */

static void
test_directories(void **state)
{
    struct catalogue *c = read_both();
    const struct catalogue_voice *v = catalogue_find(c, STR("en-US"));

    (void)state;
    assert_true(str_eq(v->display, STR("Mine (America)")));
    assert_true(str_eq(v->file, STR("gmw/en-US")));
    v = catalogue_find(c, STR("slow-US"));
    assert_true(str_eq(v->display, STR("Slow (America)")));
    assert_true(str_eq(v->file, STR("slow-US")));
    assert_true(str_eq(v->language, STR("slo")));
    finds(c, "quick", "quick");
    finds(c, "x-hidden", "nothing");
    finds(c, "mb-us9", "nothing");
    finds(c, "robot", "nothing");
    finds(c, "plus+", "nothing");
    finds(c, "note", "nothing");
    finds(c, "linked", "nothing");
    finds(c, "link/quick", "nothing");
    finds(c, "../voices/quick", "nothing");
    catalogue_free(&c);
    assert_null(c);
}

static void
test_useless(void **state)
{
    struct str path = str_from(path_of("empty"));
    struct errmsg err;

    (void)state;
    assert_int_equal(catalogue_check_directory(path, &err), -1);
    assert_non_null(strstr(err.text, "/empty\": it has none of"));
    assert_null(catalogue_read(&path, 1, &err));
    assert_non_null(strstr(err.text, "/empty\""));
    path = str_from(path_of("nowhere"));
    assert_int_equal(catalogue_check_directory(path, &err), -1);
    assert_non_null(strstr(err.text, "/nowhere\": No such file"));
    path = str_from(path_of("a"));
    assert_int_equal(catalogue_check_directory(path, &err), 0);
    path = str_from(path_of("b"));
    assert_int_equal(catalogue_check_directory(path, &err), 0);
}

/* ---- finding ---- */

static void
test_names(void **state)
{
    struct catalogue *c = read_both();

    (void)state;
    finds(c, "en-us", "en-US");
    finds(c, "EN_US", "en-US");
    finds(c, "gmw/en-us", "en-US");
    finds(c, "mine (america)", "en-US");
    finds(c, "Mine_(America)", "en-US");
    finds(c, "en", "en");
    finds(c, "en-gb", "en");
    finds(c, "zh", "cmn");
    finds(c, "no", "nb");
    finds(c, "pt-pt", "pt");
    finds(c, "german", "de");
    finds(c, "yue", "yue");
    finds(c, "de_DE", "de");
    finds(c, "zh-cn", "cmn");
    finds(c, "no-NO", "nb");
    finds(c, "en-au", "en");
    finds(c, "en-xx", "nothing");
    finds(c, "no-such", "nothing");
    finds(c, "-DE", "nothing");
    finds(c, "xx-DE", "nothing");
    finds(c, "", "nothing");
    finds(c, "xx", "nothing");
    finds(c, "../../etc/passwd", "nothing");
    catalogue_free(&c);
}

static void
test_variants(void **state)
{
    struct catalogue *c = read_both();
    size_t count = catalogue_variants(c);

    (void)state;
    assert_true(str_eq(catalogue_variant(c, STR("f3")), STR("f3")));
    assert_true(str_eq(catalogue_variant(c, STR("ZZ Top")), STR("zz top")));
    assert_true(str_eq(catalogue_variant(c, STR("mine3")), STR("f3")));
    assert_true(str_eq(catalogue_variant(c, STR("low")), STR("low")));
    assert_int_equal(catalogue_variant(c, STR("")).len, 0);
    assert_int_equal(catalogue_variant(c, STR("f33")).len, 0);
    assert_int_equal(catalogue_variant(c, STR("../f3")).len, 0);
    assert_non_null(catalogue_variant_at(c, 0).ptr);
    assert_int_equal(catalogue_variant_at(c, 0).len, 0);
    assert_null(catalogue_variant_at(c, -1).ptr);
    assert_null(catalogue_variant_at(c, (int64_t)count + 1).ptr);
    assert_true(str_eq(catalogue_variant_at(c, (int64_t)count), STR("zz top")));
    for (size_t i = 2; i <= count; i++) {
        assert_true(str_compare(catalogue_variant_at(c, (int64_t)i - 1),
                                catalogue_variant_at(c, (int64_t)i)) < 0);
    }
    catalogue_free(&c);
}

static void
is_near(const struct catalogue *c, const char *asked, const char *wanted)
{
    struct buf out;

    buf_init(&out, 512);
    catalogue_nearest(c, str_from(asked), &out);
    buf_add(&out, "", 1);
    if (strstr((const char *)buf_data(&out), wanted) == NULL) {
        fail_msg("near to %s: %s", asked, (const char *)buf_data(&out));
    }
    buf_clear(&out);
}

static void
test_near(void **state)
{
    struct catalogue *c = read_both();
    struct buf out;

    (void)state;
    is_near(c, "en-usa", "\"en-US\"");
    is_near(c, "EN-UX", "\"en-US\"");
    is_near(c, "Germn", "\"de\"");
    is_near(c, "quik", "\"quick\"");
    is_near(c, "english", "\"en-");
    is_near(c, "en_US-lessac-medium", "\"en-US\", ");
    buf_init(&out, 512);
    catalogue_nearest(c, STR("nothing-like-this-at-all"), &out);
    assert_int_equal(buf_len(&out), 0);
    catalogue_nearest_variant(c, STR("whispr"), &out);
    buf_add(&out, "", 1);
    assert_non_null(strstr((const char *)buf_data(&out), "\"whisper\""));
    buf_clear(&out);
    catalogue_free(&c);
}

/* ---- JSON ---- */

static void
has_text(struct str json, const char *part)
{
    if (memmem(json.ptr, json.len, part, strlen(part)) == NULL) {
        fail_msg("not in the answer: %s", part);
    }
}

static void
test_json(void **state)
{
    struct catalogue *c = read_both();
    struct buf out;

    (void)state;
    buf_init(&out, (size_t)4 << 20);
    assert_int_equal(catalogue_json(c, 22050, &out), 0);
    has_text(buf_str(&out),
             "\"en-US\":{\"name\":\"en-US\",\"sample_rate\":22050,"
             "\"description\":\"Mine (America)\","
             "\"audio\":{\"sample_rate\":22050,\"quality\":\"low\"},"
             "\"espeak\":{\"voice\":\"en-US\"},"
             "\"language\":{\"code\":\"en_US\",\"family\":\"en\","
             "\"region\":\"US\",\"name_native\":\"English\","
             "\"name_english\":\"Mine\","
             "\"country_english\":\"United States\"},"
             "\"inference\":{\"noise_scale\":0.667,\"length_scale\":1,"
             "\"noise_w\":0},\"num_speakers\":");
    has_text(buf_str(&out), "\"speaker_id_map\":{\"default\":0,\"");
    has_text(buf_str(&out), "},\"default_speaker_id\":0,"
                            "\"phoneme_type\":\"espeak\","
                            "\"dataset\":\"espeak-ng\"}");
    has_text(buf_str(&out), "{\"code\":\"de\",\"family\":\"de\","
                            "\"region\":\"\",\"name_native\":\"Deutsch\","
                            "\"name_english\":\"German\",");
    has_text(buf_str(&out), "{\"code\":\"es_419\",\"family\":\"es\",");
    has_text(buf_str(&out), "{\"code\":\"vi_VN\",\"family\":\"vi\",");
    buf_clear(&out);
    buf_init(&out, 1000);
    assert_int_equal(catalogue_json(c, 22050, &out), -1);
    buf_clear(&out);
    catalogue_free(&c);
}

/* ---- espeak-ng's own list ---- */

/* Cuts the column FILE of a line out of it; false: it has none. */
static bool
file_of(char *line, bool variants, const char **file)
{
    char *at = variants ? strstr(line, "!v/") : NULL;

    if (variants) {
        char *others = strstr(line, " (");

        *file = at == NULL ? NULL : at + 3;
        if (others != NULL) {
            *others = '\0'; /* languages that it has, too */
        }
        for (size_t n = strlen(line); n > 0 && line[n - 1] <= ' '; n--) {
            line[n - 1] = '\0';
        }
        return at != NULL;
    }
    char *rest = NULL;

    *file = strtok_r(line, " \n", &rest);
    for (int i = 0; i < 4; i++) {
        *file = strtok_r(NULL, " \n", &rest);
    }
    return *file != NULL && strcmp(*file, "File") != 0;
}

static size_t
count_listed(const struct catalogue *c, const char *command, bool variants)
{
    FILE *list = popen(command, "r");
    const char *file;
    char line[512];
    size_t count = 0;

    assert_non_null(list);
    while (fgets(line, sizeof(line), list) != NULL) {
        if (!file_of(line, variants, &file)) {
            continue;
        }
        const struct catalogue_voice *v =
            variants ? NULL : catalogue_find(c, str_from(file));

        if (variants
                ? !str_eq(catalogue_variant(c, str_from(file)), str_from(file))
                : v == NULL || !str_eq(v->file, str_from(file))) {
            fail_msg("espeak-ng has %s", file);
        }
        count++;
    }
    pclose(list);
    return count;
}

static void
test_same_as_espeak(void **state)
{
    struct errmsg err;
    struct catalogue *c;
    size_t listed;

    (void)state;
    if (catalogue_system_directory()[0] == '\0' ||
        system("command -v espeak-ng >/dev/null") != 0) {
        print_message("SKIPPED: espeak-ng is not on this machine\n");
        skip();
    }
    c = catalogue_read(NULL, 0, &err);
    assert_non_null(c);
    listed = count_listed(c, "espeak-ng --voices", false);
    assert_true(listed > 0);
    assert_int_equal(catalogue_voices(c), listed);
    for (size_t i = 1; i < listed; i++) {
        assert_true(str_compare(catalogue_voice_at(c, i - 1)->name,
                                catalogue_voice_at(c, i)->name) < 0);
    }
    assert_null(catalogue_voice_at(c, listed));
    listed = count_listed(c, "espeak-ng --voices=variant", true);
    assert_true(listed > 0);
    assert_int_equal(catalogue_variants(c), listed);
    catalogue_free(&c);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_many_languages),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_useless),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_same_as_espeak),
    };

    return cmocka_run_group_tests(tests, set_up, clean_up);
}
