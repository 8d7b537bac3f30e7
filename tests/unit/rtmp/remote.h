/*
 * For the tests of the client: its owner, and a remote that says what a test
 * wants it to.
 *
 * The remote uses what peer.h has for a client of the server: peer.fd is its
 * end of the socket pair, peer.heard what the client said to it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_RTMP_REMOTE_H
#define UNIT_RTMP_REMOTE_H

#include "peer.h"
#include "rtmp/client.h"

/* ---- the owner ---- */

static struct {
    struct text told;
    struct rtmp_client *client; /* NULL once it is over */
    struct rtmp_client_settings settings;
    struct rtmp_login login;
    struct rtmp_wanted wanted;
    enum rtmp_client_fate fate;
    char reason[512];
    int closes;
    uint32_t stream_id;
    bool close_when_ready, close_when_media;
    bool through_say;
    bool refuse_words;
    int socket_type; /* 0: the one that keeps packets */
} owner;

static inline void
owner_ready(struct rtmp_client *c, uint32_t stream_id)
{
    note(&owner.told, "ready %u;", stream_id);
    owner.stream_id = stream_id;
    if (owner.close_when_ready) {
        rtmp_client_close(c, "not wanted");
    }
}

static inline void
owner_media(struct rtmp_client *c, enum media_type type, uint32_t timestamp,
            const uint8_t *payload, size_t len)
{
    note(&owner.told, "media %u %u %zu %02x;", (unsigned)type, timestamp, len,
         len > 0 ? payload[0] : 0);
    if (owner.close_when_media) {
        rtmp_client_close(c, "enough");
    }
}

static inline void
owner_status(struct rtmp_client *c, enum rtmp_client_event event,
             const char *words)
{
    static const char *const names[] = { "stopped", "started", "told" };

    (void)c;
    note(&owner.told, "%s %s;", names[event], words);
}

static inline void
owner_writable(struct rtmp_client *c)
{
    (void)c;
    note(&owner.told, "writable;");
}

static inline int
owner_say(struct rtmp_client *c, const void *data, size_t n)
{
    owner.through_say = true;
    return owner.refuse_words ? -1 : conn_write(rtmp_client_conn(c), data, n);
}

static inline void
owner_close(struct rtmp_client *c, enum rtmp_client_fate fate,
            const char *reason)
{
    if (c != owner.client || rtmp_client_arg(c) != &owner) {
        abort();
    }
    owner.client = NULL;
    owner.closes++;
    owner.fate = fate;
    snprintf(owner.reason, sizeof(owner.reason), "%s", reason);
}

static const struct rtmp_client_handlers owner_handlers = {
    .on_ready = owner_ready,
    .on_media = owner_media,
    .on_status = owner_status,
    .on_writable = owner_writable,
    .say = owner_say,
    .on_close = owner_close,
};

/* ---- life ---- */

/* A new connection of the owner to the remote; the old one is closed. */
static inline int
connect_again(void)
{
    static const struct addr nobody = { .family = AF_UNIX };
    struct errmsg err;
    int fds[2];

    rtmp_client_close_all("another connection");
    owner.closes = 0;
    int type = owner.socket_type != 0 ? owner.socket_type : SOCK_SEQPACKET;

    if (socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, fds) != 0) {
        return -1;
    }
    if (peer.fd >= 0) {
        close(peer.fd);
    }
    peer.fd = fds[1];
    peer.closed = false;
    chunk_reader_clear(&peer.reader);
    chunk_reader_init(&peer.reader, 1 << 20, 1 << 20);
    forget(&peer.heard);
    owner.client = rtmp_client_new(
        peer.loop, &owner.wanted, &owner_handlers, &owner,
        &(struct conn_socket){ .fd = fds[0], .peer = nobody, .local = nobody },
        &err);
    return owner.client != NULL ? 0 : -1;
}

static inline void
wish(bool publish)
{
    owner.settings = (struct rtmp_client_settings){
        .chunk_size = 60000,
        .window_ack = 2500000,
        .handshake_timeout = 600000,
        .connect_timeout = 600000,
        .answer_timeout = 600000,
        .idle = 600000,
        .ping_timeout = 600000,
        .send_timeout = 600000,
        .max_message = 1 << 20,
        .max_memory = 2 << 20,
    };
    owner.wanted = (struct rtmp_wanted){
        .settings = &owner.settings,
        .publish = publish,
        .origin = STR("rtmp://h:1935"),
        .app = STR("live"),
        .name = STR("movie"),
        .args = STR("k=v"),
        .user = STR_NONE,
        .password = STR_NONE,
        .login = &owner.login,
        .flash_ver = STR_NONE,
        .page_url = STR_NONE,
        .swf_url = STR_NONE,
        .node = STR_NONE,
    };
}

