/*
 * XML as articles have it; what it says is what JSON would.
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

#include "format.h"

#include <string.h>

#include "xml/read.h"

#define NIL "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:nil="

static enum article_read
read_as(const struct article_format *f, struct pool *pool, const char *text,
        struct article_input *in)
{
    struct errmsg err = { "" };
    enum article_read result;

    memset(in, 0, sizeof(*in));
    result = article_read(f, pool, str_from(text), in, &err);
    assert_int_equal(result == ARTICLE_READ, err.text[0] == '\0');
    return result;
}

/* ---- the same in both ---- */

static const struct {
    const char *json, *xml;
} same[] = {
    { "{\"title\":\"a\",\"content\":\"b\",\"author\":{\"id\":7}}",
      "<article><title>a</title><content>b</content>"
      "<author><id>7</id></author></article>" },
    { "{\"title\":\" a\\nb \",\"content\":\"<p>&amp;</p>\"}",
      "<article><title> a\r\nb </title>"
      "<content><![CDATA[<p>&amp;</p>]]></content></article>" },
    { "{\"title\":\"\",\"author\":{\"id\":-1,\"name\":\"\xc3\xa9\"}}",
      "<?xml version='1.0'?>\n<article>\n  <title/>\n  <author>\n"
      "    <name>&#233;</name><id>\n -1 </id></author>\n</article>\n" },
    { "{}", "<article/>" },
    { "{}", "<article><Title>x</Title><x:title xmlns:x='u'>y</x:title>"
            "text</article>" },
    { "{\"id\":5,\"tags\":[1,1],\"title\":\"x\"}",
      "<article id='5'><id>5</id><tag>1</tag><tag>1</tag>"
      "<title lang='en'>x</title></article>" },
    { "{\"author\":{}}", "<article><author> </author></article>" },
    { "{\"author\":{\"id\":null}}",
      "<article><author><id " NIL "'true'/></author></article>" },
    { "{\"author\":null,\"title\":null,\"created_at\":null}",
      "<article " NIL "'0'><author xsi:nil='1'/><title xsi:nil=' true '/>"
      "<created_at xsi:nil='true'/></article>" },
    { "{\"title\":\"x\"}",
      "<article><title " NIL "'false'>x</title></article>" },
    { "{\"author\":1}", "<article><author>1</author></article>" },
    { "{\"author\":{\"id\":\"x\",\"name\":{}}}",
      "<article><author><id>x</id><name><first>a</first></name></author>"
      "</article>" },
    { "{\"author\":{\"id\":\"\"}}",
      "<article><author><id/></author></article>" },
    { "{\"author\":{\"id\":1.5}}",
      "<article><author><id>1.5</id></author></article>" },
    { "{\"author\":{\"id\":9223372036854775808}}",
      "<article><author><id>9223372036854775808</id></author></article>" },
    { "{\"author\":{\"id\":9223372036854775807}}",
      "<article><author><id>9223372036854775807</id></author></article>" },
    { "{\"title\":[1],\"content\":{}}",
      "<article><title><b>1</b></title><content><p>a</p></content>"
      "</article>" },
    { "{\"created_at\":\"2026-01-02T03:04:05Z\",\"updated_at\":{}}",
      "<article><created_at>\n2026-01-02T03:04:05Z\n</created_at>"
      "<updated_at><x/></updated_at></article>" },
};

static void
compare(const char *what, struct article_text a, struct article_text b)
{
    if (a.given != b.given || !str_eq(a.text, b.text)) {
        fail_msg("%s: %d \"%.*s\", %d \"%.*s\"", what, a.given,
                 STR_ARGS(a.text), b.given, STR_ARGS(b.text));
    }
}

static void
test_same_as_json(void **state)
{
    struct pool *pool = pool_new(1024);

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        struct article_input j, x;

        assert_int_equal(read_as(&article_format_json, pool, same[i].json, &j),
                         ARTICLE_READ);
        assert_int_equal(read_as(&article_format_xml, pool, same[i].xml, &x),
                         ARTICLE_READ);
        compare(same[i].xml, j.title, x.title);
        compare(same[i].xml, j.content, x.content);
        compare(same[i].xml, j.created_at, x.created_at);
        compare(same[i].xml, j.updated_at, x.updated_at);
        compare(same[i].xml, j.author_name, x.author_name);
        if (j.author != x.author || j.author_id.given != x.author_id.given ||
            j.author_id.n != x.author_id.n) {
            fail_msg("%s: author", same[i].xml);
        }
    }
    pool_free(&pool);
}

static void
test_no_article(void **state)
{
    static const struct {
        const char *xml;
        enum article_read result;
    } rows[] = {
        { "x", ARTICLE_BROKEN },
        { "<article>", ARTICLE_BROKEN },
        { "<article/><article/>", ARTICLE_BROKEN },
        { "<!DOCTYPE article><article/>", ARTICLE_BROKEN },
        { "<article><title>a</title><title>b</title></article>",
          ARTICLE_BROKEN },
        { "<article><author/><author/></article>", ARTICLE_BROKEN },
        { "<article><author><id>1</id><id>2</id></author></article>",
          ARTICLE_BROKEN },
        { "<article><title>&nbsp;</title></article>", ARTICLE_BROKEN },
        { "<articles/>", ARTICLE_WRONG },
        { "<Article/>", ARTICLE_WRONG },
        { "<article xmlns='urn:x'/>", ARTICLE_WRONG },
        { "<response><article/></response>", ARTICLE_WRONG },
    };
    struct pool *pool = pool_new(1024);
    struct article_input in;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (read_as(&article_format_xml, pool, rows[i].xml, &in) !=
            rows[i].result) {
            fail_msg("%s", rows[i].xml);
        }
    }
    pool_free(&pool);
}

