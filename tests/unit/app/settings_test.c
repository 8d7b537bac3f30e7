/*
 * What weir.conf may say, and what is said of what it may not.
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
#include <unistd.h>

#include "app/module.h"
#include "app/settings/settings.h"
#include "base/log.h"
#include "base/mem.h"

static char path[] = "/tmp/weir-settings-XXXXXX";

static struct conf *
load(const char *text, char **mistakes)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    *mistakes = NULL;
    return settings_load(path, mistakes);
}

static struct conf *
load_good(const char *text)
{
    char *mistakes;
    struct conf *c = load(text, &mistakes);

    if (c == NULL) {
        fail_msg("%s", mistakes);
    }
    return c;
}

/* The file is refused, and a line says FILE:line: ... part ... */
static void
refuses(const char *text, int line, const char *part)
{
    char *mistakes, *at, *end;
    char where[64];
    struct conf *c = load(text, &mistakes);

    assert_null(c);
    assert_non_null(mistakes);
    snprintf(where, sizeof(where), "%s:%d:", path, line);
    at = strstr(mistakes, where);
    while (at != NULL) {
        end = strchr(at, '\n');
        assert_non_null(end);
        if (memmem(at, (size_t)(end - at), part, strlen(part)) != NULL) {
            mem_free(&mistakes);
            return;
        }
        at = strstr(end, where);
    }
    fail_msg("no line %s ... %s in:\n%s", where, part, mistakes);
}

static int
set_up(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd == -1 ? -1 : close(fd);
}

static int
tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

#define APPLICATION "{ name = \"live\"; }"
#define RTMP(rows)                                            \
    "rtmp = { servers = ( { listen = \"127.0.0.1:0\";\n" rows \
    "applications = ( " APPLICATION " ); } ); };\n"
#define LAYER "{ module = \"hello\"; }"
#define HTTP(rows) \
    "http = { servers = ( { listen = \"127.0.0.1:0\";\n" rows "} ); };\n"

static void
a_file_that_says_nothing_has_all_defaults(void **state)
{
    struct conf *c = load_good("daemon = false;");
    const struct settings *s = settings_of(c);

    (void)state;
    assert_int_equal(s->worker_processes, WORKERS_AUTO);
    assert_in_range(settings_workers(s), 1, 64);
    assert_int_equal(s->worker_connections, 65536);
    assert_string_equal(s->pid.ptr, "run/weir.pid");
    assert_false(s->daemon);
    assert_string_equal(s->error_log.file.ptr, "stderr");
    assert_int_equal(s->error_log.level, LOG_INFO);
    assert_int_equal(s->stop_drain, 30000);
    assert_int_equal(s->watchdog, 2000);
    assert_int_equal(s->live.memory, 512 * 1024 * 1024);
    assert_int_equal(s->live.hold, 10000);
    assert_int_equal(s->live.gather, LIVE_GATHER_AUTO);
    assert_int_equal(s->rtmp.servers.count, 0);
    assert_int_equal(s->http.servers.count, 0);
    conf_free(&c);
}

static const struct rtmp_application_settings *
first_application(const struct conf *c)
{
    return settings_rtmp_server(&settings_of(c)->rtmp, 0)->applications.items;
}

static void
an_application_is_safe_by_default(void **state)
{
    struct conf *c = load_good(RTMP(""));
    const struct rtmp_application_settings *a = first_application(c);

    (void)state;
    assert_string_equal(a->publish.ptr, "key");
    assert_int_equal(a->publish_conflict, LIVE_REPLACE);
    assert_true(a->gop_cache);
    assert_int_equal(a->idle_timeout, 15000);
    assert_int_equal(a->play_access.count, 1);
    assert_string_equal(a->play_access.items[0].ptr, "allow all");
    assert_int_equal(a->where.line, 2);
    conf_free(&c);
}

