/*
 * Reading XML into a tree.
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

#include "xml/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    xml_init();
    pool = pool_new(256);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static const struct xml_element *
take_str(struct str text)
{
    struct errmsg err;
    const struct xml_element *e = xml_read(pool, text, &err);

    if (e == NULL) {
        fail_msg("%.200s: %s", text.ptr, err.text);
    }
    return e;
}

static const struct xml_element *
take(const char *text)
{
    return take_str(str_from(text));
}

static void
refused(struct str text, const char *why)
{
    struct errmsg err = { "" };

    if (xml_read(pool, text, &err) != NULL) {
        fail_msg("%.200s was taken", text.ptr);
    }
    if (strstr(err.text, why) == NULL) {
        fail_msg("%.200s: \"%s\", not \"%s\"", text.ptr, err.text, why);
    }
}

static bool
is(struct str s, const char *expected)
{
    return str_eq(s, str_from(expected));
}

/* ---- what is taken ---- */

static void
test_tree(void **state)
{
    const struct xml_element *e =
        take("<?xml version='1.0'?>\n"
             "<a x='1' y=\"&lt;&quot;\n\">one<b/>two\n"
             "<c>in</c><b>2</b>three</a>\n");

    (void)state;
    assert_true(is(e->name, "a") && is(e->space, ""));
    assert_true(is(e->text, "onetwo\nthree"));
    assert_int_equal(e->line, 3);
    assert_true(is(xml_attribute_of(e, "", "x")->value, "1"));
    assert_true(is(xml_attribute_of(e, "", "y")->value, "<\" "));
    assert_null(xml_attribute_of(e, "", "z"));
    assert_null(xml_attribute_of(e, "urn:x", "x"));
    assert_true(is(e->first->name, "b") && e->first->text.len == 0);
    assert_ptr_equal(xml_child(e, "b"), e->first);
    assert_true(is(xml_child(e, "c")->text, "in"));
    assert_true(is(e->last->text, "2") && e->last->next == NULL);
    assert_null(xml_child(e, "d"));
    assert_null(e->first->first);
}

