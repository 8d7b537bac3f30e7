/*
 * Rooms: a room exists while a socket is in it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/mem.h"
#include "sio/sio_impl.h"

struct room *
room_find(const struct sio_hall *h, struct str name)
{
    struct name *n = names_find(&h->rooms, name);

    return n != NULL ? NAMED(n, struct room, name) : NULL;
}

static struct room *
room_new(struct sio_hall *h, struct str name)
{
    struct room *r = mem_zero(sizeof(*r));

    list_init(&r->members);
    names_add(&h->rooms, &r->name,
              str_of(mem_dup(name.ptr, name.len), name.len));
    return r;
}

void
room_hold(struct room *r)
{
    r->walks++;
}

static void
free_empty(struct sio_hall *h, struct room *r)
{
    char *text = (char *)(uintptr_t)r->name.text.ptr;

    if (r->walks > 0 || !list_empty(&r->members)) {
        return;
    }
    names_remove(&h->rooms, &r->name);
    mem_free(&text);
    mem_free(&r);
}

void
room_let_go(struct sio_hall *h, struct room *r)
{
    r->walks--;
    free_empty(h, r);
}

static struct membership *
membership_of(const struct sio_socket *s, struct str name)
{
    LIST_EACH (node, &s->rooms) {
        struct membership *m = LIST_ITEM(node, struct membership, in_socket);

        if (str_eq(m->room->name.text, name)) {
            return m;
        }
    }
    return NULL;
}

bool
room_has(const struct sio_socket *s, struct str name)
{
    return membership_of(s, name) != NULL;
}

int
sio_join(struct sio_socket *s, struct str room)
{
    struct membership *m;

    if (s->state == SOCKET_OVER || room_has(s, room)) {
        return 0;
    }
    if (room.len == 0 || room.len > SIO_NAME_MAX ||
        s->room_count == SIO_ROOMS_MAX) {
        return -1;
    }
    m = mem_zero(sizeof(*m));
    m->socket = s;
    m->room = room_find(s->hall, room);
    if (m->room == NULL) {
        m->room = room_new(s->hall, room);
    }
    list_append(&m->room->members, &m->in_room);
    list_append(&s->rooms, &m->in_socket);
    s->room_count++;
    return 0;
}

static void
leave(struct membership *m)
{
    struct sio_socket *s = m->socket;

    list_remove(&m->in_room);
    list_remove(&m->in_socket);
    s->room_count--;
    free_empty(s->hall, m->room);
    mem_free(&m);
}

void
sio_leave(struct sio_socket *s, struct str room)
{
    struct membership *m = membership_of(s, room);

    if (m != NULL) {
        leave(m);
    }
}

void
room_leave_all(struct sio_socket *s)
{
    LIST_EACH (node, &s->rooms) {
        leave(LIST_ITEM(node, struct membership, in_socket));
    }
}
