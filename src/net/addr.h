/*
 * Addresses: IPv4, IPv6 and unix, as text and as sockets want them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include "base/errmsg.h"
#include "base/pack.h"
#include "base/str.h"

#include <sys/socket.h>

struct addr {
    uint8_t family; /* AF_INET, AF_INET6, AF_UNIX, AF_UNSPEC */
    uint16_t port;  /* host order; 0 for unix */
    uint8_t ip[16]; /* network order; IPv4 in the first four; an IPv4-mapped
                       IPv6 peer is stored as IPv4 */
};

#define ADDR_TEXT 64 /* enough for addr_text() */
/* Bytes of a unix socket's path: sun_path less what listen.c appends while
 * the socket is made. */
#define ADDR_PATH_MAX 100

/* "1935" (all addresses of both families), "*:1935", "127.0.0.1:1935",
 * "[::1]:1935", "unix:PATH".  Numbers only: no names are resolved here. */
struct addr_listen {
    struct addr addr;
    bool any;        /* "PORT" or "*:PORT": listens on [::] with V6ONLY off,
                        or on 0.0.0.0 where there is no IPv6 */
    struct str path; /* unix: borrowed */
};

int addr_parse_listen(struct str s, struct addr_listen *out,
                      struct errmsg *err);
int addr_parse_ip(struct str s, struct addr *out); /* no port; 0 or -1 */
/* An IPv4-mapped IPv6 address becomes the IPv4 one that it means. */
void addr_unmap(struct addr *a);
void addr_from_socket(struct addr *out, const struct sockaddr_storage *ss);
socklen_t addr_to_socket(const struct addr *a, struct sockaddr_storage *ss);
/* "127.0.0.1:80", "[::1]:80", "unix:"; returns dst (ADDR_TEXT bytes). */
const char *addr_text(const struct addr *a, char *dst);
const char *addr_ip_text(const struct addr *a, char *dst);
bool addr_eq(const struct addr *a, const struct addr *b); /* with port */
/* The part of an address by which clients are counted: all of an IPv4 address,
 * the first 64 bits of an IPv6 address (the client chooses the rest itself),
 * nothing of a unix socket.  Borrowed from a. */
struct str addr_client(const struct addr *a);
bool addr_is_any(const struct addr *a);      /* 0.0.0.0 or [::] */
bool addr_is_loopback(const struct addr *a); /* unix counts as loopback */
bool addr_is_private(const struct addr *a);  /* RFC 1918, ULA, CGNAT */
bool addr_is_linklocal(const struct addr *a);

/* As messages between processes have it (base/pack.h).  Bytes that are no
 * address make `in` bad. */
void addr_pack(struct pack *out, const struct addr *a);
void addr_unpack(struct unpack *in, struct addr *a);

#endif
