/*
 * Files and their includes.
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

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
test_include(void **state)
{
    struct conf *c;
    const struct sample *s;
    const struct sample_unit *units;

    (void)state;
    mkdir("sub", 0700);
    help_write("sub/units.conf", STR("# a comment\n"
                                     "units = (\n"
                                     "@include \"more/list.conf\" # yes\n"
                                     ")")); /* no newline at the end */
    mkdir("sub/more", 0700);
    help_write("sub/more/list.conf", STR("\n\"a\",\n"
                                         "  @include \"../last.conf\"\r\n"));
    help_write("sub/last.conf", STR("{ name = \"b\"; }"));
    c = help_load("port = 1; \n\t@include  \"sub/units.conf\"\nworkers = 2;");
    s = conf_settings(c);
    units = s->units.items;
    assert_int_equal(s->workers, 2);
    assert_int_equal(s->units.count, 2);
    assert_string_equal(units[0].name.ptr, "a");
    assert_string_equal(units[0].where.file, "sub/more/list.conf");
    assert_int_equal(units[0].where.line, 2);
    assert_string_equal(units[1].name.ptr, "b");
    assert_string_equal(units[1].where.file, "sub/more/../last.conf");
    assert_int_equal(units[1].where.line, 1);
    conf_free(&c);
}

static void
test_absolute(void **state)
{
    char text[200], dir[100];
    struct conf *c;

    (void)state;
    assert_non_null(getcwd(dir, sizeof(dir)));
    help_write("port.conf", STR("port = 3;"));
    snprintf(text, sizeof(text), "@include \"%s/port.conf\"\n", dir);
    c = help_load(text);
    assert_int_equal(((const struct sample *)conf_settings(c))->port, 3);
    conf_free(&c);
}

static void
test_lines_within_includes(void **state)
{
    (void)state;
    mkdir("d", 0700);
    help_write("d/a.conf", STR("\n\nprt = 1;\nworkers = 0;\n"));
    help_refused("port = 1;\n@include \"d/a.conf\"\npid = 1;\n",
                 "d/a.conf:3: prt is unknown, did you mean \"port\"?\n"
                 "d/a.conf:4: workers must be a whole number from 1 to 64 or "
                 "\"auto\", not 0\n"
                 "t.conf:3: pid must be a string, not 1\n");
    help_write("d/a.conf", STR("workers = = 2;\n"));
    help_refused("port = 1;\n@include \"d/a.conf\"\n",
                 "d/a.conf:1: syntax error at = in: workers = = 2;\n");
}

static void
test_strings_side_by_side_across(void **state)
{
    (void)state;
    help_write("b.conf", STR("\"deny b\"\n"));
    help_refused("port = 1; access = [ \"allow a\"\n@include \"b.conf\"\n];",
                 "b.conf:1: access: \"deny b\": two strings side by side, is "
                 "a comma missing?\n");
}

/* Who reloads must not wait for ever. */
static void
test_pipes(void **state)
{
    char text[100];
    struct conf *c;
    int ends[2], fd;

    (void)state;
    assert_int_equal(mkfifo("fifo.conf", 0600), 0);
    help_refused("@include \"fifo.conf\"\n",
                 "t.conf:1: cannot include \"fifo.conf\": cannot read: it is "
                 "a pipe that nobody writes to\n");
    fd = open("fifo.conf", O_RDWR | O_CLOEXEC);
    help_refused("@include \"fifo.conf\"\n",
                 "t.conf:1: cannot include \"fifo.conf\": cannot read: it is "
                 "no file, and nothing comes from it\n");
    close(fd);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "port = 4;", 9), 9);
    close(ends[1]);
    snprintf(text, sizeof(text), "@include \"/dev/fd/%d\"\n", ends[0]);
    c = help_load(text);
    assert_int_equal(((const struct sample *)conf_settings(c))->port, 4);
    conf_free(&c);
    close(ends[0]);
}

static void
test_cannot_include(void **state)
{
    (void)state;
    help_write("self.conf", STR("@include \"other.conf\"\n"));
    help_write("other.conf", STR("x = 1;\n@include \"../self.conf\"\n"));
    help_refused("@include \"none.conf\"\n"
                 "@include \"nor/this.conf\"\n"
                 "@include \"t.conf\"\n"
                 "@include \".\"\n",
                 "t.conf:1: cannot include \"none.conf\": cannot open: No "
                 "such file or directory\n"
                 "t.conf:2: cannot include \"nor/this.conf\": cannot open: No "
                 "such file or directory\n"
                 "t.conf:3: cannot include \"t.conf\": it would include "
                 "itself\n"
                 "t.conf:4: cannot include \".\": cannot read: Is a "
                 "directory\n");
    help_write("one.conf", STR("@include \"two.conf\"\n"));
    help_write("two.conf", STR("\n@include \"one.conf\"\n"));
    help_refused("@include \"one.conf\"\n",
                 "two.conf:2: cannot include \"one.conf\": it would include "
                 "itself\n");
}

static void
test_deep(void **state)
{
    char name[20], text[60];

    (void)state;
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "deep%d.conf", i);
        snprintf(text, sizeof(text), "@include \"deep%d.conf\"\n", i + 1);
        help_write(name, str_from(text));
    }
    help_refused("@include \"deep0.conf\"\n",
                 "deep9.conf:1: cannot include \"deep10.conf\": includes are "
                 "more than 10 deep\n");
}

