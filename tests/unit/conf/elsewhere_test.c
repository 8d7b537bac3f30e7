/*
 * Values of absent keys: from variables of the environment, from the group.
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

#include "help.h"

#include <string.h>

#define VARIABLE "WEIR_TEST_PREFIX"

struct sample_place {
    struct str path;
    struct str prefix;
};

struct sample_all {
    struct conf_groups places; /* struct sample_place */
};

static struct str
path_of(const void *group)
{
    const struct sample_place *p = group;

    return str_first(p->prefix, str_find(p->prefix, '!', 0));
}

static int
check_slash(struct str value, struct errmsg *err)
{
    return str_starts(value, STR("/"))
               ? 0
               : errmsg_set(err, "must start with '/', not \"%.*s\"",
                            STR_ARGS(value));
}

static int
check_among(const struct conf_groups *all, size_t i, struct errmsg *err)
{
    const struct sample_place *p = all->items;

    for (size_t k = 0; k < i; k++) {
        if (str_eq(p[k].path, p[i].path)) {
            return errmsg_set(err, "\"%.*s\" is there already",
                              STR_ARGS(p[i].path));
        }
    }
    return 0;
}

static const struct conf_key place_keys[] = {
    ROW(_place, path, CONF_STRING, .check = check_slash, .otherwise = path_of,
        .help = "Path."),
    ROW(_place, prefix, CONF_STRING, .preset = "", .max = 20,
        .variable = VARIABLE, .help = "Prefix."),
    CONF_END,
};

static const struct conf_key keys[] = {
    ROW(_all, places, CONF_GROUPS, .keys = place_keys,
        .size = sizeof(struct sample_place), .preset = "",
        .check_among = check_among, .help = "Places."),
    CONF_END,
};

static struct conf *
load(const char *text, char **mistakes)
{
    help_write("t.conf", str_from(text));
    return conf_load("t.conf", keys, sizeof(struct sample_all), mistakes);
}

/* The paths of all places, with blanks between them; or the mistakes. */
static void
expect(const char *text, const char *expected)
{
    char *mistakes = NULL;
    struct conf *c = load(text, &mistakes);
    char got[200] = "";
    size_t len = 0;

    if (c == NULL) {
        assert_string_equal(mistakes, expected);
        mem_free(&mistakes);
        return;
    }
    const struct sample_all *all = conf_settings(c);
    const struct sample_place *p = all->places.items;

    for (size_t i = 0; i < all->places.count; i++) {
        len = str_append(got, sizeof(got), len, i > 0 ? STR(" ") : STR(""));
        len = str_append(got, sizeof(got), len, p[i].path);
    }
    assert_string_equal(got, expected);
    conf_free(&c);
}

static void
test_otherwise(void **state)
{
    (void)state;
    unsetenv(VARIABLE);
    expect("places = { path = \"/a\"; prefix = \"/b\"; };", "/a");
    expect("places = { prefix = \"/b!c\"; };", "/b");
    expect("places = { };",
           "t.conf:1: places.path is missing, it must be a string\n");
    expect("places = { prefix = \"b\"; };",
           "t.conf:1: places.path must start with '/', not \"b\"\n");
    expect("places = { path = 1; prefix = \"/b\"; };",
           "t.conf:1: places.path must be a string, not 1\n");
}

static void
test_variables(void **state)
{
    (void)state;
    setenv(VARIABLE, "/v", 1);
    expect("places = { };", "/v");
    expect("places = { prefix = \"/b\"; };", "/b");
    expect("places = { path = \"/a\"; };", "/a");
    expect("places = { prefix = \"\"; };",
           "t.conf:1: places.path is missing, it must be a string\n");
    setenv(VARIABLE, "", 1);
    expect("places = { };",
           "t.conf:1: places.path is missing, it must be a string\n");
    unsetenv(VARIABLE);
}

/* Whatever a variable says, the file is right or wrong as it is without it. */
static void
test_variables_are_no_mistake(void **state)
{
    (void)state;
    setenv(VARIABLE, "/longer than twenty bytes", 1);
    expect("places = ( { path = \"/a\"; }, { prefix = \"/b\"; } );", "/a /b");
    expect("places = { };",
           "t.conf:1: places.path is missing, it must be a string\n");
    setenv(VARIABLE, "v", 1);
    expect("places = { path = \"/a\"; };", "/a");
    expect("places = { };",
           "t.conf:1: places.path is missing, it must be a string\n");
    setenv(VARIABLE, "/a", 1);
    expect("places = ( { path = \"/a\"; }, { } );",
           "t.conf:1: places.path is missing, it must be a string\n");
    expect("places = ( { path = \"/b\"; }, { } );", "/b /a");
    unsetenv(VARIABLE);
}

static void
test_print(void **state)
{
    char *mistakes, *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct conf *c;

    (void)state;
    setenv(VARIABLE, "/v", 1);
    c = load("places = { };", &mistakes);
    assert_non_null(c);
    conf_print(c, out);
    fclose(out);
    assert_non_null(strstr(text, "path = \"/v\";\n"));
    assert_non_null(
        strstr(text, "prefix = \"/v\"; # from ${env:" VARIABLE "}\n"));
    conf_free(&c);
    mem_free(&text);
    unsetenv(VARIABLE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otherwise),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_variables_are_no_mistake),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
