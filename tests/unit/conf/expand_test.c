/*
 * ${env:...} and ${file:...}: alone, and in the rows of a configuration.
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

#include "conf/expand.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "help.h"

static struct buf told; /* mistakes, one a line */

static void
on_mistake(void *arg, const char *text)
{
    (void)arg;
    buf_printf(&told, "%s\n", text);
}

/* What comes of the text, where it came from, and what was told. */
static void
check(struct expansion e, const char *text, const char *expected,
      const char *sources, const char *mistakes)
{
    size_t room = e.room = e.room > 0 ? e.room : EXPAND_ALL_MAX;
    int rc;

    e.mistake = on_mistake;
    buf_init(&told, 65536);
    rc = expand(&e, str_from(text));
    buf_add(&e.text, "", 1);
    buf_add(&e.sources, "", 1);
    buf_add(&told, "", 1);
    assert_string_equal(buf_data(&told), mistakes);
    assert_int_equal(rc, mistakes[0] == '\0' ? 0 : -1);
    if (rc == 0) {
        assert_string_equal(buf_data(&e.text), expected);
        assert_string_equal(buf_data(&e.sources), sources);
    }
    assert_true(e.room <= room);
    buf_clear(&told);
    expand_clear(&e);
}

static void
gives(const char *text, const char *expected, const char *sources)
{
    check((struct expansion){ .secret = false }, text, expected, sources, "");
}

static void
refuses(const char *text, const char *mistakes)
{
    check((struct expansion){ .secret = false }, text, "", "", mistakes);
}

static void
test_variables(void **state)
{
    (void)state;
    setenv("A", "one", 1);
    setenv("EMPTY", "", 1);
    setenv("_B2", "${env:A}", 1);
    unsetenv("NONE");
    gives("${env:A}", "one", "${env:A}");
    gives("x${env:A}y${env:A}",
          "xoney"
          "one",
          "${env:A}, ${env:A}");
    gives("${env:A:-two}", "one", "${env:A:-two}");
    gives("${env:NONE:-two three}", "two three", "${env:NONE:-two three}");
    gives("${env:NONE:-}", "", "${env:NONE:-}");
    gives("${env:EMPTY}", "", "${env:EMPTY}");
    gives("${env:EMPTY:-full}", "full", "${env:EMPTY:-full}");
    gives("${env:_B2}", "${env:A}", "${env:_B2}"); /* once */
}

static void
test_what_stays(void **state)
{
    (void)state;
    setenv("A", "one", 1);
    gives("", "", "");
    gives("$A ${A} ${} ${ $ $$ {env:A} ${ENV:A} ${envA}",
          "$A ${A} ${} ${ $ $$ {env:A} ${ENV:A} ${envA}", "");
    gives("$${env:A} $${file:x} $${A} $${", "${env:A} ${file:x} ${A} ${", "");
    gives("$$${env:A}", "$${env:A}", "");
    gives("$${env:A}${env:A}", "${env:A}one", "${env:A}");
    /* Where a dollar is "$$" anyway, that is left alone. */
    check((struct expansion){ .dollars = true },
          "$${env:A} $${A} $$$${env:A} $$${env:A} ${A}",
          "$${env:A} $${A} $$$${env:A} $$one ${A}", "${env:A}", "");
}

static void
test_refused_variables(void **state)
{
    static const char form[] =
        "${env:...} takes the name of a variable, of letters, digits and "
        "\"_\", and a default behind \":-\"\n";

    (void)state;
    unsetenv("NONE");
    setenv("WEIR_PORT", "1", 1);
    refuses("${env:NONE}",
            "${env:NONE}: there is no such variable in the environment: set "
            "it, or write a default, ${env:NONE:-DEFAULT}\n");
    refuses("${env:WEIR_PROT}",
            "${env:WEIR_PROT}: there is no such variable in the environment; "
            "did you mean \"WEIR_PORT\"?\n");
    refuses("${env:}", form);
    refuses("${env:2A}", form);
    refuses("${env:A B}", form);
    refuses("${env:A:b}", form);
    refuses("${env:A-b}", form);
    refuses("${env::-b}", form);
    refuses("a ${env:A", "a \"${env:\" has no \"}\"\n");
    refuses("${env:2}${file:", "${env:...} takes the name of a variable, of "
                               "letters, digits and \"_\", and a default "
                               "behind \":-\"\na \"${file:\" has no \"}\"\n");
}

static void
test_files(void **state)
{
    (void)state;
    mkdir("secrets", 0700);
    help_write("secrets/a", STR("first\n"));
    help_write("secrets/b", STR("two\nlines\n\n"));
    help_write("secrets/none", STR(""));
    gives("${file:secrets/a}", "first", "${file:secrets/a}");
    gives("[${file:secrets/b}]", "[two\nlines\n]", "${file:secrets/b}");
    gives("${file:secrets/none}", "", "${file:secrets/none}");
    refuses("${file:secrets/c}",
            "${file:secrets/c}: cannot open: No such file or directory\n");
    refuses("${file:secrets}", "${file:secrets}: it is not a file\n");
    refuses("${file:/dev/null}", "${file:/dev/null}: it is not a file\n");
    refuses("${file:}", "${file:...} takes the path of a file\n");
}

