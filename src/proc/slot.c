/*
 * The table of slots and their eventfds.
 *
 * Only the master takes and releases slots.  It writes a card twice, for itself
 * and for the others: from the others' it never reads.  An owner is its slot's
 * number below its incarnation.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/slot.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "proc/descriptors.h"
#include "proc/shared.h"

/* The master's: at the front of the cards. */
struct table_head {
    _Alignas(64) _Atomic uint32_t end;
};

static struct {
    struct table_head *head; /* shared; NULL while there is no table */
    struct slot_card *cards; /* shared: behind it */
    struct slot_card *own;   /* owned: the same, as the master wrote them */
    struct slot *slots;      /* shared */
    int *eventfds;           /* owned */
    uint32_t count;
    _Atomic uint32_t end, self; /* the log thread reads them as well */
} table;

static void
write_card(struct slot_card *to, const struct slot_card *c)
{
    memcpy(to->name, c->name, sizeof(to->name));
    to->index = c->index;
    atomic_store(&to->state, atomic_load(&c->state));
    atomic_store(&to->pid, atomic_load(&c->pid));
    atomic_store(&to->incarnation, atomic_load(&c->incarnation));
    atomic_store(&to->generation, atomic_load(&c->generation));
    atomic_store(&to->started_ms, atomic_load(&c->started_ms));
    atomic_store(&to->again_ms, atomic_load(&c->again_ms));
    atomic_store(&to->no_media, atomic_load(&c->no_media));
    atomic_store(&to->kind, atomic_load(&c->kind));
}

/* All but epoch_seen and asleep, which a reader of the arena needs. */
static void
clear_words(struct slot *s)
{
    atomic_store(&s->state, SLOT_STARTING);
    atomic_store(&s->turns, 0);
    atomic_store(&s->turn_began_ms, 0);
    atomic_store(&s->connections, 0);
    atomic_store(&s->pumps, 0);
    atomic_store(&s->attached, 0);
    atomic_store(&s->accepted, 0);
    atomic_store(&s->log_dropped, 0);
}

static void
fill(uint32_t number, enum slot_kind kind, const char *name, uint32_t index,
     uint32_t generation)
{
    struct slot_card *c = &table.own[number];
    struct slot *s = &table.slots[number];
    uint32_t incarnation = atomic_load(&c->incarnation) + 1;

    atomic_store(&s->epoch_seen, UINT64_MAX);
    atomic_store(&s->asleep, 0);
    clear_words(s);
    str_copy(c->name, sizeof(c->name), str_from(name));
    c->index = index;
    atomic_store(&c->state, SLOT_STARTING);
    atomic_store(&c->pid, 0);
    atomic_store(&c->incarnation, incarnation != 0 ? incarnation : 1);
    atomic_store(&c->generation, generation);
    atomic_store(&c->started_ms, clock_ms());
    atomic_store(&c->again_ms, 0);
    atomic_store(&c->no_media, false);
    atomic_store(&c->kind, (int)kind);
    write_card(&table.cards[number], c);
}

/* All slots in use lie below the end. */
static void
reach(uint32_t number)
{
    if (table.end <= number) {
        table.end = number + 1;
        atomic_store(&table.head->end, table.end);
    }
}

static int
make_memory(uint32_t count, struct errmsg *err)
{
    table.head = shared_create(
        "weir cards", sizeof(*table.head) + count * sizeof(struct slot_card),
        SHARED_MASTER, err);
    if (table.head == NULL) {
        return -1;
    }
    table.cards = (struct slot_card *)(void *)(table.head + 1);
    table.slots = shared_create("weir slots", count * sizeof(struct slot),
                                SHARED_ALL, err);
    if (table.slots == NULL) {
        slots_destroy();
        return -1;
    }
    table.own = mem_zero(count * sizeof(*table.own));
    table.eventfds = mem_alloc(count * sizeof(int));
    return 0;
}

