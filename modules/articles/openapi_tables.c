/*
 * The tables of the description; they hold no code.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "openapi_tables.h"

#include <stddef.h>

/* ---- schemas ---- */

static const struct openapi_property author[] = {
    { .name = "id", .kind = KIND_ID },
    { .name = "name", .kind = KIND_TEXT, .help = "Empty where none is known." },
    { .name = "created_at", .kind = KIND_TIME },
    { .name = "updated_at", .kind = KIND_TIME },
    { .name = NULL },
};

static const struct openapi_property article[] = {
    { .name = "id", .kind = KIND_ID, .help = "Never used again." },
    { .name = "title", .kind = KIND_TEXT, .help = "Unique." },
    { .name = "content", .kind = KIND_TEXT, .help = "May contain markup." },
    { .name = "author", .kind = KIND_REF, .ref = "Author" },
    { .name = "updated_at", .kind = KIND_TIME },
    { .name = "created_at", .kind = KIND_TIME },
    { .name = NULL },
};

static const struct openapi_property new_author[] = {
    { .name = "id",
      .kind = KIND_ID,
      .help = "One that is not known yet becomes a new author." },
    { .name = "name",
      .kind = KIND_TEXT,
      .limit = LIMIT_NAME,
      .optional = true,
      .help = "The author's name from now on, in all articles." },
    { .name = NULL },
};

#define TEXTS                                                             \
    { .name = "title",                                                    \
      .kind = KIND_TEXT,                                                  \
      .limit = LIMIT_TITLE,                                               \
      .help = "Not blank; no other article may have it, byte by byte." }, \
    {                                                                     \
        .name = "content", .kind = KIND_TEXT, .limit = LIMIT_CONTENT,     \
        .help = "The limit is of bytes in UTF-8.",                        \
    }
#define TIMES(unless)                                              \
    { .name = "created_at",                                        \
      .kind = KIND_TIME,                                           \
      .optional = true,                                            \
      .help = unless },                                            \
    {                                                              \
        .name = "updated_at", .kind = KIND_TIME, .optional = true, \
        .help = "Now, unless it is given.",                        \
    }

static const struct openapi_property new_article[] = {
    TEXTS,
    { .name = "author", .kind = KIND_REF, .ref = "NewAuthor" },
    TIMES("Now, unless it is given."),
    { .name = NULL },
};

static const struct openapi_property article_patch[] = {
    TEXTS,
    { .name = "author", .kind = KIND_REF, .ref = "AuthorPatch" },
    TIMES("As it is, unless it is given."),
    { .name = NULL },
};

static const struct openapi_property links[] = {
    { .name = "self", .kind = KIND_LINK },
    { .name = NULL },
};

static const struct openapi_property page_links[] = {
    { .name = "self", .kind = KIND_LINK },
    { .name = "next",
      .kind = KIND_LINK_OR_NULL,
      .help = "Null, and in XML left out, on the last page." },
    { .name = NULL },
};

#define ENVELOPE(kind_of_data, ref_of_data, links_of_it)               \
    {                                                                  \
        { .name = "data", .kind = kind_of_data, .ref = ref_of_data },  \
            { .name = "links", .kind = KIND_REF, .ref = links_of_it }, \
            { .name = NULL },                                          \
    }
static const struct openapi_property one_article[] =
    ENVELOPE(KIND_REF, "Article", "Links");
static const struct openapi_property all_articles[] =
    ENVELOPE(KIND_LIST, "Article", "PageLinks");
static const struct openapi_property one_author[] =
    ENVELOPE(KIND_REF, "Author", "Links");
static const struct openapi_property all_authors[] =
    ENVELOPE(KIND_LIST, "Author", "PageLinks");

static const struct openapi_property problem[] = {
    { .name = "message", .kind = KIND_TEXT, .help = "The error in words." },
    { .name = "type", .kind = KIND_TEXT, .help = "about:blank" },
    { .name = "title", .kind = KIND_TEXT, .help = "The status in words." },
    { .name = "status", .kind = KIND_STATUS },
    { .name = "detail",
      .kind = KIND_TEXT,
      .help = "The details of the error." },
    { .name = NULL },
};

