/*
 * The handshake (RFC 6455 4.2.2), and all connections of the process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws/ws_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "net/sha256.h"

/* Stands behind the client's key in what is digested. */
static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

#define KEY_MAX 64     /* characters of a key; the worker has judged it */
#define ANSWER_MAX 256 /* bytes of ours */

/* ---- the handshake ---- */

static void
accept_text(struct str key, char out[BASE64_ROOM(DIGEST_SHA1)])
{
    char both[KEY_MAX + sizeof(guid)];
    uint8_t digest[DIGEST_SHA1];
    size_t n = str_copy(both, KEY_MAX, key);

    memcpy(both + n, guid, sizeof(guid) - 1);
    digest_sha1(both, n + sizeof(guid) - 1, digest);
    base64_encode(BASE64, digest, sizeof(digest), out);
}

static int
say_switching(struct ws *w, struct str key)
{
    char text[BASE64_ROOM(DIGEST_SHA1)], answer[ANSWER_MAX];
    int n;

    accept_text(key, text);
    n = snprintf(answer, sizeof(answer),
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
                 text,
                 w->deflated ? "Sec-WebSocket-Extensions: "
                               "permessage-deflate\r\n"
                             : "");
    return conn_write(w->conn, answer, (size_t)n);
}

static struct ws *
new_ws(struct ws_host *host, struct conn *c, const struct ws_handshake *h)
{
    struct ws *w = mem_zero(sizeof(*w));

    w->host = host;
    w->conn = c;
    w->message_max = h->message_max;
    w->deflate_from = h->deflate_from;
    w->deflated = h->deflate && host->deflated < host->limits.deflated;
    ws_init(w);
    list_append(&host->all, &w->link);
    host->count++;
    host->deflated += w->deflated;
    return w;
}

static const struct conn_handlers nobody;

static struct ws *
refuse(struct conn *c, const struct errmsg *err)
{
    conn_set_handlers(c, &nobody, NULL);
    conn_close(c, err->text);
    return NULL;
}

bool
ws_host_is_full(const struct ws_host *host)
{
    return host->count >= host->limits.connections;
}

struct ws *
ws_adopt(struct ws_host *host, struct conn *c, const struct ws_handshake *h,
         const struct ws_handlers *handlers, void *arg, struct errmsg *err)
{
    struct ws *w;

    if (ws_host_is_full(host)) {
        errmsg_set(err, "there are %zu WebSockets, and may be no more",
                   host->count);
        return refuse(c, err);
    }
    w = new_ws(host, c, h);
    if (say_switching(w, h->key) == -1) {
        errmsg_set(err, "the connection ended within the handshake");
        ws_free(w);
        return refuse(c, err);
    }
    conn_set_handlers(c, &ws_conn_handlers, w);
    ws_set_handlers(w, handlers, arg);
    loop_later(host->loop, &w->act);
    return w;
}

/* ---- all of them ---- */

struct ws_host *
ws_host_new(struct loop *l, const struct ws_limits *limits)
{
    struct ws_host *h = mem_zero(sizeof(*h));

    h->loop = l;
    h->limits = *limits;
    list_init(&h->all);
    return h;
}

void
ws_host_free(struct ws_host **host)
{
    struct ws_host *h = *host;

    *host = NULL;
    if (h == NULL) {
        return;
    }
    LIST_EACH (node, &h->all) {
        conn_close(LIST_ITEM(node, struct ws, link)->conn, "weir stops");
    }
    ws_deflater_free(&h->deflater);
    mem_free(&h);
}
