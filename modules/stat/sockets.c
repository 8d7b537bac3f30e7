/*
 * Changes over Socket.IO, in the channel: what /events?changes=... has, to
 * clients that share one process, whatever worker let them in.
 *
 *     watch(WHAT, KEY)   as "changes" and "of" of /events; KEY may be empty.
 *                        Answered with {}, or with "status" and "data".
 *     server, streams, sessions, stream   as the events of /events
 *
 * Clients that watch the same share a room, whose events are serialised once.
 * A new one is a subscriber by itself until it has been told the whole, and
 * joins the room then.
 *
 * A client that is too slow is closed by the channel (max_queue) and comes back
 * to the whole.  A new generation ends all sessions: clients come back through
 * its filters, as those of /events do, so that nobody goes on to see what a
 * reload took from him; one that an older worker lets in afterwards is sent
 * away as well.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "stat.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "changes.h"
#include "http/escape.h"
#include "largest.h"
#include "rows.h"
#include "json/read.h"

#define SEE_GENERATION 500 /* ms */
#define REFUSAL_MAX 1024
#define ROOM_NAME 24

struct office {              /* the state of a hall */
    struct sio_hall *hall;   /* borrowed */
    struct loop *loop;       /* borrowed */
    struct changes *changes; /* owned */
    struct list rooms, viewers;
    unsigned count; /* of viewers that are connected */
    int64_t limit;
    uint64_t part;      /* of the pool: an endpoint has its own */
    uint64_t serial;    /* of the last room */
    int64_t generation; /* that the viewers have come through */
    struct timer timer; /* looks at it, and frees viewers that have gone */
};

struct room { /* of viewers with the same wish */
    struct list link;
    struct office *office;
    struct change_subscriber subscriber;
    struct changes_wish wish; /* its key is `key` */
    char key[LIVE_NAME_MAX];
    char name[ROOM_NAME];
    unsigned viewers;
};

struct viewer {
    struct list link;
    struct office *office;
    struct sio_socket *socket; /* borrowed; NULL: it has gone */
    struct room *room;         /* NULL: it watches nothing */
    struct tally_holder client;
    bool counted; /* as one that is connected */
    struct change_subscriber subscriber;
};

/* Of the channel: all endpoints' viewers, and the number of the last one. */
static struct {
    int64_t size;
    uint64_t part;
} all;

/* ---- settings ---- */

static struct str transports[] = { { "polling", 7 }, { "websocket", 9 } };
static const struct sio_settings settings = {
    .ping_interval = 25000,
    .ping_timeout = 20000,
    .upgrade_timeout = 10000,
    .connect_timeout = 45000,
    .max_payload = 16384,
    .max_queue = 4194304,
    .transports = { transports, 2 },
};

/* Layers whose sockets get the same share an endpoint; others have one of their
 * own. */
static bool
find_endpoint(struct pool *p, const void *layer, struct sio_endpoint *out)
{
    const struct stat_settings *s = layer;

    *out = (struct sio_endpoint){
        .name = pool_printf(p, "%lld-%lld", (long long)s->interval,
                            (long long)s->subscribers),
        .settings = &settings,
    };
    return true;
}

static void
read_name(struct str name, int64_t *interval, int64_t *limit)
{
    struct str first = str_cut(&name, '-');

    if (!str_to_int(first, 1, INT32_MAX, interval) ||
        !str_to_int(name, 1, INT32_MAX, limit)) {
        log_alert("stat: the endpoint's name makes no sense");
        *interval = *limit = 1000;
    }
}

/* ---- what viewers are told ---- */

static struct sio_message
message(const struct changes_event *e)
{
    return (struct sio_message){ .event = e->name,
                                 .args = { .json = e->json } };
}

/* Those that were told the whole before. */
static bool
tell_room(struct change_subscriber *s, const struct changes_told *told)
{
    const struct room *room = LIST_ITEM(s, struct room, subscriber);

    for (size_t i = 0; i < told->count && !told->whole; i++) {
        struct sio_message m = message(&told->events[i]);

        sio_hall_emit(room->office->hall, str_from(room->name), NULL, &m);
    }
    return true;
}

/* After its room: what this round tells the room is in the whole. */
static bool
tell_viewer(struct change_subscriber *s, const struct changes_told *told)
{
    struct viewer *v = LIST_ITEM(s, struct viewer, subscriber);

    for (size_t i = 0; told->whole && i < told->count; i++) {
        struct sio_message m = message(&told->events[i]);

        if (v->socket != NULL) {
            sio_socket_emit(v->socket, &m);
        }
    }
    if (told->whole && v->socket != NULL) {
        sio_join(v->socket, str_from(v->room->name));
    }
    return true;
}

/* ---- rooms ---- */

static struct room *
new_room(struct office *o, const struct changes_wish *wish)
{
    struct room *room = mem_zero(sizeof(*room));

    room->office = o;
    str_copy(room->key, sizeof(room->key), wish->key);
    room->wish = (struct changes_wish){ wish->what, str_from(room->key) };
    snprintf(room->name, sizeof(room->name), "%llu",
             (unsigned long long)++o->serial);
    room->subscriber.tell = tell_room;
    list_append(&o->rooms, &room->link);
    changes_join(o->changes, &room->subscriber, &room->wish);
    return room;
}

