/*
 * The protocol Wyoming, by which Home Assistant speaks to its engines: events
 * over TCP.
 *
 *   wyoming.c       listeners, and the life of their clients
 *   wyoming_event.c what a client's events do
 *   wyoming_read.c  events from bytes
 *   wyoming_text.c  sentences of a text that comes bit by bit
 *   wyoming_say.c   a synthesis, from the request to its last sample
 *   wyoming_file.c  the bytes of a file in memory, as fast as they are taken
 *   wyoming_info.c  role: the event "info", of the voices there are
 *
 * An event is a line of JSON, {"type", "data", "data_length",
 * "payload_length"}, then data_length bytes of JSON, an object whose members
 * are added to those of "data", then payload_length bytes.  A client sends
 * "describe", "ping", "synthesize", or "synthesize-start" with any number of
 * "synthesize-chunk" and a "synthesize-stop".  It is answered in this order, by
 * "info", "pong", "audio-start", "audio-chunk", "audio-stop",
 * "synthesize-stopped", or "error", after which the connection ends: clients
 * that wait for the end of sound do not look at errors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_WYOMING_H
#define MODULES_TTS_WYOMING_H

#include "catalogue.h"
#include "pipe_reader.h"
#include "tts.h"
#include "json/read.h"

/* ---- wyoming_read.c ---- */

#define WYOMING_PAYLOAD_MAX (1 << 20) /* bytes of one; none of them is kept */

struct wyoming_reader { /* zeros, but for limit, begin a connection */
    size_t limit;       /* bytes of a line and of the data behind it */
    size_t seen;        /* at the front, without the end of a line */
    size_t needed;      /* of the next event, once its line has told it */
    size_t payload;     /* bytes of one that are to be dropped still */
};

struct wyoming_event {
    struct str type;
    const struct json_value *inner; /* "data" of the line; or NULL */
    const struct json_value *outer; /* of the bytes behind it; or NULL */
};

/* Looks at the front of the bytes that are there.  Returns how many of them are
 * done with: 0, more are needed; 1 and more, they are to be taken away, and
 * e->type is not empty if they were an event, whose memory is the pool's.  -1
 * with err: they are none, or too many.  A caller that has been returned 0
 * calls again with the same bytes and some more. */
ssize_t wyoming_read(struct wyoming_reader *r, struct pool *pool,
                     struct str bytes, struct wyoming_event *e,
                     struct errmsg *err);
/* A member of its data; NULL: there is none. */
const struct json_value *wyoming_member(const struct wyoming_event *e,
                                        const char *name);

/* ---- wyoming_text.c ---- */

struct wyoming_scan { /* zeros begin a text, and what is behind a sentence */
    size_t at;        /* bytes before it end no sentence */
    size_t behind;    /* how far the sign there was looked at; 0: not yet */
};

/* How many bytes at the front of the text are a sentence that is finished,
 * whatever else may follow; 0: none.  A caller that has been returned 0 calls
 * again with the same bytes and some more, and with the same scan: it goes on
 * where it stopped. */
size_t wyoming_sentence(struct wyoming_scan *s, struct str text);

/* ---- wyoming_file.c ---- */

struct wyoming_file;

/* As pipe_reader_new(), for `length` bytes of a file in memory. */
struct wyoming_file *wyoming_file_new(struct loop *l, int fd, int64_t length,
                                      const struct pipe_taker *taker,
                                      void *arg);
void wyoming_file_go_on(struct wyoming_file *f);
void wyoming_file_free(struct wyoming_file **f);

/* ---- wyoming_say.c ---- */

struct wyoming_end {
    int status;         /* of HTTP: 200, the sound is whole */
    unsigned rate;      /* Hz; 0: not known */
    struct str message; /* of a failure; borrowed for the call */
};

struct wyoming_taker {
    /* Samples, 16 bit little-endian, cut anywhere.  False: there is no room for
     * more, until wyoming_say_go_on(). */
    bool (*on_sound)(void *arg, unsigned rate, struct str bytes);
    void (*on_end)(void *arg, const struct wyoming_end *end);
};

struct wyoming_say;

struct wyoming_asked { /* borrowed for the call */
    const struct tts_instance *instance;
    struct tally_holder client;
    struct speech_request request;
};

/* Asks the speaker.  Calls come in later turns; each may free it.  NULL with
 * err: no speaker takes it. */
struct wyoming_say *wyoming_say_new(struct loop *l,
                                    const struct wyoming_asked *asked,
                                    const struct wyoming_taker *taker,
                                    void *arg, struct errmsg *err);
void wyoming_say_go_on(struct wyoming_say *s);
/* Ends the synthesis if it goes on still; NULL inside is fine. */
void wyoming_say_free(struct wyoming_say **s);

/* ---- wyoming_event.c ---- */

struct wyoming_client {
    struct list link;                    /* of the server */
    struct wyoming_server *server;       /* borrowed */
    const struct tts_instance *instance; /* borrowed from the settings */
    struct loop *loop;                   /* borrowed */
    struct conn *conn;                   /* its own */
    struct timer idle;
    int64_t since_ms; /* loop_now(): when it was last heard, or answered */
    struct wyoming_reader reader;
    struct wyoming_say *say;   /* owned; NULL: it waits for no sound */
    struct rpc_call *describe; /* owned; NULL: nothing is asked */
    struct wyoming_file *info; /* owned; NULL: none is sent */
    struct buf text;           /* of a stream, not spoken yet */
    struct wyoming_scan scan;  /* of that text */
    char voice[SPEECH_VOICE_MAX + 1], speaker[SPEECH_VOICE_MAX + 1];
    bool streaming; /* between synthesize-start and synthesize-stopped */
    bool stopping;  /* synthesize-stop came */
    bool started;   /* audio-start was sent, audio-stop was not */
    bool halved;    /* half is the first byte of a sample */
    bool ended;     /* it sends nothing more */
    uint8_t half;
};

/* Whether it waits for a sound or a list: none of its events is looked at. */
bool wyoming_is_busy(const struct wyoming_client *c);
/* Does what an event asks for.  False: the connection ends, and c may be gone;
 * this is so wherever the module ends it. */
bool wyoming_do(struct wyoming_client *c, const struct wyoming_event *e);
/* Sends an error and ends the connection. */
void wyoming_fail(struct wyoming_client *c, const char *code, struct str text);
/* The client takes bytes again. */
void wyoming_on_room(struct wyoming_client *c);
/* Gives back what c holds, but for its connection. */
void wyoming_let_go(struct wyoming_client *c);

/* wyoming.c: c waits for nothing any more, and its next events are looked at.
 * Nothing is done with c behind it. */
void wyoming_is_free(struct wyoming_client *c);

/* ---- wyoming_info.c ---- */

#define WYOMING_INFO_MAX (4 << 20) /* bytes */

/* Appends the data of "info", JSON; voice is the instance's.  -1: the buffer's
 * limit was met. */
int wyoming_info(const struct catalogue *c, struct str voice, struct buf *out);
/* Role: answers tts.describe; arg is the struct speaker. */
rpc_handler wyoming_on_describe;

#endif
