/*
 * Instances, which are chosen by name, and rows that others add to a group.
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

#include <string.h>

#include "base/mem.h"
#include "help.h"

#undef ROW /* of sample.h */
#include "conf/rows.h"

struct voice {
    struct str name;
    int64_t speed;
};

struct user {
    struct conf_instance voice, other;
};

struct added { /* by part 1 at the root */
    struct conf_groups voices;
    int64_t memory;
};

struct root {
    struct conf_groups users;
    struct conf_parts parts;
};

static const struct conf_key voice_keys[] = {
    ROW(voice, name, CONF_STRING, .min = 1),
    ROW(voice, speed, CONF_INT, .min = 1, .max = 9, .preset = "5"),
    CONF_END,
};

static const struct conf_key user_keys[] = {
    ROW(user, voice, CONF_INSTANCE, .of = "voices"),
    ROW(user, other, CONF_INSTANCE, .of = "voices", .preset = ""),
    CONF_END,
};

static const struct conf_key added_keys[] = {
    ROW(added, voices, CONF_GROUPS, .keys = voice_keys,
        .size = sizeof(struct voice), .preset = "", .named = true),
    ROW(added, memory, CONF_SIZE, .preset = "1k", .change = CONF_RESTART),
    CONF_END,
};

static bool
part_of_root(size_t i, struct conf_part *part)
{
    *part =
        (struct conf_part){ i == 1 ? added_keys : NULL, sizeof(struct added) };
    return i < 3;
}

static const struct conf_key root_keys[] = {
    ROW(root, users, CONF_GROUPS, .keys = user_keys,
        .size = sizeof(struct user), .preset = ""),
    ROW(root, parts, CONF_PARTS, .part = part_of_root),
    CONF_END,
};

static struct conf *
load(const char *text, char **mistakes)
{
    help_write("t.conf", str_from(text));
    return conf_load("t.conf", root_keys, sizeof(struct root), mistakes);
}

static struct conf *
load_good(const char *text)
{
    char *mistakes;
    struct conf *c = load(text, &mistakes);

    if (c == NULL) {
        fail_msg("refused: %s", mistakes);
    }
    return c;
}

static void
refused(const char *text, const char *expected)
{
    char *mistakes;

    assert_null(load(text, &mistakes));
    assert_string_equal(mistakes, expected);
    mem_free(&mistakes);
}

static const struct voice *
voice_of(const struct conf *c, size_t user)
{
    const struct root *root = conf_settings(c);
    const struct user *users = root->users.items;

    return users[user].voice.settings;
}

static void
test_is_found_by_name(void **state)
{
    struct conf *c = load_good(
        "users = ( { voice = \"b\"; other = \"a\"; }, { voice = \"a\"; "
        "other = \"a\"; } );\n"
        "voices = ( { name = \"a\"; speed = 1; }, { name = \"b\"; } );");

    (void)state;
    assert_int_equal(voice_of(c, 0)->speed, 5);
    assert_int_equal(voice_of(c, 1)->speed, 1);
    conf_free(&c);
}

static void
test_the_only_one_is_the_default(void **state)
{
    struct conf *c =
        load_good("voices = { name = \"a\"; speed = 7; }; users = ( {} );");
    const struct root *root = conf_settings(c);
    const struct user *users = root->users.items;

    (void)state;
    assert_int_equal(voice_of(c, 0)->speed, 7);
    assert_string_equal(users[0].other.name.ptr, "a");
    conf_free(&c);
}

static void
test_refused(void **state)
{
    (void)state;
    refused("users = (\n {\n voice = \"mian\"; } );\n"
            "voices = ( { name = \"main\"; } );",
            "t.conf:3: users.voice: there is no voices \"mian\"; did you mean "
            "\"main\"?\n");
    refused("users = (\n { voice = \"x\"; } );",
            "t.conf:2: users.voice: there is no voices \"x\" in the file\n");
    refused("users = (\n { } );",
            "t.conf:2: users.voice: there is no voices in the file\n");
    refused("users = (\n { other = \"a\"; } );\n"
            "voices = ( { name = \"a\"; }, { name = \"b\"; } );",
            "t.conf:2: users.voice must be one of \"a\", \"b\"\n");
    refused("users = { voice = 5; };\nvoices = { name = \"a\"; };",
            "t.conf:1: users.voice must be a string, not 5\n");
}

static void
test_names_are_there_and_different(void **state)
{
    (void)state;
    refused("voices = (\n { speed = 2; } );",
            "t.conf:2: voices.name is missing, it must be a string of at least "
            "1 bytes\n");
    refused("voices = (\n { name = \"a\"; },\n { name = \"b\"; },\n"
            " { name = \"a\"; } );",
            "t.conf:4: voices: \"a\" is the name of the one in line 2\n");
}

static void
test_keys_of_parts_are_known(void **state)
{
    (void)state;
    refused("memroy = 1;", "t.conf:1: memroy is unknown, did you mean "
                           "\"memory\"?\n");
    refused("zzzzzzzzzz = 1;", "t.conf:1: zzzzzzzzzz is unknown; there are: "
                               "users, voices, memory\n");
    refused("memory = \"x\";",
            "t.conf:1: memory must be a size in bytes, or with k, m or g, such "
            "as \"16M\", not \"x\"\n");
}

static char *
printed(const struct conf *c)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    if (c != NULL) {
        conf_print(c, out);
    } else {
        conf_print_keys(root_keys, "", out);
    }
    fclose(out);
    return text;
}

static void
test_what_is_printed_can_be_read(void **state)
{
    struct conf *c = load_good("voices = { name = \"a\"; }; users = ( {} );");
    char *text = printed(c);
    struct conf *again = load_good(text);
    char *second = printed(again);
    char *keys = printed(NULL);

    (void)state;
    assert_non_null(strstr(text, "voice = \"a\";"));
    assert_non_null(strstr(text, "memory = \"1K\";"));
    assert_string_equal(text, second);
    assert_non_null(strstr(keys, "\nvoices.speed  int  1..9  \"5\""));
    assert_non_null(strstr(keys, "users.voice  instance  voices  -"));
    mem_free(&text);
    mem_free(&second);
    mem_free(&keys);
    conf_free(&c);
    conf_free(&again);
}

static void
test_parts_are_compared(void **state)
{
    struct conf *a = load_good("memory = \"1k\";");
    struct conf *b = load_good("memory = \"2k\";");
    char *differences;

    (void)state;
    assert_int_equal(conf_same_start(a, b, &differences), -1);
    assert_string_equal(differences, "memory (from \"1K\" to \"2K\")\n");
    mem_free(&differences);
    conf_free(&a);
    conf_free(&b);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_found_by_name),
        cmocka_unit_test(test_the_only_one_is_the_default),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names_are_there_and_different),
        cmocka_unit_test(test_keys_of_parts_are_known),
        cmocka_unit_test(test_what_is_printed_can_be_read),
        cmocka_unit_test(test_parts_are_compared),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