static void
test_bounds(void **state)
{
    char *text = mem_zero(EXPAND_FILE_MAX + 2);

    (void)state;
    memset(text, 'x', EXPAND_FILE_MAX + 1);
    help_write("large", str_of(text, EXPAND_FILE_MAX + 1));
    help_write("nul", STR("a\0b"));
    refuses("${file:large}", "${file:large}: it is larger than 65536 bytes\n");
    refuses("${file:nul}", "${file:nul}: it has a NUL byte\n");
    help_write("large", str_of(text, EXPAND_FILE_MAX));
    text[EXPAND_FILE_MAX] = '\0';
    gives("${file:large}", text, "${file:large}");
    check((struct expansion){ .room = EXPAND_FILE_MAX },
          "${file:large}${env:NONE:-a}", "", "",
          "more than 4194304 bytes are put in for ${...}\n");
    mem_free(&text);
}

static void
test_secrets(void **state)
{
    const struct expansion secret = { .secret = true };
    static const char open_to_all[] =
        "${file:s}: everybody can read or write it, and this is a secret: "
        "chmod o= it\n";

    (void)state;
    help_write("s", STR("pass\n"));
    assert_int_equal(chmod("s", 0644), 0);
    gives("${file:s}", "pass", "${file:s}");
    check(secret, "${file:s}", "", "", open_to_all);
    assert_int_equal(chmod("s", 0602), 0);
    check(secret, "${file:s}", "", "", open_to_all);
    assert_int_equal(chmod("s", 0640), 0);
    check(secret, "${file:s}${env:NONE:-word}", "password",
          "${file:s}, ${env:NONE:-***}", "");
}

/* ---- in rows ---- */

static void
test_rows(void **state)
{
    const struct sample *s;
    struct conf *c;

    (void)state;
    setenv("NUMBER", "7", 1);
    setenv("WHO", "b", 1);
    setenv("RULE", "allow x", 1);
    help_write("mode", STR("refuse\n"));
    c = help_load(
        "port = \"${env:NUMBER}\"; workers = \"${env:W:-auto}\";\n"
        "live = { cache = \"${env:C:-false}\"; hold = \"${env:"
        "NUMBER}s\"; mode = \"${file:mode}\"; };\n"
        "access = [ \"${env:RULE}\", \"allow y\" ];\n"
        "units = ( \"u${env:NUMBER}\", { name = \"v\"; layers = ( "
        "{ module = \"${env:M:-echo}\"; text = \"$${env:WHO}\"; } ); "
        "} );\n"
        "voices = ( { name = \"a\"; }, { name = \"b\"; speed = 9; } "
        ");\nspeakers = ( { voice = \"${env:WHO}\"; other = \"a\"; } );\n"
        "store = { backend = \"${env:STORE:-sqlite}\"; path = "
        "\"${file:mode}\"; };");
    s = conf_settings(c);
    const struct sample_unit *units = s->units.items;
    const struct sample_added *added = s->parts.settings[1];
    const struct sample_speaker *speaker = added->speakers.items;
    const struct sample_voice *voice = speaker->voice.settings;
    const struct sample_layer *layer = units[1].layers.items;
    const struct sample_echo *echo = layer->module.settings;
    const struct sample_sqlite *sqlite = s->store.extra.settings;

    assert_int_equal(s->port, 7);
    assert_int_equal(s->workers, -1);
    assert_false(s->live.cache);
    assert_int_equal(s->live.hold, 7000);
    assert_int_equal(s->live.mode, 1);
    assert_string_equal(s->access.items[0].ptr, "allow x");
    assert_string_equal(units[0].name.ptr, "u7");
    assert_string_equal(echo->text.ptr, "${env:WHO}");
    assert_int_equal(voice->speed, 9);
    assert_string_equal(sqlite->path.ptr, "refuse");
    conf_free(&c);
}

/* Each mistake is told, at its line; what is put in is checked as any other
 * value, and a text is a number only when it was put in. */