static void
gather_and_hold_come_from_live_unless_set(void **state)
{
    struct conf *c = load_good(
        "live = { gather = \"50ms\"; hold = \"3s\"; };\n"
        "rtmp = { servers = ( { listen = \"0\"; applications = (\n"
        "  { name = \"a\"; },\n"
        "  { name = \"b\"; gather = \"auto\"; hold = \"0\"; },\n"
        "  { name = \"c\"; gather = \"0\"; hold = \"1m\"; } ); } ); };\n");
    const struct settings *s = settings_of(c);
    const struct rtmp_application_settings *a = first_application(c);

    (void)state;
    assert_int_equal(settings_gather(s, &a[0]), 50);
    assert_int_equal(settings_hold(s, &a[0]), 3000);
    assert_int_equal(settings_gather(s, &a[1]), LIVE_GATHER_AUTO);
    assert_int_equal(settings_hold(s, &a[1]), 0);
    assert_int_equal(settings_gather(s, &a[2]), 0);
    assert_int_equal(settings_hold(s, &a[2]), 60000);
    conf_free(&c);
}

/* Without a module that reads cuts nothing is cut. */
static void
cuts_fit_together(void **state)
{
    struct conf *c =
        load_good("rtmp = { servers = ( { listen = \"0\"; applications = (\n"
                  "  { name = \"a\"; } ); } ); };\n");
    const struct rtmp_application_settings *a = first_application(c);

    (void)state;
    assert_int_equal(a->segment, 2000);
    assert_int_equal(settings_cuts(settings_of(c), a).segment, 0);
    conf_free(&c);
#define CUTS(rows)                                              \
    "rtmp = { servers = ( { listen = \"0\"; applications = (\n" \
    "  { name = \"a\"; " rows " } ); } ); };\n"
    refuses(CUTS("segment = \"7s\";"), 2, "max_segment (6000 ms)");
    refuses(CUTS("part = \"3s\";"), 2, "part (3000 ms) must not be more");
    refuses(CUTS("max_segment = \"60s\";"), 2, "at least 1751 ms");
    refuses(CUTS("ladder = ( \"_a\", \"\" );"), 2, "1 to 31 bytes");
    refuses(CUTS("ladder = ( \"_a\", \"/b\" );"), 2, "no slash");
    refuses(CUTS("ladder = ( \"_a\", \"_a\" );"), 2, "ends with \"_a\"");
    refuses(CUTS("ladder = ( \"_720\", \"0\" );"), 2, "ends with \"0\"");
    refuses(CUTS("ladder = ( \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", "
                 "\"g\", \"h\", \"i\" );"),
            2, "there are 9 suffixes, 8 are allowed");
}

static void
rtmp_settings_reach_the_session(void **state)
{
    struct conf *c =
        load_good(RTMP("chunk_size = 4096; ping_interval = \"7s\";\n"
                       "max_message = \"1M\"; max_memory = \"2M\";"));
    struct rtmp_settings r;

    (void)state;
    settings_of_rtmp(settings_rtmp_server(&settings_of(c)->rtmp, 0), &r);
    assert_int_equal(r.chunk_size, 4096);
    assert_int_equal(r.ping_interval, 7000);
    assert_int_equal(r.max_message, 1024 * 1024);
    assert_int_equal(r.max_memory, 2 * 1024 * 1024);
    assert_int_equal(r.handshake_timeout, 5000);
    conf_free(&c);
}

static void
both_forms_of_a_location_are_layers(void **state)
{
    struct conf *c = load_good(HTTP("locations = (\n"
                                    "  { path = \"/a\"; module = \"hello\";\n"
                                    "    client_max_body_size = \"2k\"; },\n"
                                    "  { path = \"/\"; layers = ( " LAYER
                                    ", " LAYER " ); } );\n"));
    const struct http_server_settings *s =
        settings_http_server(&settings_of(c)->http, 0);
    const struct http_location_settings *l = s->locations.items;

    (void)state;
    assert_non_null(settings_http_layer(&l[0], 0));
    assert_null(settings_http_layer(&l[0], 1));
    assert_non_null(settings_http_layer(&l[1], 1));
    assert_null(settings_http_layer(&l[1], 2));
    assert_ptr_equal(settings_http_layer(&l[1], 0)->what,
                     module_find(STR("hello")));
    assert_int_equal(l[0].client_max_body_size, 2048);
    assert_int_equal(l[1].client_max_body_size, BODY_INHERIT);
    assert_int_equal(s->client_max_body_size, 1024 * 1024);
    assert_int_equal(s->http.client_header_timeout, 10000);
    assert_int_equal(s->http.client_max_headers, 100);
    conf_free(&c);
}

