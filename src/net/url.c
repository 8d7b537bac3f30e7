/*
 * Taking URLs apart, from left to right, and writing them for the eyes of
 * others.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/url.h"

#include <stdio.h>
#include <string.h>

#include "net/addr.h"

#define NAME_LEN_MAX 253 /* RFC 1035, 2.3.4, as text */
#define LABEL_MAX 63

static const struct {
    struct str name;
    uint16_t port;
    bool tls;
} schemes[] = {
    [URL_RTMP] = { { "rtmp", 4 }, 1935, false },
    [URL_RTMPS] = { { "rtmps", 5 }, 443, true },
    [URL_HTTP] = { { "http", 4 }, 80, false },
    [URL_HTTPS] = { { "https", 5 }, 443, true },
};
#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

const char *
url_scheme_name(enum url_scheme scheme)
{
    return schemes[scheme].name.ptr;
}

uint16_t
url_default_port(enum url_scheme scheme)
{
    return schemes[scheme].port;
}

/* ---- characters ---- */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '-' || c == '_';
}

static bool
is_one_of(char c, const char *set)
{
    return c != 0 && strchr(set, c) != NULL;
}

/* All of a URL: no blanks, nothing that ends a line or a quotation. */
static int
check_chars(struct str s, struct errmsg *err)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c <= 0x20 || c >= 0x7f || is_one_of((char)c, "\"<>\\")) {
            return errmsg_set(err,
                              "byte %zu of the URL (0x%02x) cannot stand in "
                              "one: write it as %%%02X",
                              i + 1, c, c);
        }
        if (c == '#') {
            return errmsg_set(err,
                              "a URL to connect to has no fragment (\"#\","
                              " byte %zu); a \"#\" that is meant is "
                              "written %%23",
                              i + 1);
        }
        if (c == '%' && (i + 2 >= s.len || str_hex_digit(s.ptr[i + 1]) == -1 ||
                         str_hex_digit(s.ptr[i + 2]) == -1)) {
            return errmsg_set(err,
                              "byte %zu of the URL: \"%%\" must stand before "
                              "two hexadecimal digits; \"%%\" itself is "
                              "written %%25",
                              i + 1);
        }
    }
    return 0;
}

/* Percent-encoding taken out; check_chars() has seen it. */
static int
decode(struct pool *pool, struct str s, struct str *out, struct errmsg *err)
{
    char *dst = pool_alloc(pool, s.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        int c = (unsigned char)s.ptr[i];

        if (c == '%') {
            c = str_hex_digit(s.ptr[i + 1]) * 16 + str_hex_digit(s.ptr[i + 2]);
            i += 2;
        }
        if (c < 0x20 || c == 0x7f) {
            return errmsg_set(err, "there is a control character in the user "
                                   "or the password");
        }
        dst[n++] = (char)c;
    }
    dst[n] = 0;
    *out = str_of(dst, n);
    return 0;
}

/* ---- parts ---- */

static int
parse_scheme(struct str *rest, struct url *u, struct errmsg *err)
{
    size_t colon = str_find(*rest, ':', 0);
    struct str name = str_first(*rest, colon);

    for (size_t i = 0; i < SCHEMES; i++) {
        if (str_eq_nocase(name, schemes[i].name) &&
            str_starts(str_skip(*rest, colon), STR("://"))) {
            u->scheme = (enum url_scheme)i;
            u->tls = schemes[i].tls;
            *rest = str_skip(*rest, colon + 3);
            return 0;
        }
    }
    return errmsg_set(err, "a URL must begin with rtmp://, rtmps://, http:// "
                           "or https://");
}

/* Reads the part before the '@', and cuts it off. */
static int
parse_user(struct pool *pool, struct str *authority, struct url *u,
           struct errmsg *err)
{
    size_t at = str_find(*authority, '@', 0);

    if (at == authority->len) {
        return 0;
    }
    struct str password = str_first(*authority, at);
    size_t colon = str_find(password, ':', 0);
    struct str user = str_first(password, colon);

    u->has_user = true;
    u->has_password = colon < password.len;
    *authority = str_skip(*authority, at + 1);
    if (str_find(*authority, '@', 0) < authority->len) {
        return errmsg_set(err, "there is more than one \"@\" before the path: "
                               "in a user or a password it is written %%40");
    }
    if (user.len == 0) {
        return errmsg_set(err, "there is an \"@\" but no user before it");
    }
    if (decode(pool, user, &u->user, err) == -1) {
        return -1;
    }
    return decode(pool, str_skip(password, colon + 1), &u->password, err);
}

