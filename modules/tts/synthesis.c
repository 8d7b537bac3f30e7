/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "synthesis.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define TICK_MS 250
#define TAKEN_MS 10000   /* from the packet to TAKEN */
#define WINDOW_MS 5000   /* of waiting, in which min_rate is measured */
#define FULL_BYTES 32768 /* unread in a pipe whose reader is waited for */
#define FULL_MS 1000     /* in which a child then has to say PAUSED */
#define BATCH 16         /* records in one turn */
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

enum step { SENT, RUNS, PAUSES, WANTS, OVER };

struct synthesis {
    struct synthesis_options o;
    enum step step;
    bool piped;
    int64_t sample_rate;      /* Hz, from TAKEN on */
    int status, memory, pipe; /* owned; pipe: its reading end; -1: closed */
    struct io io;             /* of status */
    struct timer tick;
    struct later end; /* synthesis_kill() */
    enum tts_child_end killed;
    pid_t child;
    int64_t looked_ms;         /* clock_ms() of the last tick */
    int64_t sent_ms, began_ms; /* the packet; the pipe */
    int64_t used_ms;           /* of the timeout */
    int64_t full_ms;           /* that the pipe is full without PAUSED */
    int64_t waited_ms;         /* for the reader, in this window */
    int64_t written;           /* bytes that the child says it has piped */
    int64_t window_taken;      /* taken() when this window began */
};

static void
close_one(int *fd)
{
    if (*fd != -1) {
        close(*fd);
    }
    *fd = -1;
}

static void
release(struct synthesis *s)
{
    io_stop(s->o.loop, &s->io);
    timer_stop(s->o.loop, &s->tick);
    later_cancel(&s->end);
    close_one(&s->status);
    close_one(&s->memory);
    close_one(&s->pipe);
}

/* The child has said its last word. */
static void
see_out(struct synthesis *s)
{
    io_stop(s->o.loop, &s->io);
    engine_see_out(s->o.engine, s->child, s->status);
    s->status = -1;
}

static void
finish(struct synthesis *s, struct synthesis_end *end)
{
    s->step = OVER;
    s->o.on_end(s->o.arg, end);
    close_one(&end->memory);
    release(s);
    mem_free(&s);
}

static void
finish_as(struct synthesis *s, enum synthesis_outcome outcome)
{
    struct synthesis_end end = { .outcome = outcome,
                                 .reason = s->killed,
                                 .memory = -1 };

    finish(s, &end);
}

/* ---- killing ---- */

/* The end of its status socket ends a child that waits, too. */
static void
stop_child(struct synthesis *s)
{
    if (s->child > 0) {
        engine_kill(s->o.engine, s->child);
    }
    io_stop(s->o.loop, &s->io);
    close_one(&s->status);
}

static void
on_killed(struct later *later)
{
    finish_as(LIST_ITEM(later, struct synthesis, end), SYNTHESIS_KILLED);
}

void
synthesis_kill(struct synthesis *s, enum tts_child_end why)
{
    s->killed = why;
    s->step = OVER;
    timer_stop(s->o.loop, &s->tick);
    stop_child(s);
    loop_later(s->o.loop, &s->end);
}

void
synthesis_forget(struct synthesis **s)
{
    if (*s == NULL) {
        return;
    }
    if ((*s)->step != OVER) {
        stop_child(*s);
    }
    release(*s);
    mem_free(s);
}

static void
disbelieve(struct synthesis *s, const char *what)
{
    log_limited(LOG_ERROR, "speech: child %d of weir-speaker: %s",
                (int)s->child, what);
    stop_child(s);
    finish_as(s, SYNTHESIS_CRASHED);
}

/* ---- how fast its reader is ---- */

/* Bytes that lie in the pipe. */
static int64_t
unread(const struct synthesis *s)
{
    int n = 0;

    return s->pipe != -1 && ioctl(s->pipe, FIONREAD, &n) != -1 ? n : 0;
}

static int64_t
taken(const struct synthesis *s)
{
    return s->written - unread(s);
}

int64_t
synthesis_rate(const struct synthesis *s)
{
    int64_t ms = clock_ms() - s->began_ms;

    return s->piped && ms > 0 ? taken(s) * 1000 / ms : 0;
}

/* Only one that pauses says how much it has written. */
static bool
reader_is_slow(struct synthesis *s)
{
    int64_t now = taken(s), bytes = now - s->window_taken;

    if (s->o.min_rate == 0 || s->waited_ms < WINDOW_MS) {
        return false;
    }
    if (bytes < s->o.min_rate * s->waited_ms / 1000) {
        return true;
    }
    s->waited_ms = 0;
    s->window_taken = now;
    return false;
}

