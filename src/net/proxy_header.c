/*
 * Parsing PROXY protocol headers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/proxy_header.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/bytes.h"

#define V1_MAX 107    /* bytes of a line, CRLF included */
#define V2_FIXED 16   /* bytes before the addresses */
#define UNIX_PATH 108 /* bytes of each unix address */
#define UNIQUE_MAX 128

static const uint8_t signature[12] = { 0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d,
                                       0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a };

static ssize_t
wrong(const char **why, const char *text)
{
    *why = text;
    return -1;
}

/* ---- version 1 ---- */

/* inet_pton, which takes no leading zeros and no shortened IPv4. */
static bool
parse_ip(struct str s, int family, struct addr *out)
{
    char text[INET6_ADDRSTRLEN];

    *out = (struct addr){ .family = (uint8_t)family };
    if (s.len >= sizeof(text) || memchr(s.ptr, '\0', s.len) != NULL) {
        return false;
    }
    str_copy(text, sizeof(text), s);
    if (inet_pton(family, text, out->ip) != 1) {
        return false;
    }
    addr_unmap(out);
    return true;
}

static bool
parse_port(struct str s, uint16_t *out)
{
    int64_t port;

    if (s.len > 1 && s.ptr[0] == '0') {
        return false;
    }
    if (!str_to_int(s, 0, 65535, &port)) {
        return false;
    }
    *out = (uint16_t)port;
    return true;
}

static ssize_t
parse_addresses(struct str rest, int family, struct proxy_header *out,
                const char **why)
{
    struct str client = str_cut(&rest, ' '), server = str_cut(&rest, ' ');
    struct str from = str_cut(&rest, ' ');

    if (!parse_ip(client, family, &out->client) ||
        !parse_ip(server, family, &out->server)) {
        return wrong(why, "an address is malformed");
    }
    if (!parse_port(from, &out->client.port) ||
        !parse_port(rest, &out->server.port)) {
        return wrong(why, "a port is malformed");
    }
    return 0;
}

/* line without its end, behind "PROXY ". */
static ssize_t
parse_line(struct str line, struct proxy_header *out, const char **why)
{
    struct str rest = line;
    struct str protocol = str_cut(&rest, ' ');

    if (str_eq(protocol, STR("UNKNOWN"))) {
        out->local = true;
        return 0;
    }
    if (str_eq(protocol, STR("TCP4"))) {
        return parse_addresses(rest, AF_INET, out, why);
    }
    if (str_eq(protocol, STR("TCP6"))) {
        return parse_addresses(rest, AF_INET6, out, why);
    }
    return wrong(why, "the protocol is not TCP4, TCP6 or UNKNOWN");
}

static ssize_t
parse_v1(struct str s, struct proxy_header *out, const char **why)
{
    struct str head = str_first(s, V1_MAX);
    size_t end = str_find(head, '\r', 0);

    if (str_find(head, '\n', 0) < end) {
        return wrong(why, "the line does not end with CR LF");
    }
    if (end + 1 >= head.len) { /* no CR, or nothing behind it */
        return s.len < V1_MAX ? 0
                              : wrong(why, "the line is longer than 107 bytes");
    }
    if (head.ptr[end + 1] != '\n') {
        return wrong(why, "the line does not end with CR LF");
    }
    out->version = 1;
    if (parse_line(str_skip(str_first(head, end), 6), out, why) == -1) {
        return -1;
    }
    return (ssize_t)end + 2;
}

/* ---- version 2: what follows the addresses ---- */

enum tlv_type {
    TLV_AUTHORITY = 0x02,
    TLV_CRC32C = 0x03,
    TLV_UNIQUE_ID = 0x05,
    TLV_SSL = 0x20,
};
#define SSL_FIXED 5        /* client and verify */
#define SSL_CLIENT_TLS 0x1 /* of client */

struct tlv {
    uint8_t type;
    struct str value;
};

/* The next one of *rest, which is not empty; false: it does not fit. */
static bool
next_tlv(struct str *rest, struct tlv *out)
{
    const uint8_t *p = (const uint8_t *)rest->ptr;

    if (rest->len < 3) {
        return false;
    }
    size_t len = get_be16(p + 1);

    if (rest->len - 3 < len) {
        return false;
    }
    out->type = p[0];
    out->value = str_of(p + 3, len);
    *rest = str_skip(*rest, 3 + len);
    return true;
}

/* CRC-32C (Castagnoli), reflected, four bits at a time. */
static uint32_t
crc32c(uint32_t crc, const uint8_t *data, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };

    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        crc = table[crc & 15] ^ crc >> 4;
        crc = table[crc & 15] ^ crc >> 4;
    }
    return crc;
}

/* Whether the checksum of the whole header, its own field taken as zero, is
 * what the field says. */
static bool
sum_is_right(struct str whole, struct str field)
{
    static const uint8_t zero[4];
    const uint8_t *begin = (const uint8_t *)whole.ptr;
    const uint8_t *at = (const uint8_t *)field.ptr;
    const uint8_t *behind = at + sizeof(zero);
    uint32_t crc = crc32c(0xffffffff, begin, (size_t)(at - begin));

    crc = crc32c(crc, zero, sizeof(zero));
    crc = crc32c(crc, behind, (size_t)(begin + whole.len - behind));
    return (crc ^ 0xffffffff) == get_be32(at);
}

