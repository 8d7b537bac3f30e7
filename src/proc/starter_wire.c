/*
 * Packing and checking what a role and its starter say.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/starter_wire.h"

#include <signal.h>
#include <string.h>

#include "base/pack.h"

/* ---- requests ---- */

static void
write_texts(struct pack *p, const char *const *texts)
{
    int64_t count = 0;

    while (texts[count] != NULL) {
        count++;
    }
    pack_int(p, count);
    for (int64_t i = 0; i < count; i++) {
        pack_text(p, str_from(texts[i]));
    }
}

static void
write_limits(struct pack *p, const struct program_limits *l)
{
    pack_int(p, l->memory);
    pack_int(p, l->cpu);
    pack_int(p, l->files);
    pack_int(p, l->file_size);
    pack_int(p, l->processes);
    pack_int(p, l->nice);
}

static void
write_bounds(struct pack *p, const struct program_bounds *b)
{
    pack_int(p, b->memory);
    pack_int(p, b->processes);
    pack_int(p, b->cpu_ms);
}

int
starter_wire_write(const struct starter_request *r, struct buf *out,
                   struct errmsg *err)
{
    struct pack p = { .to = out };

    pack_u8(&p, (uint8_t)r->asks);
    pack_u32(&p, r->run);
    if (r->asks == STARTER_SIGNAL) {
        pack_u32(&p, (uint32_t)r->number);
    } else {
        pack_u32(&p, r->program);
        pack_u32(&p, r->folder);
        pack_u32(&p, r->passed);
        write_limits(&p, &r->limits);
        write_bounds(&p, &r->bounds);
        write_texts(&p, r->arguments);
        write_texts(&p, r->environment);
    }
    return p.full ? errmsg_set(err,
                               "arguments and environment of a program are "
                               "%d bytes at most",
                               STARTER_MESSAGE)
                  : 0;
}

/* NULL: it is too long, or would end early as an argument. */
static const char *
read_text(struct unpack *u)
{
    struct str s = unpack_text(u);

    return !u->bad && memchr(s.ptr, '\0', s.len) == NULL ? s.ptr : NULL;
}

static bool
read_texts(struct unpack *u, const char **texts)
{
    size_t count = unpack_count(u, PACK_TEXT);

    if (u->bad || count > PROGRAM_TEXTS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        texts[i] = read_text(u);
        if (texts[i] == NULL) {
            return false;
        }
    }
    texts[count] = NULL;
    return true;
}

/* Each has a name and a value. */
static bool
are_variables(const char *const *texts)
{
    for (; *texts != NULL; texts++) {
        const char *equals = strchr(*texts, '=');

        if (equals == NULL || equals == *texts) {
            return false;
        }
    }
    return true;
}

static bool
read_limits(struct unpack *u, struct program_limits *l)
{
    l->memory = unpack_int(u);
    l->cpu = unpack_int(u);
    l->files = unpack_int(u);
    l->file_size = unpack_int(u);
    l->processes = unpack_int(u);
    l->nice = unpack_int(u);
    return l->memory >= 0 && l->cpu >= 0 && l->cpu < INT32_MAX &&
           l->files >= 0 && l->file_size >= 0 && l->processes >= 0 &&
           l->nice >= 0 && l->nice <= PROGRAM_NICE_MAX;
}

static bool
read_bounds(struct unpack *u, struct program_bounds *b)
{
    b->memory = unpack_int(u);
    b->processes = unpack_int(u);
    b->cpu_ms = unpack_int(u);
    return b->memory >= 0 && b->processes >= 0 &&
           b->processes <= PROGRAM_PROCESSES_MAX && b->cpu_ms >= 0;
}

static size_t
bits_of(uint32_t set)
{
    size_t n = 0;

    for (; set != 0; set &= set - 1) {
        n++;
    }
    return n;
}

static bool
read_start(struct unpack *u, struct starter_request *r,
           const struct starter_options *o, size_t fds)
{
    r->program = unpack_u32(u);
    r->folder = unpack_u32(u);
    r->passed = unpack_u32(u);
    return read_limits(u, &r->limits) && read_bounds(u, &r->bounds) &&
           read_texts(u, r->arguments) && read_texts(u, r->environment) &&
           r->arguments[0] != NULL && are_variables(r->environment) &&
           r->program < o->program_count && r->folder < o->folder_count &&
           r->passed >> PROGRAM_FILES == 0 && bits_of(r->passed) == fds;
}

static bool
read_signal(struct unpack *u, struct starter_request *r, size_t fds)
{
    uint32_t number = unpack_u32(u);

    r->number = (int)number;
    return number >= 1 && number < NSIG && fds == 0;
}

bool
starter_wire_read(struct starter_request *r, struct str bytes,
                  const struct starter_options *o, size_t fds)
{
    struct unpack u = { .rest = bytes };
    uint8_t asks = unpack_u8(&u);
    bool fine;

    r->run = unpack_u32(&u);
    if (asks == STARTER_START) {
        r->asks = STARTER_START;
        fine = read_start(&u, r, o, fds);
    } else {
        r->asks = STARTER_SIGNAL;
        fine = asks == STARTER_SIGNAL && read_signal(&u, r, fds);
    }
    return fine && r->run < STARTER_RUNS && unpack_ends(&u);
}

/* ---- reports ---- */

void
starter_report_write(const struct starter_report *r, struct buf *out)
{
    struct pack p = { .to = out };

    pack_u8(&p, (uint8_t)r->tells);
    pack_u32(&p, r->run);
    pack_int(&p, r->end.status);
    pack_int(&p, r->end.user_us);
    pack_int(&p, r->end.system_us);
    pack_int(&p, r->end.memory);
    pack_u8(&p, (uint8_t)r->end.excess);
    pack_text(&p, str_first(str_from(r->end.why), PROGRAM_WHY));
}

bool
starter_report_read(struct starter_report *r, struct str bytes)
{
    struct unpack u = { .rest = bytes };
    uint8_t tells = unpack_u8(&u), excess;

    r->run = unpack_u32(&u);
    r->end.status = (int)unpack_int(&u);
    r->end.user_us = unpack_int(&u);
    r->end.system_us = unpack_int(&u);
    r->end.memory = unpack_int(&u);
    excess = unpack_u8(&u);
    r->end.why = unpack_text(&u).ptr;
    r->end.started = tells != STARTER_FAILED;
    r->end.lost = false; /* the starter is there */
    r->end.excess = (enum program_excess)excess;
    if (tells < STARTER_STARTED || tells > STARTER_CALLED ||
        excess >= PROGRAM_EXCESSES) {
        return false;
    }
    r->tells = (enum starter_tells)tells;
    return unpack_ends(&u) && r->run < STARTER_RUNS;
}
