/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "encoder.h"
#include "output.h"
#include "request.h"
#include "synth.h"

#define JSON_MAX ((size_t)64 << 20)   /* bytes of an answer of times */
#define FILE_SLACK ((int64_t)1 << 20) /* of a file in memory, over `buffer` */

struct child {
    const struct child_options *options;
    int fds[SPEECH_FDS];
    struct speech_request request; /* its texts lie in packet */
    struct output output;
    struct encoder *encoder; /* owned; NULL for times */
    struct errmsg why;       /* of the encoder */
    int64_t taken_us;
    int64_t first_us; /* from there to the first sound; 0: none yet */
};

/* Not touched, and so not there, before a packet comes. */
static uint8_t packet[SPEECH_PACKET_MAX];

/* ---- the packet ---- */

static bool
is_of_kind(int fd, mode_t kind)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static int
take_fds(struct child *c, const struct cmsghdr *m)
{
    if (m == NULL || m->cmsg_level != SOL_SOCKET ||
        m->cmsg_type != SCM_RIGHTS || m->cmsg_len != CMSG_LEN(sizeof(c->fds))) {
        return -1;
    }
    memcpy(c->fds, CMSG_DATA(m), sizeof(c->fds));
    return is_of_kind(c->fds[SPEECH_STATUS], S_IFSOCK) &&
                   is_of_kind(c->fds[SPEECH_MEMORY], S_IFREG) &&
                   is_of_kind(c->fds[SPEECH_PIPE], S_IFIFO)
               ? 0
               : -1;
}

/* Waits for a packet.  Returns its length; -1: it has not what a packet has;
 * 0: there will be none any more. */
static ssize_t
take_packet(struct child *c)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(c->fds))];
    } control;
    struct iovec io = { packet, sizeof(packet) };
    struct msghdr m = { .msg_iov = &io,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };
    ssize_t n;

    do {
        n = recvmsg(SPEECH_WORK, &m, MSG_CMSG_CLOEXEC);
    } while (n == -1 && errno == EINTR);
    if (n <= 0) {
        return 0;
    }
    return (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
                   take_fds(c, CMSG_FIRSTHDR(&m)) == -1
               ? -1
               : n;
}

/* ---- limits ---- */

/* Said by a signal handler when the processor time is used up. */
static struct {
    int status;
    size_t len;
    uint8_t bytes[SPEECH_RECORD_MAX];
} last_words;

static void
on_cpu_used_up(int number)
{
    (void)number;
    send(last_words.status, last_words.bytes, last_words.len,
         MSG_NOSIGNAL | MSG_DONTWAIT);
    _exit(EXIT_FAILURE);
}

static void
prepare_last_words(const struct child *c)
{
    struct speech_record r = {
        .kind = SPEECH_FAILED,
        .status = 500,
        .message = STR("the synthesis took too much processor time"),
    };
    struct buf bytes;
    struct pack p = { .to = &bytes };

    buf_init(&bytes, sizeof(last_words.bytes));
    speech_pack_record(&p, &r);
    last_words.len = buf_len(&bytes);
    memcpy(last_words.bytes, buf_data(&bytes), last_words.len);
    last_words.status = c->fds[SPEECH_STATUS];
    buf_clear(&bytes);
    signal(SIGXCPU, on_cpu_used_up);
}

static void
limit(int what, int64_t soft, int64_t hard)
{
    struct rlimit l = { (rlim_t)soft, (rlim_t)hard };

    setrlimit((__rlimit_resource_t)what, &l);
}

static void
set_limits(const struct child_options *o)
{
    if (o->cpu != 0) {
        limit(RLIMIT_CPU, o->cpu, o->cpu + 1);
    }
#ifndef __SANITIZE_ADDRESS__ /* it maps all addresses */
    if (o->memory != 0) {
        limit(RLIMIT_AS, o->memory, o->memory);
    }
#endif
    limit(RLIMIT_NPROC, 0, 0);
}

/* ---- what is said ---- */

static void __attribute__((noreturn))
fail(const struct child *c, int status, const char *field, const char *message)
{
    struct speech_record r = {
        .kind = SPEECH_FAILED,
        .status = status,
        .field = str_first(str_from(field), SPEECH_FIELD_MAX),
        .message = str_first(str_from(message), SPEECH_MESSAGE_MAX),
    };

    output_record(&c->output, &r);
    _exit(EXIT_SUCCESS);
}

/* The answer cannot be written: the reason, if it is not that nobody wants
 * it. */
static void __attribute__((noreturn)) fail_to_write(const struct child *c)
{
    if (c->output.why.text[0] != '\0') {
        fail(c, 500, "", c->output.why.text);
    }
    if (c->why.text[0] != '\0') {
        fail(c, 500, "", c->why.text);
    }
    _exit(EXIT_SUCCESS);
}

static void __attribute__((noreturn))
done(const struct child *c, int64_t samples)
{
    struct speech_record r = {
        .kind = SPEECH_DONE,
        .bytes = c->output.bytes,
        .samples = samples,
        .first_us = c->first_us,
    };

    output_record(&c->output, &r);
    _exit(EXIT_SUCCESS);
}