static void
test_text(void **state)
{
    static const struct {
        const char *xml, *text;
    } rows[] = {
        { "<a> b </a>", " b " },
        { "<a>&lt;&gt;&amp;&quot;&apos;</a>", "<>&\"'" },
        { "<a>&#65;&#x42;&#x1F600;&#9;&#13;</a>", "AB\xf0\x9f\x98\x80\t\r" },
        { "<a>1\r\n2\r3\n</a>", "1\n2\n3\n" },
        { "<a><![CDATA[<b>&amp;]] > ]]>x<![CDATA[]]></a>", "<b>&amp;]] > x" },
        { "<a>1<!-- <b> & -->2<?pi <x> ?>3</a>", "123" },
        { "\xef\xbb\xbf<a>bom</a>", "bom" },
        { "<?xml version=\"1.0\" encoding='utf-8' standalone='yes'?><a/>", "" },
        { "<?xml version=\"1.0\" encoding = \"UTF-8\"?><a>x</a>", "x" },
        { "<!-- a --><?b c?>\n<a>x</a>\n<!-- encoding='x' --><?d?>", "x" },
        { "<\xc3\xa9t\xc3\xa9>\xe2\x82\xac</\xc3\xa9t\xc3\xa9>",
          "\xe2\x82\xac" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct xml_element *e = take(rows[i].xml);

        if (!is(e->text, rows[i].text)) {
            fail_msg("%s: %.*s", rows[i].xml, STR_ARGS(e->text));
        }
    }
}

static void
test_namespaces(void **state)
{
    const struct xml_element *e =
        take("<a xmlns='urn:1' xmlns:p='urn:2' p:x='1' x='2'"
             " xml:lang='en'><p:b/><b xmlns=''/><b>mine</b></a>");

    (void)state;
    assert_true(is(e->name, "a") && is(e->space, "urn:1"));
    assert_true(is(xml_attribute_of(e, "urn:2", "x")->value, "1"));
    assert_true(is(xml_attribute_of(e, "", "x")->value, "2"));
    assert_true(
        is(xml_attribute_of(e, "http://www.w3.org/XML/1998/namespace", "lang")
               ->value,
           "en"));
    assert_null(xml_attribute_of(e, "", "p"));
    assert_true(is(e->first->space, "urn:2"));
    assert_true(is(e->first->next->space, ""));
    assert_true(is(xml_child(e, "b")->text, "mine"));
    refused(STR("<p:a/>"), "line 1: ");
    refused(STR("<a xmlns:p='u' xmlns:q='u' p:x='1' q:x='2'/>"), "line 1: ");
    refused(STR("<a xmlns:p=''/>"), "line 1: ");
}

/* ---- what is not ---- */

static void
test_malformed(void **state)
{
    static const char *const bad[] = {
        "<",
        "<a",
        "<a>",
        "<a></b>",
        "a",
        "<a/>x",
        "<a/><b/>",
        "<a x=1/>",
        "<a x/>",
        "<a x='1",
        "<a x='<'/>",
        "<a x='1' x='2'/>",
        "<a>&</a>",
        "<a>&b;</a>",
        "<a>&lt</a>",
        "<a>]]></a>",
        "</a>",
        "<a/></a>",
        "<1/>",
        "<a><!-- -- --></a>",
        "<!--",
        "<a><![CDATA[",
        "<?pi",
        "<a>&#0;</a>",
        "<a>&#x;",
        "<a>&#1;</a>",
        "<a>&#xD800;</a>",
        "<a>&#x110000;</a>",
        " <?xml version='1.0'?><a/>",
        "<?xml?><a/>",
        "<?xml version='2.0'?><a/>",
        "<a><?xml version='1.0'?></a>",
        "<a><![IGNORE[x]]></a>",
        "<a>&#xFFFE;</a>",
        "<a>\xef\xbf\xbf</a>",
        "<a b='&c;'/>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        refused(str_from(bad[i]), "line 1: ");
    }
    refused(STR_NONE, "empty");
    refused(STR("\xef\xbb\xbf"), "empty");
    refused(STR(" \n "), "line ");
    refused(STR("<a>\n<b>\n</c>\n</a>"), "line 3: ");
}

static void
test_document_types(void **state)
{
    static const char *const bad[] = {
        "<!DOCTYPE a><a/>",
        "<?xml version='1.0'?>\n<!DOCTYPE a SYSTEM 'a.dtd'>\n<a/>",
        "<!DOCTYPE lolz [<!ENTITY lol 'lol'><!ENTITY lol2 "
        "'&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;'><!ENTITY lol3 "
        "'&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;'>]>"
        "<lolz>&lol3;</lolz>",
        "<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://127.0.0.1/'>%p;]><a/>",
        "<!DOCTYPE a [<!ATTLIST a b CDATA 'preset'>]><a/>",
        "<!doctype a><a/>",
        "<a><!DOCTYPE a></a>",
        "<a><!ENTITY x 'y'></a>",
        "<a/><!DOCTYPE a>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        refused(str_from(bad[i]), "document types and declarations");
    }
    refused(STR("<a>&#38;lol;&lol;</a>"), "lol");
}

/* Neither what an entity names nor anything else is opened. */
static void
test_external(void **state)
{
    char path[] = "/tmp/read_test.XXXXXX", text[256];
    int fd = mkstemp(path);

    (void)state;
    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, "secret", 6), 6);
    close(fd);
    snprintf(text, sizeof(text),
             "<!DOCTYPE a [<!ENTITY x SYSTEM 'file://%s'>]><a>&x;</a>", path);
    refused(str_from(text), "line 1: ");
    snprintf(text, sizeof(text),
             "<a xmlns:xi='http://www.w3.org/2001/XInclude'>"
             "<xi:include href='file://%s' parse='text'/></a>",
             path);
    assert_int_equal(take(text)->text.len, 0);
    unlink(path);
}

static void
test_encodings(void **state)
{
    (void)state;
    refused(STR("<?xml version='1.0' encoding='ISO-8859-1'?><a/>"),
            "the encoding is ISO-8859-1: only UTF-8 is read");
    refused(STR("<?xml version='1.0' encoding='UTF-16'?><a/>"), "UTF-16");
    refused(STR("<?xml version='1.0' encoding='EBCDIC-XML-1'?><a/>"), "EBCDIC");
    refused(STR("<?xml version='1.0' encoding=''?><a/>"), "encoding is :");
    refused(STR("\xff\xfe<\0a\0/\0>\0"), "UTF-16");
    refused(STR("\xfe\xff\0<\0a\0/\0>"), "UTF-16");
    refused(STR("<\0a\0/\0>\0"), "U+0000");
    refused(STR("<a>\xe4</a>"), "not valid UTF-8");
    refused(STR("<a>\xed\xa0\x80</a>"), "not valid UTF-8");
    refused(STR("<a>\xc0\xbc</a>"), "not valid UTF-8");
    refused(STR("+ADw-a/+AD4-"), "line 1: ");
}

