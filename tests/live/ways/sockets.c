/*
 * Ways by sockets: connections and datagrams to servers of the test.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ways.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- addresses ---- */

socklen_t
to_inet(union address *a, const char *text, int port)
{
    struct sockaddr_in *in = (void *)a;
    struct sockaddr_in6 *in6 = (void *)a;

    memset(a, 0, sizeof(*a));
    if (strchr(text, ':') == NULL) {
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
        inet_pton(AF_INET, text, &in->sin_addr);
        return sizeof(*in);
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons((uint16_t)port);
    inet_pton(AF_INET6, text, &in6->sin6_addr);
    return sizeof(*in6);
}

socklen_t
to_unix(union address *a, const char *name)
{
    struct sockaddr_un *un = (void *)a;
    size_t len = strlen(name);

    memset(a, 0, sizeof(*a));
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, name, len);
    if (name[0] == '@') {
        un->sun_path[0] = '\0';
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    }
    return sizeof(*un);
}

int
judge(long rc)
{
    int why = tried(rc);

    return why == ECONNREFUSED || why == EINPROGRESS || why == ETIMEDOUT ||
                   why == ENETUNREACH || why == EHOSTUNREACH
               ? 0
               : why;
}

int
reached(int fd, int port)
{
    struct sockaddr_in in;
    socklen_t size = sizeof(in);

    if (getpeername(fd, (void *)&in, &size) == -1) {
        return errno;
    }
    return ntohs(in.sin_port) == port ? 0 : ENOTCONN;
}

int
tcp(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

/* ---- TCP and its like ---- */

static int
connects(int type, int protocol, const char *where, int port)
{
    union address to;
    socklen_t size = to_inet(&to, where, port);
    int fd = socket(to.any.sa_family, type, protocol);

    return fd == -1 ? errno : judge(connect(fd, &to.any, size));
}

#define CONNECTS(name, type, protocol, where, port)   \
    static int name(void)                             \
    {                                                 \
        return connects(type, protocol, where, port); \
    }

#define PORT number("port")
CONNECTS(connect_tcp, SOCK_STREAM, 0, "127.0.0.1", PORT)
CONNECTS(connect_v6, SOCK_STREAM, 0, "::1", PORT)
CONNECTS(connect_mapped, SOCK_STREAM, 0, "::ffff:127.0.0.1", PORT)
CONNECTS(connect_control, SOCK_STREAM, 0, "127.0.0.1", number("control"))
CONNECTS(connect_name_server, SOCK_STREAM, 0, "127.0.0.53", 53)
CONNECTS(mptcp, SOCK_STREAM, 262, "127.0.0.1", PORT)
CONNECTS(smc, SOCK_STREAM, 256, "127.0.0.1", PORT)
CONNECTS(sctp, SOCK_STREAM, IPPROTO_SCTP, "127.0.0.1", PORT)
CONNECTS(sctp_packets, SOCK_SEQPACKET, IPPROTO_SCTP, "127.0.0.1", PORT)
CONNECTS(dccp, SOCK_DCCP, IPPROTO_DCCP, "127.0.0.1", PORT)
CONNECTS(udp, SOCK_DGRAM, 0, "127.0.0.1", PORT)
CONNECTS(udp_v6, SOCK_DGRAM, IPPROTO_UDP, "::1", PORT)
CONNECTS(udp_lite, SOCK_DGRAM, IPPROTO_UDPLITE, "127.0.0.1", PORT)
CONNECTS(ping, SOCK_DGRAM, IPPROTO_ICMP, "127.0.0.1", 0)
CONNECTS(ping_v6, SOCK_DGRAM, IPPROTO_ICMPV6, "::1", 0)
CONNECTS(raw, SOCK_RAW, IPPROTO_TCP, "127.0.0.1", 0)
CONNECTS(raw_v6, SOCK_RAW, IPPROTO_UDP, "::1", 0)

/* Its port is another server's at each other address. */
static int
connect_beside_proxy(void)
{
    return proxy_port() == 0
               ? NOT_HERE
               : connects(SOCK_STREAM, 0, "127.0.0.2", proxy_port());
}

static int
connect_beside_proxy_v6(void)
{
    int why = proxy_port() == 0
                  ? NOT_HERE
                  : connects(SOCK_STREAM, 0, "::ffff:127.0.0.2", proxy_port());

    return why;
}

static int
connect_again(void)
{
    union address to;
    socklen_t size = to_inet(&to, "127.0.0.1", proxy_port());
    struct sockaddr nothing = { .sa_family = AF_UNSPEC };
    int fd = tcp();

    if (fd == -1) {
        return errno;
    }
    connect(fd, &to.any, size);
    connect(fd, &nothing, sizeof(nothing));
    size = to_inet(&to, "127.0.0.1", number("port"));
    return judge(connect(fd, &to.any, size));
}

/* ECONNABORTED: the proxy is reached, and refuses; the errno of nothing else.
 */
static int
by_the_proxy(void)
{
    union address to;
    socklen_t size = to_inet(&to, "127.0.0.1", proxy_port());
    char text[512];
    ssize_t n;
    int fd;

    if (proxy_port() == 0) {
        return NOT_HERE;
    }
    fd = tcp();
    if (fd == -1 || connect(fd, &to.any, size) == -1) {
        return errno;
    }
    snprintf(text, sizeof(text),
             "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
             number("port"));
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) == -1) {
        return errno;
    }
    n = recv(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return strncmp(text, "HTTP/1.1 4", 10) == 0 ? ECONNABORTED : 0;
}