static inline int
start_client(bool publish)
{
    struct errmsg err;

    memset(&owner, 0, sizeof(owner));
    memset(&peer, 0, sizeof(peer));
    memset(&app, 0, sizeof(app));
    forget(&logged);
    log_set(LOG_INFO, LOG_TEXT);
    log_set_sink(drop_log, &logged);
    buf_init(&wire, 4 << 20);
    buf_init(&peer.body, 1 << 20);
    peer.amf.b = &peer.body;
    peer.fd = -1;
    peer.loop = loop_new(&err);
    wish(publish);
    return connect_again();
}

static inline int
start_publish(void **state)
{
    (void)state;
    return start_client(true);
}

static inline int
start_play(void **state)
{
    (void)state;
    return start_client(false);
}

static inline int
stop_client(void **state)
{
    (void)state;
    rtmp_client_close_all("the test is over");
    loop_turn(peer.loop, 0);
    loop_turn(peer.loop, 0);
    chunk_reader_clear(&peer.reader);
    buf_clear(&wire);
    buf_clear(&peer.body);
    loop_free(&peer.loop);
    close(peer.fd);
    return rtmp_clients() == 0 ? 0 : -1;
}

#define PUBLISH(f) \
    cmocka_unit_test_setup_teardown(f, start_publish, stop_client)
#define PLAY(f) cmocka_unit_test_setup_teardown(f, start_play, stop_client)

/* ---- the remote ---- */

/* Takes C0 C1; what is to be answered is in hello.answer. */
static struct {
    uint8_t ask[HANDSHAKE_ASK], answer[HANDSHAKE_ANSWER];
    uint8_t c2[HANDSHAKE_BLOCK];
    enum handshake_kind kind;
} hello;

static inline void
take_hello(void)
{
    for (size_t i = 0; i < sizeof(hello.answer); i++) {
        hello.answer[i] = (uint8_t)(i * 7 + 3);
    }
    if (recv(peer.fd, hello.ask, sizeof(hello.ask), MSG_DONTWAIT) !=
        HANDSHAKE_ASK) {
        abort(); /* C0 C1 is not one write */
    }
    hello.kind = handshake_answer(hello.ask, hello.answer);
}

/* Sends S0 S1 S2, takes C2 and hears what is behind it. */
static inline void
answer_hello(void)
{
    static uint8_t packet[65536];
    struct errmsg err;

    send(peer.fd, hello.answer, sizeof(hello.answer), MSG_NOSIGNAL);
    loop_turn(peer.loop, 0);
    ssize_t n = recv(peer.fd, packet, sizeof(packet), MSG_DONTWAIT);

    if (n <= HANDSHAKE_BLOCK) {
        peer.closed = n == 0;
        return;
    }
    memcpy(hello.c2, packet, sizeof(hello.c2));
    if (chunk_read(&peer.reader, packet + HANDSHAKE_BLOCK,
                   (size_t)n - HANDSHAKE_BLOCK, hear, NULL,
                   &err) != n - HANDSHAKE_BLOCK) {
        abort();
    }
}

static inline void
shake_hands(void)
{
    take_hello();
    answer_hello();
}

/* name(tid, null, {level, code, description}). */
static inline void
tell(const char *name, double tid, const char *level, const char *code,
     const char *description)
{
    const char *const members[][2] = { { "level", level },
                                       { "code", code },
                                       { "description", description } };
    struct amf_writer *w = command(name, tid);

    amf_put_null(w);
    amf_begin_object(w);
    for (size_t i = 0; i < 3; i++) {
        if (members[i][1] != NULL) {
            amf_put_name(w, str_from(members[i][0]));
            amf_put_string(w, str_from(members[i][1]));
        }
    }
    amf_end_object(w);
    end_command(0);
}

static inline void
accept_connect(void)
{
    tell("_result", 1, "status", "NetConnection.Connect.Success", "well");
}

static inline void
accept_create(double id)
{
    struct amf_writer *w = command("_result", 4);

    amf_put_null(w);
    amf_put_number(w, id);
    end_command(0);
}

/* Up to the command that is to be answered, nothing heard. */
static inline void
get_to_connect(void)
{
    shake_hands();
    forget(&peer.heard);
}

static inline void
get_to_create(void)
{
    get_to_connect();
    accept_connect();
    forget(&peer.heard);
}

static inline void
get_to_wish(void)
{
    get_to_create();
    accept_create(1);
    forget(&peer.heard);
}

static inline void
accept_wish(void)
{
    tell("onStatus", 0, "status",
         owner.wanted.publish ? "NetStream.Publish.Start"
                              : "NetStream.Play.Start",
         "go");
}

static inline void
get_accepted(void)
{
    get_to_wish();
    accept_wish();
    forget(&owner.told);
    forget(&peer.heard);
}

/* Turns the loop until the client is over, at most a minute. */
static inline bool
wait_over(void)
{
    int64_t end = clock_ms() + 60000;

    while (owner.client != NULL && clock_ms() < end) {
        loop_turn(peer.loop, 10);
    }
    return owner.client == NULL;
}

static inline void
assert_over(enum rtmp_client_fate fate, const char *reason)
{
    assert_true(wait_over());
    assert_string_equal(owner.reason, reason);
    assert_int_equal(owner.fate, fate);
    assert_int_equal(owner.closes, 1);
}

#endif
