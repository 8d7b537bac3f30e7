/*
 * Mistakes in the settings of a version layer, and its dates.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "table_help.h"

/* One mistake, in that line, with these words in it. */
static void
check_mistake(const char *text, const char *words)
{
    char *mistakes = NULL;
    struct errmsg err = { "" };
    struct conf *c = help_load(text, &mistakes);

    if (c != NULL) {
        assert_int_equal(units_check(conf_settings(c), &err), -1);
        assert_non_null(strstr(err.text, words));
        conf_free(&c);
        return;
    }
    if (strstr(mistakes, words) == NULL || strchr(mistakes, '\n') == NULL ||
        strchr(mistakes, '\n')[1] != '\0') {
        fail_msg("%s: %s", text, mistakes);
    }
    mem_free(&mistakes);
}

static void
test_mistakes(void **state)
{
    (void)state;
    check_mistake("strict = true;", "units is missing");
    check_mistake("units = ( );", "units must not be empty");
    check_mistake("units = (\n { versions = \"v1\"; } );",
                  ":2: units: a unit needs layers");
    check_mistake("units = ( " UNIT("\"v1\", \"v1\"") " );",
                  "version \"v1\" stands twice");
    check_mistake("units = ( " UNIT("\"v 1\"") " );", "must be of letters");
    check_mistake("units = ( " UNIT("\"a/b\"") " );", "must be of letters");
    check_mistake(HEADER "units = (\n " UNIT("\"v1+beta\"") " );",
                  "version \"v1+beta\" of the unit in line 2 has a \"+\"");
    check_mistake("vendor = \"a+b\"; " TWO, "vendor must not have a \"+\"");
    check_mistake("units = ( " UNIT("\"\"") " );", "must have 1 to 64 bytes");
    check_mistake("strategy = \"query\"; " TWO, "strategy must be \"path\"");
    check_mistake("strategy = \"header\"; " TWO, "needs a vendor");
    check_mistake("units = (\n { strategy = \"header\"; " ECHO " } );",
                  "unit in line 2 has none");
    check_mistake(HEADER "units = ( " UNIT("\"v1\", \"V1\"") " );",
                  "are one to strategy header");
    check_mistake("default_version = \"v3\"; " TWO, "no version of a unit");
    check_mistake("unmatched_status = 405; " TWO, "must be 404 or 406");
    check_mistake("unmatched_status = 500; " TWO, "from 404 to 406");
    check_mistake("stict = true; " TWO, "did you mean \"strict\"?");
    check_mistake("units = ( { verions = \"v1\"; " ECHO " } );",
                  "did you mean \"versions\"?");
    check_mistake("units = ( { layers = ( { module = \"ecko\"; } ); } );",
                  "did you mean \"echo\"?");
    check_mistake(
        "units = ( {\n layers = ( {\n module = \"version\"; } ); } );",
        ":2: units.layers.units is missing");
    check_mistake("units = ( { strict = \"yes\"; " ECHO " } );",
                  "strict must be");
    check_mistake("units = ( { prefix = \"a//b\"; " ECHO " } );",
                  "prefix must be segments");
    check_mistake("units = ( { sunset = \"tomorrow\"; " ECHO " } );",
                  "sunset must be a date");
    check_mistake("units = ( { deprecated = \"2026-01-02\"; "
                  "sunset = \"2026-01-01\"; " ECHO " } );",
                  "sunset is before deprecated");
    check_mistake("units = ( { link = \"a b\"; " ECHO " } );",
                  "link must be a URI");
    check_mistake("units = ( { units = ( { versions = [ \"a\", \"a\" ]; " ECHO
                  " } ); } );",
                  "version \"a\" stands twice");
}

static void
test_limits(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "units = (");
    for (int i = 0; i <= UNITS_MAX; i++) {
        buf_printf(&b, "%s { " ECHO " }", i > 0 ? "," : "");
    }
    buf_printf(&b, " );%c", 0);
    check_mistake((const char *)buf_data(&b), "more than 256 units");
    buf_take(&b, buf_len(&b));
    buf_printf(&b, "units = (");
    for (int i = 0; i < 4; i++) {
        buf_printf(&b, "%s { versions = [ ", i > 0 ? "," : "");
        for (int k = 0; k < 65; k++) {
            buf_printf(&b, "%s\"v%d\"", k > 0 ? ", " : "", k);
        }
        buf_printf(&b, " ]; " ECHO " }");
    }
    buf_printf(&b, " );%c", 0);
    check_mistake((const char *)buf_data(&b), "260 versions, at most 256");
    buf_clear(&b);
}

static void
test_dates(void **state)
{
    int64_t seconds;

    (void)state;
    assert_true(units_date(STR("1970-01-01"), &seconds));
    assert_int_equal(seconds, 0);
    assert_true(units_date(STR("@1688169599"), &seconds));
    assert_int_equal(seconds, 1688169599);
    assert_true(units_date(STR("2023-06-30T23:59:59Z"), &seconds));
    assert_int_equal(seconds, 1688169599);
    assert_true(units_date(STR("2024-02-29"), &seconds));
    assert_false(units_date(STR("2023-02-29"), &seconds));
    assert_false(units_date(STR("2023-13-01"), &seconds));
    assert_false(units_date(STR("2023-06-30T23:59:59"), &seconds));
    assert_false(units_date(STR("2023-06-30T24:00:00Z"), &seconds));
    assert_false(units_date(STR("2023-6-3"), &seconds));
    assert_false(units_date(STR("+023-06-30"), &seconds));
    assert_false(units_date(STR("2023-06-30 "), &seconds));
    assert_false(units_date(STR("@"), &seconds));
    assert_false(units_date(STR("@-1"), &seconds));
    assert_false(units_date(STR("soon"), &seconds));
    assert_false(units_date(STR(""), &seconds));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
