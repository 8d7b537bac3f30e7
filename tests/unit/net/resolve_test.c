/*
 * Names to addresses: every answer of a name server, none, and giving up.
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

#include <stdlib.h>
#include <sys/wait.h>

#include "counted.h"
#include "dns_server.h"
#include "proc/sandbox.h"

static const struct dns_name names[] = {
    { "one.test", "192.0.2.1" },
    { "six.test", "2001:db8::6" },
    { "both.test", "192.0.2.1 192.0.2.2 192.0.2.3 2001:db8::1 2001:db8::2" },
    { "none.test", "" },
    { "fails.test", DNS_FAILS },
    { "silent.test", DNS_SILENT },
    { "cut.test", DNS_CUT "192.0.2.7" },
    { "many.test",
      DNS_CUT "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 "
              "192.0.2.7 192.0.2.8 192.0.2.9 192.0.2.10 192.0.2.11 2001:db8::1 "
              "2001:db8::2 2001:db8::3 2001:db8::4 2001:db8::5 2001:db8::6 "
              "2001:db8::7 2001:db8::8 2001:db8::9" },
};

static struct loop *l;
static struct resolver *resolver;

/* Who is silent is given up after so long, or later. */
#define PATIENT_MS (DNS_PATIENCE_MS / 2)
#define IMPATIENT_MS 50

static struct resolver *
resolver_with(int try_ms)
{
    struct resolver_options o = { .servers = dns.servers, .try_ms = try_ms };
    struct errmsg err;

    return resolver_new(l, &o, &err);
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    dns_start(l, names, sizeof(names) / sizeof(names[0]));
    resolver = resolver_with(PATIENT_MS);
    return resolver == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    resolver_free(&resolver);
    dns_stop();
    loop_free(&l);
    return 0;
}

/* ---- one look-up ---- */

static struct {
    int calls;
    char text[1024]; /* addresses with blanks between them, or why not */
    size_t count;
    int64_t ttl_ms;
} heard;

static void
on_resolved(void *arg, const struct resolved *found, const struct errmsg *why)
{
    char text[ADDR_TEXT];

    (void)arg;
    assert_true((found == NULL) != (why == NULL));
    heard.calls++;
    heard.text[0] = 0;
    if (found == NULL) {
        str_copy(heard.text, sizeof(heard.text), str_from(why->text));
        return;
    }
    heard.count = found->count;
    heard.ttl_ms = found->ttl_ms;
    for (size_t i = 0; i < found->count; i++) {
        size_t len = strlen(heard.text);

        assert_int_equal(found->addrs[i].port, 0);
        snprintf(heard.text + len, sizeof(heard.text) - len, "%s%s",
                 i > 0 ? " " : "", addr_ip_text(&found->addrs[i], text));
    }
}

static void
turns_until(int calls)
{
    int64_t until = clock_ms() + DNS_PATIENCE_MS;

    while (heard.calls < calls && clock_ms() < until) {
        loop_turn(l, 100);
    }
    assert_int_equal(heard.calls, calls);
}

static const char *
ask(struct str name, int64_t timeout_ms)
{
    heard.calls = 0;
    resolve_start(resolver, name, timeout_ms, on_resolved, NULL);
    assert_int_equal(heard.calls, 0); /* not before the loop has turned */
    turns_until(1);
    loop_turn(l, 0);
    assert_int_equal(heard.calls, 1);
    return heard.text;
}

/* And nothing is left open. */
static const char *
answer_within(struct str name, int64_t timeout_ms)
{
    size_t open = open_descriptors();

    ask(name, timeout_ms);
    for (size_t i = 0; i < DNS_CONNECTIONS; i++) {
        dns_close(&dns.conns[i]);
    }
    assert_int_equal(open_descriptors(), open);
    return heard.text;
}

static const char *
answer(const char *name)
{
    return answer_within(str_from(name), DNS_PATIENCE_MS);
}

static void
an_address_is_its_own_answer(void **state)
{
    int asked = dns.udp_asked;

    (void)state;
    assert_string_equal(answer("192.0.2.9"), "192.0.2.9");
    assert_string_equal(answer("2001:DB8::1"), "2001:db8::1");
    assert_string_equal(answer("::ffff:10.0.0.1"), "10.0.0.1");
    assert_int_equal(dns.udp_asked, asked);
}

static void
the_hosts_file_is_read(void **state)
{
    (void)state;
    assert_non_null(strstr(answer("localhost"), "127.0.0.1"));
}

static void
both_families_come_in_turn(void **state)
{
    (void)state;
    assert_string_equal(answer("one.test"), "192.0.2.1");
    assert_int_equal(heard.ttl_ms, 60000);
    assert_string_equal(answer("six.test"), "2001:db8::6");
    assert_string_equal(answer("both.test"),
                        "2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2 "
                        "192.0.2.3");
    assert_string_equal(answer("one.test."), "192.0.2.1");
}

static void
a_cut_answer_is_asked_for_again_over_tcp(void **state)
{
    int asked = dns.tcp_asked;

    (void)state;
    assert_string_equal(answer("cut.test"), "192.0.2.7");
    assert_true(dns.tcp_asked > asked);
}

