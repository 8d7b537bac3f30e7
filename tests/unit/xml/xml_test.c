/*
 * Writing XML.
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

#include "xml/xml.h"

#include <string.h>

#include "xml/read.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

static void
holds(struct buf *b, const char *expected)
{
    buf_add(b, "", 1);
    assert_string_equal((const char *)buf_data(b), expected);
    buf_clear(b);
}

static void
test_everything(void **state)
{
    struct xml_out o;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    xml_begin(&o, &b);
    xml_open(&o, "a");
    xml_attribute(&o, "x", STR("1"));
    xml_attribute(&o, "y", STR_NONE);
    xml_put_str(&o, "b", STR("text"));
    xml_put_str(&o, "c", STR_NONE);
    xml_put_int(&o, "d", INT64_MIN);
    xml_text(&o, STR("be"));
    xml_text(&o, STR("tween"));
    xml_open(&o, "e");
    xml_open(&o, "f");
    xml_close(&o);
    xml_close(&o);
    xml_close(&o);
    assert_int_equal(xml_end(&o), 0);
    holds(&b, HEAD "<a x=\"1\" y=\"\"><b>text</b><c/>"
                   "<d>-9223372036854775808</d>between<e><f/></e></a>\n");
}

static void
test_escapes(void **state)
{
    struct xml_out o;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    xml_begin(&o, &b);
    xml_open(&o, "a");
    xml_attribute(&o, "x", STR("<>&\"'\r\n\t\x1f"));
    xml_text(&o, STR("<>&\"'\r\n\t]]>"));
    xml_text(&o, STR("\0\x01\x1f\x7f|\xff|\xc3|\xed\xa0\x80|"));
    xml_text(&o, STR("\xef\xbf\xbd|\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbb\xbf"));
    xml_text(&o, STR("\xc3\xa4\xf0\x9f\x98\x80\xf0\x9f\xbf\xbe"));
    xml_close(&o);
    assert_int_equal(xml_end(&o), 0);
#define NO "\xef\xbf\xbd"
    holds(&b, HEAD "<a x=\"&lt;&gt;&amp;&quot;'&#13;&#10;&#9;" NO "\">"
                   "&lt;&gt;&amp;\"'&#13;\n\t]]&gt;" NO NO NO "\x7f|" NO "|" NO
                   "|" NO NO NO "|" NO "|" NO "|" NO "|\xef\xbb\xbf"
                   "\xc3\xa4\xf0\x9f\x98\x80\xf0\x9f\xbf\xbe</a>\n");
}

/* Each character that XML can hold comes back as it went. */
static void
test_round_trip(void **state)
{
    struct pool *pool = pool_new(4096);
    struct str text =
        STR(" \t\r\n a\r\rb\n\r\n<a>&amp;</a><![CDATA[x]]>\xc2\x85"
            "\xe2\x80\xa8\xf4\x8f\xbf\xbf\x7f ");
    const struct xml_element *e;
    struct errmsg err;
    struct xml_out o;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    xml_begin(&o, &b);
    xml_open(&o, "a");
    xml_attribute(&o, "x", text);
    xml_text(&o, text);
    xml_close(&o);
    assert_int_equal(xml_end(&o), 0);
    e = xml_read(pool, buf_str(&b), &err);
    assert_non_null(e);
    assert_true(str_eq(e->text, text));
    assert_true(str_eq(xml_attribute_of(e, "", "x")->value, text));
    buf_clear(&b);
    pool_free(&pool);
}

static void
test_limit(void **state)
{
    size_t whole = strlen(HEAD "<a>&lt;</a>\n");

    (void)state;
    for (size_t limit = 0; limit <= whole + 1; limit++) {
        struct xml_out o;
        struct buf b;

        buf_init(&b, limit);
        xml_begin(&o, &b);
        xml_put_str(&o, "a", STR("<"));
        assert_int_equal(xml_end(&o), limit < whole ? -1 : 0);
        buf_clear(&b);
    }
}

enum step { OPEN, CLOSE, TEXT, ATTRIBUTE, END };

static int
result_of(const enum step *steps)
{
    struct xml_out o;
    struct buf b;
    int result;

    buf_init(&b, 10000);
    xml_begin(&o, &b);
    for (; *steps != END; steps++) {
        switch (*steps) {
        case OPEN:
            xml_open(&o, "e");
            break;
        case CLOSE:
            xml_close(&o);
            break;
        case TEXT:
            xml_text(&o, STR("t"));
            break;
        case ATTRIBUTE:
            xml_attribute(&o, "a", STR("v"));
            break;
        case END:
            break;
        }
    }
    result = xml_end(&o);
    buf_clear(&b);
    return result;
}

static void
test_order(void **state)
{
    static const enum step wrong[][6] = {
        { END },
        { OPEN, END },
        { CLOSE, END },
        { OPEN, CLOSE, CLOSE, END },
        { OPEN, CLOSE, OPEN, CLOSE, END },
        { TEXT, OPEN, CLOSE, END },
        { OPEN, CLOSE, TEXT, END },
        { ATTRIBUTE, OPEN, CLOSE, END },
        { OPEN, TEXT, ATTRIBUTE, CLOSE, END },
        { OPEN, OPEN, CLOSE, ATTRIBUTE, CLOSE, END },
    };
    static const enum step right[] = { OPEN,  ATTRIBUTE, TEXT,  OPEN,
                                       CLOSE, TEXT,      CLOSE, END };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (result_of(wrong[i]) != -1) {
            fail_msg("order %zu was taken", i);
        }
    }
    assert_int_equal(result_of(right), 0);
}

static void
test_depth(void **state)
{
    enum step steps[2 * (XML_DEPTH + 1) + 1];

    (void)state;
    for (size_t depth = XML_DEPTH; depth <= XML_DEPTH + 1; depth++) {
        for (size_t i = 0; i < depth; i++) {
            steps[i] = OPEN;
            steps[depth + i] = CLOSE;
        }
        steps[2 * depth] = END;
        assert_int_equal(result_of(steps), depth > XML_DEPTH ? -1 : 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything), cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
