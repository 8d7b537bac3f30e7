/*
 * The header lines of answers about versions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "table_help.h"

static void
test_lines(void **state)
{
    struct help h = help_table("units = ( " UNIT(
        "\"v3\"") ", { versions = [ \"v1\", \"v2\" ]; "
                  "deprecated = \"2026-01-02\"; sunset = "
                  "\"2027-01-02T03:04:05Z\"; "
                  "link = [ \"https://a.example/v3\", "
                  "\"<https://a.example/why>; rel=\\\"deprecation\\\"\" "
                  "]; " ECHO " } );");

    (void)state;
    assert_string_equal(h.table->offers[0].lines.ptr,
                        "API-Version: v3\r\n"
                        "API-Supported-Versions: v3, v1, v2\r\n");
    assert_string_equal(
        h.table->offers[1].lines.ptr,
        "API-Version: v2\r\n"
        "API-Supported-Versions: v3, v1, v2\r\n"
        "Deprecation: @1767312000\r\n"
        "Sunset: Sat, 02 Jan 2027 03:04:05 GMT\r\n"
        "Link: <https://a.example/v3>; rel=\"successor-version\"\r\n"
        "Link: <https://a.example/why>; rel=\"deprecation\"\r\n");
    assert_string_equal(h.table->lines.ptr,
                        "API-Supported-Versions: v3, v1, v2\r\n");
    help_free(&h);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
