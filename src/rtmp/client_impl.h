/*
 * The inside of a client, for the files of this folder.
 *
 *   client.c          its life: bytes, time, the end
 *   client_message.c  whole messages of the remote
 *   client_command.c  its commands, and the remote's answers
 *   login.c           answers to a server that wants a login
 *
 * A client that is over (on_close was called) lives on until its connection has
 * sent the farewell, and in memory up to the end of the loop's turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_CLIENT_IMPL_H
#define RTMP_CLIENT_IMPL_H

#include "base/list.h"
#include "rtmp/channel.h"
#include "rtmp/client.h"
#include "rtmp/handshake.h"

enum client_phase {
    CLIENT_HELLO,   /* waits for S0 S1 S2 */
    CLIENT_CONNECT, /* waits for the answer to connect */
    CLIENT_STREAM,  /* waits for the answer to createStream */
    CLIENT_ACCEPT,  /* waits for the answer to publish or play */
    CLIENT_READY,
};

struct rtmp_client {
    struct list link;  /* in the process's list of clients */
    struct loop *loop; /* borrowed, as the next four */
    const struct rtmp_client_settings *settings;
    const struct rtmp_client_handlers *handlers;
    void *arg;
    struct rtmp_login *login; /* NULL: there is none */
    struct channel ch;
    struct timer timer;
    struct later destroy;
    uint8_t *ask;          /* owned: C0 C1, as long as it is unanswered */
    char *text;            /* owned: the texts below point into it */
    struct str origin;     /* "rtmp://host:1935" */
    struct str app;        /* with its own arguments */
    struct str name, args; /* within full */
    struct str full;       /* "name?args" */
    struct str user, password;
    struct str flash_ver, page_url, swf_url, node;
    int64_t since_ms;   /* when the phase began (STREAM and ACCEPT are one) */
    uint32_t stream_id; /* 0: not created */
    uint8_t phase;      /* enum client_phase */
    bool publish;
    bool stopped; /* the stream that is played is not there now */
    bool pinged;  /* at least once */
    bool answers; /* the remote has answered a ping */
    bool mute;    /* a ping was not, though it may be well */
    bool checked; /* _checkbw was said */
    bool over;    /* on_close was called */
    bool closed;  /* the connection is */
};

void client_set_phase(struct rtmp_client *c, enum client_phase phase);
/* Sends (and clears) the words.  0; -1: the client is over. */
int client_say(struct rtmp_client *c, struct words *w);
/* on_close, then the connection is closed. */
void client_end(struct rtmp_client *c, enum rtmp_client_fate fate,
                const char *reason);
/* Reports once that the played stream has stopped or started. */
void client_stopped(struct rtmp_client *c, bool stopped, const char *words);
const char *client_wish(const struct rtmp_client *c); /* "publish", "play" */

/* ---- client_message.c ---- */

/* A chunk_handler; arg is the client. */
int client_message(void *arg, const struct chunk_message *m);

/* ---- client_command.c ---- */

/* Adds connect behind C2, which is in w already. */
void client_say_connect(struct rtmp_client *c, struct words *w);
void client_say_farewell(struct rtmp_client *c, struct words *w);
/* body: from the command's name on, without an AMF3 envelope. */
void client_command(struct rtmp_client *c, struct str body);

#endif