/* ---- other families ---- */

static int
other_families(void)
{
    int why = ENOSYS;

    for (int family = 3; family < 48; family++) {
        if (family == AF_INET6 || family == AF_NETLINK) {
            continue;
        }
        for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
            if (socket(family, type, 0) != -1) {
                return 0;
            }
            why = errno;
        }
    }
    return why;
}

TRY(packets, socket(AF_PACKET, SOCK_RAW, htons(3)))
TRY(packets_old, socket(AF_INET, SOCK_PACKET, htons(3)))
TRY(vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
TRY(kernel_crypto, socket(AF_ALG, SOCK_SEQPACKET, 0))
TRY(bluetooth, socket(AF_BLUETOOTH, SOCK_SEQPACKET, 0))
TRY(tipc, socket(AF_TIPC, SOCK_RDM, 0))
TRY(netlink_events, socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT))
TRY(netlink_filter, socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER))
TRY(netlink_sockets, socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG))
TRY(netlink_audit, socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT))

/* A change of the loopback device; to list is no way out. */
static int
netlink_route(void)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg info;
    } ask = { { sizeof(ask), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
              { .ifi_index = 1 } };
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char more[256];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

    if (fd == -1 || send(fd, &ask, sizeof(ask), 0) == -1 ||
        recv(fd, &answer, sizeof(answer), 0) == -1) {
        return errno;
    }
    return -answer.error.error;
}

/* ---- unix sockets ---- */

static int
connects_unix(int type, const char *name)
{
    union address to;
    socklen_t size = to_unix(&to, name);
    int fd = socket(AF_UNIX, type, 0);

    return fd == -1 ? errno : judge(connect(fd, &to.any, size));
}

WHY(unix_path, connects_unix(SOCK_STREAM, told("path")))
WHY(unix_abstract, connects_unix(SOCK_STREAM, told("abstract")))
WHY(unix_datagram_path, connects_unix(SOCK_DGRAM, told("dpath")))

static int
sends_unix(int fd, const char *name)
{
    union address to;
    socklen_t size = to_unix(&to, name);

    return fd == -1 ? errno : tried(sendto(fd, "x", 1, 0, &to.any, size));
}

static int
datagram(void)
{
    return socket(AF_UNIX, SOCK_DGRAM, 0);
}

WHY(send_path, sends_unix(datagram(), told("dpath")))
WHY(send_abstract, sends_unix(datagram(), told("dabstract")))

/* One end of a pair, which is connected to the other. */
static int
end(int family, int type)
{
    int ends[2];

    return socketpair(family, type, 0, ends) == -1 ? -1 : ends[0];
}

WHY(pair_path, sends_unix(end(AF_UNIX, SOCK_DGRAM), told("dpath")))
WHY(pair_abstract, sends_unix(end(AF_UNIX, SOCK_DGRAM), told("dabstract")))
WHY(pair_raw, sends_unix(end(AF_UNIX, SOCK_RAW), told("dpath")))
WHY(pair_stream, sends_unix(end(AF_UNIX, SOCK_STREAM), told("path")))
TRY(pair_tipc, end(AF_TIPC, SOCK_DGRAM))