static void
needs_no_pid_file(void **state)
{
    struct conf *c = load_good("pid = \"\";\n");

    (void)state;
    assert_int_equal(settings_of(c)->pid.len, 0);
    conf_free(&c);
}

static void
root_mistakes(void **state)
{
    (void)state;
    refuses("\nworker_processes = 0;\n", 2, "worker_processes");
    refuses("worker_processes = 65;\n", 1, "64");
    refuses("\n\nworker_proceses = 2;\n", 3, "worker_processes");
    refuses("error_log = { file = \"\"; };\n", 1, "error_log.file");
    refuses("error_log = { level = \"loud\"; };\n", 1, "level");
    refuses("egress = ( \"allow example.org\" );\n", 1, "egress");
    refuses("stop_drain = 30;\n", 1, "stop_drain");
    refuses("live = {\n  memory = \"8M\";\n max_stream_memory = \"9M\"; };\n",
            1, "max_stream_memory");
    refuses("live = { gather = \"9s\"; };\n", 1, "gather");
}

static void
rtmp_mistakes(void **state)
{
    (void)state;
    refuses("rtmp = { servers = (\n{ listen = \"1935\"; } ); };\n", 2,
            "application");
    refuses("rtmp = { servers = ( { applications = ( " APPLICATION
            " ); } ); };\n",
            1, "listen");
    refuses(RTMP("max_message = \"2M\"; max_memory = \"1M\";"), 1,
            "max_memory");
    refuses("rtmp = { servers = ( { listen = \"nonsense\";\n applications "
            "= ( " APPLICATION " ); } ); };\n",
            1, "listen");
    refuses("rtmp = { servers = ( { listen = \"0\"; applications = (\n"
            "{ name = \"a/b\"; } ); } ); };\n",
            2, "name");
    refuses("rtmp = { servers = ( { listen = \"0\"; applications = (\n"
            "{ name = \"live\"; play_access = [ \"allow nobody\" ]; }\n"
            "); } ); };\n",
            2, "play_access");
    refuses("rtmp = { servers = (\n{ listen = \"0\"; applications = (\n"
            "{ name = \"x\"; },\n{ name = \"x\"; } ); } ); };\n",
            4, "in line 3");
    refuses("rtmp = { servers = ( { listen = \"0\";\n"
            "applications = ( ); } ); };\n",
            2, "applications must not be empty");
    refuses("relays = { max = 1; }; rtmp = { servers = ( { listen = \"0\"; "
            "applications = ( { name = \"live\"; push = (\n"
            "{ url = \"rtmp://a.example/a\"; },\n"
            "{ url = \"rtmp://a.example/b\"; } ); } ); } ); };\n",
            3, "relays.max allows (1)");
}

static void
http_mistakes(void **state)
{
    (void)state;
    refuses(HTTP("locations = (\n{ path = \"/\"; } );"), 3,
            "a module or layers");
    refuses(HTTP("locations = (\n{ path = \"/\"; module = \"hello\"; "
                 "layers = ( " LAYER " ); } );"),
            3, "must have module or layers, not both");
    refuses(HTTP("locations = (\n{ path = \"/\"; module = \"static\"; "
                 "layers = ( " LAYER " ); } );"),
            3, "not both"); /* not that static has no root */
    refuses(HTTP("locations = (\n{ path = \"a\"; module = \"hello\"; } );"), 3,
            "start with '/'");
    refuses(HTTP("locations = (\n{ path = \"/a/\"; module = \"hello\"; } );"),
            3, "end with '/'");
    refuses(HTTP("locations = (\n{ path = \"/\"; module = \"helo\"; } );"), 3,
            "did you mean \"hello\"?");
    refuses(HTTP("locations = (\n{ path = \"/\"; module = \"zzzzzzzz\"; } );"),
            3, "there is no module");
    refuses(HTTP("locations = (\n{ path = \"/\"; layers = (\n{ } ); } );"), 4,
            "needs a module");
    refuses(HTTP("locations = (\n{ path = \"/\"; module = \"hello\";\n"
                 "greetin = 1; } );"),
            4, "greetin");
    refuses(HTTP("locations = (\n{ path = \"/a\"; module = \"hello\"; },\n"
                 "{ path = \"/a\"; module = \"hello\"; } );"),
            4, "in line 3");
    refuses(HTTP(""), 1, "location");
}

