/*
 * The file of engine options: every row of options_cases.json, in both forms;
 * and how it is watched.
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

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fetcher/options_parse.h"
#include "fetcher/options_table.h"
#include "json/read.h"

#define CASES "modules/downloads/fetcher/options_cases.json"
#define FOLDER "/etc/weir"
#define PATIENCE_MS 60000

/* ---- cases ---- */

static struct pool *cases_pool;
static const struct json_value *cases;

static struct str
read_path(struct pool *pool, const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = pool_alloc(pool, 1 << 20);

    assert_non_null(f);
    size_t n = fread(text, 1, 1 << 20, f);

    fclose(f);
    return str_of(text, n);
}

static int
read_cases(void **state)
{
    struct errmsg err;

    (void)state;
    cases_pool = pool_new(1 << 16);
    cases = json_read(cases_pool, read_path(cases_pool, CASES), &err);
    return cases == NULL ? -1 : 0;
}

static int
drop_cases(void **state)
{
    (void)state;
    pool_free(&cases_pool);
    return 0;
}

static void
expect_words(const struct json_value *list, const char *const *words,
             size_t count, struct str text)
{
    const struct json_value *e = list == NULL ? NULL : list->first;

    for (size_t i = 0; i < count; i++, e = e->next) {
        if (e == NULL || !str_eq(e->text, str_from(words[i]))) {
            fail_msg("%.*s: %s, not %.*s", STR_ARGS(text), words[i],
                     STR_ARGS(e == NULL ? STR("nothing") : e->text));
        }
    }
    if (e != NULL) {
        fail_msg("%.*s: %.*s is missing", STR_ARGS(text), STR_ARGS(e->text));
    }
}

static void
try_case(const struct json_value *c, struct str text)
{
    struct pool *pool = pool_new(4096);
    struct options_words w;
    struct errmsg err = { "" };
    struct str bad = json_member_str(c, "bad");
    int rc = engine_options_parse(pool, text, STR(FOLDER), &w, &err);

    if (bad.len > 0) {
        char *part = pool_cstr(pool, bad);

        if (rc != -1 || strstr(err.text, part) == NULL) {
            fail_msg("%.*s: \"%s\", not \"%s\"", STR_ARGS(text), err.text,
                     part);
        }
    } else if (rc == -1) {
        fail_msg("%.*s: %s", STR_ARGS(text), err.text);
    } else {
        struct str cookies = json_member_str(c, "cookies");

        expect_words(json_member(c, "words"), w.items, w.count, text);
        expect_words(json_member(c, "secrets"), w.secrets, w.secret_count,
                     text);
        assert_true(str_eq(cookies, w.cookies));
    }
    pool_free(&pool);
}

static void
test_every_case(void **state)
{
    static const char *const forms[] = { "json", "line" };
    size_t n = 0;

    (void)state;
    for (const struct json_value *c = cases->first; c != NULL; c = c->next) {
        for (size_t i = 0; i < 2; i++) {
            const struct json_value *v = json_member(c, forms[i]);

            if (v != NULL) {
                try_case(c, v->text);
                n++;
            }
        }
    }
    assert_in_range(n, 300, 10000);
}

/* ---- no row without a case ---- */

/* Whether a good case has `text` in that form, with one of `behind` behind
 * it. */
static bool
has_case(const char *form, const char *text, const char *behind)
{
    for (const struct json_value *c = cases->first; c != NULL; c = c->next) {
        struct str v = json_member_str(c, form);
        const char *at = json_member(c, "bad") == NULL && v.len > 0
                             ? strstr(v.ptr, text)
                             : NULL;

        while (at != NULL && strchr(behind, at[strlen(text)]) == NULL) {
            at = strstr(at + 1, text);
        }
        if (at != NULL) {
            return true;
        }
    }
    return false;
}

static void
expect_line_case(struct str word)
{
    char text[64];

    str_copy(text, sizeof(text), word);
    if (!has_case("line", text, " ='")) {
        fail_msg("no case has %s", text);
    }
}

static void
expect_api_case(const char *name)
{
    char text[64];

    snprintf(text, sizeof(text), "\"%s\"", name);
    if (!has_case("json", text, ":,}")) {
        fail_msg("no case has %s", text);
    }
}

static void
test_every_row_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *r = &option_rows[i];
        struct str others = str_from(r->other);

        expect_line_case(str_from(r->word));
        while (others.len > 0) {
            expect_line_case(str_cut(&others, ' '));
        }
        if (r->off != NULL) {
            expect_line_case(str_from(r->off));
        }
        if (r->api != NULL) {
            expect_api_case(r->api);
        }
    }
    for (const struct option_processor *o = option_processors; o->key != NULL;
         o++) {
        expect_api_case(o->key);
        for (const struct option_row *r = o->rows; r->api != NULL; r++) {
            expect_api_case(r->api);
        }
    }
}

