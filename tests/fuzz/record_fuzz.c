/*
 * Fuzz target: what a child of weir-speaker says of its synthesis.
 *
 * Each byte is a step of the child or of its owner: records of which some are
 * well formed, bytes into the file in memory and into the pipe, a grant, a
 * kill, the end of the child or of the engine.  Whatever comes, the synthesis
 * ends once at most, a whole answer is sealed and as long as it says, calls
 * come in their order, and no descriptor is left.
 *
 * covers: modules/tts/request.c:speech_pack_record,speech_unpack_record
 * covers: modules/tts/synthesis.c:release,finish,finish_as,stop_child
 * covers: modules/tts/synthesis.c:on_killed,synthesis_kill,synthesis_forget
 * covers: modules/tts/synthesis.c:disbelieve,unread,taken,synthesis_rate,seal
 * covers: modules/tts/synthesis.c:take_done,take_failed,take_long,take_wait
 * covers:
 * modules/tts/synthesis.c:see_out,is_in_order,take,read_record,on_status
 * covers: modules/tts/synthesis.c:synthesis_engine_gone,synthesis_grant
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../modules/tts/synthesis.h"
#include "base/log.h"
#include "base/utf8.h"

#define BUFFER 64
#define STEPS_MAX 64

/* ---- the engine, played ---- */

static int child[SPEECH_FDS]; /* its descriptors; -1: it has closed them */

int
engine_send(struct engine *e, struct str packet, const int *fds)
{
    (void)e;
    (void)packet;
    for (int i = 0; i < SPEECH_FDS; i++) {
        child[i] = dup(fds[i]);
        require(child[i] != -1);
    }
    return 0;
}

void
engine_kill(struct engine *e, pid_t pid)
{
    (void)e;
    require(pid > 1);
}

void
engine_see_out(struct engine *e, pid_t pid, int status)
{
    (void)e;
    require(pid > 1 && close(status) == 0);
}

void
engine_abort(struct engine *e, const char *why)
{
    (void)e;
    (void)why;
}

static void
close_child(void)
{
    for (int i = 0; i < SPEECH_FDS; i++) {
        if (child[i] != -1) {
            close(child[i]);
        }
        child[i] = -1;
    }
}

/* ---- the owner ---- */

static struct loop *loop;

static struct {
    struct synthesis *run;
    bool is_long, paused, wants, killed;
} owner;

static void
on_long(void *arg, int pipe)
{
    (void)arg;
    require(!owner.is_long && !owner.killed && pipe >= 0);
    owner.is_long = true;
}

static void
on_paused(void *arg)
{
    (void)arg;
    require(owner.is_long && !owner.paused && !owner.wants);
    owner.paused = true;
}

static void
on_wants(void *arg)
{
    (void)arg;
    require(owner.paused && !owner.wants);
    owner.paused = false;
    owner.wants = true;
}

static void
look_at_memory(const struct synthesis_end *end)
{
    struct stat st;

    require(!owner.is_long && end->record->kind == SPEECH_DONE);
    require(fstat(end->memory, &st) == 0);
    require(st.st_size == end->record->bytes && st.st_size <= BUFFER);
    require(write(end->memory, "x", 1) == -1);
    require(ftruncate(end->memory, BUFFER + 1) == -1);
}

static void
on_end(void *arg, struct synthesis_end *end)
{
    (void)arg;
    require(owner.run != NULL);
    owner.run = NULL;
    require((end->outcome == SYNTHESIS_KILLED) == owner.killed);
    require((end->memory != -1) == (end->outcome == SYNTHESIS_WHOLE));
    if (end->outcome == SYNTHESIS_WHOLE) {
        look_at_memory(end);
    }
    if (end->outcome == SYNTHESIS_PIPED) {
        require(owner.is_long);
    }
    if (end->outcome == SYNTHESIS_FAILED) {
        require(end->record->message.len <= SPEECH_MESSAGE_MAX);
        require(end->record->field.len <= SPEECH_FIELD_MAX);
    }
}

static void
start(void)
{
    const struct synthesis_options o = { .loop = loop,
                                         .packet = STR("packet"),
                                         .buffer = BUFFER,
                                         .timeout = 60000,
                                         .on_long = on_long,
                                         .on_paused = on_paused,
                                         .on_wants = on_wants,
                                         .on_end = on_end };
    struct errmsg err;
    bool again;

    memset(&owner, 0, sizeof(owner));
    owner.run = synthesis_start(&o, &again, &err);
    require(owner.run != NULL);
}

/* ---- steps ---- */

static void
say_bytes(struct str bytes)
{
    if (child[SPEECH_STATUS] != -1) {
        send(child[SPEECH_STATUS], bytes.ptr, bytes.len,
             MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* A record whose numbers are mostly small, and now and then the file's
 * length. */
static void
say_record(struct str *input, enum speech_record_kind kind)
{
    struct stat st = { .st_size = 0 };
    struct speech_record r = { .kind = kind,
                               .pid = take_byte(input),
                               .sample_rate = 100 * (int)take_byte(input),
                               .bytes = take_byte(input),
                               .status = 2 * (int)take_byte(input) };
    struct buf b;
    struct pack p = { .to = &b };

    r.message = str_first(*input, take_byte(input) % 8);
    if (r.bytes >= 128 && child[SPEECH_MEMORY] != -1) {
        fstat(child[SPEECH_MEMORY], &st);
        r.bytes = st.st_size;
    }
    buf_init(&b, SPEECH_RECORD_MAX);
    speech_pack_record(&p, &r);
    require(!p.full);
    say_bytes(buf_str(&b));
    buf_clear(&b);
}

static void
write_some(struct str *input, int which)
{
    static const char zeros[4096];

    if (child[which] != -1) {
        (void)!write(child[which], zeros, 16 * take_byte(input));
    }
}

static void
kill_it(void)
{
    if (owner.run != NULL && !owner.killed) {
        owner.killed = true;
        synthesis_kill(owner.run, TTS_END_TIMEOUT);
    }
}

static void
take_step(struct str *input)
{
    unsigned what = take_byte(input);

    if (what % 16 < SPEECH_RECORDS) {
        say_record(input, (enum speech_record_kind)(what % 16));
    } else if (what % 16 < SPEECH_RECORDS + 2) {
        struct str bytes = str_first(*input, take_byte(input));

        say_bytes(bytes);
        *input = str_skip(*input, bytes.len);
    } else if (what % 16 < SPEECH_RECORDS + 4) {
        write_some(input, what % 2 == 0 ? SPEECH_MEMORY : SPEECH_PIPE);
    } else if (what == 0xff) {
        kill_it();
    } else if (what == 0xfe) {
        close_child();
    } else if (what == 0xfd && owner.run != NULL && !owner.killed) {
        synthesis_engine_gone(owner.run);
        require(owner.run == NULL);
    } else if (what == 0xfc && owner.wants && owner.run != NULL &&
               !owner.killed) {
        owner.wants = false;
        synthesis_grant(owner.run);
    } else {
        loop_turn(loop, 0);
    }
    if (owner.run != NULL) {
        require(synthesis_sample_rate(owner.run) >= 0);
        synthesis_rate(owner.run);
    }
}

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    struct errmsg err;
    size_t before;

    if (loop == NULL) {
        log_set_sink(drop_line, NULL);
        loop = loop_new(&err);
        require(loop != NULL);
    }
    before = open_descriptors();
    start();
    for (int i = 0; i < STEPS_MAX && input.len > 0; i++) {
        take_step(&input);
    }
    loop_turn(loop, 0);
    synthesis_forget(&owner.run);
    close_child();
    require(open_descriptors() == before);
    return 0;
}
