/*
 * RFC 9112 sections 3 and 6, each doubt decided for refusing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/head_rules.h"

#include <string.h>

/* ---- the target ---- */

/* Letters of a name, an address in brackets, a port: RFC 3986, 3.2.2. */
static bool
is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~%!$&'()*+,;=", c) != NULL);
}

static bool
all_in(struct str s, bool (*fits)(char c))
{
    for (size_t i = 0; i < s.len; i++) {
        if (!fits(s.ptr[i])) {
            return false;
        }
    }
    return true;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_address_char(char c)
{
    return is_digit(c) || c == ':' || c == '.' || (c >= 'a' && c <= 'f') ||
           (c >= 'A' && c <= 'F');
}

/* It may be left out behind the colon. */
static bool
is_port(struct str s)
{
    int64_t port;

    return s.len == 0 || (s.len <= 5 && str_to_int(s, 0, 65535, &port));
}

bool
http_is_authority(struct str s)
{
    struct str port = s, name;

    if (s.len > 0 && s.ptr[0] == '[') {
        port = str_skip(s, 1);
        name = str_cut(&port, ']');
        if (name.len == 0 || name.len + 1 == s.len ||
            !all_in(name, is_address_char)) {
            return false;
        }
        if (port.len > 0 && *port.ptr != ':') {
            return false;
        }
        port = str_skip(port, 1);
    } else {
        name = str_cut(&port, ':');
        if (name.len == 0 || !all_in(name, is_host_char)) {
            return false;
        }
    }
    return is_port(port);
}

/* Cuts "http://host" off an absolute target; false if it is something
 * else. */
static bool
cut_authority(struct str *rest, struct str *authority)
{
    static const char *const schemes[] = { "http://", "https://" };

    for (size_t i = 0; i < 2; i++) {
        struct str scheme = str_from(schemes[i]);

        if (str_eq_nocase(str_first(*rest, scheme.len), scheme)) {
            struct str s = str_skip(*rest, scheme.len);
            size_t end = str_find(s, '/', 0);
            size_t question = str_find(s, '?', 0);

            end = question < end ? question : end;
            *authority = str_first(s, end);
            *rest = str_skip(s, end);
            return http_is_authority(*authority);
        }
    }
    return false;
}

/* Of IANA's registry of methods, and those that devices, caches and sources of
 * streams use without being in it. */
static bool
is_method(struct str method)
{
    struct str known = STR(
        "GET HEAD POST PUT DELETE OPTIONS PATCH CONNECT TRACE ACL "
        "BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK M-SEARCH "
        "MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE "
        "NOTIFY ORDERPATCH PROPFIND PROPPATCH PURGE QUERY REBIND REPORT SEARCH "
        "SOURCE SUBSCRIBE UNBIND UNCHECKOUT UNLINK UNLOCK UNSUBSCRIBE UPDATE "
        "UPDATEREDIRECTREF VERSION-CONTROL");

    while (known.len > 0) {
        if (str_eq(str_cut(&known, ' '), method)) {
            return true;
        }
    }
    return false;
}

enum http_refusal
http_judge_target(struct http_head *head)
{
    struct str rest = head->target;

    if (!is_method(head->method)) {
        return REFUSE_NO_METHOD;
    }
    if (str_eq(head->method, STR("CONNECT"))) {
        return REFUSE_CONNECT;
    }
    if (str_eq(head->method, STR("TRACE"))) {
        return REFUSE_TRACE;
    }
    if (str_eq(rest, STR("*"))) {
        head->path = rest;
        return str_eq(head->method, STR("OPTIONS")) ? REFUSE_NONE
                                                    : REFUSE_TARGET;
    }
    if (rest.ptr[0] != '/' && !cut_authority(&rest, &head->authority)) {
        return REFUSE_TARGET;
    }
    head->path = str_cut(&rest, '?');
    head->query = rest;
    if (head->path.len == 0) {
        head->path = STR("/");
    }
    return REFUSE_NONE;
}

/* ---- the headers ---- */

/* The header of that name, NULL if there is none; *more if it is not the
 * only one. */
static const struct str *
find(const struct http_head *head, struct str name, bool *more)
{
    const struct str *found = NULL;

    *more = false;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!str_eq_nocase(head->headers[i].name, name)) {
            continue;
        }
        if (found != NULL) {
            *more = true;
            break;
        }
        found = &head->headers[i].value;
    }
    return found;
}

