/*
 * Fuzz target: frames that a client sends on a WebSocket.
 *
 * The first byte says whether permessage-deflate was granted, whether the
 * session echoes, and in how many pieces the rest comes.  Whatever the bytes
 * say, no message is longer than the most, each text is UTF-8, and the session
 * ends once when its peer has gone.
 *
 * covers: src/ws/receive.c
 * covers: src/ws/deflate.c:ws_inflate,inflate_all,inflater_of
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <sys/socket.h>

#include "base/utf8.h"
#include "ws/ws.h"

#define MESSAGE_MAX 5000
#define TURNS 1000

enum { DEFLATED = 1, ECHOES = 2, SLOWLY = 4 };

static struct {
    struct loop *loop;
    struct ws_host *host;
} process;

struct session {
    struct ws *w;
    bool echo;
    int closes;
};

static void
on_message(void *arg, struct str data, bool binary)
{
    struct session *s = arg;
    struct ws_frame *f;

    require(data.len <= MESSAGE_MAX);
    require(binary || utf8_valid(data));
    if (!s->echo) {
        return;
    }
    f = ws_frame_new(data.len, binary);
    require(f != NULL);
    memcpy(f->data, data.ptr, data.len);
    ws_send(s->w, f);
    ws_frame_let_go(&f);
}

static void
on_room(void *arg)
{
    (void)arg;
}

static void
on_close(void *arg, unsigned code, struct str reason)
{
    struct session *s = arg;

    require(code >= 1000 && code < 5000 && utf8_valid(reason));
    s->closes++;
}

static const struct ws_handlers handlers = { .on_message = on_message,
                                             .on_room = on_room,
                                             .on_close = on_close };

static void
start(void)
{
    const struct ws_limits limits = { .connections = 10,
                                      .deflated = 10,
                                      .unfinished = MESSAGE_MAX };
    struct errmsg err;

    if (process.loop == NULL) {
        process.loop = loop_new(&err);
        require(process.loop != NULL);
        process.host = ws_host_new(process.loop, &limits);
        require(process.host != NULL);
    }
}

/* Returns the peer's end. */
static int
open_session(struct session *s, bool deflated)
{
    static const struct conn_limits limits = { .in_limit = 65536,
                                               .out_limit = 65536 };
    static const struct conn_handlers none;
    const struct ws_handshake h = { .key = STR("dGhlIHNhbXBsZSBub25jZQ=="),
                                    .deflate = deflated,
                                    .message_max = MESSAGE_MAX,
                                    .deflate_from = 100 };
    struct conn_socket socket = { .peer = { .family = AF_UNIX },
                                  .local = { .family = AF_UNIX } };
    struct errmsg err;
    struct conn *c;
    int pair[2];

    require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    socket.fd = pair[0];
    c = conn_new(process.loop, &socket, &none, NULL, &limits);
    require(c != NULL);
    s->w = ws_adopt(process.host, c, &h, &handlers, s, &err);
    require(s->w != NULL);
    return pair[1];
}

static void
say(int peer, struct str bytes, bool slowly)
{
    char answer[65536];

    while (bytes.len > 0) {
        size_t n = slowly ? 1 + bytes.len / 7 : bytes.len;
        ssize_t sent = send(peer, bytes.ptr, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent <= 0) {
            return; /* it is over */
        }
        bytes = str_skip(bytes, (size_t)sent);
        loop_turn(process.loop, 0);
        while (recv(peer, answer, sizeof(answer), MSG_DONTWAIT) > 0) {
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    unsigned how = take_byte(&input);
    struct session s = { .echo = (how & ECHOES) != 0 };
    int peer;

    start();
    peer = open_session(&s, (how & DEFLATED) != 0);
    say(peer, input, (how & SLOWLY) != 0);
    loop_turn(process.loop, 0);
    close(peer);
    for (int i = 0; s.closes == 0; i++) {
        require(i < TURNS);
        loop_turn(process.loop, 10);
    }
    loop_turn(process.loop, 0);
    require(s.closes == 1);
    return 0;
}