/* ---- writing ---- */

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define AUTHOR                                      \
    "<author><id>1</id><name>N&amp;</name>"         \
    "<created_at>1970-01-01T00:00:00Z</created_at>" \
    "<updated_at>1970-01-01T00:00:01Z</updated_at></author>"
#define ARTICLE                                                                \
    "<article><id>3</id><title>t\"</title><content>&lt;p&gt;</content>" AUTHOR \
    "<updated_at>2026-01-02T03:04:06Z</updated_at>"                            \
    "<created_at>2026-01-02T03:04:05Z</created_at></article>"

static const struct article article = {
    .id = 3,
    .title = { "t\"", 2 },
    .content = { "<p>", 3 },
    .author = { .id = 1, .name = { "N&", 2 }, .updated_at = 1 },
    .created_at = 1767323045,
    .updated_at = 1767323046,
};
static const struct article_format *const xml = &article_format_xml;

static void
holds(struct buf *b, int written, const char *expected)
{
    assert_int_equal(written, 0);
    buf_add(b, "", 1);
    assert_string_equal((const char *)buf_data(b), expected);
    buf_clear(b);
}

static void
test_written(void **state)
{
    const struct article_links links = { STR("/a?num=1&author=2"),
                                         STR("/a?cursor=x") };
    const struct article_links last = { STR("/a"), STR_NONE };
    const struct article two[] = { article, article };
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    holds(&b, xml->write_article(&b, &article, NULL), HEAD ARTICLE "\n");
    holds(&b, xml->write_article(&b, &article, &last),
          HEAD "<response>" ARTICLE "<links><self>/a</self>"
               "</links></response>\n");
    holds(&b, xml->write_articles(&b, two, 2, NULL),
          HEAD "<articles>" ARTICLE ARTICLE "</articles>\n");
    holds(&b, xml->write_articles(&b, two, 0, NULL), HEAD "<articles/>\n");
    holds(&b, xml->write_articles(&b, two, 1, &links),
          HEAD "<response><articles>" ARTICLE "</articles><links>"
               "<self>/a?num=1&amp;author=2</self><next>/a?cursor=x</next>"
               "</links></response>\n");
    holds(&b, xml->write_author(&b, &article.author, NULL), HEAD AUTHOR "\n");
    holds(&b, xml->write_authors(&b, &article.author, 1, NULL),
          HEAD "<authors>" AUTHOR "</authors>\n");
    holds(&b, xml->write_authors(&b, &article.author, 1, &last),
          HEAD "<response><authors>" AUTHOR "</authors><links><self>/a</self>"
               "</links></response>\n");
}

static void
test_error(void **state)
{
    const struct article_error e = { 404, STR("gone"), STR("<it>") };
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    holds(&b, xml->write_error(&b, &e),
          HEAD "<problem xmlns=\"urn:ietf:rfc:7807\"><message>gone</message>"
               "<type>about:blank</type><title>Not Found</title>"
               "<status>404</status><detail>&lt;it&gt;</detail></problem>\n");
    buf_init(&b, 50);
    assert_int_equal(xml->write_error(&b, &e), -1);
    assert_int_equal(xml->write_article(&b, &article, NULL), -1);
    buf_clear(&b);
}

/* Written documents can be read again. */
static void
test_round_trip(void **state)
{
    struct pool *pool = pool_new(1024);
    struct article_input in;
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    assert_int_equal(xml->write_article(&b, &article, NULL), 0);
    buf_add(&b, "", 1);
    assert_int_equal(read_as(xml, pool, (const char *)buf_data(&b), &in),
                     ARTICLE_READ);
    assert_true(str_eq(in.title.text, article.title));
    assert_true(str_eq(in.content.text, article.content));
    assert_int_equal(in.author_id.n, 1);
    assert_true(str_eq(in.author_name.text, article.author.name));
    assert_true(str_eq(in.created_at.text, STR("2026-01-02T03:04:05Z")));
    buf_clear(&b);
    pool_free(&pool);
}

static void
test_types(void **state)
{
    static const char *const good[] = { "application/xml",
                                        "Application/XML; charset=utf-8",
                                        "application/vnd.weir-v1+xml",
                                        "application/atom+xml" };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_ptr_equal(article_format_of_body(str_from(good[i]), false),
                         &article_format_xml);
        assert_ptr_equal(article_format_of_body(str_from(good[i]), true),
                         &article_format_xml);
    }
    assert_ptr_equal(article_format_of_body(STR("text/xml"), false),
                     &article_format_text_xml);
    assert_null(article_format_of_body(STR("application/xmlx"), false));
    assert_null(article_format_of_body(STR("text/html"), false));
    for (size_t i = 0; article_formats[i] != NULL; i++) {
        assert_string_equal(article_formats[i]->name, article_accepts[i].name);
        assert_string_equal(article_formats[i]->type, article_accepts[i].type);
    }
}

static int
set_up(void **state)
{
    (void)state;
    xml_init();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_json), cmocka_unit_test(test_no_article),
        cmocka_unit_test(test_written),      cmocka_unit_test(test_error),
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_types),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