#define SERVER(address, line) \
    "{ listen = " address "; applications = ( " APPLICATION " ); }" line

/* Two lines that take the same connections, whatever they are called. */
static void
the_same_connections(void **state)
{
    static const struct {
        const char *one, *other;
    } rows[] = {
        { "\"99\"", "\"0.0.0.0:99\"" },
        { "\"99\"", "\"[::]:99\"" },
        { "\"99\"", "\"127.0.0.1:99\"" },
        { "\"*:099\"", "\"[::1]:99\"" },
        { "\"0.0.0.0:99\"", "\"127.0.0.1:99\"" },
        { "{ address = \"[::]:99\"; ipv6only = \"off\"; }", "\"0.0.0.0:99\"" },
        { "{ address = \"[::]:99\"; ipv6only = \"off\"; }",
          "\"127.0.0.1:99\"" },
        { "\"[::]:99\"", "\"[::1]:99\"" },
        { "\"unix:a\"", "\"unix:./a\"" },
        { "\"unix:/tmp/a\"", "\"unix:/tmp/../tmp/a\"" },
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text),
                 "rtmp = { servers = ( { listen = %s; applications = ( { name "
                 "= \"a\"; publish = \"open\"; } ); } ); };\n"
                 "echo = ( { name = \"a\"; listen = %s; } );\n",
                 rows[i].one, rows[i].other);
        refuses(text, 2, "line 1");
        snprintf(text, sizeof(text),
                 "echo = ( { name = \"a\"; listen = ( %s,\n%s ); } );\n",
                 rows[i].one, rows[i].other);
        refuses(text, 1, "listen");
    }
}

static void
other_connections(void **state)
{
    static const char *const rows[] = {
        "\"[::]:99\", \"0.0.0.0:99\"",
        "\"99\", \"98\", \"0.0.0.0:97\", \"127.0.0.1:96\"",
        "\"[::1]:99\", \"127.0.0.1:99\"",
        "{ address = \"99\"; ipv6only = \"on\"; }, \"127.0.0.1:99\"",
        "\"0\", \"0\"",
        "\"unix:a\", \"unix:b\"",
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct conf *c;

        snprintf(text, sizeof(text),
                 "echo = ( { name = \"a\"; listen = ( %s ); } );\n", rows[i]);
        c = load_good(text);
        conf_free(&c);
    }
}

static void
listening_twice(void **state)
{
    (void)state;
    refuses(
        "rtmp = { servers = (\n" SERVER("( \"1935\", \"*:1935\" )", " ); };\n"),
        2, "twice");
    refuses("rtmp = { servers = (\n" SERVER("\"1935\"", ",\n")
                SERVER("\"1935\"", " ); };\n"),
            3, "in line 2");
    refuses(
        "rtmp = { servers = (\n" SERVER(
            "\"127.0.0.1:99\"",
            " ); };\n") "http = { servers = (\n{ listen = \"127.0.0.1:99\"; "
                        "locations = "
                        "(\n{ path = \"/\"; module = \"hello\"; } ); } ); };\n",
        4, "line 2");
    refuses(
        "rtmp = { servers = (\n" SERVER(
            "\"127.0.0.1:99\"",
            " ); };\n") "echo = (\n{ name = \"a\"; listen = \"*:99\"; },\n"
                        "{ name = \"b\"; listen = ( \"127.0.0.1:99\" ); } );\n",
        5, "echo: listen \"127.0.0.1:99\" is taken by the server in line 2");
    refuses("echo = (\n{ name = \"a\"; listen = { address = \"9\"; "
            "proxy_protocol = true; }; } );\n",
            2, "needs trusted_proxies");
    refuses("rtmp = { servers = (\n" SERVER("( \"unix:a\", \"unix:a\" )",
                                            " ); };\n"),
            2, "twice");
}