static void
of_many_some_of_each_are_taken(void **state)
{
    (void)state;
    assert_string_equal(
        answer("many.test"),
        "2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2 2001:db8::3 192.0.2.3 "
        "2001:db8::4 192.0.2.4 2001:db8::5 192.0.2.5 2001:db8::6 192.0.2.6 "
        "2001:db8::7 192.0.2.7 2001:db8::8 192.0.2.8");
    assert_int_equal(heard.count, RESOLVE_ADDRESSES);
}

static void
who_has_no_answer_hears_why(void **state)
{
    int64_t none = counted(NET_RESOLVED, NET_RESOLVED_NONE);
    int64_t failed = counted(NET_RESOLVED, NET_RESOLVED_FAILED);
    char text[300];

    (void)state;
    assert_string_equal(answer("missing.test"), "cannot resolve "
                                                "\"missing.test\": there is no "
                                                "such name");
    assert_string_equal(answer("none.test"), "cannot resolve \"none.test\": "
                                             "the name has no address");
    assert_string_equal(answer("fails.test"),
                        "cannot resolve \"fails.test\": the name servers "
                        "cannot be reached, or failed");
    assert_string_equal(answer(""), "cannot resolve \"\": it is not a name");
    assert_string_equal(answer_within(str_of("a\0b", 3), 1000),
                        "cannot resolve \"a\": it is not a name");
    assert_non_null(strstr(answer("a..b"), "it is not a name"));
    memset(text, 'a', sizeof(text));
    assert_non_null(strstr(answer_within(str_of(text, sizeof(text)), 1000),
                           "it is not a name"));
    assert_int_equal(counted(NET_RESOLVED, NET_RESOLVED_NONE), none + 6);
    assert_int_equal(counted(NET_RESOLVED, NET_RESOLVED_FAILED), failed + 1);
}

static void
silence_has_an_end(void **state)
{
    int64_t before = counted(NET_RESOLVED, NET_RESOLVED_TIMED_OUT);

    (void)state;
    assert_string_equal(answer_within(STR("silent.test"), 20),
                        "cannot resolve \"silent.test\": no answer within 20 "
                        "ms");
    /* c-ares has patience for two tries. */
    resolver_free(&resolver);
    resolver = resolver_with(IMPATIENT_MS);
    assert_string_equal(answer("silent.test"),
                        "cannot resolve \"silent.test\": the name servers do "
                        "not answer");
    resolver_free(&resolver);
    resolver = resolver_with(PATIENT_MS);
    assert_int_equal(counted(NET_RESOLVED, NET_RESOLVED_TIMED_OUT), before + 2);
}

/* ---- several, and giving up ---- */

static void
nothing_is_left_of_who_gave_up(void **state)
{
    static const char *const each[] = { "silent.test", "one.test", "localhost",
                                        "192.0.2.1",   "cut.test", "" };
    size_t open = open_descriptors();

    (void)state;
    heard.calls = 0;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        for (int turns = 0; turns < 3; turns++) {
            struct resolve *q = resolve_start(resolver, str_from(each[i]),
                                              10000, on_resolved, NULL);

            for (int k = 0; k < turns && heard.calls == 0; k++) {
                loop_turn(l, 0);
            }
            if (heard.calls == 0) {
                resolve_cancel(&q);
                assert_null(q);
            }
            loop_turn(l, 0);
            heard.calls = 0;
        }
    }
    for (size_t i = 0; i < DNS_CONNECTIONS; i++) {
        dns_close(&dns.conns[i]);
    }
    assert_int_equal(open_descriptors(), open);
}

static void
those_that_are_too_many_wait_for_their_turn(void **state)
{
    static struct resolve *silent[RESOLVE_AT_ONCE], *waiting[RESOLVE_WAITING];
    int64_t before = counted(NET_RESOLVED, NET_RESOLVED_TOO_MANY);

    (void)state;
    heard.calls = 0;
    for (size_t i = 0; i < RESOLVE_AT_ONCE; i++) {
        silent[i] = resolve_start(resolver, STR("silent.test"), 60000,
                                  on_resolved, NULL);
    }
    for (size_t i = 0; i < RESOLVE_WAITING; i++) {
        waiting[i] =
            resolve_start(resolver, STR("one.test"), 60000, on_resolved, NULL);
    }
    resolve_start(resolver, STR("one.test"), 60000, on_resolved, NULL);
    turns_until(1);
    assert_string_equal(heard.text, "cannot resolve \"one.test\": too many "
                                    "names are being looked up");
    assert_int_equal(counted(NET_RESOLVED, NET_RESOLVED_TOO_MANY), before + 1);
    for (size_t i = 1; i < RESOLVE_WAITING; i++) {
        resolve_cancel(&waiting[i]);
    }
    heard.calls = 0;
    resolve_cancel(&silent[0]);
    turns_until(1);
    assert_string_equal(heard.text, "192.0.2.1");
    for (size_t i = 1; i < RESOLVE_AT_ONCE; i++) {
        resolve_cancel(&silent[i]);
    }
    loop_turn(l, 0);
    assert_int_equal(heard.calls, 1);
}

