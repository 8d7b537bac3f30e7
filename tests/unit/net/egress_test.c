/*
 * Egress rules: what an address means, however it is written.
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

#include "net/egress.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

/* Of a text with commas between the rules. */
static const struct egress *
rules_of(const char *text)
{
    struct str list[8], rest = str_from(text);
    struct errmsg err;
    size_t count = 0;

    while (rest.len > 0) {
        list[count] = str_trim(str_cut(&rest, ','));
        assert_int_equal(egress_check_rule(list[count], &err), 0);
        count++;
    }
    return egress_parse(pool, list, count);
}

/* "": it may be connected to; else why not. */
static const char *
verdict(const char *rules, const char *to)
{
    static struct errmsg err;
    struct addr a;

    assert_int_equal(addr_parse_ip(str_from(to), &a), 0);
    err.text[0] = 0;

    int rc = egress_check(rules_of(rules), &a, &err);

    assert_int_equal(rc, err.text[0] == 0 ? 0 : -1);
    return err.text;
}

static void
the_preset_opens_what_is_open_to_everybody(void **state)
{
    static const char *const open[] = {
        "8.8.8.8",
        "172.15.255.255",
        "172.32.0.1",
        "100.63.0.1",
        "192.0.1.1",
        "198.20.0.1",
        "192.0.3.1",
        "198.51.101.1",
        "203.0.114.1",
        "2001:db9::1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
        "2001:0:4136:e378:8000:63bf:f7f7:f7f7", /* Teredo: 8.8.8.8 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        assert_string_equal(verdict(EGRESS_PRESET, open[i]), "");
    }
}

static void
the_preset_refuses_all_else(void **state)
{
    static const char *const refused[] = {
        "127.0.0.1",
        "127.255.255.254",
        "::1",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "192.0.0.192",
        "198.18.0.1",
        "198.19.255.255",
        "192.0.2.1",
        "198.51.100.255",
        "203.0.113.7",
        "2001:db8::1",
        "2001:db8:ffff::",
        "::ffff:203.0.113.7",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        /* the same in IPv6 */
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0.0.0.0",
        "::127.0.0.1",
        "::10.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::808:808",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:e000:1::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe", /* Teredo: 127.0.0.1 */
        "2001:db8::5efe:10.0.0.1",              /* ISATAP */
        "2001:db8::200:5efe:192.168.0.1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_string_not_equal(verdict(EGRESS_PRESET, refused[i]), "");
    }
}

#define FS ":ffff:ffff:ffff:ffff" /* an end of a prefix of 64 bits */

/* Ranges that are refused, with the addresses beside them that are not; NULL:
 * another refused range lies there.  IANA's registries of special-purpose
 * addresses, and multicast. */