static void
free_ports_are_never_the_same(void **state)
{
    struct conf *c = load_good(
        "rtmp = { servers = (\n" SERVER("( \"0\", \"0\" )", ",\n")
            SERVER("[ \"0\", \"127.0.0.1:5\", \"127.0.0.2:5\" ]", " ); };\n"));

    (void)state;
    conf_free(&c);
}

static void
all_mistakes_are_told_at_once(void **state)
{
    static const char text[] =
        "worker_processes = 1000;\n"
        "rtmp = { servers = ( { listen = \"x\";\n"
        "  applications = ( { name = \"\"; },\n"
        "  { name = \"b\"; publish = \"maybe\"; } ); } ); };\n"
        "http = { servers = ( { listen = \"0\"; locations = (\n"
        "  { path = \"/\"; module = \"nothere\"; } ); } ); };\n";
    (void)state;
    refuses(text, 1, "worker_processes");
    refuses(text, 2, "listen");
    refuses(text, 3, "name");
    refuses(text, 4, "publish");
    refuses(text, 6, "module");
}

static void
what_is_printed_can_be_read_again(void **state)
{
    struct conf *c = load_good(RTMP("chunk_size = 777;")
                                   HTTP("locations = ( { path = \"/x\"; "
                                        "module = \"hello\"; } );"));
    char *text = NULL, *again = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    conf_print(c, out);
    fclose(out);
    conf_free(&c);
    c = load_good(text);
    assert_int_equal(settings_rtmp_server(&settings_of(c)->rtmp, 0)->chunk_size,
                     777);
    out = open_memstream(&again, &len);
    conf_print(c, out);
    fclose(out);
    assert_string_equal(text, again);
    conf_free(&c);
    free(text);
    free(again);
}

static void
the_control_socket(void **state)
{
    struct conf *c = load_good(
        "control = { mode = \"660\"; group = \"0\"; default = \"none\";\n"
        "  users = ( { uid = \"root\"; level = \"admin\"; },\n"
        "            { gid = \"4\"; level = \"operator\"; } ); };\n");
    const struct control_settings *s = &settings_of(c)->control;

    (void)state;
    assert_true(str_eq(s->socket, STR("run/control.sock")));
    assert_int_equal(settings_control_mode(s), 0660);
    assert_int_equal(s->others, 0);
    assert_int_equal(s->users.count, 2);
    assert_int_equal(settings_control_user(s, 0)->level, 2);
    assert_int_equal(settings_control_user(s, 1)->level, 1);
    conf_free(&c);
    refuses("control = { mode = \"0680\"; };\n", 1, "octal");
    refuses("control = { mode = \"1777\"; };\n", 1, "octal");
    refuses("control = { group = \"no such\"; };\n", 1, "no group");
    refuses("control = { users = (\n{ level = \"user\"; } ); };\n", 2,
            "either uid or gid");
    refuses("control = { users = (\n{ uid = \"no such\"; "
            "level = \"user\"; } ); };\n",
            2, "no user");
    refuses("control = { users = (\n{ uid = \"root\"; } ); };\n", 2, "level");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_says_nothing_has_all_defaults),
        cmocka_unit_test(an_application_is_safe_by_default),
        cmocka_unit_test(gather_and_hold_come_from_live_unless_set),
        cmocka_unit_test(cuts_fit_together),
        cmocka_unit_test(rtmp_settings_reach_the_session),
        cmocka_unit_test(both_forms_of_a_location_are_layers),
        cmocka_unit_test(root_mistakes),
        cmocka_unit_test(needs_no_pid_file),
        cmocka_unit_test(rtmp_mistakes),
        cmocka_unit_test(http_mistakes),
        cmocka_unit_test(listening_twice),
        cmocka_unit_test(the_same_connections),
        cmocka_unit_test(other_connections),
        cmocka_unit_test(free_ports_are_never_the_same),
        cmocka_unit_test(all_mistakes_are_told_at_once),
        cmocka_unit_test(what_is_printed_can_be_read_again),
        cmocka_unit_test(the_control_socket),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
