/*
 * libxml2's events made into a tree.
 *
 * The parser has nothing but our callbacks: none that could declare or load
 * anything, and none that print.  The first error of any weight ends it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "xml/read.h"

#include <libxml/SAX2.h>
#include <libxml/parserInternals.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "xml/scan.h"

#define MARK STR("\xef\xbb\xbf") /* byte order */

struct reading {
    struct pool *pool;
    xmlParserCtxt *parser; /* owned */
    struct xml_element *open[XML_READ_DEPTH];
    struct buf text[XML_READ_DEPTH]; /* of each open element */
    unsigned depth;
    unsigned nodes;
    struct xml_element *root;
    struct errmsg *err;
    bool refused; /* err says why */
};

static struct str
str_of_xml(const xmlChar *nul_terminated)
{
    return str_from((const char *)nul_terminated);
}

/* ---- errors ---- */

static void
refuse(struct reading *r, int line, struct str why)
{
    if (!r->refused) {
        errmsg_set(r->err, "line %d: %.*s", line, STR_ARGS(why));
        r->refused = true;
    }
    xmlStopParser(r->parser);
}

static void
refuse_here(struct reading *r, struct str why)
{
    refuse(r, xmlSAX2GetLineNumber(r->parser), why);
}

static void
on_xml_error(void *arg, xmlErrorPtr e)
{
    struct str why = str_of_xml((const xmlChar *)e->message);

    if (e->level >= XML_ERR_ERROR) {
        refuse(arg, e->line, str_first(why, str_find(why, '\n', 0)));
    }
}

/* ---- the tree ---- */

static bool
count(struct reading *r, int nodes)
{
    r->nodes += (unsigned)nodes;
    if (r->nodes > XML_READ_NODES) {
        refuse_here(r, STR("too many elements and attributes"));
        return false;
    }
    return true;
}

/* libxml2 gives five pointers for each: name, prefix, namespace, value and the
 * value's end. */
static struct xml_attribute *
take_attributes(struct pool *pool, int n, const xmlChar **five)
{
    struct xml_attribute *first = NULL, **next = &first;

    for (int i = 0; i < n; i++, five += 5) {
        struct xml_attribute *a = pool_zero(pool, sizeof(*a));

        a->name = pool_str(pool, str_of_xml(five[0]));
        a->space = pool_str(pool, str_of_xml(five[2]));
        a->value = pool_str(pool, str_of(five[3], (size_t)(five[4] - five[3])));
        *next = a;
        next = &a->next;
    }
    return first;
}

static void
put(struct reading *r, struct xml_element *e)
{
    struct xml_element *in = r->depth > 0 ? r->open[r->depth - 1] : NULL;

    if (in == NULL) {
        r->root = e;
    } else if (in->last == NULL) {
        in->first = in->last = e;
    } else {
        in->last = in->last->next = e;
    }
}

static void
on_xml_open(void *arg, const xmlChar *name, const xmlChar *prefix,
            const xmlChar *space, int spaces, const xmlChar **declared,
            int attributes, int defaulted, const xmlChar **five)
{
    struct reading *r = arg;
    struct xml_element *e;

    (void)prefix;
    (void)spaces;
    (void)declared;
    (void)defaulted;
    if (r->refused || !count(r, 1 + attributes)) {
        return;
    }
    if (r->depth == XML_READ_DEPTH) {
        refuse_here(r, STR("too many elements in one another"));
        return;
    }
    e = pool_zero(r->pool, sizeof(*e));
    e->name = pool_str(r->pool, str_of_xml(name));
    e->space = pool_str(r->pool, str_of_xml(space));
    e->text = STR_NONE;
    e->line = xmlSAX2GetLineNumber(r->parser);
    e->attributes = take_attributes(r->pool, attributes, five);
    put(r, e);
    r->open[r->depth++] = e;
}

static void
on_xml_close(void *arg, const xmlChar *name, const xmlChar *prefix,
             const xmlChar *space)
{
    struct reading *r = arg;
    struct buf *text;

    (void)name;
    (void)prefix;
    (void)space;
    if (r->refused) {
        return;
    }
    r->depth--;
    text = &r->text[r->depth];
    r->open[r->depth]->text = pool_str(r->pool, buf_str(text));
    buf_take(text, buf_len(text));
}

static void
on_xml_text(void *arg, const xmlChar *text, int n)
{
    struct reading *r = arg;

    if (!r->refused && r->depth > 0 &&
        buf_add(&r->text[r->depth - 1], text, (size_t)n) == -1) {
        refuse_here(r, STR("too much text"));
    }
}

static const xmlSAXHandler handlers = {
    .initialized = XML_SAX2_MAGIC,
    .startElementNs = on_xml_open,
    .endElementNs = on_xml_close,
    .characters = on_xml_text,
    .ignorableWhitespace = on_xml_text,
    .cdataBlock = on_xml_text,
    .serror = on_xml_error,
};

/* ---- a document ---- */

void
xml_init(void)
{
    xmlInitParser();
}

static void
parse(struct reading *r, struct str text)
{
    r->parser = xmlCreateMemoryParserCtxt(text.ptr, (int)text.len);
    if (r->parser == NULL) {
        errmsg_set(r->err, "no memory");
        return;
    }
    *r->parser->sax = handlers;
    r->parser->userData = r;
    /* NOENT: or "&amp;" stays a reference in attributes.  There are no
     * entities but the built-in ones that it could put in. */
    xmlCtxtUseOptions(r->parser,
                      XML_PARSE_NONET | XML_PARSE_IGNORE_ENC | XML_PARSE_NOENT);
    xmlParseDocument(r->parser);
    if (!r->refused && r->parser->wellFormed != 1) {
        refuse_here(r, STR("not well-formed"));
    }
    xmlFreeParserCtxt(r->parser);
}

const struct xml_element *
xml_read(struct pool *pool, struct str text, struct errmsg *err)
{
    struct reading r = { .pool = pool, .err = err };

    if (str_starts(text, MARK)) {
        text = str_skip(text, MARK.len);
    }
    if (text.len == 0 || text.len > INT_MAX) {
        errmsg_set(err, text.len == 0 ? "the text is empty"
                                      : "the text is too long");
        return NULL;
    }
    if (xml_scan(text, err) == -1) {
        return NULL;
    }
    for (unsigned i = 0; i < XML_READ_DEPTH; i++) {
        buf_init(&r.text[i], text.len); /* no entity makes it longer */
    }
    parse(&r, text);
    for (unsigned i = 0; i < XML_READ_DEPTH; i++) {
        buf_clear(&r.text[i]);
    }
    return r.refused ? NULL : r.root;
}

/* ---- looking at it ---- */

const struct xml_element *
xml_child(const struct xml_element *e, const char *name)
{
    const struct xml_element *c = e->first;

    while (c != NULL &&
           !(str_eq(c->name, str_from(name)) && str_eq(c->space, e->space))) {
        c = c->next;
    }
    return c;
}

const struct xml_attribute *
xml_attribute_of(const struct xml_element *e, const char *space,
                 const char *name)
{
    const struct xml_attribute *a = e->attributes;

    while (a != NULL && !(str_eq(a->name, str_from(name)) &&
                          str_eq(a->space, str_from(space)))) {
        a = a->next;
    }
    return a;
}

bool
xml_blank(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" \t\r\n", text.ptr[i]) == NULL || text.ptr[i] == 0) {
            return false;
        }
    }
    return true;
}
