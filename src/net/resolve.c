/*
 * A resolver holds what was read of resolv.conf (resolve_conf.h).  Each
 * look-up has a channel of its own, made of that without reading a file,
 * because c-ares can end all look-ups of a channel but not a single one.
 *
 * c-ares calls back from anywhere, out of ares_getaddrinfo() too, and its
 * channel must not be ended then: its answer is noted, and told at the end of
 * the turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/resolve.h"

#include <assert.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/metrics.h"
#include "net/resolve_conf.h"

#define NAME_LEN_MAX 254 /* bytes, with the dot at the end */
#define SOCKETS (2 * RESOLVE_SERVERS)
#define LOOK_MS 1000 /* how often resolv.conf is looked at */
#define EACH_FAMILY (RESOLVE_ADDRESSES / 2)

struct resolver {
    struct list link;  /* all */
    struct loop *loop; /* borrowed */
    struct resolve_conf conf;
    int64_t looked_ms;            /* when it was last compared */
    struct list working, waiting; /* struct resolve */
    size_t working_count, waiting_count;
};

static struct list all = { &all, &all }; /* struct resolver, of the process */

/* How a look-up ends; beside it there are ARES_*. */
enum { TIMED_OUT = -1, TOO_MANY = -2 };

struct query_socket {
    struct io io;
    struct resolve *query; /* borrowed */
};

struct resolve {
    struct list link;          /* working or waiting */
    struct resolver *resolver; /* borrowed */
    char *name;                /* owned */
    ares_channel channel;      /* owned; NULL: it waits, or needs none */
    struct query_socket sockets[SOCKETS];
    struct timer timer;  /* c-ares's, or the end of all */
    struct later answer; /* tells what was found */
    struct later destroy;
    int64_t timeout_ms, until_ms;
    bool working;
    bool over;
    int status; /* with answer: ARES_* or how it ends */
    struct resolved found;
    resolve_handler *handler;
    void *arg;
};

/* ---- life ---- */

struct resolver *
resolver_new(struct loop *l, const struct resolver_options *o,
             struct errmsg *err)
{
    struct resolver *r = mem_zero(sizeof(*r));
    int status = ares_library_init(ARES_LIB_INIT_ALL);

    r->loop = l;
    r->looked_ms = loop_now(l);
    list_init(&r->working);
    list_init(&r->waiting);
    if (status == ARES_SUCCESS) {
        status = resolve_conf_init(&r->conf, o);
    }
    if (status != ARES_SUCCESS) {
        errmsg_set(err, "resolver: %s", ares_strerror(status));
        mem_free(&r);
        return NULL;
    }
    list_append(&all, &r->link);
    return r;
}

void
resolver_free(struct resolver **r)
{
    if (*r == NULL) {
        return;
    }
    assert((*r)->working_count == 0 && (*r)->waiting_count == 0);
    resolve_conf_clear(&(*r)->conf);
    ares_library_cleanup();
    list_remove(&(*r)->link);
    mem_free(r);
}

/* A server that resolv.conf names later may have no port of its own. */
static void
add_ports(const struct resolve_conf *c, struct rights *r)
{
    if (!c->given) {
        rights_connect(r, c->port);
    }
    for (const struct ares_addr_port_node *s = c->servers; s != NULL;
         s = s->next) {
        rights_connect(r, s->tcp_port != 0 ? (uint16_t)s->tcp_port : c->port);
    }
}

void
resolve_rights(struct rights *r)
{
    /* The last is where c-ares draws the numbers of its questions from. */
    static const char *const paths[] = { "/etc/hosts", RESOLVE_CONF,
                                         "/etc/nsswitch.conf", "/etc/host.conf",
                                         "/dev/urandom" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (!list_empty(&all) && access(paths[i], R_OK) == 0) {
            rights_read(r, str_from(paths[i]));
        }
    }
    LIST_EACH (node, &all) {
        add_ports(&LIST_ITEM(node, struct resolver, link)->conf, r);
    }
}

/* ---- the sockets of a look-up ---- */

static void set_timer(struct resolve *q);

static void
on_socket(struct io *io, unsigned ready)
{
    struct query_socket *s = LIST_ITEM(io, struct query_socket, io);
    struct resolve *q = s->query;
    int fd = io->fd;

    ares_process_fd(q->channel, (ready & IO_READ) ? fd : ARES_SOCKET_BAD,
                    (ready & IO_WRITE) ? fd : ARES_SOCKET_BAD);
    set_timer(q);
}

static struct io *
find_socket(struct resolve *q, int fd)
{
    for (size_t i = 0; i < SOCKETS; i++) {
        if (q->sockets[i].io.fd == fd) {
            return &q->sockets[i].io;
        }
    }
    return NULL;
}