static struct room *
find_room(struct office *o, const struct changes_wish *wish)
{
    LIST_EACH (node, &o->rooms) {
        struct room *room = LIST_ITEM(node, struct room, link);

        if (room->wish.what == wish->what &&
            str_eq(room->wish.key, wish->key)) {
            return room;
        }
    }
    return new_room(o, wish);
}

static void
leave_room(struct viewer *v)
{
    struct room *room = v->room;

    if (room == NULL) {
        return;
    }
    v->room = NULL;
    changes_leave(&v->subscriber);
    if (v->socket != NULL) {
        sio_leave(v->socket, str_from(room->name));
    }
    if (--room->viewers == 0) {
        changes_leave(&room->subscriber);
        list_remove(&room->link);
        mem_free(&room);
    }
}

static void
enter_room(struct viewer *v, const struct changes_wish *wish)
{
    leave_room(v);
    v->room = find_room(v->office, wish);
    v->room->viewers++;
    v->subscriber.tell = tell_viewer;
    changes_join(v->office->changes, &v->subscriber, wish);
}

/* ---- viewers ---- */

static void
free_viewer(struct viewer *v)
{
    leave_room(v);
    list_remove(&v->link);
    mem_free(&v);
}

/* Its place is free. */
static void
count_off(struct viewer *v)
{
    if (v->counted) {
        v->counted = false;
        v->office->count--;
        tally_leave_part(&stat_pools[STAT_POOL_SOCKETS], v->office->part,
                         &v->client);
        metric_add(&stat_metrics[STAT_SUBSCRIBERS], 0, -1);
    }
}

struct asker { /* for a viewer's place */
    struct office *office;
    const struct share_want *want;
};

/* The oldest of the client that has most; one that watches nothing first. */
static struct viewer *
choose(struct office *o, const struct tally_holder *client)
{
    struct viewer *oldest = NULL;

    LIST_EACH (node, &o->viewers) {
        struct viewer *v = LIST_ITEM(node, struct viewer, link);

        if (!v->counted || !share_eq(&v->client, client)) {
            continue;
        }
        if (v->room == NULL) {
            return v;
        }
        oldest = oldest != NULL ? oldest : v;
    }
    return oldest;
}

static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    const struct asker *a = arg;
    struct largest l = { .want = a->want };
    struct viewer *v;

    (void)h;
    (void)in_use;
    LIST_EACH (node, &a->office->viewers) {
        if (!largest_look(&l, &LIST_ITEM(node, struct viewer, link)->client)) {
            break;
        }
    }
    v = largest_gives(&l) ? choose(a->office, &l.client) : NULL;
    if (v != NULL) {
        count_off(v); /* on_disconnect() comes later */
        sio_disconnect(v->socket, true);
    }
    return v != NULL;
}

static enum share_answer
admit(struct office *o, const struct tally_holder *client)
{
    struct share_want w = { .pool = &stat_pools[STAT_POOL_SOCKETS],
                            .part = o->part,
                            .client = *client,
                            .size = o->limit,
                            .give = give };
    struct asker asker = { o, &w };
    enum share_answer answer;

    w.arg = &asker;
    answer = share_claim(&w);
    if (answer == SHARE_GRANTED && o->count >= o->limit) {
        tally_leave_part(w.pool, w.part, &w.client);
        return SHARE_FULL;
    }
    return answer;
}

static void
refuse(const struct office *o, struct sio_socket *s, enum share_answer why)
{
    log_limited(LOG_INFO, "stat: a socket was refused: there are %u", o->count);
    metric_add(&stat_metrics[STAT_REFUSED], 1, 1);
    sio_refuse(s,
               why == SHARE_OVER
                   ? "your address has its share of the subscribers"
                   : "too many subscribers",
               STR_NONE);
}

static void
add_viewer(struct office *o, struct sio_socket *s)
{
    struct viewer *v = mem_zero(sizeof(*v));

    v->office = o;
    v->socket = s;
    v->client = sio_socket_client(s)->holder;
    v->counted = true;
    list_append(&o->viewers, &v->link);
    if (o->count++ == 0) {
        o->generation = server_generation();
        timer_set(o->loop, &o->timer, SEE_GENERATION);
    }
    metric_add(&stat_metrics[STAT_SUBSCRIBERS], 0, 1);
    sio_socket_set_user(s, v);
    sio_accept(s);
}

static void
on_connect(struct sio_socket *s, struct str auth)
{
    struct office *o = sio_hall_state(sio_socket_hall(s));
    enum share_answer answer;

    (void)auth;
    if (sio_socket_client(s)->generation < server_generation()) {
        sio_accept(s); /* so that the client knows that it is to come back */
        sio_disconnect(s, true);
        return;
    }
    answer = admit(o, &sio_socket_client(s)->holder);
    if (answer == SHARE_GRANTED) {
        add_viewer(o, s);
    } else {
        refuse(o, s, answer);
    }
}