/* A packet goes to the other end, whatever its address. */
static int
pair_packet(void)
{
    union address to;
    socklen_t size = to_unix(&to, told("dpath"));
    int ends[2];
    char byte;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == -1) {
        return errno;
    }
    if (sendto(ends[0], "x", 1, 0, &to.any, size) == -1) {
        return errno;
    }
    return recv(ends[1], &byte, 1, MSG_DONTWAIT) == 1 ? EISCONN : 0;
}

static int
pair_connects(void)
{
    union address to;
    socklen_t size = to_unix(&to, told("dpath"));
    int fd = end(AF_UNIX, SOCK_DGRAM);

    return fd == -1 ? errno : tried(connect(fd, &to.any, size));
}

static int
pair_gives_files(void)
{
    union address to;
    socklen_t size = to_unix(&to, told("dpath"));
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec piece = { "x", 1 };
    struct msghdr m = { &to, size, &piece, 1, room, sizeof(room), 0 };
    struct cmsghdr *c = (void *)room;
    int fd = end(AF_UNIX, SOCK_DGRAM), given = 1;

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &given, sizeof(int));
    return fd == -1 ? errno : tried(sendmsg(fd, &m, 0));
}

/* ---- servers ---- */

static int
binds(int fd, const union address *at, socklen_t size)
{
    return fd == -1 ? errno : tried(bind(fd, &at->any, size));
}

static int
bind_tcp(void)
{
    union address at;
    socklen_t size = to_inet(&at, "0.0.0.0", 0);

    return binds(tcp(), &at, size);
}

static int
bind_abstract(void)
{
    union address at;
    socklen_t size = to_unix(&at, told("mine"));

    return binds(socket(AF_UNIX, SOCK_STREAM, 0), &at, size);
}

/* A pair needs no socket(). */
static int
bind_pair(void)
{
    union address at;
    socklen_t size = to_unix(&at, told("mine"));

    return binds(end(AF_UNIX, SOCK_STREAM), &at, size);
}

static int
bind_short(void)
{
    union address at;
    socklen_t size = to_unix(&at, told("short"));

    return binds(end(AF_UNIX, SOCK_STREAM), &at, size);
}

static int
bind_path(void)
{
    union address at;
    socklen_t size = to_unix(&at, "./bound");

    return binds(end(AF_UNIX, SOCK_STREAM), &at, size);
}

static int
listens(int fd)
{
    return fd == -1 ? errno : tried(listen(fd, 1));
}

WHY(listen_tcp, listens(tcp()))
WHY(listen_v6, listens(socket(AF_INET6, SOCK_STREAM, 0)))
WHY(listen_pair, listens(end(AF_UNIX, SOCK_STREAM)))
TRY(accepts, accept(end(AF_UNIX, SOCK_STREAM), NULL, NULL))
TRY(accepts_4, accept4(end(AF_UNIX, SOCK_STREAM), NULL, NULL, 0))

const struct way ways_of_sockets[] = {
    WAY(connect_tcp),
    WAY(connect_v6),
    WAY(connect_mapped),
    WAY(connect_control),
    WAY(connect_name_server),
    WAY(connect_beside_proxy),
    WAY(connect_beside_proxy_v6),
    WAY(connect_again),
    WAY(by_the_proxy),
    WAY(mptcp),
    WAY(smc),
    WAY(sctp),
    WAY(sctp_packets),
    WAY(dccp),
    WAY(udp),
    WAY(udp_v6),
    WAY(udp_lite),
    WAY(ping),
    WAY(ping_v6),
    WAY(raw),
    WAY(raw_v6),
    WAY(other_families),
    WAY(packets),
    WAY(packets_old),
    WAY(vsock),
    WAY(kernel_crypto),
    WAY(bluetooth),
    WAY(tipc),
    WAY(netlink_events),
    WAY(netlink_filter),
    WAY(netlink_sockets),
    WAY(netlink_audit),
    WAY(netlink_route),
    WAY(unix_path),
    WAY(unix_abstract),
    WAY(unix_datagram_path),
    WAY(send_path),
    WAY(send_abstract),
    WAY(pair_path),
    WAY(pair_abstract),
    WAY(pair_raw),
    WAY(pair_stream),
    WAY(pair_tipc),
    WAY(pair_packet),
    WAY(pair_connects),
    WAY(pair_gives_files),
    WAY(bind_tcp),
    WAY(bind_abstract),
    WAY(bind_pair),
    WAY(bind_short),
    WAY(bind_path),
    WAY(listen_tcp),
    WAY(listen_v6),
    WAY(listen_pair),
    WAY(accepts),
    WAY(accepts_4),
    { NULL, NULL },
};
