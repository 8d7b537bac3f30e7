/*
 * The HTTP side of a worker.
 *
 *   layer.c   routes, the list of voices, errors
 *   answer.c     a request for speech, until its answer is sent
 *   openai.c  the routes and errors of another API
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_LAYER_H
#define MODULES_TTS_LAYER_H

#include "ask.h"

/* Sends an error's body in another form than the usual one. */
typedef enum http_result layer_fail(struct http_request *r, int status,
                                    struct str field, struct str message);

/* ---- layer.c ---- */

/* Of the state that a handler is handed. */
const struct tts_instance *layer_instance(const void *state);
/* Sends JSON with message, field (may be empty) and status: a layer_fail. */
layer_fail layer_send_error;
http_error_body layer_error_body; /* of the module */
/* Counts a request that never comes to the speaker, as far as it was read, and
 * notes it for the access log. */
void layer_note_refusal(struct http_request *r,
                        const struct speech_request *ask,
                        const struct ask_error *err);
/* Asks the speaker for the list of voices.  When the handler runs again,
 * layer_voices() returns it, or the newest that there was, JSON in the
 * request's pool, and sets *tag.  Until then, or without one, it returns
 * nothing and sets *result to what the handler returns.  state: as the
 * handler's. */
struct str layer_voices(struct http_request *r, const void *state,
                        layer_fail *fail, struct str *tag,
                        enum http_result *result);

/* ---- answer.c ---- */

/* Asks the speaker, and answers r with what comes.  The texts of ask live as
 * long as the call. */
enum http_result answer_begin(struct http_request *r,
                              const struct tts_instance *i,
                              const struct speech_request *ask,
                              layer_fail *fail);
/* The handler runs again, r->context being set. */
enum http_result answer_go_on(struct http_request *r);
/* Seconds for Retry-After while no speaker answers. */
int64_t answer_retry_after(void);

/* ---- openai.c ---- */

/* An error's body as clients of that API read it. */
void openai_write_error(struct buf *b, int status, struct str field,
                        struct str message);
/* Whether the path below the location is one of that API. */
bool openai_is_path(struct str route_path);

#endif