/* Files that include others twice: 2^n of them, but it ends. */
static void
test_many(void **state)
{
    char name[20], text[80];
    char *mistakes;

    (void)state;
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "many%d.conf", i);
        snprintf(text, sizeof(text),
                 "@include \"many%d.conf\"\n@include \"many%d.conf\"\n"
                 "@include \"many%d.conf\"\n",
                 i + 1, i + 1, i + 1);
        help_write(name, str_from(text));
    }
    help_write("many9.conf", STR(""));
    assert_null(
        conf_load("many0.conf", sample_keys, sizeof(struct sample), &mistakes));
    assert_non_null(strstr(mistakes, "more than 1000 files are included"));
    assert_non_null(strchr(mistakes, '\n'));
    assert_string_equal(strchr(mistakes, '\n'), "\n"); /* said once */
    mem_free(&mistakes);
}

static void
test_too_large(void **state)
{
    char *text = mem_alloc(5 << 20);

    (void)state;
    memset(text, ' ', 5 << 20);
    help_refused_bytes(str_of(text, 5 << 20),
                       "t.conf: the configuration is larger than 4 MB\n");
    help_write("big.conf", str_of(text, 3 << 20));
    mem_free(&text);
    help_refused("@include \"big.conf\"\n@include \"big.conf\"\n",
                 "t.conf:2: cannot include \"big.conf\": the configuration "
                 "is larger than 4 MB\n");
}

/* A pattern takes what fits it, by name; "*" takes no hidden files. */
static void
test_patterns(void **state)
{
    const struct sample_unit *units;
    const struct sample *s;
    struct conf *c;

    (void)state;
    mkdir("p[1]", 0700);
    mkdir("p[1]/units.d", 0700);
    mkdir("p1", 0700); /* what p[1] would be as a pattern */
    help_write("p[1]/units.d/20.conf", STR("\"b\",\n"));
    help_write("p[1]/units.d/10.conf", STR("\n\"a\",\n"));
    help_write("p[1]/units.d/3.conf", STR("\"c\",\n"));
    help_write("p[1]/units.d/.hidden.conf", STR("= =\n"));
    help_write("p[1]/units.d/40.conf~", STR("= =\n"));
    help_write("p[1]/all.conf", STR("port = 1;\n"
                                    "@include \"none.d/*.conf\"\n"
                                    "@include \"units.d/[z]?.conf\" # none\n"
                                    "units = (\n"
                                    "  @include \"units.d/*.conf\"\n"
                                    "\"d\" );\n"));
    c = help_load("@include \"p[[]1]/a*.conf\"\n");
    s = conf_settings(c);
    units = s->units.items;
    assert_int_equal(s->units.count, 4);
    assert_string_equal(units[0].name.ptr, "a");
    assert_string_equal(units[0].where.file, "p[1]/units.d/10.conf");
    assert_int_equal(units[0].where.line, 2);
    assert_string_equal(units[1].name.ptr, "b");
    assert_string_equal(units[2].name.ptr, "c");
    conf_free(&c);
}

static void
test_refused_patterns(void **state)
{
    (void)state;
    mkdir("bad.d", 0700);
    help_write("bad.d/a.conf", STR("port = 1;\nprt = 1;\n"));
    help_write("bad.d/b.conf", STR("\nworkers = 0;\n"));
    help_refused("@include \"bad.d/*.conf\"\npid = 1;\n",
                 "bad.d/a.conf:2: prt is unknown, did you mean \"port\"?\n"
                 "bad.d/b.conf:2: workers must be a whole number from 1 to 64 "
                 "or \"auto\", not 0\n"
                 "t.conf:2: pid must be a string, not 1\n");
    help_write("bad.d/a.conf", STR("port = 1;\n"));
    help_write("bad.d/b.conf", STR("\n@include \"[a-b].*\"\n"));
    mkdir("bad.d/c.conf", 0700);
    assert_int_equal(symlink("gone", "bad.d/d.conf"), 0);
    help_refused("@include \"bad.d/*.conf\"\n@include \"bad.d/none.conf\"",
                 "t.conf:1: cannot include \"bad.d/c.conf\": cannot read: Is "
                 "a directory\n"
                 "t.conf:1: cannot include \"bad.d/d.conf\": cannot open: No "
                 "such file or directory\n"
                 "bad.d/b.conf:2: cannot include \"bad.d/b.conf\": it would "
                 "include itself\n"
                 "t.conf:2: cannot include \"bad.d/none.conf\": cannot open: "
                 "No such file or directory\n");
}

/* Bounded as other includes are. */
static void
test_patterns_of_many(void **state)
{
    char name[32];
    char *mistakes;

    (void)state;
    mkdir("many.d", 0700);
    for (int i = 0; i < 1001; i++) {
        snprintf(name, sizeof(name), "many.d/%d.conf", i);
        help_write(name, STR(""));
    }
    help_write("t.conf", STR("@include \"many.d/*\"\n"));
    assert_null(
        conf_load("t.conf", sample_keys, sizeof(struct sample), &mistakes));
    assert_non_null(strstr(mistakes, "more than 1000 files are included"));
    assert_string_equal(strchr(mistakes, '\n'), "\n"); /* said once */
    mem_free(&mistakes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_include),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_lines_within_includes),
        cmocka_unit_test(test_strings_side_by_side_across),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_cannot_include),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_refused_patterns),
        cmocka_unit_test(test_patterns_of_many),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
