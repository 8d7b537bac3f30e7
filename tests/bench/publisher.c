/*
 * Publishers on one epoll loop, each message sent when its time has come.
 *
 * Streams begin evenly spread over one GOP, so that their key frames do not
 * coincide. What a socket does not take waits, up to a bound; beyond it
 * messages are left out and counted, and players will see the gap.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "publisher.h"

#include "amf.h"
#include "common.h"
#include "console.h"
#include "histogram.h"
#include "rtmp_client.h"
#include "schedule.h"
#include "source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_SIZE = 1 << 16,
    EVENTS = 256,
    MAX_PENDING = 8 << 20, /* bytes a socket may be behind */
};

struct publisher {
    struct rtmp_client client;
    struct cursor cursor;
    struct studio *studio; /* borrowed */
    int fd;                /* -1: lost */
    bool connected;
    bool started;
    int64_t start;    /* its stream's time 0 */
    uint8_t *pending; /* owned; what the socket did not take */
    size_t pending_size;
    size_t pending_sent;
};

struct studio {
    const struct options *options; /* borrowed */
    struct target target;
    struct source *source; /* owned */
    struct console console;
    struct schedule schedule;
    struct publisher *publishers; /* owned */
    unsigned opened;
    unsigned started;
    unsigned lost;
    int epoll;
    int64_t began;
    bool ready;
    bool stop;
    uint8_t *body;  /* owned; one message */
    uint8_t *chunk; /* owned; the same in chunks */
    uint64_t bytes;
    uint64_t messages;
    uint64_t left_out;
    struct histogram late; /* how late messages were made */
    char why[160];
};

static void
lose(struct publisher *p, const char *why)
{
    struct studio *studio = p->studio;

    warn("stream %u: %s", p->cursor.stream, why);
    if (studio->why[0] == '\0') {
        snprintf(studio->why, sizeof(studio->why), "%s", why);
    }
    close(p->fd);
    p->fd = -1;
    studio->lost++;
}

static int
watch(struct publisher *p, int operation, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = p };

    return epoll_ctl(p->studio->epoll, operation, p->fd, &event);
}

