/*
 * Listeners of this process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/notices.h"

#include <assert.h>

#include "store/bus.h"
#include "store/wire.h"

#define LISTENERS 32

static struct {
    const char *topic;
    store_heard *heard; /* NULL: the place is free */
    void *arg;
} listeners[LISTENERS];
static size_t count;

void
store_listen(const char *topic, store_heard *heard, void *arg)
{
    size_t i = 0;

    while (i < count && listeners[i].heard != NULL) {
        i++;
    }
    assert(i < LISTENERS);
    count += i == count;
    listeners[i].topic = topic;
    listeners[i].heard = heard;
    listeners[i].arg = arg;
}

void
store_deafen(store_heard *heard, void *arg)
{
    for (size_t i = 0; i < count; i++) {
        if (listeners[i].heard == heard && listeners[i].arg == arg) {
            listeners[i].heard = NULL;
        }
    }
}

void
listen_missed(void)
{
    for (size_t i = 0; i < count; i++) {
        if (listeners[i].heard != NULL) {
            listeners[i].heard(listeners[i].arg, STR_NONE);
        }
    }
}

void
listen_forget(void)
{
    count = 0;
}

void
listen_tell(struct str topic, struct str text)
{
    for (size_t i = 0; i < count; i++) {
        if (listeners[i].heard != NULL &&
            str_eq(topic, str_from(listeners[i].topic))) {
            listeners[i].heard(listeners[i].arg, text);
        }
    }
}

void
listen_on_notice(void *arg, struct bus_message *m)
{
    struct unpack in = { .rest = str_of(m->data, m->len) };
    struct store_value topic = wire_get_value(&in);
    struct store_value text = wire_get_value(&in);

    (void)arg;
    if (!in.bad) {
        listen_tell(topic.s, text.s);
    }
}