int
slots_create(uint32_t count, struct errmsg *err)
{
    assert(table.head == NULL && count > 0 && count <= SLOT_MAX);
    if (make_memory(count, err) == -1) {
        return -1;
    }
    for (table.count = 0; table.count < count; table.count++) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

        if (fd == -1) {
            errmsg_sys(err, "cannot make %u eventfds", count);
            slots_destroy();
            return -1;
        }
        descriptors_keep(fd);
        table.eventfds[table.count] = fd;
        atomic_store(&table.slots[table.count].epoch_seen, UINT64_MAX);
    }
    fill(0, SLOT_MASTER, "master", 0, 0);
    reach(0);
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
        descriptors_close(table.eventfds[i]);
    }
    mem_free(&table.eventfds);
    mem_free(&table.own);
    shared_destroy(table.slots);
    shared_destroy(table.head);
    memset(&table, 0, sizeof(table));
}

uint32_t
slots_count(void)
{
    return table.count;
}

uint32_t
slots_end(void)
{
    uint32_t end;

    if (table.self == 0) {
        return table.end;
    }
    end = atomic_load(&table.head->end);
    return end < table.count ? end : table.count;
}

struct slot *
slot_at(uint32_t number)
{
    return number < table.count ? &table.slots[number] : NULL;
}

const struct slot_card *
slot_card(uint32_t number)
{
    if (number >= table.count) {
        return NULL;
    }
    return table.self == 0 ? &table.own[number] : &table.cards[number];
}

uint64_t
slot_number(const _Atomic uint64_t *word, uint64_t most)
{
    uint64_t n = atomic_load(word);

    return n <= most ? n : 0;
}

uint64_t
slot_connections(uint32_t number)
{
    return slot_number(&slot_at(number)->connections, SLOT_CONNECTIONS_MOST);
}

int
slot_eventfd(uint32_t number)
{
    return number < table.count ? table.eventfds[number] : -1;
}

int
slot_take(enum slot_kind kind, const char *name, uint32_t index,
          uint32_t generation)
{
    for (uint32_t i = 1; i < table.count; i++) {
        if (atomic_load(&table.own[i].kind) == SLOT_FREE) {
            eventfd_t old;

            eventfd_read(table.eventfds[i], &old); /* a wake nobody took */
            reach(i);
            fill(i, kind, name, index, generation);
            return (int)i;
        }
    }
    return -1;
}

void
slot_set_pid(uint32_t number, pid_t pid)
{
    assert(number < table.count);
    atomic_store(&table.own[number].pid, pid);
    atomic_store(&table.cards[number].pid, pid);
}

static void
set_state(uint32_t number, enum slot_state state)
{
    atomic_store(&table.own[number].state, (int)state);
    atomic_store(&table.cards[number].state, (int)state);
}

void
slot_reads_no_media(uint32_t number)
{
    assert(number < table.count);
    atomic_store(&table.own[number].no_media, true);
    atomic_store(&table.cards[number].no_media, true);
}

void
slot_bury(uint32_t number)
{
    assert(number < table.count);
    set_state(number, SLOT_GONE);
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
    atomic_store(&s->pumps, 0);
    atomic_store(&s->attached, 0);
    atomic_store(&table.own[number].kind, SLOT_FREE);
    atomic_store(&table.cards[number].kind, SLOT_FREE);
}

void
slot_starts_again(uint32_t number, const char *name, int64_t due_ms)
{
    struct slot_card *c = &table.own[number];

    assert(number < table.count);
    if (atomic_load(&c->kind) == SLOT_FREE &&
        strncmp(c->name, name, sizeof(c->name) - 1) == 0) {
        atomic_store(&c->again_ms, due_ms);
        atomic_store(&table.cards[number].again_ms, due_ms);
    }
}

void
slot_set_self(uint32_t number)
{
    assert(number < table.count);
    table.self = number;
    slot_set_pid(number, getpid());
}

void
slot_say(enum slot_state state)
{
    if (table.self == 0) {
        set_state(0, state);
    } else {
        atomic_store(&table.slots[table.self].state, (int)state);
    }
}