/* c-ares wants a socket to be watched; before it closes one, for nothing. */
static void
on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct resolve *q = arg;
    struct loop *l = q->resolver->loop;
    struct io *io = find_socket(q, fd);
    unsigned wanted = (readable ? IO_READ : 0u) | (writable ? IO_WRITE : 0u);

    if (io != NULL && wanted == 0) {
        io_stop(l, io);
    } else if (io != NULL) {
        io_want(l, io, wanted);
    } else if (wanted != 0) {
        /* One that cannot be watched is as a server that does not answer. */
        io = find_socket(q, -1);
        if (io == NULL || io_start(l, io, fd, wanted, on_socket) == -1) {
            log_warn("resolver: no room to watch a socket");
        }
    }
}

/* ---- how it ends ---- */

static void start_waiting(struct resolver *r);

/* Nothing of it is left but the struct. */
static void
leave(struct resolve *q)
{
    struct resolver *r = q->resolver;

    q->over = true;
    timer_stop(r->loop, &q->timer);
    later_cancel(&q->answer);
    if (q->channel != NULL) {
        ares_destroy(q->channel);
        q->channel = NULL;
    }
    if (!list_empty(&q->link)) {
        list_remove(&q->link);
        *(q->working ? &r->working_count : &r->waiting_count) -= 1;
    }
    loop_later(r->loop, &q->destroy);
    start_waiting(r);
}

static void
destroy(struct later *later)
{
    struct resolve *q = LIST_ITEM(later, struct resolve, destroy);

    mem_free(&q->name);
    mem_free(&q);
}

static const char *
words_of(int status)
{
    switch (status) {
    case ARES_ENOTFOUND:
        return "there is no such name";
    case ARES_ENODATA:
        return "the name has no address";
    case ARES_EBADNAME:
        return "it is not a name";
    case ARES_ETIMEOUT:
        return "the name servers do not answer";
    case ARES_ECONNREFUSED:
        return "the name servers cannot be reached, or failed";
    case ARES_ESERVFAIL:
        return "the name servers failed";
    case ARES_EREFUSED:
        return "the name servers refuse to answer";
    case TOO_MANY:
        return "too many names are being looked up";
    default:
        return ares_strerror(status);
    }
}

static enum net_resolved
result_of(int status)
{
    switch (status) {
    case ARES_SUCCESS:
        return NET_RESOLVED_FOUND;
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
    case ARES_EBADNAME:
        return NET_RESOLVED_NONE;
    case ARES_ETIMEOUT:
    case TIMED_OUT:
        return NET_RESOLVED_TIMED_OUT;
    case TOO_MANY:
        return NET_RESOLVED_TOO_MANY;
    default:
        return NET_RESOLVED_FAILED;
    }
}

static void
tell(struct resolve *q)
{
    char name[256];
    struct errmsg why;

    metric_add(&net_metrics[NET_RESOLVED], result_of(q->status), 1);
    leave(q);
    if (q->status == ARES_SUCCESS) {
        q->handler(q->arg, &q->found, NULL);
        return;
    }
    str_escape(name, sizeof(name), str_from(q->name));
    if (q->status == TIMED_OUT) {
        errmsg_set(&why, "cannot resolve \"%s\": no answer within %lld ms",
                   name, (long long)q->timeout_ms);
    } else {
        errmsg_set(&why, "cannot resolve \"%s\": %s", name,
                   words_of(q->status));
    }
    q->handler(q->arg, NULL, &why);
}

static void
on_answer_later(struct later *later)
{
    tell(LIST_ITEM(later, struct resolve, answer));
}

static void
end_with(struct resolve *q, int status)
{
    q->status = status;
    loop_later(q->resolver->loop, &q->answer);
}

/* ---- what c-ares finds ---- */

static size_t
take_family(const struct ares_addrinfo *found, int family,
            struct addr to[EACH_FAMILY])
{
    struct sockaddr_storage ss;
    size_t n = 0;

    for (const struct ares_addrinfo_node *a = found->nodes;
         a != NULL && n < EACH_FAMILY; a = a->ai_next) {
        if (a->ai_family == family && a->ai_addrlen <= sizeof(ss)) {
            memset(&ss, 0, sizeof(ss));
            memcpy(&ss, a->ai_addr, a->ai_addrlen);
            addr_from_socket(&to[n++], &ss);
        }
    }
    return n;
}

static int64_t
least_ttl(const struct ares_addrinfo *found)
{
    int least = INT_MAX;

    for (const struct ares_addrinfo_node *a = found->nodes; a != NULL;
         a = a->ai_next) {
        least = a->ai_ttl < least ? a->ai_ttl : least;
    }
    return least > 0 && least < INT_MAX ? (int64_t)least * 1000 : 0;
}