static void
test_characters(void **state)
{
    (void)state;
    refused(STR("<a>\0</a>"), "line 1: the character U+0000");
    refused(STR("<a/>\0"), "U+0000");
    refused(STR("<a>\n\x01</a>"), "line 2: the character U+0001");
    refused(STR("<a><![CDATA[\x1f]]></a>"), "U+001F");
    refused(STR("<a b='\x0b'/>"), "U+000B");
    assert_true(is(take("<a>\x7f\xc2\x80</a>")->text, "\x7f\xc2\x80"));
}

/* ---- piece by piece ---- */

static void
same(const struct xml_element *a, const struct xml_element *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL) {
        assert_true(str_eq(a->name, b->name) && str_eq(a->text, b->text));
        assert_true((a->attributes == NULL) == (b->attributes == NULL));
        same(a->first, b->first);
        same(a->next, b->next);
    }
}

/* In two pieces, or in pieces of n bytes. */
static const struct xml_element *
take_pieces(struct str text, size_t first, size_t n, struct errmsg *err)
{
    struct xml_reader *r = xml_reader_new(pool);
    size_t end = first, at = 0;

    while (at < text.len) {
        bool last = end >= text.len;
        struct str piece = str_first(str_skip(text, at), end - at);
        size_t took = xml_reader_feed(r, piece, last);

        assert_true(took <= piece.len && (!last || took == piece.len));
        at += took;
        end = n > 0 ? end + n : text.len;
    }
    return xml_reader_end(r, err);
}

static void
test_pieces(void **state)
{
    static const char *const rows[] = {
        "<?xml version='1.0' encoding='UTF-8'?>\n<a x='1' y=\"&lt;>\"><b/></a>",
        "<a>one\n<c>in</c><b>2</b>\xe2\x82\xac</a>\n",
        "<a><![CDATA[<b>&amp;]] > ]]>x<![CDATA[]]></a>",
        "<a>1<!-- <b> & - --->2</a>",
        "<a>1<!-- <b> & -->2<?pi <x> ? ?>3&#x1F600;&amp;</a>",
        "\xef\xbb\xbf<a>bom</a>",
        "<a xmlns='urn:1' xmlns:p='urn:2' p:x='1'><p:b/></a>",
        "<?xml version='1.0' encoding='ISO-8859-1'?><a/>",
        "<a>\n<!DOCTYPE b></a>",
        "<a>\n\x01</a>",
        "<a>\xf0\x9f\x98</a>",
        "<a><b></a>",
        "<a/>x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct str text = str_from(rows[i]);
        struct errmsg err = { "" }, other = { "" };
        const struct xml_element *e = xml_read(pool, text, &err);

        for (size_t n = 1; n <= text.len; n++) {
            same(e, take_pieces(text, n, 0, &other));
            same(e, take_pieces(text, n, n, &other));
        }
    }
}

/* The look finds what stands behind a mark that came in two pieces. */
static void
test_marks_in_pieces(void **state)
{
    static const char *const rows[] = {
        "<a><!-- x --><!DOCTYPE b></a>",
        "<a><![CDATA[x]]><!DOCTYPE b></a>",
        "<a><?x y?><!DOCTYPE b></a>",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct str text = str_from(rows[i]);
        struct errmsg err = { "" };

        for (size_t n = 1; n <= text.len; n++) {
            assert_null(take_pieces(text, n, 0, &err));
            assert_non_null(strstr(err.text, "document types"));
        }
    }
}

/* Bounds count what came in the pieces before. */
static void
test_bounds_of_pieces(void **state)
{
    static char text[3 * XML_READ_TAG];
    struct errmsg err;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "<a b='", 6);
    assert_null(take_pieces(str_of(text, sizeof(text)), 1000, 1000, &err));
    assert_non_null(strstr(err.text, "a tag is longer than 8192 bytes"));
    memset(text, ' ', sizeof(text));
    memcpy(text, "<?xml", 5);
    assert_null(take_pieces(str_of(text, sizeof(text)), 1000, 1000, &err));
    assert_non_null(strstr(err.text, "the declaration is too long"));
}