static void
test_mistakes_in_rows(void **state)
{
    (void)state;
    unsetenv("NONE");
    setenv("WHO", "x", 1);
    help_write("open", STR("secret"));
    assert_int_equal(chmod("open", 0644), 0);
    help_refused(
        "port = \"${env:WHO}\";\npid = \"${env:NONE} ${file:none}\";\n"
        "token = \"${file:open}\";\nsecrets = [ \"a\",\n \"${file:open}\" ];\n"
        "units = ( { name = \"u\"; layers = (\n \"${env:WHO}\" ); } );\n"
        "workers = \"3\";\nstore = {\n backend = \"${env:NONE}\"; };\n"
        "speakers = (\n \"${env:WHO}\" );\n",
        "t.conf:1: port must be a whole number from 0 to 65535, not \"x\"\n"
        "t.conf:2: pid: ${env:NONE}: there is no such variable in the "
        "environment: set it, or write a default, ${env:NONE:-DEFAULT}\n"
        "t.conf:2: pid: ${file:none}: cannot open: No such file or directory\n"
        "t.conf:3: token: ${file:open}: everybody can read or write it, and "
        "this is a secret: chmod o= it\n"
        "t.conf:5: secrets: ${file:open}: everybody can read or write it, and "
        "this is a secret: chmod o= it\n"
        "t.conf:7: units.layers.module: there is no module \"x\"\n"
        "t.conf:8: workers must be a whole number from 1 to 64 or \"auto\", "
        "not \"3\"\n"
        "t.conf:10: store.backend: ${env:NONE}: there is no such variable in "
        "the environment: set it, or write a default, ${env:NONE:-DEFAULT}\n"
        "t.conf:12: speakers.voice: there is no voices \"x\" in the file\n");
}

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

static void
test_printed(void **state)
{
    struct conf *c;
    char *text, *again;

    (void)state;
    setenv("WHO", "me ${env:WHO} $${x}", 1);
    help_write("key", STR("hidden\n"));
    assert_int_equal(chmod("key", 0600), 0);
    c = help_load(
        "port = \"${env:NONE:-7}\"; pid = \"${env:WHO} ${x}\";\n"
        "token = \"${file:key}${env:NONE:-hidden}\";\n"
        "secrets = [ \"a\", \"${file:key}\", \"${env:WHO}\" ];\n"
        "units = ( { name = \"${env:NONE:-n}\"; layers = ( \"${env:NONE:-"
        "echo}\" ); } ); format = \"$${env:WHO} ${env:NONE:-$x}\";");
    text = printed(c);
    conf_free(&c);
    assert_non_null(strstr(text, "\nport = 7; # from ${env:NONE:-7}\n"));
    assert_non_null(strstr(text, "\npid = \"me $${env:WHO} $$${x} ${x}\"; # "
                                 "from ${env:WHO}\n"));
    assert_non_null(strstr(text, "\ntoken = \"***\"; # from ${file:key}, "
                                 "${env:NONE:-***}\n"));
    assert_non_null(strstr(text, "\nsecrets = [ \"***\", \"***\", \"***\" ]; # "
                                 "from ${file:key}, ${env:WHO}\n"));
    assert_non_null(strstr(text, " name = \"n\"; # from ${env:NONE:-n}\n"));
    assert_non_null(strstr(text, "module = \"echo\"; # from ${env:NONE:-"
                                 "echo}\n"));
    assert_non_null(strstr(text, "\nformat = \"$${env:WHO} $x\"; # from "
                                 "${env:NONE:-$x}\n"));
    assert_null(strstr(text, "hidden"));
    c = help_load(text);
    assert_string_equal(((const struct sample *)conf_settings(c))->pid.ptr,
                        "me ${env:WHO} $${x} ${x}");
    again = printed(c);
    assert_null(strstr(again, "# from"));
    conf_free(&c);
    mem_free(&text);
    mem_free(&again);
}

/* A value is that of the moment, and a change of it one of the setting. */
static void
test_read_again(void **state)
{
    static const char text[] = "port = 1; pid = \"${file:pid}\";";
    struct conf *a, *b;
    char *differences;

    (void)state;
    help_write("pid", STR("before\n"));
    a = help_load(text);
    help_write("pid", STR("after\n"));
    b = help_load(text);
    assert_int_equal(conf_same_start(a, b, &differences), -1);
    assert_string_equal(differences, "pid (from \"before\" to \"after\")\n");
    mem_free(&differences);
    conf_free(&a);
    conf_free(&b);
}

static void
test_peek(void **state)
{
    char *value, *mistakes;

    (void)state;
    setenv("WHO", "me", 1);
    unsetenv("NONE");
    help_write("t.conf", STR("control = { socket = \"run/${env:WHO}\"; };\n"
                             "other = \"${env:NONE}\";"));
    assert_int_equal(conf_peek("t.conf", "control.socket", &value, &mistakes),
                     0);
    assert_string_equal(value, "run/me");
    mem_free(&value);
    assert_int_equal(conf_peek("t.conf", "other", &value, &mistakes), -1);
    assert_non_null(strstr(mistakes, "t.conf:2: other: ${env:NONE}: there is"));
    mem_free(&mistakes);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_refused_variables),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_mistakes_in_rows),
        cmocka_unit_test(test_printed),
        cmocka_unit_test(test_read_again),
        cmocka_unit_test(test_peek),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}