static void
take_addresses(struct resolved *r, const struct ares_addrinfo *found)
{
    struct addr six[EACH_FAMILY], four[EACH_FAMILY];
    size_t sixes = take_family(found, AF_INET6, six);
    size_t fours = take_family(found, AF_INET, four);

    r->count = 0;
    r->ttl_ms = least_ttl(found);
    for (size_t i = 0; i < EACH_FAMILY; i++) {
        if (i < sixes) {
            r->addrs[r->count++] = six[i];
        }
        if (i < fours) {
            r->addrs[r->count++] = four[i];
        }
    }
}

static void
on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    struct resolve *q = arg;

    (void)timeouts;
    if (found != NULL) {
        take_addresses(&q->found, found);
        ares_freeaddrinfo(found);
    }
    if (!q->over) { /* else the channel ends with the look-up */
        end_with(q, status == ARES_SUCCESS && q->found.count == 0 ? ARES_ENODATA
                                                                  : status);
    }
}

/* ---- working ---- */

static void
set_timer(struct resolve *q)
{
    struct loop *l = q->resolver->loop;
    int64_t wait = q->until_ms - loop_now(l);
    struct timeval tv;

    if (q->channel != NULL && ares_timeout(q->channel, NULL, &tv) != NULL) {
        int64_t ares = (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000 + 1;

        wait = ares < wait ? ares : wait;
    }
    timer_set(l, &q->timer, wait > 0 ? wait : 0);
}

static void
on_due(struct timer *t)
{
    struct resolve *q = LIST_ITEM(t, struct resolve, timer);

    if (!list_empty(&q->answer.link)) {
        return; /* it came in time, and is reported in this turn */
    }
    if (q->channel == NULL || loop_now(q->resolver->loop) >= q->until_ms) {
        q->status = TIMED_OUT;
        tell(q);
        return;
    }
    ares_process_fd(q->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    set_timer(q);
}

static void
work(struct resolve *q)
{
    struct resolver *r = q->resolver;
    struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
                                         .ai_socktype = SOCK_STREAM,
                                         .ai_flags = ARES_AI_NOSORT };

    if (loop_now(r->loop) - r->looked_ms >= LOOK_MS) {
        r->looked_ms = loop_now(r->loop);
        resolve_conf_look(&r->conf);
    }
    q->working = true;
    list_append(&r->working, &q->link);
    r->working_count++;

    int status = resolve_conf_open(&r->conf, &q->channel, on_socket_state, q);

    if (status != ARES_SUCCESS) {
        end_with(q, status);
    } else {
        ares_getaddrinfo(q->channel, q->name, NULL, &hints, on_answer, q);
    }
    set_timer(q);
}

/* Those that wait, as far as there is room. */
static void
start_waiting(struct resolver *r)
{
    while (r->working_count < RESOLVE_AT_ONCE && !list_empty(&r->waiting)) {
        struct resolve *q = LIST_ITEM(r->waiting.next, struct resolve, link);

        list_remove(&q->link);
        r->waiting_count--;
        work(q);
    }
}

/* ---- what is asked ---- */

static bool
is_name(struct str name)
{
    return name.len > 0 && name.len <= NAME_LEN_MAX &&
           memchr(name.ptr, 0, name.len) == NULL;
}

static void
begin(struct resolve *q, struct str name)
{
    struct resolver *r = q->resolver;

    if (addr_parse_ip(name, &q->found.addrs[0]) == 0) {
        q->found.count = 1;
        end_with(q, ARES_SUCCESS);
    } else if (!is_name(name)) {
        end_with(q, ARES_EBADNAME);
    } else if (r->working_count < RESOLVE_AT_ONCE) {
        work(q);
    } else if (r->waiting_count < RESOLVE_WAITING) {
        list_append(&r->waiting, &q->link);
        r->waiting_count++;
        set_timer(q);
    } else {
        end_with(q, TOO_MANY);
    }
}

struct resolve *
resolve_start(struct resolver *r, struct str name, int64_t timeout_ms,
              resolve_handler *handler, void *arg)
{
    struct resolve *q = mem_zero(sizeof(*q));

    q->resolver = r;
    q->name =
        mem_dup(name.ptr, name.len < NAME_LEN_MAX ? name.len : NAME_LEN_MAX);
    q->handler = handler;
    q->arg = arg;
    q->timeout_ms = timeout_ms;
    q->until_ms = loop_now(r->loop) + timeout_ms;
    list_init(&q->link);
    timer_init(&q->timer, on_due);
    later_init(&q->answer, on_answer_later);
    later_init(&q->destroy, destroy);
    for (size_t i = 0; i < SOCKETS; i++) {
        io_init(&q->sockets[i].io);
        q->sockets[i].query = q;
    }
    begin(q, name);
    return q;
}

void
resolve_cancel(struct resolve **q)
{
    if (*q != NULL) {
        leave(*q);
        *q = NULL;
    }
}
