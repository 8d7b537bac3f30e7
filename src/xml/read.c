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
/* Bytes that libxml2 is given at once: it moves all that it has not parsed yet
 * again and again. */
#define AT_ONCE 4096

struct xml_reader {
    struct pool *pool;
    struct xml_scan scan;
    xmlParserCtxt *parser; /* owned; NULL: it has ended */
    struct xml_element *open[XML_READ_DEPTH];
    struct buf text[XML_READ_DEPTH]; /* of each open element */
    unsigned depth;
    unsigned nodes;
    struct xml_element *root;
    struct errmsg err;
    size_t len;   /* bytes so far, without a byte order mark */
    bool begun;   /* behind a byte order mark */
    bool ended;   /* nothing more is read */
    bool refused; /* err says why */
};

static struct str
str_of_xml(const xmlChar *nul_terminated)
{
    return str_from((const char *)nul_terminated);
}

/* ---- errors ---- */

static void
refuse(struct xml_reader *r, int line, struct str why)
{
    if (!r->refused) {
        errmsg_set(&r->err, "line %d: %.*s", line, STR_ARGS(why));
        r->refused = true;
    }
    xmlStopParser(r->parser);
}

static void
refuse_here(struct xml_reader *r, struct str why)
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
count(struct xml_reader *r, int nodes)
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
put(struct xml_reader *r, struct xml_element *e)
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
    struct xml_reader *r = arg;
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
    struct xml_reader *r = arg;
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
    struct xml_reader *r = arg;

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
let_go(struct xml_reader *r)
{
    r->ended = true;
    if (r->parser != NULL) {
        xmlFreeParserCtxt(r->parser);
        r->parser = NULL;
    }
    for (unsigned i = 0; i < XML_READ_DEPTH; i++) {
        buf_clear(&r->text[i]);
    }
}

static void
on_pool_free(void *arg)
{
    let_go(arg);
}

static void
begin(struct xml_reader *r, struct pool *pool)
{
    xmlSAXHandler sax = handlers;

    *r = (struct xml_reader){ .pool = pool, .scan = { .mark = STR_NONE } };
    for (unsigned i = 0; i < XML_READ_DEPTH; i++) {
        buf_init(&r->text[i], INT_MAX); /* no entity makes it longer */
    }
    r->parser = xmlCreatePushParserCtxt(&sax, r, NULL, 0, NULL);
    if (r->parser == NULL) {
        errmsg_set(&r->err, "no memory");
        r->refused = true;
        let_go(r);
        return;
    }
    /* NOENT: or "&amp;" stays a reference in attributes.  There are no
     * entities but the built-in ones that it could put in. */
    xmlCtxtUseOptions(r->parser,
                      XML_PARSE_NONET | XML_PARSE_IGNORE_ENC | XML_PARSE_NOENT);
}

struct xml_reader *
xml_reader_new(struct pool *pool)
{
    struct xml_reader *r = pool_zero(pool, sizeof(*r));

    begin(r, pool);
    pool_on_free(pool, on_pool_free, r);
    return r;
}

static void
parse(struct xml_reader *r, struct str piece, bool last)
{
    while (piece.len > 0 && !r->refused) {
        size_t n = piece.len < AT_ONCE ? piece.len : AT_ONCE;

        xmlParseChunk(r->parser, piece.ptr, (int)n, 0);
        piece = str_skip(piece, n);
    }
    if (last && !r->refused) {
        xmlParseChunk(r->parser, NULL, 0, 1);
    }
    if (last && !r->refused && r->parser->wellFormed != 1) {
        refuse_here(r, STR("not well-formed"));
    }
    if (last || r->refused) {
        let_go(r);
    }
}

/* The bytes of a byte order mark at the front of the text; -1: that is not
 * known yet. */
static ssize_t
mark_length(struct xml_reader *r, struct str piece, bool last)
{
    if (r->begun) {
        return 0;
    }
    if (!last && piece.len < MARK.len) {
        return -1;
    }
    r->begun = true;
    return str_starts(piece, MARK) ? (ssize_t)MARK.len : 0;
}

static void
fail(struct xml_reader *r)
{
    r->refused = true;
    let_go(r);
}

size_t
xml_reader_feed(struct xml_reader *r, struct str piece, bool last)
{
    ssize_t skip = mark_length(r, piece, last), n;

    if (r->ended || skip == -1) {
        return r->ended ? piece.len : 0;
    }
    piece = str_skip(piece, (size_t)skip);
    if (piece.len > INT_MAX - r->len || (last && piece.len + r->len == 0)) {
        errmsg_set(&r->err, last && r->len == 0 ? "the text is empty"
                                                : "the text is too long");
        fail(r);
        return (size_t)skip + piece.len;
    }
    n = xml_scan(&r->scan, piece, last, &r->err);
    if (n == -1) {
        fail(r);
        return (size_t)skip + piece.len;
    }
    r->len += (size_t)n;
    parse(r, str_first(piece, (size_t)n), last);
    return (size_t)(skip + n);
}

const struct xml_element *
xml_reader_end(struct xml_reader *r, struct errmsg *err)
{
    if (!r->ended) {
        xml_reader_feed(r, STR_NONE, true);
    }
    if (r->refused) {
        *err = r->err;
        return NULL;
    }
    return r->root;
}

const struct xml_element *
xml_read(struct pool *pool, struct str text, struct errmsg *err)
{
    struct xml_reader r;

    begin(&r, pool);
    xml_reader_feed(&r, text, true);
    return xml_reader_end(&r, err);
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
