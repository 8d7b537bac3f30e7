/*
 * Addresses as text and as sockets want them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* First twelve bytes of an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2). */
static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

void
addr_unmap(struct addr *a)
{
    if (a->family == AF_INET6 && memcmp(a->ip, mapped, sizeof(mapped)) == 0) {
        a->family = AF_INET;
        memmove(a->ip, a->ip + sizeof(mapped), 4);
        memset(a->ip + 4, 0, 12);
    }
}

static void
set_ip6(struct addr *a, const uint8_t ip[16])
{
    a->family = AF_INET6;
    memcpy(a->ip, ip, 16);
    addr_unmap(a);
}

/* Names are asked for here far more often than addresses. */
static bool
may_be_ip(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (str_hex_digit(c) == -1 && c != '.' && c != ':') {
            return false;
        }
    }
    return true;
}

int
addr_parse_ip(struct str s, struct addr *out)
{
    char text[INET6_ADDRSTRLEN];
    uint8_t ip[16];
    struct addr a = { .family = AF_INET };

    if (s.len >= sizeof(text) || !may_be_ip(s)) {
        return -1;
    }
    str_copy(text, sizeof(text), s);
    if (inet_pton(AF_INET, text, ip) == 1) {
        memcpy(a.ip, ip, 4);
    } else if (inet_pton(AF_INET6, text, ip) == 1) {
        set_ip6(&a, ip);
    } else {
        return -1;
    }
    *out = a;
    return 0;
}

static int
parse_unix(struct str s, struct str path, struct addr_listen *out,
           struct errmsg *err)
{
    if (path.len == 0 || path.len > ADDR_PATH_MAX ||
        memchr(path.ptr, 0, path.len) != NULL) {
        return errmsg_set(err,
                          "\"%.*s\": the path of a unix socket must have 1 to "
                          "%d bytes",
                          STR_ARGS(s), ADDR_PATH_MAX);
    }
    *out = (struct addr_listen){ .addr.family = AF_UNIX, .path = path };
    return 0;
}

/* Cuts "host:port" or "[host]:port"; a bare port leaves host empty. */
static bool
split(struct str s, struct str *host, struct str *port)
{
    size_t close = str_find(s, ']', 0);

    if (s.len > 0 && s.ptr[0] == '[') {
        if (close + 1 >= s.len || s.ptr[close + 1] != ':') {
            return false;
        }
        *host = str_of(s.ptr + 1, close - 1);
        *port = str_skip(s, close + 2);
        return str_find(*host, ':', 0) < host->len;
    }
    size_t colon = str_find(s, ':', 0);

    if (colon == s.len) {
        *host = STR("*");
        *port = s;
        return true;
    }
    *host = str_first(s, colon);
    *port = str_skip(s, colon + 1);
    return str_find(*port, ':', 0) == port->len;
}

int
addr_parse_listen(struct str s, struct addr_listen *out, struct errmsg *err)
{
    struct addr_listen where = { .addr.family = AF_INET6, .path = STR_NONE };
    struct str host, port;
    int64_t number;

    if (str_starts(s, STR("unix:"))) {
        return parse_unix(s, str_skip(s, 5), out, err);
    }
    if (!split(s, &host, &port)) {
        goto wrong;
    }
    if (str_eq(host, STR("*"))) {
        where.any = true;
    } else if (addr_parse_ip(host, &where.addr) == -1) {
        goto wrong;
    }
    if (!str_to_int(port, 0, 65535, &number)) {
        return errmsg_set(err, "\"%.*s\": a port must be from 0 to 65535",
                          STR_ARGS(s));
    }
    where.addr.port = (uint16_t)number;
    *out = where;
    return 0;
wrong:
    return errmsg_set(err,
                      "\"%.*s\" must be PORT, ADDRESS:PORT, [IPV6]:PORT or "
                      "unix:PATH, with numbers and no names",
                      STR_ARGS(s));
}

void
addr_from_socket(struct addr *out, const struct sockaddr_storage *ss)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;

    *out = (struct addr){ .family = (uint8_t)ss->ss_family };
    if (ss->ss_family == AF_INET) {
        memcpy(&in, ss, sizeof(in));
        memcpy(out->ip, &in.sin_addr, 4);
        out->port = ntohs(in.sin_port);
    } else if (ss->ss_family == AF_INET6) {
        memcpy(&in6, ss, sizeof(in6));
        set_ip6(out, in6.sin6_addr.s6_addr);
        out->port = ntohs(in6.sin6_port);
    }
}