/* ---- bounds ---- */

static void
repeat(struct buf *b, const char *text, int n)
{
    for (int i = 0; i < n; i++) {
        buf_printf(b, "%s", text);
    }
}

static void
test_depth(void **state)
{
    struct buf b;

    (void)state;
    for (int depth = XML_READ_DEPTH; depth <= XML_READ_DEPTH + 1; depth++) {
        buf_init(&b, 1000);
        repeat(&b, "<a>", depth);
        repeat(&b, "</a>", depth);
        if (depth == XML_READ_DEPTH) {
            take_str(buf_str(&b));
        } else {
            refused(buf_str(&b), "in one another");
        }
        buf_clear(&b);
    }
    buf_init(&b, 1 << 20);
    repeat(&b, "<a>", 100000);
    refused(buf_str(&b), "in one another");
    buf_clear(&b);
}

static void
test_nodes(void **state)
{
    struct buf b;

    (void)state;
    for (int more = 0; more <= 1; more++) {
        buf_init(&b, 1 << 20);
        repeat(&b, "<a>", 1);
        repeat(&b, "<b c=''/>", XML_READ_NODES / 2 - 1);
        repeat(&b, "<b/>", 1 + more);
        repeat(&b, "</a>", 1);
        if (more == 0) {
            take_str(buf_str(&b));
        } else {
            refused(buf_str(&b), "too many elements");
        }
        buf_clear(&b);
    }
}

/* A parser that compares each with each would take minutes for the last. */
static void
test_attributes(void **state)
{
    static const int counts[] = { XML_READ_ATTRIBUTES, XML_READ_ATTRIBUTES + 1,
                                  100000 };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct buf b;

        buf_init(&b, 4 << 20);
        buf_printf(&b, "<a\n");
        for (int k = 0; k < counts[i]; k++) {
            buf_printf(&b, " a%d='>'", k);
        }
        buf_printf(&b, "/>");
        if (i == 0) {
            take_str(buf_str(&b));
        } else {
            refused(buf_str(&b), "line 1: a tag has more than 32 attributes");
        }
        buf_clear(&b);
    }
}

static void
test_tag_length(void **state)
{
    struct buf b;

    (void)state;
    for (size_t n = XML_READ_TAG - 1; n <= XML_READ_TAG + 1; n++) {
        buf_init(&b, 1 << 20);
        buf_printf(&b, "<a b='");
        repeat(&b, "x", (int)n - 9);
        buf_printf(&b, "'/>");
        assert_int_equal(buf_len(&b), n);
        if (n <= XML_READ_TAG) {
            take_str(buf_str(&b));
        } else {
            refused(buf_str(&b), "a tag is longer than 8192 bytes");
        }
        buf_clear(&b);
    }
}

static void
test_long_text(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 8 << 20);
    repeat(&b, "<a>", 1);
    repeat(&b, "&amp;x='<![CDATA[<]]>", 100000);
    repeat(&b, "</a>", 1);
    assert_int_equal(take_str(buf_str(&b))->text.len, 500000);
    buf_clear(&b);
}

/* Nothing is written to standard error, whatever is read. */
static void
test_silence(void **state)
{
    char path[] = "/tmp/read_test.XXXXXX";
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    struct stat st;

    (void)state;
    assert_true(file != -1 && kept != -1);
    dup2(file, STDERR_FILENO);
    test_malformed(NULL);
    test_namespaces(NULL);
    take("<a xmlns='no/uri'/>"); /* libxml2 would warn of it */
    take("<?xml version='1.1'?><a/>");
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(fstat(file, &st), 0);
    assert_int_equal(st.st_size, 0);
    close(file);
    unlink(path);
}

static void
test_blank(void **state)
{
    (void)state;
    assert_true(xml_blank(STR_NONE));
    assert_true(xml_blank(STR(" \t\r\n")));
    assert_false(xml_blank(STR(" x ")));
    assert_false(xml_blank(STR("\0")));
    assert_false(xml_blank(STR("\xc2\xa0")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_document_types),
        cmocka_unit_test(test_external),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_marks_in_pieces),
        cmocka_unit_test(test_bounds_of_pieces),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_tag_length),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_blank),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