/* A name is taken, or refused, and never both. */
static void
test_tables_do_not_overlap(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *r = &option_rows[i];
        bool off;

        assert_null(option_refusal(str_from(r->word)));
        assert_ptr_equal(option_find_word(str_from(r->word), &off), r);
        assert_false(off);
        if (r->api != NULL) {
            assert_null(option_refusal(str_from(r->api)));
            assert_ptr_equal(option_find_api(str_from(r->api)), r);
        }
        if (r->off != NULL) {
            assert_null(option_refusal(str_from(r->off)));
            assert_ptr_equal(option_find_word(str_from(r->off), &off), r);
            assert_true(off);
        }
    }
}

/* ---- the file ---- */

static struct loop *l;
static struct options *options;
static char dir[64], file[128];
static int changes;

static void
on_change(void *arg)
{
    assert_ptr_equal(arg, &changes);
    changes++;
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    str_copy(dir, sizeof(dir), STR("/tmp/weir-options-XXXXXX"));
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    snprintf(file, sizeof(file), "%s/engine.json", dir);
    l = loop_new(&err);
    changes = 0;
    return 0;
}

static int
tear_down(void **state)
{
    char command[128];

    (void)state;
    options_free(&options);
    loop_turn(l, 0);
    loop_free(&l);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static void
write_path(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* As editors do it. */
static void
replace(const char *text)
{
    char from[256];

    write_path("new", text);
    snprintf(from, sizeof(from), "%s/new", dir);
    assert_int_equal(rename(from, file), 0);
}

static void
begin(void)
{
    options = options_new(l, str_from(file), on_change, &changes);
    assert_int_equal(changes, 0);
}

static struct options_told
wait_change(int n)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    struct options_told told;

    while (changes < n) {
        assert_true(clock_ms() < until);
        loop_turn(l, 100);
    }
    assert_int_equal(changes, n);
    assert_true(options_last(options, &told));
    return told;
}

static void
expect_arguments(const char *text)
{
    char got[1024] = "";
    size_t count, len = 0;
    const char *const *words = options_arguments(options, &count);

    for (size_t i = 0; i < count; i++) {
        len = str_append(got, sizeof(got), len, str_from(words[i]));
        len = str_append(got, sizeof(got), len, STR(" "));
    }
    assert_string_equal(got, text);
}

static void
test_no_file_is_told_of_where_none_is_named(void **state)
{
    struct options_told told;
    size_t count;

    (void)state;
    options = options_new(l, STR_NONE, on_change, &changes);
    assert_false(options_last(options, &told));
    options_arguments(options, &count);
    assert_int_equal(count, 0);
}

static void
test_what_changes_is_read_again(void **state)
{
    struct options_told told;
    struct stat st;

    (void)state;
    write_path("engine.json", "{\"ratelimit\": 1000}");
    begin();
    assert_true(options_last(options, &told));
    assert_true(told.success);
    assert_string_equal(told.msg, "");
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(told.modified_us, (int64_t)st.st_mtim.tv_sec * 1000000 +
                                           st.st_mtim.tv_nsec / 1000);
    expect_arguments("--limit-rate=1000 ");

    replace("{\"ratelimit\": 2000}");
    assert_true(wait_change(1).success);
    expect_arguments("--limit-rate=2000 ");

    write_path("engine.json", "--limit-rate 3K --no-mtime");
    assert_true(wait_change(2).success);
    expect_arguments("--limit-rate=3K --no-mtime ");
}

static void
test_a_broken_file_keeps_the_last_good(void **state)
{
    struct options_told told;

    (void)state;
    write_path("engine.json", "{\"ratelimit\": 1000}");
    begin();
    replace("{\"ratelimit\": 2000, \"exec\": \"id\"}");
    told = wait_change(1);
    assert_false(told.success);
    assert_string_equal(told.msg,
                        "\"exec\" is refused: it would run a program");
    assert_true(told.modified_us > 0);
    expect_arguments("--limit-rate=1000 ");

    assert_int_equal(unlink(file), 0);
    told = wait_change(2);
    assert_false(told.success);
    assert_string_equal(told.msg, "File \"engine.json\" not found");
    assert_int_equal(told.modified_us, -1);
    expect_arguments("--limit-rate=1000 ");

    replace("");
    assert_true(wait_change(3).success);
    expect_arguments("");
}

static void
test_a_file_that_is_not_there_may_come(void **state)
{
    struct options_told told;

    (void)state;
    begin();
    assert_true(options_last(options, &told));
    assert_false(told.success);
    assert_int_equal(told.modified_us, -1);
    write_path("engine.json", "-N 2");
    assert_true(wait_change(1).success);
    expect_arguments("--concurrent-fragments=2 ");
}

/* As containers mount a configuration. */
static void
test_a_link_that_is_changed_is_noticed(void **state)
{
    char path[256], next[256];

    (void)state;
    write_path("one", "-N 2");
    write_path("two", "-N 3");
    snprintf(path, sizeof(path), "%s/data", dir);
    snprintf(next, sizeof(next), "%s/next", dir);
    assert_int_equal(symlink("one", path), 0);
    assert_int_equal(symlink("data", file), 0);
    begin();
    expect_arguments("--concurrent-fragments=2 ");
    assert_int_equal(symlink("two", next), 0);
    assert_int_equal(rename(next, path), 0);
    assert_true(wait_change(1).success);
    expect_arguments("--concurrent-fragments=3 ");
}

static void
test_only_a_file_of_a_sane_size_is_read(void **state)
{
    struct options_told told;
    char *large = mem_zero(OPTIONS_FILE_MAX + 2);

    (void)state;
    assert_int_equal(mkfifo(file, 0600), 0);
    begin();
    options_last(options, &told);
    assert_false(told.success);
    memset(large, ' ', OPTIONS_FILE_MAX + 1);
    write_path("new", large);
    replace(large);
    told = wait_change(1);
    assert_string_equal(told.msg, "File \"engine.json\" is larger than 256 KB");
    large[OPTIONS_FILE_MAX] = '\0';
    replace(large);
    assert_true(wait_change(2).success);
    mem_free(&large);
}

/* ---- in the folder of a run ---- */

static int
make_run(void)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/run", dir);
    mkdir(path, 0777);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
expect_file(const char *name, const char *text)
{
    struct pool *pool = pool_new(1024);
    char path[256];
    struct str got;

    snprintf(path, sizeof(path), "%s/run/%s", dir, name);
    got = read_path(pool, path);
    assert_int_equal(got.len, strlen(text));
    assert_memory_equal(got.ptr, text, got.len);
    pool_free(&pool);
}

static void
test_secrets_go_to_the_folder_of_the_run(void **state)
{
    struct errmsg err;
    int run = make_run();

    (void)state;
    write_path("engine.json", "{\"password\": \"it's\", \"username\": \"me\", "
                              "\"nopart\": true}");
    begin();
    expect_arguments("--config-locations=weir.options --no-part ");
    for (int i = 0; i < 2; i++) { /* a run that is resumed has it already */
        assert_int_equal(options_place(options, run, &err), 0);
        expect_file("weir.options", "'--password=it'\\''s'\n'--username=me'\n");
    }
    close(run);
}

static void
test_cookies_go_to_the_folder_of_the_run(void **state)
{
    struct errmsg err;
    int run = make_run();
    char path[256];

    (void)state;
    write_path("engine.json", "--cookies jar");
    begin();
    expect_arguments("--cookies=weir.cookies ");
    assert_int_equal(options_place(options, run, &err), -1);
    assert_string_equal(
        err.text, "the file of cookies \"jar\": No such file or directory");
    write_path("jar", "crumbs");
    assert_int_equal(options_place(options, run, &err), 0);
    expect_file("weir.cookies", "crumbs");

    snprintf(path, sizeof(path), "%s/jar", dir);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(options_place(options, run, &err), -1);
    close(run);
}

/* An engine may have left something there: it is replaced, not followed. */
static void
test_a_link_in_the_folder_of_a_run_is_not_followed(void **state)
{
    struct errmsg err;
    int run = make_run();
    char path[256];

    (void)state;
    write_path("engine.json", "--cookies jar");
    write_path("jar", "crumbs");
    write_path("victim", "whole");
    begin();
    snprintf(path, sizeof(path), "%s/run/weir.cookies", dir);
    assert_int_equal(symlink("../victim", path), 0);
    assert_int_equal(options_place(options, run, &err), 0);
    expect_file("weir.cookies", "crumbs");
    expect_file("../victim", "whole");
    close(run);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_case),
        cmocka_unit_test(test_every_row_has_a_case),
        cmocka_unit_test(test_tables_do_not_overlap),
        TEST(test_no_file_is_told_of_where_none_is_named),
        TEST(test_what_changes_is_read_again),
        TEST(test_a_broken_file_keeps_the_last_good),
        TEST(test_a_file_that_is_not_there_may_come),
        TEST(test_a_link_that_is_changed_is_noticed),
        TEST(test_only_a_file_of_a_sane_size_is_read),
        TEST(test_secrets_go_to_the_folder_of_the_run),
        TEST(test_cookies_go_to_the_folder_of_the_run),
        TEST(test_a_link_in_the_folder_of_a_run_is_not_followed),
    };

    return cmocka_run_group_tests(tests, read_cases, drop_cases);
}