const struct openapi_schema openapi_schemas[] = {
    { .name = "Article", .xml = "article", .properties = article },
    { .name = "Author", .xml = "author", .properties = author },
    { .name = "NewArticle", .xml = "article", .properties = new_article },
    { .name = "ArticlePatch",
      .xml = "article",
      .properties = article_patch,
      .when = WHEN_EDIT,
      .partial = true },
    { .name = "NewAuthor", .xml = "author", .properties = new_author },
    { .name = "AuthorPatch",
      .xml = "author",
      .properties = new_author,
      .when = WHEN_EDIT,
      .partial = true },
    { .name = "ArticleList",
      .xml = "articles",
      .list = "Article",
      .when = WHEN_BARE },
    { .name = "AuthorList",
      .xml = "authors",
      .list = "Author",
      .when = WHEN_BARE },
    { .name = "ArticleResponse",
      .xml = "response",
      .properties = one_article,
      .when = WHEN_ENVELOPE },
    { .name = "ArticleListResponse",
      .xml = "response",
      .properties = all_articles,
      .when = WHEN_ENVELOPE },
    { .name = "AuthorResponse",
      .xml = "response",
      .properties = one_author,
      .when = WHEN_ENVELOPE },
    { .name = "AuthorListResponse",
      .xml = "response",
      .properties = all_authors,
      .when = WHEN_ENVELOPE },
    { .name = "Links",
      .xml = "links",
      .properties = links,
      .when = WHEN_ENVELOPE },
    { .name = "PageLinks",
      .xml = "links",
      .properties = page_links,
      .when = WHEN_ENVELOPE },
    { .name = "Problem", .xml = "problem", .properties = problem },
    { .name = NULL },
};

/* ---- what goes beside bodies ---- */

const struct openapi_parameter openapi_parameters[] = {
    { "num", "query", NULL, KIND_NUMBER,
      "How many a page has at most. 0 and what is no number count as 10, more "
      "than the server allows as what it allows.",
      WHEN_ALWAYS },
    { "cursor", "query", NULL, KIND_TEXT,
      "X-Cursor of the page before this one, with the same author.",
      WHEN_ALWAYS },
    { "author", "query", NULL, KIND_ID, "Articles of this author alone.",
      WHEN_ALWAYS },
    { "id", "path", NULL, KIND_ID, NULL, WHEN_ALWAYS },
    { "IfMatch", "header", "If-Match", KIND_TEXT,
      "Entity tags: 412 unless what is there has one of them.", WHEN_ALWAYS },
    { "IfNoneMatch", "header", "If-None-Match", KIND_TEXT,
      "Entity tags: 304 if what would be answered has one of them.",
      WHEN_ALWAYS },
    { "IdempotencyKey", "header", "Idempotency-Key", KIND_TEXT,
      "1 to 255 bytes. The same key with the same body creates one article, "
      "however often it is sent, and is answered the same.",
      WHEN_ALWAYS },
    { .key = NULL },
};

const struct openapi_parameter openapi_headers[] = {
    { "ETag", NULL, NULL, KIND_TEXT, "Of this form of it; of a list, weak.",
      WHEN_ALWAYS },
    { "X-Cursor", NULL, NULL, KIND_TEXT,
      "Where the next page begins. Absent on the last one.", WHEN_ALWAYS },
    { "Link", NULL, NULL, KIND_TEXT,
      "The next page, as rel=\"next\". Absent on the last one.", WHEN_ALWAYS },
    { "Location", NULL, NULL, KIND_LINK, "The article that was created.",
      WHEN_ALWAYS },
    { "Idempotent-Replayed", NULL, NULL, KIND_TEXT,
      "true: it had been created before, by the same Idempotency-Key.",
      WHEN_ALWAYS },
    { "Accept-Post", NULL, NULL, KIND_TEXT, "The types that can be sent.",
      WHEN_ALWAYS },
    { "Accept-Patch", NULL, NULL, KIND_TEXT, "The types that can be sent.",
      WHEN_ALWAYS },
    { "Retry-After", NULL, NULL, KIND_NUMBER,
      "Seconds, where it is worth trying again.", WHEN_ALWAYS },
    { "WWW-Authenticate", NULL, NULL, KIND_TEXT, "How to log in.", WHEN_AUTH },
    { .key = NULL },
};