static void
say_taken(const struct child *c, unsigned rate)
{
    struct speech_record r = { .kind = SPEECH_TAKEN,
                               .pid = getpid(),
                               .sample_rate = rate };

    if (output_record(&c->output, &r) == -1) {
        _exit(EXIT_SUCCESS);
    }
}

/* ---- the request ---- */

static int
on_samples(void *arg, const int16_t *samples, size_t n)
{
    struct child *c = arg;

    if (n > 0 && c->first_us == 0) {
        c->first_us = clock_us() - c->taken_us;
    }
    return encoder_write(c->encoder, samples, n, &c->why);
}

static int
on_no_samples(void *arg, const int16_t *samples, size_t n)
{
    (void)arg;
    (void)samples;
    (void)n;
    return 0;
}

/* Where the sink wanted no more, the reason is in c. */
static void
speak(struct child *c, synth_sink *sink, struct buf *json)
{
    struct synth_error err = { .status = 500, .field = "" };
    int rc = synth_speak(&c->request, sink, c, json, &err);

    if (rc == -1) {
        fail(c, err.status, err.field, err.message.text);
    }
    if (rc != 0) {
        fail_to_write(c);
    }
}

static void __attribute__((noreturn)) answer_with_times(struct child *c)
{
    struct buf json;

    say_taken(c, c->options->rate);
    buf_init(&json, JSON_MAX);
    speak(c, on_no_samples, &json);
    if (output_write(&c->output, buf_data(&json), buf_len(&json)) == -1 ||
        output_end(&c->output, STR_NONE) == -1) {
        fail_to_write(c);
    }
    done(c, 0);
}

static void __attribute__((noreturn)) answer_with_sound(struct child *c)
{
    struct encoder_options o = {
        .format = c->request.format,
        .rate_in = c->options->rate,
        .rate_out = c->request.sample_rate,
        .sink = output_write,
        .arg = &c->output,
    };
    struct buf head;

    say_taken(c, encoder_rate(&o));
    if (encoder_check(o.format, &c->why) == -1) {
        fail(c, 400, "format", c->why.text);
    }
    c->encoder = encoder_new(&o, &c->why);
    if (c->encoder == NULL) {
        fail(c, 500, "format", c->why.text);
    }
    speak(c, on_samples, NULL);
    buf_init(&head, ENCODER_HEAD_MAX);
    if (encoder_write(c->encoder, NULL, 0, &c->why) == -1 ||
        encoder_end(c->encoder, &head, &c->why) == -1 ||
        output_end(&c->output, buf_str(&head)) == -1) {
        fail_to_write(c);
    }
    done(c, encoder_samples(c->encoder));
}

/* The text of a request whose packet would be too long. */
static int
take_text(struct child *c)
{
    int fd = c->fds[SPEECH_MEMORY];
    struct stat st;
    char *text;

    if (c->request.text.len > 0 || fstat(fd, &st) == -1 || st.st_size == 0) {
        return 0;
    }
    if ((uint64_t)st.st_size > SPEECH_TEXT_MAX ||
        (text = try_zero((size_t)st.st_size + 1)) == NULL) {
        return -1;
    }
    c->request.text = str_of(text, (size_t)st.st_size);
    return pread(fd, text, (size_t)st.st_size, 0) == st.st_size &&
                   ftruncate(fd, 0) == 0
               ? 0
               : -1;
}

static void
unpack(struct child *c, size_t len)
{
    struct unpack u = { .rest = str_of(packet, len) };

    memcpy(c->output.fds, c->fds, sizeof(c->fds));
    if (speech_unpack_request(&u, &c->request) == -1 || take_text(c) == -1) {
        say_taken(c, 0);
        fail(c, 400, "", "the request makes no sense");
    }
    c->output.buffer = c->request.buffer;
    c->output.stream = c->request.stream;
}

static void
tell_zygote(const struct child *c)
{
    int32_t self = getpid();

    (void)!write(c->options->taken, &self, sizeof(self));
    close(c->options->taken);
    close(SPEECH_WORK);
}

/* The zygote may have ended before it could take this child with it. */
static void
die_with_zygote(const struct child_options *o)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != o->zygote) {
        _exit(EXIT_FAILURE);
    }
}

static void
reset_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

void
child_run(const struct child_options *o)
{
    static struct child child;
    struct child *c = &child;
    ssize_t n;

    c->options = o;
    die_with_zygote(o);
    reset_signals();
    n = take_packet(c);
    if (n == 0) {
        _exit(EXIT_SUCCESS);
    }
    c->taken_us = clock_us();
    tell_zygote(c);
    if (n == -1) {
        _exit(EXIT_FAILURE);
    }
    unpack(c, (size_t)n);
    prepare_last_words(c);
    set_limits(o);
    limit(RLIMIT_FSIZE, c->request.buffer + FILE_SLACK,
          c->request.buffer + FILE_SLACK);
    if (c->request.format == SPEECH_TIMINGS) {
        answer_with_times(c);
    }
    answer_with_sound(c);
}