static int
parse_port(struct str port, struct url *u, struct errmsg *err)
{
    int64_t number;

    if (!str_to_int(port, 1, 65535, &number)) {
        return errmsg_set(err, "the port must be a number from 1 to 65535");
    }
    u->port = (uint16_t)number;
    return 0;
}

/* Cuts "host", "host:port", "[host]" or "[host]:port". */
static int
parse_authority(struct str authority, struct str *host, struct url *u,
                struct errmsg *err)
{
    bool bracket = authority.len > 0 && authority.ptr[0] == '[';
    size_t end =
        bracket ? str_find(authority, ']', 0) + 1 : str_find(authority, ':', 0);

    if (bracket && end > authority.len) {
        return errmsg_set(err, "the \"[\" before an IPv6 address has no \"]\"");
    }
    u->six = bracket;
    u->port = schemes[u->scheme].port;
    *host = str_first(authority, end);
    if (bracket) {
        *host = str_of(host->ptr + 1, host->len - 2);
    }
    authority = str_skip(authority, end);
    if (authority.len == 0) {
        return 0;
    }
    if (authority.ptr[0] != ':') {
        return errmsg_set(err, "only \":PORT\" may follow the \"]\" of an IPv6 "
                               "address");
    }
    if (!bracket && str_find(authority, ':', 1) < authority.len) {
        return errmsg_set(err, "there is more than one \":\" in the host: an "
                               "IPv6 address stands in brackets");
    }
    return parse_port(str_skip(authority, 1), u, err);
}

/* Names that some resolvers take for a number: 127.1, 0x7f000001. */
static bool
looks_like_number(struct str name)
{
    size_t from = name.len;

    while (from > 0 && name.ptr[from - 1] != '.') {
        from--;
    }
    struct str last = str_skip(name, from);

    if (last.len > 1 && last.ptr[0] == '0' && is_one_of(last.ptr[1], "xX")) {
        return true;
    }
    for (size_t i = 0; i < last.len; i++) {
        if (!is_digit(last.ptr[i])) {
            return false;
        }
    }
    return true;
}

static int
check_name(struct str name, struct errmsg *err)
{
    struct str rest = name;

    if (name.len > NAME_LEN_MAX) {
        return errmsg_set(err, "the host must have at most %d bytes",
                          NAME_LEN_MAX);
    }
    while (rest.len > 0) {
        struct str label = str_cut(&rest, '.');
        bool right = label.len >= 1 && label.len <= LABEL_MAX;

        for (size_t i = 0; right && i < label.len; i++) {
            right = is_name_char(label.ptr[i]);
        }
        if (!right) {
            return errmsg_set(err,
                              "the host must be a name of letters, digits, "
                              "\"-\" and \"_\" with dots between parts of at "
                              "most %d bytes (of other letters, its xn-- "
                              "form), or an address",
                              LABEL_MAX);
        }
    }
    return 0;
}

static int
check_host(struct str host, struct url *u, struct errmsg *err)
{
    struct addr a;

    if (host.len == 0) {
        return errmsg_set(err, "there is no host");
    }
    if (u->six) {
        bool right =
            str_find(host, ':', 0) < host.len && addr_parse_ip(host, &a) == 0;

        return right ? 0
                     : errmsg_set(err, "what stands in brackets must be an "
                                       "IPv6 address without a zone");
    }
    if (looks_like_number(host)) {
        return addr_parse_ip(host, &a) == 0
                   ? 0
                   : errmsg_set(err, "an IPv4 address must be four numbers "
                                     "from 0 to 255 with dots between them");
    }
    return check_name(host, err);
}

static void
take_host(struct pool *pool, struct str host, struct url *u)
{
    char *lower = pool_cstr(pool, host);

    for (size_t i = 0; i < host.len; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z') {
            lower[i] = (char)(lower[i] - 'A' + 'a');
        }
    }
    u->host = str_of(lower, host.len);
}

int
url_parse(struct pool *pool, struct str text, struct url *out,
          struct errmsg *err)
{
    struct url u = { .user = STR_NONE, .password = STR_NONE };
    struct str rest = text, host = STR_NONE;

    if (text.len > URL_MAX) {
        return errmsg_set(err, "a URL must have at most %d bytes", URL_MAX);
    }
    if (check_chars(text, err) == -1 || parse_scheme(&rest, &u, err) == -1) {
        return -1;
    }
    size_t query = str_find(rest, '?', 0);
    size_t slash = str_find(str_first(rest, query), '/', 0);
    struct str authority = str_first(rest, slash);
    struct str path = str_skip(str_first(rest, query), slash);