static void
those_that_wait_have_no_more_time_than_others(void **state)
{
    static struct resolve *silent[RESOLVE_AT_ONCE];

    (void)state;
    heard.calls = 0;
    for (size_t i = 0; i < RESOLVE_AT_ONCE; i++) {
        silent[i] = resolve_start(resolver, STR("silent.test"), 60000,
                                  on_resolved, NULL);
    }
    resolve_start(resolver, STR("one.test"), 30, on_resolved, NULL);
    turns_until(1);
    assert_string_equal(heard.text, "cannot resolve \"one.test\": no answer "
                                    "within 30 ms");
    for (size_t i = 0; i < RESOLVE_AT_ONCE; i++) {
        resolve_cancel(&silent[i]);
    }
    loop_turn(l, 0);
}

/* ---- resolv.conf ---- */

static void
write_conf(const char *path, const char *server)
{
    char next[80];

    snprintf(next, sizeof(next), "%s.new", path);

    FILE *f = fopen(next, "w");

    fprintf(f, "nameserver %s\noptions ndots:1\n", server);
    fclose(f);
    assert_int_equal(rename(next, path), 0);
}

/* Looks a name up once the file is looked at again. */
static void
turns_until_found(struct resolver *r)
{
    int64_t until = clock_ms() + DNS_PATIENCE_MS;

    do {
        heard.calls = 0;
        resolve_start(r, STR("one.test"), 10000, on_resolved, NULL);
        turns_until(1);
        loop_turn(l, 50);
    } while (strcmp(heard.text, "192.0.2.1") != 0 && clock_ms() < until);
    assert_string_equal(heard.text, "192.0.2.1");
}

static void
a_changed_resolv_conf_is_noticed(void **state)
{
    char path[] = "/tmp/weir-resolv-XXXXXX";
    struct resolver_options o = { .path = path,
                                  .port = dns.port,
                                  .try_ms = IMPATIENT_MS };
    struct errmsg err;

    (void)state;
    close(mkstemp(path));
    write_conf(path, "127.0.0.9"); /* nobody is there */

    struct resolver *r = resolver_new(l, &o, &err);

    assert_non_null(r);
    heard.calls = 0;
    resolve_start(r, STR("one.test"), 10000, on_resolved, NULL);
    turns_until(1);
    assert_string_not_equal(heard.text, "192.0.2.1");
    write_conf(path, "127.0.0.1");
    turns_until_found(r);
    unlink(path); /* as it was, while there is none */
    turns_until_found(r);
    resolver_free(&r);
}

/* ---- in the sandbox ---- */

static struct rights rights;

static void
a_process_without_a_resolver_reads_nothing(void **state)
{
    (void)state;
    resolver_free(&resolver);
    resolve_rights(&rights);
    assert_int_equal(rights.read.count + rights.ports.count, 0);
    resolver = resolver_with(PATIENT_MS);
    resolve_rights(&rights);
    assert_true(rights.read.count >= 3);
    assert_int_equal(rights.ports.items[0], dns.port);
    rights_clear(&rights);
}

static int
resolve_in_sandbox(void)
{
    struct sandbox s = { .seccomp = SANDBOX_SECCOMP_ENFORCE,
                         .landlock = true,
                         .capabilities = true,
                         .rights = &rights };
    struct errmsg err;
    int last;

    sandbox_prepare(&s);
    if (sandbox_enter(&s, &err) == -1) {
        return 1;
    }
    if (strstr(ask(STR("localhost"), PATIENT_MS), "127.0.0.1") == NULL) {
        return 2;
    }
    if (strcmp(ask(STR("one.test"), PATIENT_MS), "192.0.2.1") != 0 ||
        strcmp(ask(STR("cut.test"), PATIENT_MS), "192.0.2.7") != 0) {
        return 3;
    }
    return sandbox_refused(&last) == 0 ? 0 : 4;
}

static void
it_works_in_the_sandbox(void **state)
{
    int status;

    (void)state;
    resolve_rights(&rights);

    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        _exit(resolve_in_sandbox());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rights_clear(&rights);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_its_own_answer),
        cmocka_unit_test(the_hosts_file_is_read),
        cmocka_unit_test(both_families_come_in_turn),
        cmocka_unit_test(a_cut_answer_is_asked_for_again_over_tcp),
        cmocka_unit_test(of_many_some_of_each_are_taken),
        cmocka_unit_test(who_has_no_answer_hears_why),
        cmocka_unit_test(silence_has_an_end),
        cmocka_unit_test(nothing_is_left_of_who_gave_up),
        cmocka_unit_test(those_that_are_too_many_wait_for_their_turn),
        cmocka_unit_test(those_that_wait_have_no_more_time_than_others),
        cmocka_unit_test(a_changed_resolv_conf_is_noticed),
        cmocka_unit_test(a_process_without_a_resolver_reads_nothing),
        cmocka_unit_test(it_works_in_the_sandbox),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