/* It may have been ended by what it was told just now: the round that tells it
 * goes on, so it is freed later. */
static void
on_disconnect(struct sio_socket *s, const char *reason)
{
    struct viewer *v = sio_socket_user(s);

    (void)reason;
    if (v != NULL) {
        v->socket = NULL;
        count_off(v);
        timer_set(v->office->loop, &v->office->timer, 0);
    }
}

static void
free_gone(struct office *o)
{
    LIST_EACH (node, &o->viewers) {
        struct viewer *v = LIST_ITEM(node, struct viewer, link);

        if (v->socket == NULL) {
            free_viewer(v);
        }
    }
}

/* sio_disconnect() frees nothing of ours. */
static void
on_timer(struct timer *timer)
{
    struct office *o = LIST_ITEM(timer, struct office, timer);

    free_gone(o);
    if (o->generation != server_generation()) {
        o->generation = server_generation();
        LIST_EACH (node, &o->viewers) {
            struct viewer *v = LIST_ITEM(node, struct viewer, link);

            if (v->socket != NULL) {
                sio_disconnect(v->socket, true);
            }
        }
    }
    if (!list_empty(&o->viewers)) {
        timer_set(o->loop, timer, SEE_GENERATION);
    }
}

/* ---- wishes ---- */

/* NULL, or why it is none. */
static const char *
read_wish(struct pool *pool, const struct sio_args *args,
          struct changes_wish *wish)
{
    const struct json_value *what, *key;
    struct errmsg err;
    struct buf text;

    buf_init(&text, (size_t)settings.max_payload + 2);
    buf_printf(&text, "[%.*s]", STR_ARGS(args->json));
    what = json_read(pool, pool_str(pool, buf_str(&text)), &err);
    buf_clear(&text);
    what = what != NULL ? what->first : NULL;
    key = what != NULL ? what->next : NULL;
    if (key == NULL || what->kind != JSON_STRING || key->kind != JSON_STRING) {
        return "watch wants two strings: what changes, and a stream's key";
    }
    if (!changes_parse(what->text, wish)) {
        return "changes must be of server, streams and sessions, with commas "
               "between";
    }
    wish->key = key->text;
    return key->text.len == 0 || stat_is_key(key->text)
               ? NULL
               : "the second argument must be a stream's key, APP/NAME, or "
                 "empty";
}

static void
answer(struct sio_ack **ack, const char *why)
{
    struct sio_args args = { .json = STR("{}") };
    struct buf text;

    if (*ack == NULL) {
        return;
    }
    buf_init(&text, REFUSAL_MAX);
    if (why != NULL) {
        metric_add(&stat_metrics[STAT_REFUSED], 0, 1);
        buf_printf(&text, "{\"status\":400,\"data\":");
        http_json_string(&text, str_from(why));
        buf_add_str(&text, STR("}"));
        args.json = buf_str(&text);
    }
    sio_ack_send(ack, &args);
    buf_clear(&text);
}

/* The answer comes before all that is of the new wish, and behind all that is
 * of the old one. */
static void
on_watch(struct sio_socket *s, struct str name, const struct sio_args *args,
         struct sio_ack *ack)
{
    struct viewer *v = sio_socket_user(s);
    struct pool *pool = pool_new(0);
    struct changes_wish wish;
    const char *why = read_wish(pool, args, &wish);

    (void)name;
    answer(&ack, why);
    if (why == NULL && v->socket != NULL) {
        enter_room(v, &wish);
    }
    pool_free(&pool);
}

/* ---- life ---- */

static void
add_size(int64_t limit)
{
    all.size += limit;
    tally_set_size(&stat_pools[STAT_POOL_SOCKETS], all.size);
}

static void
on_start(struct sio_hall *hall, void **state)
{
    struct office *o = mem_zero(sizeof(*o));
    int64_t interval;

    o->hall = hall;
    o->loop = sio_hall_loop(hall);
    read_name(sio_hall_endpoint(hall), &interval, &o->limit);
    o->part = ++all.part;
    add_size(o->limit);
    o->changes = changes_new(o->loop, interval, NULL);
    list_init(&o->rooms);
    list_init(&o->viewers);
    timer_init(&o->timer, on_timer);
    *state = o;
}

static void
on_stop(struct sio_hall *hall, void *state)
{
    struct office *o = state;

    (void)hall;
    timer_stop(o->loop, &o->timer);
    free_gone(o);
    add_size(-o->limit);
    changes_free(&o->changes);
    mem_free(&o);
}

static const struct sio_event events[] = {
    { .name = "watch", .handler = on_watch },
    { .name = NULL },
};

static const struct sio_namespace namespaces[] = {
    { .name = "/",
      .on_start = on_start,
      .on_stop = on_stop,
      .on_connect = on_connect,
      .on_disconnect = on_disconnect,
      .events = events },
    { .name = NULL },
};

const struct sio_module stat_sockets = { .endpoint = find_endpoint,
                                         .namespaces = namespaces };
