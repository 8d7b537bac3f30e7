/*
 * How requests are decided: which units are asked, in which order, as which
 * version.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "table_help.h"

#define BOTH "units = ( " UNIT("\"v1\", \"v2\"") " );"

/* Units are told apart by how many layers they pretend to have. */
static size_t
write_choice(char *dst, size_t size, const struct http_choice *c)
{
    bool plain = str_eq(c->route_path, STR("/x"));
    int n = snprintf(dst, size, "%zu=%.*s%s%.*s%s%.*s ", c->layer_count - 1,
                     STR_ARGS(c->version), c->format.len > 0 ? "+" : "",
                     STR_ARGS(c->format), plain ? "" : ":",
                     STR_ARGS(plain ? STR_NONE : c->route_path));

    return (size_t)n;
}

/* All that a selector says to a request, in one line: "1=v2 0=v1 404" for
 * unit 1 as v2, then unit 0 as v1, then pass on with 404 as last word; "!" in
 * front of a status: the end. */
static const char *
walk(const struct version_table *t, struct exchange *x)
{
    static char told[1024];
    struct http_choice choice = { .body_read = false };
    enum http_select answer;
    size_t n = 0;

    for (;;) {
        answer = version_select(&x->pub, (void *)(uintptr_t)t, &choice);
        if (answer == HTTP_NEEDS_BODY) {
            assert_false(choice.body_read);
            choice.body_read = true;
            continue;
        }
        if (answer != HTTP_CHOSEN) {
            break;
        }
        n += write_choice(told + n, sizeof(told) - n, &choice);
    }
    snprintf(told + n, sizeof(told) - n, "%s%d",
             answer == HTTP_REFUSED ? "!" : "", choice.status);
    return told;
}

static struct help
table(const char *text)
{
    struct help h = help_table(text);

    for (size_t i = 0; i < h.table->unit_count; i++) {
        h.table->units[i].layer_count = i + 1;
    }
    return h;
}

struct row {
    const char *header; /* "Accept" or "Accept-Version" of the group */
    const char *expected;
};

static void
check_rows(const char *text, const char *name, const struct row *rows)
{
    struct help h = table(text);

    for (; rows->expected != NULL; rows++) {
        struct http_header header = { str_from(name), str_from(rows->header) };
        struct exchange *x =
            help_request("/x", &header, rows->header != NULL ? 1 : 0);
        const char *told = walk(h.table, x);

        if (strcmp(told, rows->expected) != 0) {
            fail_msg("%s: %s: %s, not %s", text, rows->header, told,
                     rows->expected);
        }
        help_request_free(x);
    }
    help_free(&h);
}

#define A(type) "application/vnd.acme" type

