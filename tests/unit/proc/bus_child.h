/*
 * A bus for tests: this process is one of its roles, children answer it.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_BUS_CHILD_H
#define TESTS_BUS_CHILD_H

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/bus.h"

#define ECHO BUS_MODULE        /* is answered with the same */
#define COUNT (BUS_MODULE + 1) /* a number in a row */
#define SUM (BUS_MODULE + 2)   /* asks how many came, in order */
#define DONE (BUS_MODULE + 3)
#define MOST ((size_t)64 << 20)

static struct loop *l;

struct inbox {
    int calls;
    slot_owner from;
    uint8_t *data; /* owned copy */
    size_t len;
    int fd;
    bool take_fd, close_bus;
};
static struct inbox inbox;

static inline size_t
open_descriptors(void)
{
    size_t n = 0;

    for (int fd = 0; fd < 1000; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static inline void
on_message(void *arg, struct bus_message *m)
{
    struct inbox *in = arg;

    in->calls++;
    in->from = m->from;
    in->len = m->len;
    mem_free(&in->data);
    in->data = mem_alloc(m->len + 1);
    memcpy(in->data, m->data, m->len);
    in->fd = m->fd;
    if (in->take_fd) {
        m->fd = -1;
    }
    if (in->close_bus) {
        bus_close();
    }
}

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    if (l == NULL || slots_create(4, &err) == -1 || bus_create(&err) == -1) {
        return -1;
    }
    /* A role, which may be sent more than the master takes. */
    slot_set_self((uint32_t)slot_take(SLOT_ROLE, "tester", 0, 1));
    if (bus_open(l, &err) == -1) {
        return -1;
    }
    inbox = (struct inbox){ .fd = -1 };
    bus_register(ECHO, BUS_ANYBODY, MOST, on_message, &inbox);
    bus_register(DONE, BUS_ANYBODY, MOST, on_message, &inbox);
    bus_register(SUM, BUS_ANYBODY, MOST, on_message, &inbox);
    return 0;
}

static inline int
tear_down(void **state)
{
    (void)state;
    log_set_sink(NULL, NULL);
    mem_free(&inbox.data);
    bus_destroy();
    slots_destroy();
    loop_free(&l);
    return 0;
}

/* ---- a child that answers ---- */

struct child {
    struct loop *loop;
    uint32_t next; /* the number of COUNT that is due */
    bool in_order, stop;
};

static inline void
child_echo(void *arg, struct bus_message *m)
{
    (void)arg;
    bus_send(slot_owner_number(m->from), m->type, m->data, m->len, m->fd);
}

static inline void
child_count(void *arg, struct bus_message *m)
{
    struct child *c = arg;
    uint32_t number;

    memcpy(&number, m->data, sizeof(number));
    c->in_order = c->in_order && number == c->next++;
}

static inline void
child_sum(void *arg, struct bus_message *m)
{
    struct child *c = arg;
    uint32_t sum = c->in_order ? c->next : 0;

    bus_send(slot_owner_number(m->from), SUM, &sum, sizeof(sum), -1);
}

static inline void
child_done(void *arg, struct bus_message *m)
{
    struct child *c = arg;

    (void)m;
    c->stop = true;
}

static inline void
run_child(uint32_t slot)
{
    struct child c = { .in_order = true };
    struct errmsg err;

    slot_set_self(slot);
    c.loop = loop_new(&err);
    if (bus_open(c.loop, &err) == -1) {
        _exit(1);
    }
    bus_register(ECHO, BUS_ANYBODY, MOST, child_echo, &c);
    bus_register(COUNT, BUS_ANYBODY, MOST, child_count, &c);
    bus_register(SUM, BUS_ANYBODY, MOST, child_sum, &c);
    bus_register(DONE, BUS_ANYBODY, MOST, child_done, &c);
    while (!c.stop) {
        loop_turn(c.loop, -1);
    }
    _exit(0);
}

static inline uint32_t
take_slot(void)
{
    int n = slot_take(SLOT_WORKER, "w", 0, 1);

    assert_true(n > 0);
    return (uint32_t)n;
}

static inline pid_t
start_child(uint32_t slot)
{
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        run_child(slot);
    }
    slot_set_pid(slot, pid);
    return pid;
}

static inline void
end_child(uint32_t slot, pid_t pid)
{
    int status;

    assert_int_equal(bus_send(slot, DONE, NULL, 0, -1), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    bus_sweep(slot);
    slot_release(slot);
}

static inline void
wait_calls(int calls)
{
    while (inbox.calls < calls) {
        loop_turn(l, -1);
    }
}

/* ---- what the log says ---- */

static int complaints;
static const char *complaint;

static inline void
count_complaints(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)len;
    complaints += strstr(line, complaint) != NULL;
    assert_null(strstr(line, "[alert]"));
}

static inline void
listen_for(const char *words)
{
    complaints = 0;
    complaint = words;
    log_set_sink(count_complaints, NULL);
}

#endif
