/*
 * Articles as XML.
 *
 * The elements have the names of JSON's members and stand in the same order:
 * <article>, <author>, <articles> of <article>, <authors> of <author>.  With
 * an envelope that is in a <response>, and <links> behind it.  An error is the
 * <problem> of RFC 9457, appendix B, with <message>.
 *
 * xsi:nil="true" is null.  Attributes, other namespaces and unknown elements
 * are ignored when they are read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format.h"
#include "xml/read.h"
#include "xml/xml.h"

#define XSI "http://www.w3.org/2001/XMLSchema-instance"

/* ---- writing ---- */

static void
put_time(struct xml_out *o, const char *name, int64_t s)
{
    char text[ARTICLE_TIME_TEXT];

    xml_put_str(o, name, article_time_write(text, s));
}

static void
put_author(struct xml_out *o, const struct author *a)
{
    xml_open(o, "author");
    xml_put_int(o, "id", a->id);
    xml_put_str(o, "name", a->name);
    put_time(o, "created_at", a->created_at);
    put_time(o, "updated_at", a->updated_at);
    xml_close(o);
}

static void
put_article(struct xml_out *o, const struct article *a)
{
    xml_open(o, "article");
    xml_put_int(o, "id", a->id);
    xml_put_str(o, "title", a->title);
    xml_put_str(o, "content", a->content);
    put_author(o, &a->author);
    put_time(o, "updated_at", a->updated_at);
    put_time(o, "created_at", a->created_at);
    xml_close(o);
}

/* list is the name of what the items are in; NULL: it is one alone. */
static void
begin(struct xml_out *o, struct buf *out, const struct article_links *links,
      const char *list)
{
    xml_begin(o, out);
    if (links != NULL) {
        xml_open(o, "response");
    }
    if (list != NULL) {
        xml_open(o, list);
    }
}

static int
end(struct xml_out *o, const struct article_links *links, bool list)
{
    if (list) {
        xml_close(o);
    }
    if (links != NULL) {
        xml_open(o, "links");
        xml_put_str(o, "self", links->self);
        if (links->next.len > 0) {
            xml_put_str(o, "next", links->next);
        }
        xml_close(o);
        xml_close(o);
    }
    return xml_end(o);
}

static int
write_article(struct buf *out, const struct article *a,
              const struct article_links *links)
{
    struct xml_out o;

    begin(&o, out, links, NULL);
    put_article(&o, a);
    return end(&o, links, false);
}

static int
write_articles(struct buf *out, const struct article *a, size_t count,
               const struct article_links *links)
{
    struct xml_out o;

    begin(&o, out, links, "articles");
    for (size_t i = 0; i < count; i++) {
        put_article(&o, &a[i]);
    }
    return end(&o, links, true);
}

static int
write_author(struct buf *out, const struct author *a,
             const struct article_links *links)
{
    struct xml_out o;

    begin(&o, out, links, NULL);
    put_author(&o, a);
    return end(&o, links, false);
}

static int
write_authors(struct buf *out, const struct author *a, size_t count,
              const struct article_links *links)
{
    struct xml_out o;

    begin(&o, out, links, "authors");
    for (size_t i = 0; i < count; i++) {
        put_author(&o, &a[i]);
    }
    return end(&o, links, true);
}

static int
write_error(struct buf *out, const struct article_error *e)
{
    struct xml_out o;

    xml_begin(&o, out);
    xml_open(&o, "problem");
    xml_attribute(&o, "xmlns", STR("urn:ietf:rfc:7807"));
    xml_put_str(&o, "message", e->message);
    xml_put_str(&o, "type", STR("about:blank"));
    xml_put_str(&o, "title", str_from(http_status_text(e->status)));
    xml_put_int(&o, "status", e->status);
    xml_put_str(&o, "detail", e->detail);
    xml_close(&o);
    return xml_end(&o);
}

/* ---- reading ---- */

/* White space around numbers and times says nothing. */
static struct str
collapse(struct str s)
{
    while (s.len > 0 && xml_blank(str_first(s, 1))) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && xml_blank(str_skip(s, s.len - 1))) {
        s.len--;
    }
    return s;
}

