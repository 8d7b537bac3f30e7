/*
 * Sending, sending again, taking answers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/keeper_client.h"

#include "store/bus.h"
#include "store/notices.h"

static struct {
    bool open;
    slot_owner keeper; /* 0: none is known */
    uint64_t last;     /* number */
    struct list calls; /* by place, in order; those not sent are at the end */
} link = { .calls = { &link.calls, &link.calls } };

/* ---- who the keeper is ---- */

static void
meet(slot_owner keeper)
{
    if (keeper == link.keeper) {
        return;
    }
    link.keeper = keeper;
    LIST_EACH (node, &link.calls) {
        struct store_call *c = LIST_ITEM(node, struct store_call, place);

        c->head.again |= c->sent;
        c->sent = false;
    }
}

bool
link_is_up(void)
{
    if (link.keeper == 0 || !slot_owner_alive(link.keeper)) {
        meet(slot_find_role(KEEPER_NAME, 0));
    }
    return link.keeper != 0;
}

/* ---- sending ---- */

static bool
send_call(struct store_call *c)
{
    c->head.oldest =
        LIST_ITEM(link.calls.next, struct store_call, place)->head.number;
    wire_set_request(&c->request, &c->head);
    c->sent = bus_send(slot_owner_number(link.keeper), BUS_STORE_WRITE,
                       buf_data(&c->request), buf_len(&c->request), -1) == 0;
    return c->sent;
}

/* A full mailbox is tried again with the next tick. */
static void
send_waiting(void)
{
    struct list *node = link.calls.prev;

    if (!link_is_up()) {
        return;
    }
    while (node != &link.calls &&
           !LIST_ITEM(node, struct store_call, place)->sent) {
        node = node->prev;
    }
    for (node = node->next; node != &link.calls; node = node->next) {
        if (!send_call(LIST_ITEM(node, struct store_call, place))) {
            return;
        }
    }
}

void
link_write(struct store_call *c)
{
    c->head.number = ++link.last;
    list_append(&link.calls, &c->place);
    send_waiting();
}

void
link_tick(void)
{
    send_waiting();
}

void
link_open(void)
{
    link.open = true;
    link.keeper = slot_find_role(KEEPER_NAME, 0);
}

/* ---- hearing ---- */

void
link_on_hello(void *arg, struct bus_message *m)
{
    (void)arg;
    if (!link.open) {
        return;
    }
    if (slot_owner_alive(m->from)) { /* else another is there by now */
        meet(m->from);
    }
    send_waiting();
    listen_missed();
}

void
link_on_answer(void *arg, struct bus_message *m)
{
    struct str bytes = str_of(m->data, m->len);
    struct unpack in = { .rest = bytes };
    struct wire_answer head;

    (void)arg;
    if (!wire_get_answer(&in, &head)) {
        return;
    }
    LIST_EACH (node, &link.calls) {
        struct store_call *c = LIST_ITEM(node, struct store_call, place);

        if (c->head.number == head.number) {
            call_answer_packed(&c, bytes);
            return;
        }
    }
}