    if (parse_user(pool, &authority, &u, err) == -1 ||
        parse_authority(authority, &host, &u, err) == -1) {
        return -1;
    }
    if (!u.six && host.len > 1 && host.ptr[host.len - 1] == '.') {
        host.len--;
    }
    if (check_host(host, &u, err) == -1) {
        return -1;
    }
    take_host(pool, host, &u);
    u.path = path.len > 0 ? pool_str(pool, path) : STR("/");
    u.has_query = query < rest.len;
    u.query = pool_str(pool, str_skip(rest, query + 1));
    *out = u;
    return 0;
}

/* ---- writing ---- */

/* Text that grows up to the room it has. */
struct out {
    char *dst;
    size_t size, len;
};

static void
put(struct out *o, struct str s)
{
    o->len = str_append(o->dst, o->size, o->len, s);
}

static void
put_authority(struct out *o, const struct url *u)
{
    char port[8];

    put(o, u->six ? STR("[") : STR_NONE);
    put(o, u->host);
    put(o, u->six ? STR("]") : STR_NONE);
    if (u->port != schemes[u->scheme].port) {
        snprintf(port, sizeof(port), ":%u", u->port);
        put(o, str_from(port));
    }
}

const char *
url_authority(char *dst, size_t size, const struct url *u)
{
    struct out o = { dst, size, 0 };

    dst[0] = 0;
    put_authority(&o, u);
    return dst;
}

/* The user, encoded again where it has to be. */
static void
put_user(struct out *o, struct str user)
{
    char text[4];

    for (size_t i = 0; i < user.len; i++) {
        unsigned char c = (unsigned char)user.ptr[i];
        bool plain =
            is_name_char((char)c) || is_one_of((char)c, ".~!$&'()*+,;=");

        snprintf(text, sizeof(text), plain ? "%c" : "%%%02X", c);
        put(o, str_from(text));
    }
}

/* Whether an argument of this name is likely to be a secret. */
static bool
is_secret(struct str name)
{
    static const struct str words[] = {
        { "key", 3 },         { "token", 5 },  { "pass", 4 },    { "pwd", 3 },
        { "secret", 6 },      { "auth", 4 },   { "sig", 3 },     { "sign", 4 },
        { "credential", 10 }, { "ticket", 6 }, { "session", 7 }, { "hash", 4 },
    };

    if (str_find(name, '%', 0) < name.len) {
        return true; /* who writes a name so may have reasons */
    }
    for (size_t at = 0; at < name.len; at++) {
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            if (str_eq_nocase(str_first(str_skip(name, at), words[i].len),
                              words[i])) {
                return true;
            }
        }
    }
    return false;
}

/* An argument without a value may be a secret itself. */
static void
put_query(struct out *o, struct str query)
{
    while (query.len > 0) {
        size_t end = str_find(query, '&', 0);
        struct str value = str_first(query, end);
        struct str name = str_cut(&value, '=');

        if (name.len == end) {
            put(o, STR("***"));
        } else {
            put(o, name);
            put(o, STR("="));
            put(o, is_secret(name) ? STR("***") : value);
        }
        put(o, end < query.len ? STR("&") : STR_NONE);
        query = str_skip(query, end + 1);
    }
}

/* Where it begins; slashes at the end belong to it. */
static size_t
last_segment(struct str path)
{
    size_t at = path.len;

    while (at > 1 && path.ptr[at - 1] == '/') {
        at--;
    }
    while (path.ptr[at - 1] != '/') {
        at--;
    }
    return at;
}

static void
put_path(struct out *o, const struct url *u, enum url_show show)
{
    size_t shown = show == URL_HIDE_KEY ? last_segment(u->path) : u->path.len;

    put(o, str_first(u->path, shown));
    put(o, shown < u->path.len ? STR("***") : STR_NONE);
    if (!u->has_query) {
        return;
    }
    put(o, STR("?"));
    if (show == URL_HIDE_KEY) {
        put(o, STR("***"));
    } else {
        put_query(o, u->query);
    }
}

const char *
url_masked(char *dst, size_t size, const struct url *u, enum url_show show)
{
    struct out o = { dst, size, 0 };

    dst[0] = 0;
    put(&o, schemes[u->scheme].name);
    put(&o, STR("://"));
    if (u->has_user) {
        put_user(&o, u->user);
        put(&o, u->has_password ? STR(":***@") : STR("@"));
    }
    put_authority(&o, u);
    put_path(&o, u, show);
    return dst;
}
