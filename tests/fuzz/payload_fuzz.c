/*
 * Fuzz target: bodies that clients post to an Engine.IO session.
 *
 * Another reader, written the plain way, says which messages the body has and
 * where it goes wrong; the session hears the same ones, and the answer tells
 * the same.  A message in base64, encoded again, is its text.
 *
 * covers: src/sio/engine/packet.c
 * covers: src/sio/engine/session.c:session_take,take_base64,take_pong
 * covers: src/sio/engine/polling.c:post,is_binary
 * covers: src/sio/engine/posting.c:take_some,answer
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../unit/sio/engine_help.h"
#include "base/base64.h"
#include "base/utf8.h"

#define PAYLOAD 4096

enum verdict { TAKEN, CLOSED, WRONG };

static struct str messages[PAYLOAD]; /* with their types */
static size_t due, heard;

static bool
is_base64(struct str s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t pads = str_ends(s, STR("==")) ? 2 : str_ends(s, STR("=")) ? 1 : 0;
    size_t n = s.len - pads;

    for (size_t i = 0; i < n; i++) {
        if (s.ptr[i] == '\0' || strchr(letters, s.ptr[i]) == NULL) {
            return false;
        }
    }
    if (s.len % 4 != 0) {
        return false;
    }
    /* Bits that are left over are 0. */
    return pads == 0 || (n > 0 && (strchr(letters, s.ptr[n - 1]) - letters) %
                                          (pads == 2 ? 16 : 4) ==
                                      0);
}

static enum verdict
judge(struct str packet)
{
    char type = packet.len > 0 ? packet.ptr[0] : '\0';

    if (!utf8_valid(packet)) {
        return WRONG;
    }
    if (type == '1') {
        return CLOSED;
    }
    if (type == 'b' && !is_base64(str_skip(packet, 1))) {
        return WRONG;
    }
    if (type == '4' || type == 'b') {
        messages[due++] = packet;
        return TAKEN;
    }
    return type != '\0' && strchr("0356", type) != NULL ? TAKEN : WRONG;
}

/* The other reader. */
static enum verdict
judge_all(struct str body)
{
    enum verdict v = TAKEN;
    size_t begin = 0;

    due = heard = 0;
    for (size_t i = 0; i <= body.len && v == TAKEN; i++) {
        if (i == body.len || body.ptr[i] == '\x1e') {
            v = judge(str_of(body.ptr + begin, i - begin));
            begin = i + 1;
        }
    }
    return v;
}

static void
hears(struct session *s, struct str data, bool binary)
{
    struct str packet = messages[heard++];
    char *text;

    require(heard <= due && packet.ptr[0] == (binary ? 'b' : '4'));
    if (!binary) {
        require(str_eq(str_skip(packet, 1), data) && utf8_valid(data));
        return;
    }
    text = malloc(BASE64_ROOM(data.len));
    base64_encode(BASE64, (const uint8_t *)data.ptr, data.len, text);
    require(str_eq(str_skip(packet, 1), str_from(text)));
    free(text);
    send_bytes(s, data.ptr, data.len);
}

static const struct engine_protocol hearing = { .on_message = hears };

static void
is_told(struct str body, bool octets, int status)
{
    enum verdict v;

    if (octets || body.len > PAYLOAD) {
        require(status == (octets ? 400 : 413));
        require(heard == 0 && engine_sessions(e) == !octets);
        return;
    }
    v = judge_all(body);
    require(status == (v == WRONG ? 400 : 200));
    require(engine_sessions(e) == (v == TAKEN));
}

static void
post_body(struct str body, bool octets)
{
    static struct client_request q;
    struct engine_request r = request_of("GET", "");
    char id[ENGINE_ID + 1];
    size_t expected;

    r.protocol = &hearing;
    ask(&q, &r);
    require(q.status == 200);
    str_copy(id, sizeof(id), str_from(q.x.session->id));
    r.query.sid = str_from(id);
    r.method = STR("POST");
    r.body = body;
    r.content_type = octets ? STR(" application/octet-stream ;a") : STR("b");
    due = heard = 0;
    if (!octets && body.len <= PAYLOAD) {
        judge_all(body);
    }
    expected = due;
    ask(&q, &r);
    require(heard == expected);
    is_told(body, octets, q.status);
    /* A poll gets what was echoed. */
    r.method = STR("GET");
    ask(&q, &r);
    if (q.status == 0) {
        engine_poll_gone(e, &q.x);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    bool octets = take_byte(&input) == 'o';

    set_up(NULL);
    settings.max_payload = PAYLOAD;
    settings.max_queue = (size_t)1 << 20;
    post_body(input, octets);
    require(tear_down(NULL) == 0);
    return 0;
}