static bool
is_nil(const struct xml_element *e)
{
    const struct xml_attribute *nil = xml_attribute_of(e, XSI, "nil");
    struct str value = nil != NULL ? collapse(nil->value) : STR_NONE;

    return str_eq(value, STR("true")) || str_eq(value, STR("1"));
}

static struct article_text
text_of(const struct xml_element *in, const char *name)
{
    const struct xml_element *e = xml_child(in, name);

    if (e == NULL) {
        return (struct article_text){ GIVEN_NOT, STR_NONE };
    }
    if (e->first == NULL && !is_nil(e)) {
        return (struct article_text){ GIVEN_VALUE, e->text };
    }
    return (struct article_text){ e->first == NULL ? GIVEN_NULL : GIVEN_WRONG,
                                  STR_NONE };
}

static struct article_text
time_of(const struct xml_element *in, const char *name)
{
    struct article_text t = text_of(in, name);

    t.text = collapse(t.text);
    return t;
}

static struct article_number
number_of(const struct xml_element *in, const char *name)
{
    struct article_text t = time_of(in, name);
    struct article_number out = { t.given, 0 };

    if (t.given == GIVEN_VALUE &&
        !str_to_int(t.text, INT64_MIN, INT64_MAX, &out.n)) {
        out.given = GIVEN_WRONG;
    }
    return out;
}

static void
read_author(const struct xml_element *root, struct article_input *in)
{
    const struct xml_element *e = xml_child(root, "author");

    if (e == NULL) {
        return;
    }
    if (is_nil(e) && e->first == NULL) {
        in->author = GIVEN_NULL;
        return;
    }
    in->author = xml_blank(e->text) ? GIVEN_VALUE : GIVEN_WRONG;
    in->author_id = number_of(e, "id");
    in->author_name = text_of(e, "name");
}

/* Another reader might take the other one. */
static bool
stands_twice(const struct xml_element *in, const char *const *names,
             struct errmsg *err)
{
    for (size_t i = 0; in != NULL && names[i] != NULL; i++) {
        const struct xml_element *e = xml_child(in, names[i]);
        const struct xml_element *other = e != NULL ? e->next : NULL;

        while (other != NULL && !(str_eq(other->name, e->name) &&
                                  str_eq(other->space, e->space))) {
            other = other->next;
        }
        if (other != NULL) {
            errmsg_set(err, "not valid XML: line %d: %s stands twice",
                       other->line, names[i]);
            return true;
        }
    }
    return false;
}

static void *
begin_xml(struct pool *pool)
{
    return xml_reader_new(pool);
}

static size_t
feed_xml(void *reader, struct str piece, bool last)
{
    return xml_reader_feed(reader, piece, last);
}

static enum article_read
read_xml(struct pool *pool, void *reader, struct article_input *in,
         struct errmsg *err)
{
    static const char *const members[] = { "title",      "content",    "author",
                                           "created_at", "updated_at", NULL };
    static const char *const of_author[] = { "id", "name", NULL };
    const struct xml_element *root = xml_reader_end(reader, err);

    (void)pool; /* the tree lies there */
    if (root == NULL) {
        errmsg_prefix(err, "not valid XML: ");
        return ARTICLE_BROKEN;
    }
    if (!str_eq(root->name, STR("article")) || root->space.len > 0) {
        errmsg_set(err, "the root element must be article, in no namespace");
        return ARTICLE_WRONG;
    }
    if (stands_twice(root, members, err) ||
        stands_twice(xml_child(root, "author"), of_author, err)) {
        return ARTICLE_BROKEN;
    }
    in->title = text_of(root, "title");
    in->content = text_of(root, "content");
    in->created_at = time_of(root, "created_at");
    in->updated_at = time_of(root, "updated_at");
    read_author(root, in);
    return ARTICLE_READ;
}

#define FORM(media)                                                       \
    {                                                                     \
        .name = "xml", .type = (media), .suffix = "+xml",                 \
        .content_type = media "; charset=UTF-8",                          \
        .problem_type = "application/problem+xml", .patch_type = NULL,    \
        .write_article = write_article, .write_articles = write_articles, \
        .write_author = write_author, .write_authors = write_authors,     \
        .write_error = write_error, .begin = begin_xml, .feed = feed_xml, \
        .read = read_xml,                                                 \
    }

const struct article_format article_format_xml = FORM("application/xml");
const struct article_format article_format_text_xml = FORM("text/xml");