static const struct edge {
    const char *below, *first, *last, *above;
} edges[] = {
    { NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0" },
    { "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0" },
    { "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0" },
    { "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0" },
    { "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0" },
    { "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0" },
    { "191.255.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.9" },
    { "192.0.0.10", "192.0.0.11", "192.0.0.255", "192.0.1.0" },
    { "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0" },
    { "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0" },
    { "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0" },
    { "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0" },
    { "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0" },
    { "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0" },
    { "223.255.255.255", "224.0.0.0", "239.255.255.255", NULL },
    { NULL, "240.0.0.0", "255.255.255.255", NULL },

    { NULL, "::", "::0.255.255.255", "::1.0.0.0" },
    { "::126.255.255.255", "::127.0.0.0", "::127.255.255.255", "::128.0.0.0" },
    { "::ffff:9.255.255.255", "::ffff:10.0.0.0", "::ffff:10.255.255.255",
      "::ffff:11.0.0.0" },
    { "64:ff9b::7eff:ffff", "64:ff9b::7f00:0", "64:ff9b::7fff:ffff",
      "64:ff9b::8000:0" },
    { "64:ff9b:0:ffff" FS, "64:ff9b:1::", "64:ff9b:1:ffff" FS, "64:ff9b:2::" },
    { "ff:ffff:ffff:ffff" FS, "100::", "100:0:0:0" FS, NULL },
    { NULL, "100:0:0:1::", "100:0:0:1" FS, "100:0:0:2::" },
    /* Teredo is before: an end of ones is 0.0.0.0. */
    { NULL, "2001:1::", "2001:1::", "2001:1::1" },
    { "2001:1::3", "2001:1::4", "2001:2:ffff:ffff" FS, "2001:3::" },
    { "2001:3:ffff:ffff" FS, "2001:4::", "2001:4:111:ffff" FS, "2001:4:112::" },
    { "2001:4:112:ffff" FS, "2001:4:113::", "2001:1f:ffff:ffff" FS,
      "2001:20::" },
    { "2001:3f:ffff:ffff" FS, "2001:40::", "2001:1ff:ffff:ffff" FS,
      "2001:200::" },
    { "2001:db7:ffff:ffff" FS, "2001:db8::", "2001:db8:ffff:ffff" FS,
      "2001:db9::" },
    { "2002:9ff:ffff:ffff" FS, "2002:a00::", "2002:aff:ffff:ffff" FS,
      "2002:b00::" },
    { "2002:c058:62ff:ffff" FS, "2002:c058:6300::", "2002:c058:63ff:ffff" FS,
      "2002:c058:6400::" },
    { "3ffe:ffff:ffff:ffff" FS, "3fff::", "3fff:fff:ffff:ffff" FS,
      "3fff:1000::" },
    { "5eff:ffff:ffff:ffff" FS, "5f00::", "5f00:ffff:ffff:ffff" FS, "5f01::" },
    { "fbff:ffff:ffff:ffff" FS, "fc00::", "fdff:ffff:ffff:ffff" FS, "fe00::" },
    { "fe7f:ffff:ffff:ffff" FS, "fe80::", "febf:ffff:ffff:ffff" FS, NULL },
    { NULL, "fec0::", "feff:ffff:ffff:ffff" FS, NULL },
    { NULL, "ff00::", "ffff:ffff:ffff:ffff" FS, NULL },
};

static void
expect(const char *to, bool refused)
{
    if (to != NULL && (verdict(EGRESS_PRESET, to)[0] != 0) != refused) {
        fail_msg("%s is %s", to, refused ? "not refused" : "refused");
    }
}

static void
the_preset_refuses_special_ranges_and_no_address_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        expect(edges[i].below, false);
        expect(edges[i].first, true);
        expect(edges[i].last, true);
        expect(edges[i].above, false);
    }
}

static void
a_reserved_range_is_opened_by_an_address(void **state)
{
    (void)state;
    assert_string_equal(verdict("allow 3fff::/20", "3fff::1"), "");
    assert_string_equal(verdict("allow 5f00::/16", "5f00::1"), "");
    assert_string_equal(verdict("allow 192.88.99.0/24", "192.88.99.1"), "");
    assert_string_not_equal(verdict("allow all", "3fff::1"), "");
}

static void
loopback_is_opened_by_its_name_or_address(void **state)
{
    const char *by_name = "allow loopback," EGRESS_PRESET;

    (void)state;
    assert_string_equal(verdict(by_name, "127.0.0.1"), "");
    assert_string_equal(verdict(by_name, "::1"), "");
    assert_string_equal(verdict(by_name, "::ffff:127.0.0.1"), "");
    assert_string_not_equal(verdict(by_name, "0.0.0.0"), "");
    assert_string_not_equal(verdict(by_name, "::"), "");
    assert_string_not_equal(verdict(by_name, "10.0.0.1"), "");
    assert_string_equal(verdict("allow 127.0.0.2", "127.0.0.2"), "");
    assert_string_not_equal(verdict("allow 127.0.0.2", "127.0.0.1"), "");
    assert_string_not_equal(verdict("allow all", "127.0.0.1"), "");
    assert_string_equal(verdict("allow all", "10.0.0.1"), "");
    assert_string_equal(verdict("allow 240.0.0.0/4", "240.0.0.1"), "");
    assert_string_not_equal(verdict("allow 0.0.0.0/0", "0.0.0.0"), "");
    assert_string_not_equal(verdict("allow 0.0.0.0/0", "255.255.255.255"), "");
    assert_string_not_equal(verdict("allow ff00::/8", "ff02::1"), "");
}

