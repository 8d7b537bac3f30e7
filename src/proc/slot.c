/*
 * The table of slots and their eventfds.
 *
 * Only the master takes and releases slots; owners write the counters of
 * their own.  An owner is its slot's number below its incarnation.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/slot.h"

#include <assert.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "proc/shared.h"

/* At the front of the shared memory; the slots follow. */
struct table_head {
    _Alignas(64) _Atomic uint32_t end;
};

static struct {
    struct table_head *head; /* shared; NULL while there is no table */
    struct slot *slots;      /* behind it */
    int *eventfds;           /* owned */
    uint32_t count;
    uint32_t self;
    size_t size; /* of the shared memory */
    int fd;      /* of it */
} table = { .fd = -1 };

static void
fill(struct slot *s, enum slot_kind kind, const char *name, uint32_t index,
     uint32_t generation)
{
    uint32_t incarnation = atomic_load(&s->incarnation) + 1;

    str_copy(s->name, sizeof(s->name), str_from(name));
    s->index = index;
    atomic_store(&s->state, SLOT_STARTING);
    atomic_store(&s->pid, 0);
    atomic_store(&s->incarnation, incarnation != 0 ? incarnation : 1);
    atomic_store(&s->generation, generation);
    atomic_store(&s->started_ms, clock_ms());
    atomic_store(&s->turns, 0);
    atomic_store(&s->turn_began_ms, 0);
    atomic_store(&s->epoch_seen, UINT64_MAX);
    atomic_store(&s->asleep, 0);
    atomic_store(&s->connections, 0);
    atomic_store(&s->accepted, 0);
    atomic_store(&s->log_dropped, 0);
    atomic_store(&s->kind, (int)kind);
}

static size_t
table_size(uint32_t count)
{
    return sizeof(struct table_head) + count * sizeof(struct slot);
}

int
slots_create(uint32_t count, struct errmsg *err)
{
    assert(table.head == NULL && count > 0 && count <= SLOT_MAX);
    table.head = shared_create("weir slots", table_size(count), &table.fd, err);
    if (table.head == NULL) {
        return -1;
    }
    table.size = table_size(count);
    table.slots = (struct slot *)(void *)(table.head + 1);
    table.eventfds = mem_alloc(count * sizeof(int));
    for (table.count = 0; table.count < count; table.count++) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

        if (fd == -1) {
            errmsg_sys(err, "cannot make %u eventfds", count);
            slots_destroy();
            return -1;
        }
        table.eventfds[table.count] = fd;
        atomic_store(&table.slots[table.count].epoch_seen, UINT64_MAX);
    }
    atomic_store(&table.head->end, 1);
    fill(&table.slots[0], SLOT_MASTER, "master", 0, 0);
    slot_set_self(0);
    return 0;
}

void
slots_destroy(void)
{
    if (table.head == NULL) {
        return;
    }
    for (uint32_t i = 0; i < table.count; i++) {
        close(table.eventfds[i]);
    }
    mem_free(&table.eventfds);
    shared_destroy(table.head, table.size, &table.fd);
    table.head = NULL;
    table.slots = NULL;
    table.count = table.self = 0;
}

uint32_t
slots_count(void)
{
    return table.count;
}

uint32_t
slots_end(void)
{
    return table.head != NULL ? atomic_load(&table.head->end) : 0;
}

struct slot *
slot_at(uint32_t number)
{
    return number < table.count ? &table.slots[number] : NULL;
}

int
slot_eventfd(uint32_t number)
{
    return number < table.count ? table.eventfds[number] : -1;
}

/* All slots in use lie below the end. */
static void
reach(uint32_t number)
{
    uint32_t end = slots_end();

    while (end <= number &&
           !atomic_compare_exchange_weak(&table.head->end, &end, number + 1)) {
    }
}

int
slot_take(enum slot_kind kind, const char *name, uint32_t index,
          uint32_t generation)
{
    for (uint32_t i = 1; i < table.count; i++) {
        struct slot *s = &table.slots[i];

        if (atomic_load(&s->kind) == SLOT_FREE) {
            eventfd_t old;

            eventfd_read(table.eventfds[i], &old); /* a wake nobody took */
            reach(i);
            fill(s, kind, name, index, generation);
            return (int)i;
        }
    }
    return -1;
}

void
slot_release(uint32_t number)
{
    struct slot *s = slot_at(number);

    assert(s != NULL && number != 0);
    atomic_store(&s->epoch_seen, UINT64_MAX);
    atomic_store(&s->asleep, 0);
    atomic_store(&s->turn_began_ms, 0);
    atomic_store(&s->connections, 0);
    atomic_store(&s->pid, 0);
    atomic_store(&s->kind, SLOT_FREE);
}

void
slot_set_self(uint32_t number)
{
    assert(number < table.count);
    table.self = number;
    reach(number);
    atomic_store(&table.slots[number].pid, getpid());
}

uint32_t
slot_self(void)
{
    return table.self;
}

slot_owner
slot_self_owner(void)
{
    return slot_owner_of(table.self);
}

slot_owner
slot_owner_of(uint32_t number)
{
    const struct slot *s = slot_at(number);

    if (s == NULL) {
        return 0;
    }
    return (uint64_t)atomic_load(&s->incarnation) << 32 | number;
}

uint32_t
slot_owner_number(slot_owner o)
{
    return (uint32_t)o;
}

bool
slot_owner_alive(slot_owner o)
{
    struct slot *s = slot_at(slot_owner_number(o));

    return o != 0 && s != NULL && atomic_load(&s->kind) != SLOT_FREE &&
           atomic_load(&s->state) != SLOT_GONE &&
           atomic_load(&s->incarnation) == (uint32_t)(o >> 32);
}

void
slot_wake(uint32_t number)
{
    if (number < table.count) {
        eventfd_write(table.eventfds[number], 1);
    }
}