socklen_t
addr_to_socket(const struct addr *a, struct sockaddr_storage *ss)
{
    memset(ss, 0, sizeof(*ss));
    ss->ss_family = a->family;
    if (a->family == AF_INET) {
        struct sockaddr_in in = { .sin_family = AF_INET };

        in.sin_port = htons(a->port);
        memcpy(&in.sin_addr, a->ip, 4);
        memcpy(ss, &in, sizeof(in));
        return sizeof(in);
    }
    if (a->family == AF_INET6) {
        struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

        in6.sin6_port = htons(a->port);
        memcpy(&in6.sin6_addr, a->ip, 16);
        memcpy(ss, &in6, sizeof(in6));
        return sizeof(in6);
    }
    return sizeof(sa_family_t);
}

/* Decimal digits, without a NUL; the end. */
static char *
put_number(char *to, unsigned n)
{
    if (n >= 10) {
        to = put_number(to, n / 10);
    }
    *to++ = (char)('0' + n % 10);
    return to;
}

/* The same.  Requests have some of these written: inet_ntop() costs more. */
static char *
put_ip4(char *to, const uint8_t *ip)
{
    for (size_t i = 0; i < 4; i++) {
        if (i > 0) {
            *to++ = '.';
        }
        to = put_number(to, ip[i]);
    }
    return to;
}

const char *
addr_ip_text(const struct addr *a, char *dst)
{
    if (a->family == AF_INET) {
        *put_ip4(dst, a->ip) = '\0';
    } else if (a->family == AF_INET6) {
        inet_ntop(a->family, a->ip, dst, ADDR_TEXT);
    } else {
        str_copy(dst, ADDR_TEXT,
                 a->family == AF_UNIX ? STR("unix:") : STR("unknown"));
    }
    return dst;
}

const char *
addr_text(const struct addr *a, char *dst)
{
    char ip[ADDR_TEXT], *end;

    if (a->family == AF_INET) {
        end = put_ip4(dst, a->ip);
        *end++ = ':';
        *put_number(end, a->port) = '\0';
        return dst;
    }
    addr_ip_text(a, ip);
    if (a->family == AF_INET6) {
        snprintf(dst, ADDR_TEXT, "[%.*s]:%u", INET6_ADDRSTRLEN, ip, a->port);
    } else {
        str_copy(dst, ADDR_TEXT, str_from(ip));
    }
    return dst;
}

bool
addr_eq(const struct addr *a, const struct addr *b)
{
    size_t n = a->family == AF_INET ? 4 : 16;

    return a->family == b->family && a->port == b->port &&
           memcmp(a->ip, b->ip, n) == 0;
}

bool
addr_is_any(const struct addr *a)
{
    static const uint8_t zeros[16];

    return (a->family == AF_INET && memcmp(a->ip, zeros, 4) == 0) ||
           (a->family == AF_INET6 && memcmp(a->ip, zeros, 16) == 0);
}

bool
addr_is_loopback(const struct addr *a)
{
    static const uint8_t one[16] = { [15] = 1 };

    switch (a->family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return a->ip[0] == 127;
    case AF_INET6:
        return memcmp(a->ip, one, sizeof(one)) == 0;
    default:
        return false;
    }
}

bool
addr_is_private(const struct addr *a)
{
    const uint8_t *ip = a->ip;

    if (a->family == AF_INET) {
        return ip[0] == 10 || (ip[0] == 172 && (ip[1] & 0xf0) == 16) ||
               (ip[0] == 192 && ip[1] == 168) ||
               (ip[0] == 100 && (ip[1] & 0xc0) == 64);
    }
    return a->family == AF_INET6 && (ip[0] & 0xfe) == 0xfc;
}

bool
addr_is_linklocal(const struct addr *a)
{
    if (a->family == AF_INET) {
        return a->ip[0] == 169 && a->ip[1] == 254;
    }
    return a->family == AF_INET6 && a->ip[0] == 0xfe &&
           (a->ip[1] & 0xc0) == 0x80;
}

struct str
addr_client(const struct addr *a)
{
    if (a->family == AF_INET) {
        return str_of(a->ip, 4);
    }
    return a->family == AF_INET6 ? str_of(a->ip, 8) : STR_NONE;
}

/* ---- between processes ---- */

void
addr_pack(struct pack *out, const struct addr *a)
{
    pack_u8(out, a->family);
    pack_u32(out, a->port);
    pack_bytes(out, a->ip, sizeof(a->ip));
}

void
addr_unpack(struct unpack *in, struct addr *a)
{
    uint32_t port;

    memset(a, 0, sizeof(*a));
    a->family = unpack_u8(in);
    port = unpack_u32(in);
    unpack_bytes(in, a->ip, sizeof(a->ip));
    a->port = (uint16_t)port;
    in->bad = in->bad || port > UINT16_MAX ||
              (a->family != AF_INET && a->family != AF_INET6 &&
               a->family != AF_UNIX && a->family != AF_UNSPEC);
}
