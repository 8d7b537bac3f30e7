/*
 * Lists of rights.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/rights.h"

#include "base/mem.h"

#define FIRST_ROOM 8

void
rights_clear(struct rights *r)
{
    mem_free(&r->read.items);
    mem_free(&r->write.items);
    mem_free(&r->programs.items);
    mem_free(&r->ports.items);
    *r = (struct rights){ .fork = false };
}

static void
add_path(struct rights_paths *p, struct str path)
{
    if (p->count == p->room) {
        p->room = 2 * p->room + FIRST_ROOM;
        p->items = mem_resize(p->items, p->room * sizeof(*p->items));
    }
    p->items[p->count++] = path;
}

void
rights_read(struct rights *r, struct str path)
{
    add_path(&r->read, path);
}

void
rights_write(struct rights *r, struct str path)
{
    add_path(&r->write, path);
}

void
rights_execute(struct rights *r, struct str program)
{
    add_path(&r->programs, program);
}

void
rights_connect(struct rights *r, uint16_t port)
{
    struct rights_ports *p = &r->ports;

    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i] == port) {
            return;
        }
    }
    if (p->count == p->room) {
        p->room = 2 * p->room + FIRST_ROOM;
        p->items = mem_resize(p->items, p->room * sizeof(*p->items));
    }
    p->items[p->count++] = port;
}

static void
add_paths(struct rights_paths *p, const struct rights_paths *more)
{
    for (size_t i = 0; i < more->count; i++) {
        add_path(p, more->items[i]);
    }
}

void
rights_add(struct rights *r, const struct rights *more)
{
    r->fork |= more->fork;
    r->resize |= more->resize;
    r->supervise |= more->supervise;
    r->seal |= more->seal;
    r->connect_any |= more->connect_any;
    r->connect_local |= more->connect_local;
    add_paths(&r->read, &more->read);
    add_paths(&r->write, &more->write);
    add_paths(&r->programs, &more->programs);
    for (size_t i = 0; i < more->ports.count; i++) {
        rights_connect(r, more->ports.items[i]);
    }
}

bool
rights_connects(const struct rights *r)
{
    return r->connect_any || r->connect_local || r->ports.count > 0;
}

/* ---- telling ---- */

static void
say(struct buf *out, const char *what)
{
    buf_printf(out, "%s%s", buf_str(out).len > 0 ? ", " : "", what);
}

static void
say_paths(struct buf *out, const char *what, const struct rights_paths *p)
{
    if (p->count > 0) {
        say(out, what);
    }
    for (size_t i = 0; i < p->count; i++) {
        buf_printf(out, " %.*s", STR_ARGS(p->items[i]));
    }
}

static void
say_connections(struct buf *out, const struct rights *r)
{
    if (r->connect_any) {
        say(out, "connects to any port");
    } else if (r->ports.count > 0) {
        say(out, "connects to ports");
        for (size_t i = 0; i < r->ports.count; i++) {
            buf_printf(out, " %u", r->ports.items[i]);
        }
    }
    if (r->connect_local) {
        say(out, "connects to unix sockets");
    }
}

void
rights_describe(const struct rights *r, struct buf *out)
{
    if (r->fork) {
        say(out, "forks");
    }
    if (r->resize) {
        say(out, "changes sizes of its files");
    }
    if (r->seal) {
        say(out, "seals its memory files");
    }
    say_paths(out, "reads", &r->read);
    say_paths(out, "writes below", &r->write);
    say_paths(out, "has executed", &r->programs);
    say_connections(out, r);
    if (buf_str(out).len == 0) {
        say(out, "nothing");
    }
}