static ssize_t
take_ssl(struct str value, struct proxy_header *out, const char **why)
{
    struct str rest = str_skip(value, SSL_FIXED);
    struct tlv part;

    if (value.len < SSL_FIXED) {
        return wrong(why, "the SSL field is too short");
    }
    while (rest.len > 0) {
        if (!next_tlv(&rest, &part)) {
            return wrong(why, "the SSL field is malformed");
        }
    }
    out->secure = (value.ptr[0] & SSL_CLIENT_TLS) != 0;
    return 0;
}

static ssize_t
take_tlv(const struct tlv *t, struct str whole, struct proxy_header *out,
         const char **why)
{
    switch (t->type) {
    case TLV_AUTHORITY:
        out->authority = t->value;
        return 0;
    case TLV_UNIQUE_ID:
        out->unique_id = t->value;
        return t->value.len <= UNIQUE_MAX
                   ? 0
                   : wrong(why, "the unique id is longer than 128 bytes");
    case TLV_CRC32C:
        return t->value.len == 4 && sum_is_right(whole, t->value)
                   ? 0
                   : wrong(why, "the checksum is wrong");
    case TLV_SSL:
        return take_ssl(t->value, out, why);
    default:
        return 0;
    }
}

static ssize_t
parse_tlvs(struct str rest, struct str whole, struct proxy_header *out,
           const char **why)
{
    struct tlv t;

    while (rest.len > 0) {
        if (!next_tlv(&rest, &t)) {
            return wrong(why, "a field is longer than the header");
        }
        if (take_tlv(&t, whole, out, why) == -1) {
            return -1;
        }
    }
    return 0;
}

/* ---- version 2: the addresses ---- */

static void
take_ip(const uint8_t *p, uint8_t family, struct proxy_header *out)
{
    size_t n = family == AF_INET ? 4 : 16;

    out->client.family = out->server.family = family;
    memcpy(out->client.ip, p, n);
    memcpy(out->server.ip, p + n, n);
    out->client.port = (uint16_t)get_be16(p + 2 * n);
    out->server.port = (uint16_t)get_be16(p + 2 * n + 2);
    addr_unmap(&out->client);
    addr_unmap(&out->server);
}

/* Bytes that the addresses take; -1. */
static ssize_t
parse_endpoints(uint8_t kind, struct str block, struct proxy_header *out,
                const char **why)
{
    enum { V2_UNSPEC = 0x00, V2_TCP4 = 0x11, V2_TCP6 = 0x21, V2_UNIX = 0x31 };
    const uint8_t *p = (const uint8_t *)block.ptr;
    ssize_t need = 0;

    if (kind == V2_UNSPEC) {
        out->local = true;
        return 0;
    }
    if (kind == V2_TCP4) {
        need = 12;
    } else if (kind == V2_TCP6) {
        need = 36;
    } else if (kind == V2_UNIX) {
        need = 2 * UNIX_PATH;
    } else {
        return wrong(why, "the family is none that a stream has");
    }
    if (block.len < (size_t)need) {
        return wrong(why, "the addresses are longer than the header");
    }
    if (kind == V2_UNIX) {
        out->client.family = out->server.family = AF_UNIX;
    } else {
        take_ip(p, kind == V2_TCP4 ? AF_INET : AF_INET6, out);
    }
    return need;
}

/* whole: the header, all of it. */
static ssize_t
parse_whole(struct str whole, struct proxy_header *out, const char **why)
{
    const uint8_t *p = (const uint8_t *)whole.ptr;
    struct str block = str_skip(whole, V2_FIXED);
    ssize_t used;

    out->version = 2;
    if ((p[12] & 15) == 0) { /* LOCAL: what follows means nothing */
        out->local = true;
        return (ssize_t)whole.len;
    }
    used = parse_endpoints(p[13], block, out, why);
    if (used == -1) {
        return -1;
    }
    /* Without addresses nobody says where the fields begin. */
    if (!out->local &&
        parse_tlvs(str_skip(block, (size_t)used), whole, out, why) == -1) {
        return -1;
    }
    return (ssize_t)whole.len;
}

static ssize_t
parse_v2(struct str s, struct proxy_header *out, const char **why)
{
    const uint8_t *p = (const uint8_t *)s.ptr;

    if (s.len > 12 && p[12] >> 4 != 2) {
        return wrong(why, "the version is not 2");
    }
    if (s.len > 12 && (p[12] & 15) > 1) {
        return wrong(why, "the command is not LOCAL or PROXY");
    }
    if (s.len < V2_FIXED) {
        return 0;
    }
    size_t len = V2_FIXED + (size_t)get_be16(p + 14);

    if (len > PROXY_HEADER_MAX) {
        return wrong(why, "the header is longer than 4096 bytes");
    }
    return s.len < len ? 0 : parse_whole(str_first(s, len), out, why);
}

/* ---- both ---- */

/* Whether s begins with mark, as far as there is anything of it. */
static bool
begins(struct str s, struct str mark)
{
    size_t n = s.len < mark.len ? s.len : mark.len;

    return str_eq(str_first(s, n), str_first(mark, n));
}

ssize_t
proxy_parse(const uint8_t *data, size_t n, struct proxy_header *out,
            const char **why)
{
    struct str s = str_of(data, n);
    struct str v1 = STR("PROXY "), v2 = str_of(signature, sizeof(signature));

    *out =
        (struct proxy_header){ .authority = STR_NONE, .unique_id = STR_NONE };
    if (begins(s, v1)) {
        return n <= v1.len ? 0 : parse_v1(s, out, why);
    }
    if (begins(s, v2)) {
        return n <= v2.len ? 0 : parse_v2(s, out, why);
    }
    return wrong(why, "no PROXY protocol header");
}