const struct openapi_parameter openapi_common_headers[] = {
    { "API-Version", NULL, NULL, KIND_TEXT, "The version that answered.",
      WHEN_VERSIONED },
    { "API-Supported-Versions", NULL, NULL, KIND_TEXT,
      "All versions that there are.", WHEN_VERSIONED },
    { "Deprecation", NULL, NULL, KIND_TEXT,
      "Since when this version is deprecated, as @ and seconds since 1970 "
      "(RFC 9745).",
      WHEN_DEPRECATED },
    { "Sunset", NULL, NULL, KIND_TEXT,
      "When this version will be gone, as a date of HTTP (RFC 8594).",
      WHEN_SUNSET },
    { .key = NULL },
};

const struct openapi_response openapi_responses[] = {
    { "Article", "Article", { "ETag" }, "The article.", WHEN_ALWAYS },
    { "ArticleList",
      "ArticleList",
      { "ETag", "X-Cursor", "Link" },
      "A page, ascending by created_at and id.",
      WHEN_ALWAYS },
    { "Author", "Author", { "ETag" }, "The author.", WHEN_ALWAYS },
    { "AuthorList",
      "AuthorList",
      { "ETag", "X-Cursor", "Link" },
      "A page, ascending by id.",
      WHEN_ALWAYS },
    { "Created",
      "Article",
      { "ETag", "Location", "Idempotent-Replayed" },
      "It was created, or had been by the same Idempotency-Key.",
      WHEN_ALWAYS },
    { "Deleted", NULL, { NULL }, "It is gone.", WHEN_ALWAYS },
    { "NotModified",
      NULL,
      { "ETag" },
      "It is as the client has it.",
      WHEN_ALWAYS },
    { "ListNotModified",
      NULL,
      { "ETag", "X-Cursor", "Link" },
      "The page is as the client has it.",
      WHEN_ALWAYS },
    { "BadRequest",
      "Problem",
      { NULL },
      "A parameter or a field is not as it has to be; detail tells which.",
      WHEN_ALWAYS },
    { "Unauthorized",
      "Problem",
      { "WWW-Authenticate" },
      "One has to log in, or may not with what was given.",
      WHEN_AUTH },
    { "Forbidden",
      "Problem",
      { NULL },
      "Who asks may not write here.",
      WHEN_ALWAYS },
    { "NotFound",
      "Problem",
      { NULL },
      "There is none of this id.",
      WHEN_ALWAYS },
    { "NotAcceptable",
      "Problem",
      { NULL },
      "Accept allows none of the forms that there are.",
      WHEN_ALWAYS },
    { "Conflict",
      "Problem",
      { NULL },
      "Another article has this title.",
      WHEN_ALWAYS },
    { "PreconditionFailed",
      "Problem",
      { NULL },
      "It is not as If-Match or If-None-Match want it.",
      WHEN_ALWAYS },
    { "TooLarge",
      "Problem",
      { NULL },
      "The body is longer than is taken.",
      WHEN_ALWAYS },
    { "UnsupportedType",
      "Problem",
      { "Accept-Post" },
      "Content-Type is none that can be sent.",
      WHEN_ALWAYS },
    { "UnsupportedPatch",
      "Problem",
      { "Accept-Patch" },
      "Content-Type is none that can be sent.",
      WHEN_ALWAYS },
    { "Unparsable",
      "Problem",
      { NULL },
      "The body cannot be parsed, or came with an Idempotency-Key of "
      "another.",
      WHEN_ALWAYS },
    { "Error", "Problem", { "Retry-After" }, "Any other error.", WHEN_ALWAYS },
    { "Description", NULL, { "ETag" }, "This document.", WHEN_ALWAYS },
    { .name = NULL },
};

const struct openapi_body openapi_bodies[] = {
    { "NewArticle", "NewArticle", false, WHEN_ALWAYS },
    { "ArticlePatch", "ArticlePatch", true, WHEN_EDIT },
    { .name = NULL },
};

/* ---- operations ---- */