/* A rule for the outer address does not open what it means. */
static void
an_inner_address_has_to_be_allowed_as_well(void **state)
{
    const char *rules = "allow 64:ff9b::/96,deny private,allow all";

    (void)state;
    assert_string_equal(verdict(rules, "64:ff9b::808:808"), "");
    assert_string_equal(verdict(rules, "64:ff9b::a00:1"),
                        "egress: 64:ff9b::a00:1, which means 10.0.0.1, is "
                        "refused by \"deny private\": \"allow 10.0.0.1\" "
                        "before it in egress would allow it");
    assert_string_equal(
        verdict("allow 10.0.0.1,deny private,allow all", "64:ff9b::a00:1"), "");
}

static void
who_is_refused_hears_why(void **state)
{
    (void)state;
    assert_string_equal(verdict(EGRESS_PRESET, "10.0.0.1"),
                        "egress: 10.0.0.1 is refused by \"deny private\": "
                        "\"allow 10.0.0.1\" before it in egress would allow "
                        "it");
    assert_string_equal(verdict(EGRESS_PRESET, "::1"),
                        "egress: ::1 is refused: \"allow all\" leaves out "
                        "loopback addresses: \"allow ::1\" in egress would "
                        "allow it");
    assert_string_equal(verdict(EGRESS_PRESET, "198.18.0.1"),
                        "egress: 198.18.0.1 is refused: \"allow all\" leaves "
                        "out reserved addresses: \"allow 198.18.0.1\" in "
                        "egress would allow it");
    assert_string_equal(verdict("allow 8.8.8.8", "127.0.0.1"),
                        "egress: 127.0.0.1 is refused: no rule allows it: "
                        "\"allow 127.0.0.1\" in egress would allow it");
    /* It is so. */
    assert_string_equal(verdict("allow 10.0.0.1," EGRESS_PRESET, "10.0.0.1"),
                        "");
    assert_string_equal(verdict(EGRESS_PRESET ",allow ::1", "::1"), "");
    assert_string_equal(verdict("allow 8.8.8.8,allow 127.0.0.1", "127.0.0.1"),
                        "");
    assert_string_equal(verdict("allow all", "224.0.0.1"),
                        "egress: 224.0.0.1 is refused: it is not the address "
                        "of one host");
}

static void
only_addresses_are_connected_to(void **state)
{
    struct addr a = { .family = AF_UNIX };
    struct errmsg err;

    (void)state;
    assert_int_equal(egress_check(rules_of("allow all"), &a, &err), -1);
    a.family = AF_UNSPEC;
    assert_int_equal(egress_check(rules_of("allow all"), &a, &err), -1);
}

static void
a_wrong_rule_is_told(void **state)
{
    static const char *const wrong[] = {
        "",
        "allow",
        "private",
        "permit all",
        "allow unix:",
        "deny unix:",
        "allow example.org",
        "deny 10.0.0.0/33",
        "allow 1.2.3",
        "deny ::1/129",
        "allow all all",
    };
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(egress_check_rule(str_from(wrong[i]), &err), -1);
        assert_non_null(strstr(err.text, "linklocal"));
        assert_null(strstr(err.text, "or \"unix:\""));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_preset_opens_what_is_open_to_everybody),
        cmocka_unit_test(the_preset_refuses_all_else),
        cmocka_unit_test(the_preset_refuses_special_ranges_and_no_address_more),
        cmocka_unit_test(a_reserved_range_is_opened_by_an_address),
        cmocka_unit_test(loopback_is_opened_by_its_name_or_address),
        cmocka_unit_test(an_inner_address_has_to_be_allowed_as_well),
        cmocka_unit_test(who_is_refused_hears_why),
        cmocka_unit_test(only_addresses_are_connected_to),
        cmocka_unit_test(a_wrong_rule_is_told),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