/* Keeps what the socket did not take. */
static void
keep(struct publisher *p, const uint8_t *bytes, size_t n)
{
    if (p->pending_size == 0) {
        watch(p, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    }
    p->pending = mem_grow(p->pending, p->pending_size + n);
    put_bytes(p->pending + p->pending_size, bytes, n);
    p->pending_size += n;
}

static void
transmit(struct publisher *p, const uint8_t *bytes, size_t n)
{
    ssize_t sent = 0;

    if (p->pending_size == 0) {
        sent = send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (p->pending_size - p->pending_sent > MAX_PENDING) {
        p->studio->left_out++;
        return;
    }
    if (sent == -1 && errno != EAGAIN) {
        lose(p, strerror(errno));
        return;
    }
    sent = sent == -1 ? 0 : sent;
    p->studio->bytes += n;
    if ((size_t)sent < n) {
        keep(p, bytes + sent, n - (size_t)sent);
    }
}

static void
flush(struct publisher *p)
{
    ssize_t sent =
        send(p->fd, p->pending + p->pending_sent,
             p->pending_size - p->pending_sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (sent == -1) {
        if (errno != EAGAIN) {
            lose(p, strerror(errno));
        }
        return;
    }
    p->pending_sent += (size_t)sent;
    if (p->pending_sent == p->pending_size) {
        mem_drop(&p->pending);
        p->pending_size = 0;
        p->pending_sent = 0;
        watch(p, EPOLL_CTL_MOD, EPOLLIN);
    }
}

static void
send_message(struct publisher *p, uint32_t csid, enum rtmp_type type,
             uint32_t timestamp, struct blob body)
{
    struct rtmp_head head = {
        .csid = csid,
        .type = type,
        .msid = p->client.msid,
        .timestamp = timestamp,
    };
    uint8_t *chunk = p->studio->chunk;
    uint8_t *end =
        rtmp_put(chunk, &head, body.bytes, body.size, p->client.chunk_size);

    transmit(p, chunk, (size_t)(end - chunk));
}

static void
send_metadata(struct publisher *p)
{
    struct studio *studio = p->studio;
    struct blob properties = source_metadata(studio->source);
    uint8_t *b = amf_put_string(studio->body, "@setDataFrame");

    if (properties.size == 0) {
        return;
    }
    b = amf_put_string(b, "onMetaData");
    b = put_bytes(b, properties.bytes, properties.size);
    send_message(p, CSID_DATA, RTMP_DATA, 0,
                 (struct blob){ studio->body, (size_t)(b - studio->body) });
}

/* The server has accepted the stream: sends what comes first. */
static void
start(struct publisher *p)
{
    struct studio *studio = p->studio;
    const struct options *o = studio->options;
    struct blob video = source_video_header(studio->source);
    struct blob audio = source_audio_header(studio->source);

    p->started = true;
    studio->started++;
    send_metadata(p);
    if (video.size > 0 && p->fd != -1) {
        send_message(p, CSID_VIDEO, RTMP_VIDEO, 0, video);
    }
    if (audio.size > 0 && p->fd != -1) {
        send_message(p, CSID_AUDIO, RTMP_AUDIO, 0, audio);
    }
    if (p->fd == -1) {
        return;
    }
    p->start = now_ns() + o->gop * NS_PER_S / o->streams * p->cursor.stream;
    schedule_add(&studio->schedule, p->start, p->cursor.stream);
}

static void
send_next(struct publisher *p)
{
    struct studio *studio = p->studio;
    struct frame f;

    if (p->fd == -1) {
        return;
    }
    histogram_add(&studio->late, now_ns() - p->start - cursor_due(&p->cursor));
    cursor_take(&p->cursor, studio->body, &f);
    studio->messages++;
    send_message(p, f.kind == MEDIA_VIDEO ? CSID_VIDEO : CSID_AUDIO,
                 f.kind == MEDIA_VIDEO ? RTMP_VIDEO : RTMP_AUDIO, f.timestamp,
                 (struct blob){ studio->body, f.size });
    schedule_add(&studio->schedule, p->start + cursor_due(&p->cursor),
                 p->cursor.stream);
}

static void
open_publisher(struct studio *studio, unsigned number)
{
    struct publisher *p = &studio->publishers[number];

    p->studio = studio;
    cursor_init(&p->cursor, studio->source, number);
    p->client.role = ROLE_PUBLISH;
    p->client.target = &studio->target;
    p->client.stream = number;
    p->client.chunk_size = studio->options->chunk_size;
    rtmp_client_init(&p->client);
    p->fd = target_connect(&studio->target, false);
    if (p->fd == -1 || watch(p, EPOLL_CTL_ADD, EPOLLOUT) == -1) {
        lose(p, strerror(errno));
    }
}

static void
connected(struct publisher *p)
{
    int error = 0;
    socklen_t size = sizeof(error);

    p->connected = true;
    getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        lose(p, strerror(error));
    } else if (rtmp_client_start(&p->client, p->fd) == -1) {
        lose(p, p->client.why);
    } else if (watch(p, EPOLL_CTL_MOD, EPOLLIN) == -1) {
        lose(p, strerror(errno));
    }
}

static void
receive(struct publisher *p)
{
    uint8_t buffer[READ_SIZE];
    ssize_t n = recv(p->fd, buffer, sizeof(buffer), MSG_DONTWAIT);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        lose(p, n == 0 ? "closed by the server" : strerror(errno));
    } else if (rtmp_client_feed(&p->client, buffer, (size_t)n) == -1) {
        lose(p, p->client.why);
    } else if (p->client.state == RTMP_RUNNING && !p->started) {
        start(p);
    }
}

static void
handle(struct studio *studio, const struct epoll_event *event)
{
    struct publisher *p = event->data.ptr;

    if (p == NULL) {
        studio->stop |= console_read(&studio->console) == ORDER_STOP;
        return;
    }
    if (p->fd == -1) {
        return;
    }
    if (!p->connected) {
        connected(p);
        return;
    }
    if ((event->events & (uint32_t)~EPOLLOUT) != 0) {
        receive(p);
    }
    if (p->fd != -1 && p->pending_size > 0) {
        flush(p);
    }
}

/* Sleeps until something is due or happens, at most 50 ms. */
static int
wait(struct studio *studio, struct epoll_event *events)
{
    int64_t left = schedule_first(&studio->schedule) - now_ns();

    left = left < 0 ? 0 : left;
    left = left > 50 * NS_PER_MS ? 50 * NS_PER_MS : left;
    struct timespec timeout = { .tv_nsec = (long)left };

    return epoll_pwait2(studio->epoll, events, EVENTS, &timeout, NULL);
}

static void
announce(struct studio *studio)
{
    if (!studio->ready &&
        studio->started + studio->lost == studio->options->streams) {
        studio->ready = true;
        studio->began = now_ns();
        console_say("ready");
    }
}

static void
loop(struct studio *studio)
{
    const struct options *o = studio->options;
    int64_t length = o->duration > 0 ? (int64_t)(o->duration * 1e9) : INT64_MAX;
    struct epoll_event events[EVENTS];

    while (!studio->stop && !console_signalled()) {
        int n = wait(studio, events);

        while (schedule_first(&studio->schedule) <= now_ns()) {
            send_next(&studio->publishers[schedule_take(&studio->schedule)]);
        }
        for (int i = 0; i < n; i++) {
            handle(studio, &events[i]);
        }
        if (studio->opened < o->streams) {
            open_publisher(studio, studio->opened++);
        }
        announce(studio);
        if (studio->ready && now_ns() - studio->began >= length) {
            return;
        }
    }
}

static void
report(const struct studio *studio)
{
    double wall = (double)(now_ns() - studio->began) / 1e9;

    printf(studio->options->json
               ? "{\"streams\":%u,\"lost\":%u,\"seconds\":%.3f,"
                 "\"cpu_seconds\":%.3f,\"bytes\":%" PRIu64
                 ",\"messages\":%" PRIu64 ",\"left_out\":%" PRIu64
                 ",\"late_ms\":{\"p50\":%.3f,\"p99\":%.3f}}\n"
               : "streams    %u, %u lost, %.1f s\n"
                 "own CPU    %.2f s\n"
                 "sent       %" PRIu64 " bytes, %" PRIu64 " messages, %" PRIu64
                 " left out\n"
                 "late       p50 %.3f ms, p99 %.3f ms\n",
           studio->options->streams, studio->lost, wall, (double)cpu_ns() / 1e9,
           studio->bytes, studio->messages, studio->left_out,
           histogram_ms(&studio->late, 0.5), histogram_ms(&studio->late, 0.99));
    fflush(stdout);
}

static void
close_all(struct studio *studio)
{
    for (unsigned i = 0; i < studio->opened; i++) {
        struct publisher *p = &studio->publishers[i];

        if (p->fd != -1) {
            close(p->fd);
        }
        rtmp_client_clear(&p->client);
        mem_drop(&p->pending);
    }
    close(studio->epoll);
    schedule_clear(&studio->schedule);
    mem_drop(&studio->publishers);
    mem_drop(&studio->body);
    mem_drop(&studio->chunk);
    source_free(studio->source);
}

int
publisher_run(const struct options *o)
{
    struct studio *studio = mem_new(1, sizeof(*studio));

    raise_file_limit();
    studio->options = o;
    target_parse(&studio->target, o->url);
    studio->source = o->file != NULL
                         ? source_file(o->file)
                         : source_synthetic(o->bitrate, o->fps, o->gop);
    size_t room = source_room(studio->source) + 8192;

    studio->body = mem_new(room, 1);
    studio->chunk = mem_new(rtmp_room(room, o->chunk_size), 1);
    studio->publishers = mem_new(o->streams, sizeof(*studio->publishers));
    schedule_init(&studio->schedule, o->streams);
    studio->epoll = epoll_create1(EPOLL_CLOEXEC);
    studio->began = now_ns();
    console_open(&studio->console, o->control, studio->epoll);
    loop(studio);
    report(studio);
    int status = studio->lost > 0 ? 1 : 0;

    close_all(studio);
    mem_drop(&studio);
    return status;
}