const struct openapi_operation openapi_operations[] = {
    { "/articles",
      "get",
      "listArticles",
      WHEN_ALWAYS,
      "A page of articles",
      { "num", "cursor", "author", "IfMatch", "IfNoneMatch" },
      NULL,
      { { 200, "ArticleList", WHEN_ALWAYS },
        { 304, "ListNotModified", WHEN_ALWAYS },
        { 400, "BadRequest", WHEN_ALWAYS },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/articles",
      "post",
      "createArticle",
      WHEN_ALWAYS,
      "A new article",
      { "IdempotencyKey" },
      "NewArticle",
      { { 201, "Created", WHEN_ALWAYS },
        { 400, "BadRequest", WHEN_ALWAYS },
        { 403, "Forbidden", WHEN_RESTRICTED },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 409, "Conflict", WHEN_ALWAYS },
        { 413, "TooLarge", WHEN_ALWAYS },
        { 415, "UnsupportedType", WHEN_ALWAYS },
        { 422, "Unparsable", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/articles/{id}",
      "get",
      "getArticle",
      WHEN_ALWAYS,
      "One article",
      { "id", "IfMatch", "IfNoneMatch" },
      NULL,
      { { 200, "Article", WHEN_ALWAYS },
        { 304, "NotModified", WHEN_ALWAYS },
        { 404, "NotFound", WHEN_ALWAYS },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/articles/{id}",
      "put",
      "replaceArticle",
      WHEN_EDIT,
      "Another article in its place",
      { "id", "IfMatch" },
      "NewArticle",
      { { 200, "Article", WHEN_ALWAYS },
        { 400, "BadRequest", WHEN_ALWAYS },
        { 403, "Forbidden", WHEN_RESTRICTED },
        { 404, "NotFound", WHEN_ALWAYS },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 409, "Conflict", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 413, "TooLarge", WHEN_ALWAYS },
        { 415, "UnsupportedType", WHEN_ALWAYS },
        { 422, "Unparsable", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/articles/{id}",
      "patch",
      "changeArticle",
      WHEN_EDIT,
      "The fields that are given are changed, the others stay",
      { "id", "IfMatch" },
      "ArticlePatch",
      { { 200, "Article", WHEN_ALWAYS },
        { 400, "BadRequest", WHEN_ALWAYS },
        { 403, "Forbidden", WHEN_RESTRICTED },
        { 404, "NotFound", WHEN_ALWAYS },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 409, "Conflict", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 413, "TooLarge", WHEN_ALWAYS },
        { 415, "UnsupportedPatch", WHEN_ALWAYS },
        { 422, "Unparsable", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/articles/{id}",
      "delete",
      "deleteArticle",
      WHEN_ALWAYS,
      "It is removed",
      { "id", "IfMatch" },
      NULL,
      { { 204, "Deleted", WHEN_ALWAYS },
        { 403, "Forbidden", WHEN_RESTRICTED },
        { 404, "NotFound", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/authors",
      "get",
      "listAuthors",
      WHEN_ALWAYS,
      "A page of authors",
      { "num", "cursor", "IfMatch", "IfNoneMatch" },
      NULL,
      { { 200, "AuthorList", WHEN_ALWAYS },
        { 304, "ListNotModified", WHEN_ALWAYS },
        { 400, "BadRequest", WHEN_ALWAYS },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/authors/{id}",
      "get",
      "getAuthor",
      WHEN_ALWAYS,
      "One author",
      { "id", "IfMatch", "IfNoneMatch" },
      NULL,
      { { 200, "Author", WHEN_ALWAYS },
        { 304, "NotModified", WHEN_ALWAYS },
        { 404, "NotFound", WHEN_ALWAYS },
        { 406, "NotAcceptable", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { "/openapi.json",
      "get",
      "getDescription",
      WHEN_ALWAYS,
      "This document",
      { "IfMatch", "IfNoneMatch" },
      NULL,
      { { 200, "Description", WHEN_ALWAYS },
        { 304, "NotModified", WHEN_ALWAYS },
        { 412, "PreconditionFailed", WHEN_ALWAYS },
        { 401, "Unauthorized", WHEN_AUTH },
        { 0, "Error", WHEN_ALWAYS } } },
    { .path = NULL },
};