static enum http_refusal
judge_host(struct http_head *head)
{
    bool more;
    const struct str *host = find(head, STR("Host"), &more);

    head->host = head->authority;
    if (more) {
        return REFUSE_HOSTS;
    }
    if (host == NULL) {
        return head->version == 11 ? REFUSE_NO_HOST : REFUSE_NONE;
    }
    if (!http_is_authority(*host) ||
        (head->authority.len > 0 && !str_eq_nocase(*host, head->authority))) {
        return REFUSE_HOST;
    }
    head->host = *host;
    return REFUSE_NONE;
}

/* Not every server takes tabs off a value: what says "chunked" to one is
 * nothing to another.  Value: of a head, not empty, since an empty one may
 * stand elsewhere. */
static bool
stands_by_tabs(struct str value)
{
    const char *end = value.ptr + value.len;

    for (const char *p = value.ptr - 1; *p == ' ' || *p == '\t'; p--) {
        if (*p == '\t') {
            return true;
        }
    }
    return memchr(end, '\t', strcspn(end, "\r")) != NULL;
}

static enum http_refusal
judge_coding(struct http_head *head)
{
    bool more;
    const struct str *coding = find(head, STR("Transfer-Encoding"), &more);

    if (coding == NULL) {
        return REFUSE_NONE;
    }
    if (more) {
        return REFUSE_CODINGS;
    }
    if (head->version == 10) {
        return REFUSE_CODING_ON_10;
    }
    if (head->length >= 0) {
        return REFUSE_BOTH;
    }
    head->chunked =
        str_eq_nocase(*coding, STR("chunked")) && !stands_by_tabs(*coding);
    return head->chunked ? REFUSE_NONE : REFUSE_CODING;
}

static enum http_refusal
judge_length(struct http_head *head)
{
    bool more;
    const struct str *length = find(head, STR("Content-Length"), &more);

    if (length == NULL) {
        return REFUSE_NONE;
    }
    if (more) {
        return REFUSE_LENGTHS;
    }
    if (length->len == 0 || !all_in(*length, is_digit) ||
        stands_by_tabs(*length) ||
        !str_to_int(*length, 0, INT64_MAX, &head->length)) {
        return REFUSE_LENGTH;
    }
    return REFUSE_NONE;
}

static void
judge_connection(struct http_head *head)
{
    head->keep_alive = head->version == 11;
    for (size_t i = 0; i < head->header_count; i++) {
        struct str value = head->headers[i].value;

        if (!str_eq_nocase(head->headers[i].name, STR("Connection"))) {
            continue;
        }
        while (value.len > 0) {
            struct str word = str_trim(str_cut(&value, ','));

            if (str_eq_nocase(word, STR("close"))) {
                head->keep_alive = false;
                return;
            }
            if (str_eq_nocase(word, STR("keep-alive"))) {
                head->keep_alive = true;
            }
        }
    }
}

static enum http_refusal
judge_expect(struct http_head *head)
{
    bool more;
    const struct str *expect = find(head, STR("Expect"), &more);

    if (expect == NULL || head->version == 10) {
        return REFUSE_NONE;
    }
    if (more || !str_eq_nocase(*expect, STR("100-continue"))) {
        return REFUSE_EXPECT;
    }
    head->expects_continue = head->chunked || head->length > 0;
    return REFUSE_NONE;
}

static bool
names_websocket(struct str protocols)
{
    while (protocols.len > 0) {
        struct str one = str_cut(&protocols, ',');

        if (str_eq_nocase(str_trim(str_cut(&one, '/')), STR("websocket"))) {
            return true;
        }
    }
    return false;
}

/* Protocols that we do not speak are ignored (RFC 9110, 7.8): clients ask for
 * h2c with any request.  Behind the head of a WebSocket come frames and no
 * body. */
static enum http_refusal
judge_upgrade(struct http_head *head)
{
    bool body = head->chunked || head->length > 0;

    for (size_t i = 0; body && i < head->header_count; i++) {
        if (str_eq_nocase(head->headers[i].name, STR("Upgrade")) &&
            names_websocket(head->headers[i].value)) {
            return REFUSE_UPGRADE_BODY;
        }
    }
    return REFUSE_NONE;
}

enum http_refusal
http_judge_framing(struct http_head *head)
{
    enum http_refusal why = judge_length(head);

    judge_connection(head);
    return why != REFUSE_NONE ? why : judge_coding(head);
}

enum http_refusal
http_judge_headers(struct http_head *head)
{
    static enum http_refusal (*const rules[])(struct http_head * head) = {
        judge_host,
        http_judge_framing,
        judge_expect,
        judge_upgrade,
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        enum http_refusal why = rules[i](head);

        if (why != REFUSE_NONE) {
            return why;
        }
    }
    return REFUSE_NONE;
}
