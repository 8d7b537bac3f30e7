/*
 * Fuzz target: a whole RTMP session behind its handshake.
 *
 * The input is what a client sends as chunks; the application takes, refuses
 * or waits as the first byte says.  Each request must end as often as it
 * began.
 *
 * covers: src/rtmp/session.c:on_data,read_step,read_ask,read_c2,read_chunks
 * covers: src/rtmp/session.c:refuse_bytes,acknowledge,on_close,session_say
 * covers: src/rtmp/command.c src/rtmp/connect.c
 * covers: src/rtmp/netstream.c src/rtmp/message.c
 * covers: src/rtmp/aggregate.c:next_part,too_many,walk,on_aggregate,parts_read
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "rtmp/rtmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    struct loop *loop;
    struct rtmp_request *waiting;
    unsigned answers; /* bits: what the application says next */
    int open;         /* requests that began and did not end */
} app;

static enum rtmp_result
decide(struct rtmp_request *r, struct rtmp_refusal *no)
{
    unsigned answer = app.answers & 3;
    app.answers = app.answers >> 2 | answer << 30;
    app.open++;
    if (answer == 3) {
        errmsg_set(&no->reason, "no");
        return RTMP_REFUSE;
    }
    if (answer == 2) {
        app.waiting = r;
        return RTMP_WAIT;
    }
    return RTMP_DONE;
}

static enum rtmp_result
on_connect(struct rtmp_request *r, struct rtmp_refusal *no)
{
    (void)no;
    return r->app.len > RTMP_NAME_MAX ? RTMP_REFUSE : RTMP_DONE;
}

static void
on_media(struct rtmp_request *r, enum media_type type, uint32_t timestamp,
         const uint8_t *payload, size_t len)
{
    (void)r;
    (void)timestamp;
    media_inspect(type, payload, len);
}

static void
on_pause(struct rtmp_request *r, bool pause)
{
    (void)pause;
    rtmp_session_control(r, RTMP_STREAM_DRY);
}

static void
on_receive(struct rtmp_request *r, enum media_type type, bool on)
{
    (void)type;
    (void)on;
    rtmp_session_chunk_size(r->session, 100 + r->stream_id);
}

static void
on_writable(struct rtmp_session *s)
{
    (void)s;
}

static void
on_end(struct rtmp_request *r, const char *reason)
{
    (void)reason;
    app.open--;
    if (app.waiting == r) {
        app.waiting = NULL;
    }
}

static int
say(struct rtmp_session *s, const void *data, size_t n)
{
    return conn_write(rtmp_session_conn(s), data, n);
}

static const struct rtmp_handlers handlers = {
    .on_connect = on_connect,
    .on_publish = decide,
    .on_play = decide,
    .on_media = on_media,
    .on_pause = on_pause,
    .on_receive = on_receive,
    .on_writable = on_writable,
    .on_end = on_end,
    .say = say,
};

static const struct rtmp_settings settings = {
    .chunk_size = 300,
    .handshake_timeout = 1000,
    .connect_timeout = 1000,
    .ping_interval = 1000,
    .ping_timeout = 1000,
    .send_timeout = 1000,
    .max_message = 100000,
    .max_memory = 200000,
    .window_ack = 4096,
};

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
turn(int fd)
{
    char answers[65536];
    loop_turn(app.loop, 0);
    if (app.waiting != NULL) {
        struct rtmp_request *r = app.waiting;
        app.waiting = NULL;
        rtmp_session_decide(r, RTMP_DONE, NULL);
        loop_turn(app.loop, 0);
    }
    while (recv(fd, answers, sizeof(answers), MSG_DONTWAIT) > 0) {
    }
}

static void
send_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size < 30000 ? size : 30000,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        data += n;
        size -= (size_t)n;
        turn(fd);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct addr peer = { .family = AF_UNIX };
    uint8_t hello[1 + 2 * 1536] = { 3 };
    struct errmsg err;
    int fds[2];
    if (size < 1 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == -1) {
        return 0;
    }
    if (app.loop == NULL) {
        log_set(LOG_DEBUG, LOG_TEXT);
        log_set_sink(drop_line, NULL);
        app.loop = loop_new(&err);
    }
    app.answers = data[0];
    app.waiting = NULL;
    app.open = 0;
    rtmp_accept(
        app.loop, &settings, &handlers, NULL,
        &(struct conn_socket){ .fd = fds[0], .peer = peer, .local = peer });
    if (data[0] != 0xff) { /* else the input is the handshake too */
        send_all(fds[1], hello, sizeof(hello));
    }
    send_all(fds[1], data + 1, size - 1);
    turn(fds[1]);
    rtmp_close_all("the end");
    loop_turn(app.loop, 0);
    loop_turn(app.loop, 0);
    close(fds[1]);
    if (rtmp_sessions() != 0 || app.waiting != NULL || app.open != 0) {
        abort();
    }
    return 0;
}