static void
on_tick(struct timer *t)
{
    struct synthesis *s = LIST_ITEM(t, struct synthesis, tick);
    int64_t now = loop_now(s->o.loop), passed = now - s->looked_ms;
    bool full = s->step == RUNS && unread(s) >= FULL_BYTES, waits;

    s->full_ms = full ? s->full_ms + passed : 0;
    waits = s->step == PAUSES || (full && s->full_ms < FULL_MS);
    s->looked_ms = now;
    s->waited_ms += waits ? passed : 0;
    s->used_ms += s->step == RUNS && !waits ? passed : 0;
    if (s->step == SENT && now - s->sent_ms > TAKEN_MS) {
        engine_abort(s->o.engine, "none of its children took a request");
        return; /* it ends with the engine */
    }
    if (s->used_ms > s->o.timeout) {
        synthesis_kill(s, TTS_END_TIMEOUT);
    } else if (s->step == PAUSES && reader_is_slow(s)) {
        synthesis_kill(s, TTS_END_SLOW);
    } else {
        timer_set(s->o.loop, t, TICK_MS);
    }
}

/* ---- records ---- */

/* The length is what fstat says; from here on nobody changes the bytes. */
static bool
seal(const struct synthesis *s, const struct speech_record *r)
{
    struct stat st;

    return fcntl(s->memory, F_ADD_SEALS, SEALS) != -1 &&
           fstat(s->memory, &st) != -1 && st.st_size == r->bytes &&
           r->bytes <= s->o.buffer;
}

static void
take_done(struct synthesis *s, const struct speech_record *r)
{
    struct speech_record done = *r;
    struct synthesis_end end = { .outcome = SYNTHESIS_PIPED,
                                 .memory = -1,
                                 .record = &done };

    done.sample_rate = s->sample_rate;
    if (!s->piped) {
        if (!seal(s, r)) {
            disbelieve(s, "its answer is not as long as it says");
            return;
        }
        end.outcome = SYNTHESIS_WHOLE;
        end.memory = s->memory;
        s->memory = -1;
    }
    see_out(s);
    finish(s, &end);
}

static void
take_failed(struct synthesis *s, const struct speech_record *r)
{
    struct synthesis_end end = { .outcome = SYNTHESIS_FAILED,
                                 .memory = -1,
                                 .record = r };

    see_out(s);
    finish(s, &end);
}

static void
take_long(struct synthesis *s)
{
    s->piped = true;
    s->began_ms = clock_ms();
    close_one(&s->memory);
    s->o.on_long(s->o.arg, s->pipe);
}

static void
take_wait(struct synthesis *s, const struct speech_record *r)
{
    s->written = r->bytes;
    s->step = r->kind == SPEECH_PAUSED ? PAUSES : WANTS;
    if (s->step == PAUSES) {
        s->o.on_paused(s->o.arg);
    } else {
        s->o.on_wants(s->o.arg);
    }
}

static bool
is_in_order(const struct synthesis *s, const struct speech_record *r)
{
    switch (r->kind) {
    case SPEECH_TAKEN:
        return s->step == SENT && r->pid > 1;
    case SPEECH_LONG:
        return s->step == RUNS && !s->piped;
    case SPEECH_PAUSED:
        return s->step == RUNS && s->piped && r->bytes >= s->written;
    case SPEECH_WANTS:
        return s->step == PAUSES && r->bytes >= s->written;
    case SPEECH_DONE:
    case SPEECH_FAILED:
        return s->step == RUNS;
    case SPEECH_RECORDS:
        break;
    }
    return false;
}

static void
take(struct synthesis *s, const struct speech_record *r)
{
    switch (r->kind) {
    case SPEECH_TAKEN:
        s->step = RUNS;
        s->child = (pid_t)r->pid;
        s->sample_rate = r->sample_rate;
        break;
    case SPEECH_LONG:
        take_long(s);
        break;
    case SPEECH_PAUSED:
    case SPEECH_WANTS:
        take_wait(s, r);
        break;
    case SPEECH_DONE:
        take_done(s, r);
        break;
    case SPEECH_FAILED:
        take_failed(s, r);
        break;
    case SPEECH_RECORDS:
        break;
    }
}

enum reading { READ, NOTHING, ENDED };