static void
test_accept(void **state)
{
    static const struct row rows[] = {
        { NULL, "0=v2 1=v1 404" },
        { "", "0=v2 1=v1 404" },
        { "*/*", "0=v2 1=v1 404" },
        { "text/html", "0=v2 1=v1 404" },
        { A("-v1"), "1=v1 404" },
        { A("-v1+json"), "1=v1+json 404" },
        { A("-v1+*"), "1=v1 404" },
        { A("-v11"), "404" },
        { A("-v"), "404" },
        { A("-"), "404" },
        { A("s-v1"), "404" },
        { A(".v1"), "404" },
        { A("+json"), "0=v2+json 1=v1+json 404" },
        { A("-v1;q=0.5") ", " A("-v2;q=0.4"), "1=v1 0=v2 404" },
        { A("-v1;q=0.4") ", " A("-v2;q=0.5"), "0=v2 1=v1 404" },
        { A("-v1") ", */*", "1=v1 0=v2 404" },
        { A("-v1;q=0.3") ", */*;q=0.4", "0=v2 1=v1 404" },
        { A("-v1") ", " A("-v2"), "0=v2 1=v1 404" },
        { A("-v1;q=0.2") ", " A("-v1+json;q=0.8"), "1=v1+json 404" },
        { A("-v1;q=0"), "406" },
        { A("-v1;q=0") ", */*", "0=v2 404" },
        { A("-v1;q=0") ", text/html", "0=v2 404" },
        { A("-v9;q=0"), "0=v2 1=v1 404" },
        { "*/*;q=0", "406" },
        { "application/json;q=0", "406" },
        { "application/json;q=0, application/cbor", "0=v2 1=v1 404" },
        { "application/json;q=0, */*", "0=v2 1=v1 404" },
        { "application/json;q=0, application/*", "0=v2 1=v1 404" },
        { "application/json;q=0, application/*;q=0, */*", "406" },
        { A("+json;q=0") ", */*", "0=v2 1=v1 404" },
        { A(";q=0") ", */*", "406" },
        { A(";q=0") ", " A("+json;q=0") ", */*", "406" },
        { A("+json;q=0") ", " A(";q=0") ", */*", "406" },
        { A("-v2+json;q=0") ", */*", "0=v2 1=v1 404" },
        { A("-v2+json;q=0") ", */*;q=0.1, " A("-v1;q=0.2"), "1=v1 0=v2 404" },
        { A("-v2+json;q=0"), "406" },
        { A("-v2+json;q=0") ", text/html", "0=v2 1=v1 404" },
        { "application/vnd.other-v1, text/html", "404" },
        { "application/vnd.other-v1, */*;q=0.1", "0=v2 1=v1 404" },
        { "text/vnd.acme-v1", "0=v2 1=v1 404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(HEADER TWO, "accept", rows);
}

static void
test_accept_of_one_unit(void **state)
{
    static const struct row rows[] = {
        { NULL, "0=v2 404" },
        { "*/*", "0=v2 404" },
        { A("-v1"), "0=v1 404" },
        { A("-v1") ", */*", "0=v1 404" },
        { A("-v2;q=0") ", */*", "0=v1 404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(HEADER BOTH, "Accept", rows);
}

/* Chooses again when the layers before had only that wish for their formats. */
static void
ask_again(const struct version_table *t, struct exchange *x,
          struct http_choice *choice, int quality, const char *expected)
{
    const struct http_wish best = { quality, HTTP_BY_VERSION };

    choice->unfit = &best;
    assert_int_equal(version_select(&x->pub, (void *)(uintptr_t)t, choice),
                     HTTP_CHOSEN);
    choice->unfit = NULL;
    assert_true(str_eq(choice->version, str_from(expected)));
}

static void
test_formats_that_are_not_there(void **state)
{
    const struct http_header header = {
        STR("Accept"), STR(A("-v2+yaml;q=0.9") ", " A("-v2+json;q=0.2") ", " A(
                           "-v1+yaml;q=0.8") ", " A("-v1+json;q=0.3"))
    };
    const char *const texts[] = { HEADER TWO, HEADER BOTH };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct help h = table(texts[i]);
        struct exchange *x = help_request("/x", &header, 1);
        struct http_choice choice = { .body_read = true };

        version_select(&x->pub, h.table, &choice);
        assert_int_equal(choice.wish.quality, 900);
        assert_true(str_eq(choice.version, STR("v2")));
        ask_again(h.table, x, &choice, 200, "v1");
        assert_int_equal(choice.wish.quality, 800);
        ask_again(h.table, x, &choice, 300, "v1");
        assert_int_equal(choice.wish.quality, 300);
        ask_again(h.table, x, &choice, 0, "v2");
        assert_int_equal(choice.wish.quality, 200);
        assert_int_equal(choice.wish.by, HTTP_BY_VERSION);
        choice.unfit = &(struct http_wish){ 0, HTTP_BY_ANY };
        assert_int_equal(version_select(&x->pub, h.table, &choice),
                         HTTP_NONE_LEFT);
        help_request_free(x);
        help_free(&h);
    }
}

static void
test_accept_strict(void **state)
{
    static const struct row rows[] = {
        { NULL, "406" },
        { "", "406" },
        { "*/*", "406" },
        { A("+json"), "406" },
        { A("-v9"), "406" },
        { A("-v1;q=0") ", */*", "406" },
        { A("-v1") ", */*", "1=v1 404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(HEADER "strict = true; " TWO, "Accept", rows);
}

static void
test_accept_without_cascade(void **state)
{
    static const struct row rows[] = {
        { A("-v9"), "!406" },
        { A("-v1"), "1=v1 !404" },
        { NULL, "0=v2 1=v1 !404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(HEADER "cascade = false; " TWO, "Accept", rows + 0);
}

static void
test_default_version(void **state)
{
    static const struct row rows[] = {
        { NULL, "1=v1 404" },
        { "*/*", "1=v1 404" },
        { A(""), "1=v1 404" },
        { "text/html", "1=v1 404" },
        { A("-v2"), "0=v2 404" },
        { A("-v9"), "404" },
        { A("-v2") ", */*;q=0.5", "0=v2 1=v1 404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(HEADER "default_version = \"v1\"; " TWO, "Accept", rows);
}

static void
test_accept_version(void **state)
{
    static const struct row rows[] = {
        { NULL, "0=v2 1=v1 404" }, { " ", "0=v2 1=v1 404" },
        { "v1", "1=v1 404" },      { "V1", "404" },
        { "v1, v2", "404" },       { "v", "404" },
        { "v11", "404" },          { NULL, NULL },
    };
    static const struct row strict[] = {
        { NULL, "406" },
        { "v9", "406" },
        { "v1", "1=v1 404" },
        { NULL, NULL },
    };
    static const struct row status[] = {
        { NULL, "0=v2 1=v1 404" },
        { "v9", "406" },
        { NULL, NULL },
    };

    (void)state;
    check_rows("strategy = \"accept_version_header\"; " TWO, "accept-version",
               rows);
    check_rows("strategy = \"accept_version_header\"; strict = true; " TWO,
               "Accept-Version", strict);
    check_rows("strategy = \"accept_version_header\"; "
               "unmatched_status = 406; " TWO,
               "Accept-Version", status);
}

/* The header of another strategy says nothing. */
static void
test_header_of_another_strategy(void **state)
{
    static const struct row rows[] = {
        { "v1", "0=v2 1=v1 404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(HEADER TWO, "Accept-Version", rows);
    check_rows("strategy = \"param\"; " TWO, "Accept-Version", rows);
}

static void
test_headers_that_come_twice(void **state)
{
    struct http_header twice[] = { { STR("Accept-Version"), STR("v1") },
                                   { STR("accept-version"), STR("v1") } };
    struct http_header accept[] = { { STR("Accept"), STR(A("-v2;q=0.1")) },
                                    { STR("accept"), STR(A("-v1")) } };
    struct help h = table("strategy = \"accept_version_header\"; " TWO);
    struct help a = table(HEADER TWO);
    struct exchange *x = help_request("/x", twice, 2);
    struct exchange *y = help_request("/x", accept, 2);

    (void)state;
    assert_string_equal(walk(h.table, x), "404");
    assert_string_equal(walk(a.table, y), "1=v1 0=v2 404");
    help_request_free(x);
    help_request_free(y);
    help_free(&h);
    help_free(&a);
}

/* ---- path and param ---- */

static void
check_path(const char *text, const char *path, const char *expected)
{
    struct help h = table(text);
    struct exchange *x = help_request(path, NULL, 0);

    assert_string_equal(walk(h.table, x), expected);
    help_request_free(x);
    help_free(&h);
}

static void
test_path(void **state)
{
    (void)state;
    check_path(TWO, "/v1/x", "1=v1 404");
    check_path(TWO, "/v2", "0=v2:/ 404");
    check_path(TWO, "/v2/", "0=v2:/ 404");
    check_path(TWO, "/v11/x", "404");
    check_path(TWO, "/x", "404");
    check_path(TWO, "/", "404");
    check_path("cascade = false; " TWO, "/v9/x", "!404");
    check_path("unmatched_status = 406; " TWO, "/v9/x", "406");
    check_path("default_version = \"v1\"; " TWO, "/x", "1=v1 404");
    check_path("default_version = \"v1\"; " TWO, "/v2/x", "0=v2 404");
    check_path("units = ( { prefix = \"/a/b/\"; versions = \"v1\"; " ECHO
               " } );",
               "/a/b/v1/x", "0=v1 404");
    check_path("units = ( { prefix = \"a\"; versions = \"v1\"; " ECHO " } );",
               "/ab/v1/x", "404");
    check_path("units = ( { prefix = \"a\"; " ECHO " } );", "/a/x", "0= 404");
}

static void
test_any_version_comes_last(void **state)
{
    (void)state;
    check_path("units = ( { " ECHO " }, " UNIT("\"v1\"") " );", "/v1/x",
               "1=v1 0=:/v1/x 404");
    check_path("strategy = \"param\"; units = ( { " ECHO
               " }, " UNIT("\"v1\"") " );",
               "/x", "1=v1 0= 404");
}

static void
test_nested_units(void **state)
{
    static const char text[] =
        "units = ( { prefix = \"api\"; versions = \"v2\"; " ECHO
        " units = ( { versions = \"v1\"; " ECHO " }, { prefix = \"n\"; " ECHO
        " } ); } );";

    (void)state;
    check_path(text, "/api/v2/x", "0=v2 404");
    check_path(text, "/api/v1/x", "1=v1 404");
    check_path(text, "/api/n/v2/x", "2=v2 404");
}

static void
test_strategies_together(void **state)
{
    static const char text[] =
        HEADER "units = ( " UNIT("\"v2\"") ", { strategy = \"path\"; "
                                           "versions = \"v1\"; " ECHO " } );";
    static const struct row rows[] = {
        { A("-v2"), "0=v2 404" },
        { A("-v1"), "404" },
        { NULL, NULL },
    };

    (void)state;
    check_rows(text, "Accept", rows);
    check_path(text, "/v1/x", "1=v1 0=v2:/v1/x 404");
}

static const char *
ask_param(const struct help *h, const char *query, const char *type,
          const char *body)
{
    struct http_header header = { STR("Content-Type"), str_from(type) };
    struct exchange *x = help_request("/x", &header, type != NULL ? 1 : 0);
    const char *told;

    x->pub.query = str_from(query);
    x->pub.body = str_from(body);
    told = walk(h->table, x);
    help_request_free(x);
    return told;
}

#define FORM "application/x-www-form-urlencoded"
#define JSON "application/json; charset=utf-8"
#define PARTS "multipart/form-data; boundary=b"
#define FIELD(name, value)                                                    \
    "--b\r\nContent-Disposition: form-data; name=" name "\r\n\r\n" value "\r" \
    "\n"
#define END "--b--\r\n"

struct param_row {
    const char *query, *type, *body, *expected; /* NULL: the end */
};

static void
check_params(const struct param_row *rows)
{
    struct help h = table("strategy = \"param\"; " TWO);

    for (; rows->expected != NULL; rows++) {
        const char *told = ask_param(&h, rows->query, rows->type, rows->body);

        if (strcmp(told, rows->expected) != 0) {
            fail_msg("?%s %s: %s, not %s", rows->query, rows->body, told,
                     rows->expected);
        }
    }
    help_free(&h);
}

static void
test_param(void **state)
{
    static const struct param_row rows[] = {
        { "", NULL, "", "0=v2 1=v1 404" },
        { "apiver=v1", NULL, "", "1=v1 404" },
        { "a=b&apiver=v1&c", NULL, "", "1=v1 404" },
        { "apiver=v1&apiver=v2", NULL, "", "0=v2 404" },
        { "apiver=v1&apiver=", NULL, "", "0=v2 1=v1 404" },
        { "apiver=", NULL, "", "0=v2 1=v1 404" },
        { "apiver", NULL, "", "0=v2 1=v1 404" },
        { "apiver=+", NULL, "", "0=v2 1=v1 404" },
        { "%61piver=%76%31", NULL, "", "1=v1 404" },
        { "apiver=%zz", NULL, "", "!400" },
        { "apiver=v1%", NULL, "", "!400" },
        { "apiver=%zz&apiver=v1", NULL, "", "!400" },
        { "apiver=v1&apiver=%zz&apiver=", NULL, "", "!400" },
        { "apiver=v1%4", NULL, "", "!400" },
        { "other=%zz&apiver=v1", NULL, "", "1=v1 404" },
        { "apiver=%ff", NULL, "", "404" },
        { "apiver=%00", NULL, "", "404" },
        { "apiver=v1%00", NULL, "", "404" },
        { "apiver[]=v1", NULL, "", "404" },
        { "apiver[x]=v1", NULL, "", "404" },
        { "apivers=v1", NULL, "", "0=v2 1=v1 404" },
        { "", FORM, "apiver=v1", "1=v1 404" },
        { "apiver=v2", FORM, "apiver=v1", "0=v2 404" },
        { "apiver=", FORM, "apiver=v1", "1=v1 404" },
        { "", FORM, "apiver=%zz", "!400" },
        { "", "text/plain", "apiver=v1", "0=v2 1=v1 404" },
        { "", JSON, "{\"apiver\":\"v1\"}", "1=v1 404" },
        { "", "application/ld+JSON", "{\"apiver\":\"v1\"}", "1=v1 404" },
        { "", JSON, "{\"apiver\":null}", "0=v2 1=v1 404" },
        { "", JSON, "{\"apiver\":[\"v1\"]}", "404" },
        { "", JSON, "{\"apiver\":{\"apiver\":\"v1\"}}", "404" },
        { "", JSON, "{\"apiver\":9}", "404" },
        { "", JSON, "{\"a\":{\"apiver\":\"v1\"}}", "0=v2 1=v1 404" },
        { "", JSON, "[\"apiver\"]", "0=v2 1=v1 404" },
        { "", JSON, "{\"apiver\":", "0=v2 1=v1 404" },
        { "", JSON, "", "0=v2 1=v1 404" },
        { NULL, NULL, NULL, NULL },
    };

    (void)state;
    check_params(rows);
}

static void
test_param_in_a_form_with_files(void **state)
{
    static const struct param_row rows[] = {
        { "", PARTS, FIELD("\"apiver\"", "v1") END, "1=v1 404" },
        { "", PARTS, FIELD("apiver", "v1") END, "1=v1 404" },
        { "apiver=v2", PARTS, FIELD("apiver", "v1") END, "0=v2 404" },
        { "", "Multipart/Form-Data; charset=utf-8; Boundary=\"b\"",
          "--b\r\ncontent-type: text/plain\r\n"
          "CONTENT-DISPOSITION: form-data ; x=\"a;name=y\"; name=\"apiver\"\r\n"
          "\r\nv1\r\n--b--",
          "1=v1 404" },
        { "", PARTS, FIELD("a", "b") FIELD("apiver", "v1") END, "1=v1 404" },
        { "", PARTS, "preamble\r\n" FIELD("apiver", "v1") END, "1=v1 404" },
        { "", PARTS, FIELD("apiver", "v1") FIELD("apiver", "v2") END,
          "0=v2 404" },
        { "", PARTS, FIELD("apiver", "v1") FIELD("apiver", "") END,
          "0=v2 1=v1 404" },
        { "", PARTS, FIELD("apiver", "") END, "0=v2 1=v1 404" },
        { "", PARTS, FIELD("apivers", "v1") END, "0=v2 1=v1 404" },
        { "", PARTS, FIELD("\"apiver[]\"", "v1") END, "404" },
        { "", PARTS, FIELD("apiver", "%zz") END, "404" }, /* no encoding */
        { "", PARTS, FIELD("apiver; filename=a", "v1") END, "0=v2 1=v1 404" },
        { "", PARTS, FIELD("file", "name=\"apiver\"\r\n\r\nv1") END,
          "0=v2 1=v1 404" },
        { "", PARTS, "--b\r\n\r\nv1\r\n" END, "0=v2 1=v1 404" },
        { "", PARTS, END FIELD("apiver", "v1") END, "0=v2 1=v1 404" },
        { "", PARTS, FIELD("apiver", "v1"), "0=v2 1=v1 404" }, /* cut short */
        { "", PARTS, "--b", "0=v2 1=v1 404" },
        { "", PARTS, "", "0=v2 1=v1 404" },
        { "", "multipart/form-data", FIELD("apiver", "v1") END,
          "0=v2 1=v1 404" },
        { "", "multipart/form-data; boundary=", FIELD("apiver", "v1") END,
          "0=v2 1=v1 404" },
        { "", "multipart/form-data; boundary=\"b", FIELD("apiver", "v1") END,
          "1=v1 404" },
        { NULL, NULL, NULL, NULL },
    };

    (void)state;
    check_params(rows);
}

static void
test_preflight(void **state)
{
    struct http_header headers[] = {
        { STR("Origin"), STR("http://a.example") },
        { STR("Access-Control-Request-Method"), STR("GET") },
    };
    struct help h = table(HEADER "strict = true; " TWO);
    struct exchange *x = help_request("/x", headers, 2);

    (void)state;
    x->pub.method = STR("OPTIONS");
    assert_string_equal(walk(h.table, x), "0=v2 1=v1 404");
    help_request_free(x);
    x = help_request("/x", headers, 1);
    x->pub.method = STR("OPTIONS");
    assert_string_equal(walk(h.table, x), "406");
    help_request_free(x);
    help_free(&h);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_accept_of_one_unit),
        cmocka_unit_test(test_formats_that_are_not_there),
        cmocka_unit_test(test_accept_strict),
        cmocka_unit_test(test_accept_without_cascade),
        cmocka_unit_test(test_default_version),
        cmocka_unit_test(test_accept_version),
        cmocka_unit_test(test_header_of_another_strategy),
        cmocka_unit_test(test_headers_that_come_twice),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_any_version_comes_last),
        cmocka_unit_test(test_nested_units),
        cmocka_unit_test(test_strategies_together),
        cmocka_unit_test(test_param),
        cmocka_unit_test(test_param_in_a_form_with_files),
        cmocka_unit_test(test_preflight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
