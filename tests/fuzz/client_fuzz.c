/*
 * Fuzz target: an RTMP client behind its handshake, and a hostile server.
 *
 * The first byte of the input says what the client wants and how its owner
 * behaves, the rest is what the server sends as chunks.  on_close has to come
 * exactly once, nothing after it.
 *
 * covers: src/rtmp/client_command.c src/rtmp/client_message.c
 * covers: src/rtmp/client.c:on_data,read_step,read_hello,check_first_byte
 * covers: src/rtmp/client.c:on_conn_close,keep_wishes,keep,client_say
 * covers: src/rtmp/target.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "rtmp/client.h"
#include "rtmp/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PUBLISHES = 1,
    CLOSES_READY = 2,
    CLOSES_MEDIA = 4,
    HAS_LOGIN = 8,
    IS_RAW = 16
};

static struct {
    struct loop *loop;
    unsigned how; /* bits of the first byte */
    int closes;
} owner;

static void
check_open(void)
{
    if (owner.closes != 0) {
        abort();
    }
}

static void
on_ready(struct rtmp_client *c, uint32_t stream_id)
{
    (void)stream_id;
    check_open();
    if ((owner.how & CLOSES_READY) != 0) {
        rtmp_client_close(c, "not wanted");
    } else {
        rtmp_client_chunk_size(c, 100);
    }
}

static void
on_media(struct rtmp_client *c, enum media_type type, uint32_t timestamp,
         const uint8_t *payload, size_t len)
{
    (void)timestamp;
    check_open();
    media_inspect(type, payload, len);
    if ((owner.how & CLOSES_MEDIA) != 0) {
        rtmp_client_close(c, "enough");
    }
}

static void
on_status(struct rtmp_client *c, enum rtmp_client_event event,
          const char *words)
{
    (void)c;
    (void)event;
    check_open();
    for (const char *p = words; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ') {
            abort();
        }
    }
}

static void
on_writable(struct rtmp_client *c)
{
    (void)c;
    check_open();
}

static int
say(struct rtmp_client *c, const void *data, size_t n)
{
    check_open();
    return conn_write(rtmp_client_conn(c), data, n);
}

static void
on_close(struct rtmp_client *c, enum rtmp_client_fate fate, const char *reason)
{
    (void)c;
    check_open();
    if (rtmp_client_fate_name(fate) == NULL || reason[0] == '\0') {
        abort();
    }
    owner.closes++;
}

static const struct rtmp_client_handlers handlers = {
    .on_ready = on_ready,
    .on_media = on_media,
    .on_status = on_status,
    .on_writable = on_writable,
    .say = say,
    .on_close = on_close,
};

static const struct rtmp_client_settings settings = {
    .chunk_size = 300,
    .window_ack = 4096,
    .handshake_timeout = 1000,
    .connect_timeout = 1000,
    .answer_timeout = 1000,
    .idle = 1000,
    .ping_timeout = 1000,
    .send_timeout = 1000,
    .max_message = 100000,
    .max_memory = 200000,
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

    loop_turn(owner.loop, 0);
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

/* The input as the path of a URL as well: the pieces lie within it. */
static void
split(const uint8_t *data, size_t size)
{
    struct rtmp_target t;
    struct errmsg err;

    if (rtmp_target_split(&t, str_of(data, size), &err) == 0 &&
        t.app.len + t.name.len + t.args.len > size) {
        abort();
    }
}

static void
run(int fds[2], const uint8_t *data, size_t size)
{
    static const struct addr peer = { .family = AF_UNIX };
    uint8_t hello[1 + 2 * 1536] = { 3 };
    struct rtmp_login login = { .step = 0 };
    bool known = (owner.how & HAS_LOGIN) != 0;
    struct rtmp_wanted wanted = {
        .settings = &settings,
        .publish = (owner.how & PUBLISHES) != 0,
        .origin = STR("rtmp://h"),
        .app = STR("live"),
        .name = STR("movie"),
        .args = STR("k=v"),
        .user = known ? STR("user") : STR_NONE,
        .password = known ? STR("password") : STR_NONE,
        .login = &login,
        .flash_ver = STR_NONE,
        .page_url = STR_NONE,
        .swf_url = STR_NONE,
        .node = STR_NONE,
    };
    struct errmsg err;

    if (rtmp_client_new(
            owner.loop, &wanted, &handlers, NULL,
            &(struct conn_socket){ .fd = fds[0], .peer = peer, .local = peer },
            &err) == NULL) {
        abort();
    }
    if ((owner.how & IS_RAW) == 0) { /* else the input is the handshake too */
        send_all(fds[1], hello, sizeof(hello));
    }
    send_all(fds[1], data, size);
    turn(fds[1]);
    rtmp_client_close_all("the end");
    if (owner.closes != 1) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errmsg err;
    int fds[2];

    if (size < 1 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == -1) {
        return 0;
    }
    if (owner.loop == NULL) {
        log_set(LOG_DEBUG, LOG_TEXT);
        log_set_sink(drop_line, NULL);
        owner.loop = loop_new(&err);
    }
    owner.how = data[0];
    owner.closes = 0;
    split(data + 1, size - 1);
    run(fds, data + 1, size - 1);
    loop_turn(owner.loop, 0);
    loop_turn(owner.loop, 0);
    close(fds[1]);
    if (rtmp_clients() != 0) {
        abort();
    }
    return 0;
}