const char *
slot_state_name(enum slot_state state)
{
    switch (state) {
    case SLOT_STARTING:
        return "starting";
    case SLOT_READY:
        return "ready";
    case SLOT_DRAINING:
        return "draining";
    case SLOT_GONE:
        break;
    }
    return "gone";
}

enum slot_state
slot_state(uint32_t number)
{
    const struct slot_card *c = slot_card(number);
    int state;

    if (c == NULL) {
        return SLOT_GONE;
    }
    state = atomic_load(&c->state);
    if (state != SLOT_GONE && number != 0) {
        state = atomic_load(&table.slots[number].state);
    }
    switch (state) {
    case SLOT_READY:
        return SLOT_READY;
    case SLOT_DRAINING:
        return SLOT_DRAINING;
    case SLOT_GONE:
        return SLOT_GONE;
    default:
        return SLOT_STARTING;
    }
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

bool
slot_is_role(uint32_t number, const char *name)
{
    const struct slot_card *c = slot_card(number);
    char several[SLOT_NAME_MAX];

    if (c == NULL || atomic_load(&c->kind) == SLOT_WORKER) {
        return false;
    }
    if (strncmp(c->name, name, sizeof(c->name)) == 0) {
        return true;
    }
    snprintf(several, sizeof(several), "%s %u", name, c->index);
    return strncmp(c->name, several, sizeof(c->name)) == 0;
}

/* From the card of the role's last process. */
static int64_t
starts_in(const struct slot_card *c, int64_t now)
{
    int64_t again = atomic_load(&c->again_ms);

    if (atomic_load(&c->kind) != SLOT_FREE) {
        return atomic_load(&c->state) == SLOT_GONE ? -1 : 0;
    }
    return again == 0 ? -1 : again > now ? again - now : 0;
}

int64_t
slot_role_starts_in(const char *name, uint32_t index)
{
    int64_t now = clock_ms(), least = -1;

    for (uint32_t i = 1; i < slots_end(); i++) {
        const struct slot_card *c = slot_card(i);
        int64_t ms = starts_in(c, now);

        if (ms != -1 && (least == -1 || ms < least) && c->index == index &&
            slot_is_role(i, name)) {
            least = ms;
        }
    }
    return least;
}

slot_owner
slot_find_role(const char *name, uint32_t index)
{
    slot_owner found = 0;
    int64_t newest = 0;

    for (uint32_t i = 1; i < slots_end(); i++) {
        const struct slot_card *c = slot_card(i);
        int64_t started = atomic_load(&c->started_ms);

        if (atomic_load(&c->kind) == SLOT_ROLE && c->index == index &&
            slot_state(i) == SLOT_READY && slot_is_role(i, name) &&
            (found == 0 || started > newest)) {
            found = slot_owner_of(i);
            newest = started;
        }
    }
    return found;
}

slot_owner
slot_owner_of(uint32_t number)
{
    const struct slot_card *c = slot_card(number);

    if (c == NULL) {
        return 0;
    }
    return (uint64_t)atomic_load(&c->incarnation) << 32 | number;
}

uint32_t
slot_owner_number(slot_owner o)
{
    return (uint32_t)o;
}

bool
slot_owner_alive(slot_owner o)
{
    const struct slot_card *c = slot_card(slot_owner_number(o));

    return o != 0 && c != NULL && atomic_load(&c->kind) != SLOT_FREE &&
           atomic_load(&c->state) != SLOT_GONE &&
           atomic_load(&c->incarnation) == (uint32_t)(o >> 32);
}

bool
slot_owner_is(slot_owner o, pid_t pid)
{
    const struct slot_card *c = slot_card(slot_owner_number(o));

    return o != 0 && c != NULL && atomic_load(&c->pid) == pid &&
           atomic_load(&c->incarnation) == (uint32_t)(o >> 32);
}

void
slot_wake(uint32_t number)
{
    if (number < table.count) {
        eventfd_write(table.eventfds[number], 1);
    }
}
