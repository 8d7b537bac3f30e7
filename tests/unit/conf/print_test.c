/*
 * What weir -T and -K print.
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

static char *
printed(const struct conf *c)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    conf_print(c, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Printing, loading that and printing again gives the same, and nothing of
 * it would be refused by a reload. */
static void
comes_back(const char *text)
{
    struct conf *first = help_load(text), *second;
    char *a = printed(first), *b, *differences;

    second = help_load(a);
    b = printed(second);
    assert_string_equal(a, b);
    assert_int_equal(conf_same_start(first, second, &differences), 0);
    mem_free(&a);
    mem_free(&b);
    conf_free(&first);
    conf_free(&second);
}

static const char everything[] =
    "port = 65535; workers = 64;\n"
    "pid = \"a\\\"b\\\\c\\x01\\n\\t\\x7f \xc3\xa4 \xff /* # \\\\x00\";\n"
    "user = \"allow u\"; access = [ \"allow \\\"\", \"deny , x\" ];\n"
    "live = { memory = 4194305; hold = \"1500ms\"; gather = \"inherit\";\n"
    "         streams = 1099511627776L; cache = false; mode = \"refuse\"; }\n"
    "units = ( \"a\", { name = \"b\"; weight = -3000000000L; tags = \"\";\n"
    "  units = ( \"c\", { name = \"d\"; units = \"e\"; } );\n"
    "  layers = ( \"echo\", \"bare\", { },\n"
    "             { module = \"echo\"; text = \"\"; times = 9; } ); } );\n"
    "store = { backend = \"none\"; };\n";

static void
test_round_trip(void **state)
{
    (void)state;
    comes_back("port = 0;");
    comes_back(everything);
    comes_back("port = 1; store = { path = \"y\"; };");
}

static void
test_same_settings(void **state)
{
    struct conf *first = help_load(everything), *second;
    char *text = printed(first);
    const struct sample *a = conf_settings(first), *b;
    const struct sample_unit *u;

    (void)state;
    second = help_load(text);
    b = conf_settings(second);
    assert_int_equal(b->port, 65535);
    assert_true(str_eq(a->pid, b->pid));
    assert_string_equal(b->access.items[1].ptr, "deny , x");
    assert_int_equal(b->live.memory, 4194305);
    assert_int_equal(b->live.hold, 1500);
    assert_int_equal(b->live.gather, -2);
    assert_int_equal(b->live.streams, 1099511627776);
    u = b->units.items;
    assert_int_equal(u[1].weight, -3000000000);
    assert_int_equal(u[1].tags.count, 1);
    assert_int_equal(u[1].layers.count, 4);
    mem_free(&text);
    conf_free(&first);
    conf_free(&second);
}

static void
test_secrets(void **state)
{
    struct conf *c = help_load("port = 1; token = \"hush1\";\n"
                               "secrets = [ \"hush2\", \"\" ];");
    char *text = printed(c);

    (void)state;
    assert_null(strstr(text, "hush"));
    assert_non_null(strstr(text, "token = \"***\";"));
    assert_non_null(strstr(text, "secrets = [ \"***\", \"\" ];"));
    mem_free(&text);
    conf_free(&c);
    comes_back("port = 1; token = \"hush1\"; secrets = [ \"hush2\" ];");
}

static void
test_layout(void **state)
{
    struct conf *c = help_load("port = 1; units = ( \"a\", \"b\" );");
    char *text = printed(c);

    (void)state;
    assert_memory_equal(text, "workers = \"auto\";\nport = 1;\n", 28);
    assert_non_null(strstr(text, "live = {\n    memory = \"512M\";\n"
                                 "    hold = \"10s\";\n"));
    assert_non_null(strstr(text, "access = [ \"deny x\", \"allow all\" ];\n"));
    assert_non_null(strstr(text, "units = ( {\n    name = \"a\";\n"));
    assert_non_null(strstr(text, "store = {\n    backend = \"sqlite\";\n"
                                 "    path = \"run/db\";\n};\n"));
    mem_free(&text);
    conf_free(&c);
}

/* What differs from the defaults, and no more; it can be read again. */
static void
test_changed(void **state)
{
    struct conf *c = help_load("port = 1; workers = \"auto\"; live = { hold = "
                               "\"10s\"; memory = \"8M\"; }; access = [ \"deny "
                               "x\", \"allow all\" ]; units = ( \"a\" );");
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    conf_print_changed(c, f);
    assert_int_equal(fclose(f), 0);
    conf_free(&c);
    assert_string_equal(text, "port = 1;\nlive = {\n    memory = \"8M\";\n};\n"
                              "units = ( {\n    name = \"a\";\n} );\n"
                              "store = {\n};\n");
    c = help_load(text);
    conf_free(&c);
    mem_free(&text);
}

static void
test_keys(void **state)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_non_null(f);
    conf_print_keys(sample_keys, "", f);
    conf_print_keys(sample_keys, "x.y", f);
    assert_int_equal(fclose(f), 0);
    assert_memory_equal(
        text, "workers  int  1..64|auto  \"auto\"  reload  Workers.\n", 51);
    assert_non_null(strstr(text, "\nport  int  0..65535  required  reload  "));
    assert_non_null(strstr(text, "\naccess  strings  1..  \"deny x, allow "
                                 "all\"  reload  Rules.\n"));
    assert_non_null(strstr(text, "\nlive.memory  size  4M..1024G  \"512M\"  "
                                 "restart  Memory.\n"));
    assert_non_null(strstr(text, "\nlive.gather  time  0..10s|auto|inherit  "
                                 "\"auto\"  reload  \n"));
    assert_non_null(strstr(text, "\nlive.mode  enum  replace|refuse  "
                                 "\"replace\"  reload  \n"));
    assert_non_null(strstr(text, "\nunits  groups  -  -  reload  \n"));
    assert_non_null(strstr(text, "\nunits.name  string  1..8  required  "
                                 "reload  Its name.\n"));
    assert_non_null(strstr(text, "\nunits.units  groups  "));
    assert_null(strstr(text, "units.units.")); /* would never end */
    assert_non_null(strstr(text, "\nunits.layers.module  string  -  -  "));
    assert_non_null(strstr(text, "\nx.y.live.mode  enum  "));
    assert_null(strstr(text, "where"));
    mem_free(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_same_settings),
        cmocka_unit_test(test_secrets),    cmocka_unit_test(test_layout),
        cmocka_unit_test(test_changed),    cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