/* ENDED: the synthesis is freed, or is killed at the end of this turn. */
static enum reading
read_record(struct synthesis *s)
{
    char bytes[SPEECH_RECORD_MAX];
    ssize_t n = recv(s->status, bytes, sizeof(bytes), MSG_DONTWAIT);
    struct unpack in = { .rest = str_of(bytes, n > 0 ? (size_t)n : 0) };
    struct speech_record r;

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return NOTHING;
    }
    if (n <= 0) {
        finish_as(s, s->step == SENT ? SYNTHESIS_UNTAKEN : SYNTHESIS_CRASHED);
        return ENDED;
    }
    if (speech_unpack_record(&in, &r) == -1 || !is_in_order(s, &r)) {
        disbelieve(s, "its record makes no sense");
        return ENDED;
    }
    /* The calls of all others leave it alone, or kill it, which is later. */
    bool last = r.kind == SPEECH_DONE || r.kind == SPEECH_FAILED;

    take(s, &r);
    return last || s->step == OVER ? ENDED : READ;
}

static void
on_status(struct io *io, unsigned ready)
{
    struct synthesis *s = LIST_ITEM(io, struct synthesis, io);

    (void)ready;
    for (int i = 0; i < BATCH && read_record(s) == READ; i++) {
    }
}

void
synthesis_engine_gone(struct synthesis *s)
{
    enum reading last = s->step == OVER ? ENDED : READ;

    for (int i = 0; i < BATCH && last == READ; i++) {
        last = read_record(s);
    }
    if (last != ENDED) {
        finish_as(s, s->step == SENT ? SYNTHESIS_UNTAKEN : SYNTHESIS_CRASHED);
    }
}

void
synthesis_grant(struct synthesis *s)
{
    s->step = RUNS;
    /* A child that is gone is told by the end of its socket. */
    send(s->status, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- starting ---- */

static int
make_files(struct synthesis *s, int *theirs, struct errmsg *err)
{
    int pair[2], pipes[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1) {
        return errmsg_sys(err, "cannot make a socket for a synthesis");
    }
    s->status = pair[0];
    theirs[SPEECH_STATUS] = pair[1];
    s->memory = memfd_create("speech", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (s->memory == -1 || pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == -1) {
        errmsg_sys(err, "cannot make a memory file and a pipe for a synthesis");
        close(pair[1]);
        return -1;
    }
    s->pipe = pipes[0];
    theirs[SPEECH_PIPE] = pipes[1];
    theirs[SPEECH_MEMORY] = s->memory;
    return 0;
}

static int
write_text(const struct synthesis *s, struct errmsg *err)
{
    struct str text = s->o.text;

    return write(s->memory, text.ptr, text.len) == (ssize_t)text.len
               ? 0
               : errmsg_sys(err, "cannot keep the text of a request");
}

static int
send_packet(struct synthesis *s, bool *again, struct errmsg *err)
{
    int theirs[SPEECH_FDS], sent;

    if (make_files(s, theirs, err) == -1) {
        return -1;
    }
    sent = write_text(s, err);
    if (sent == 0 &&
        (sent = engine_send(s->o.engine, s->o.packet, theirs)) == -1) {
        /* A zygote that has just ended is about to be replaced. */
        *again = errno == EAGAIN || errno == ENOBUFS || errno == EPIPE ||
                 errno == ECONNRESET;
        errmsg_sys(err, "cannot hand a request to weir-speaker");
    }
    close(theirs[SPEECH_STATUS]);
    close(theirs[SPEECH_PIPE]);
    return sent;
}

struct synthesis *
synthesis_start(const struct synthesis_options *o, bool *again,
                struct errmsg *err)
{
    struct synthesis *s = mem_zero(sizeof(*s));

    *again = false;
    s->o = *o;
    s->status = s->memory = s->pipe = -1;
    io_init(&s->io);
    timer_init(&s->tick, on_tick);
    later_init(&s->end, on_killed);
    s->looked_ms = s->sent_ms = loop_now(o->loop);
    if (send_packet(s, again, err) == -1) {
        release(s);
        mem_free(&s);
        return NULL;
    }
    if (io_start(o->loop, &s->io, s->status, IO_READ, on_status) == -1) {
        errmsg_sys(err, "cannot watch a synthesis");
        release(s);
        mem_free(&s);
        return NULL;
    }
    timer_set(o->loop, &s->tick, TICK_MS);
    return s;
}

int64_t
synthesis_sample_rate(const struct synthesis *s)
{
    return s->sample_rate;
}
