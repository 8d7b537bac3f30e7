/*
 * From what a client sends to a struct speech_request.
 *
 * The body of POST / is JSON; the query of GET / has the same fields as texts.
 * Each mistake names its field, its value and what is allowed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_ASK_H
#define MODULES_TTS_ASK_H

#include "tts.h"

struct ask_error {
    int status;        /* 400 or 413 */
    const char *field; /* static; "": the body as a whole */
    struct errmsg message;
};

/* The defaults of an instance: a request without text. */
void ask_defaults(const struct tts_instance *i, struct speech_request *out);
/* The fields of a JSON body; texts lie in the pool.  -1 with err. */
int ask_json(struct pool *pool, const struct tts_instance *i, struct str body,
             struct speech_request *out, struct ask_error *err);
/* The fields of a query. */
int ask_query(struct http_request *r, const struct tts_instance *i,
              struct speech_request *out, struct ask_error *err);
/* A text that came any other way: bounds, UTF-8, controls.  Sets out->text. */
int ask_text(struct pool *pool, const struct tts_instance *i, struct str text,
             struct speech_request *out, struct ask_error *err);

/* layer.c: asks the speaker for `ask` and answers r with what comes; calls
 * `fail` for the body of an error where it is not NULL (OpenAI's form). */
struct speech_client; /* a request of r that is under way */
enum http_result layer_say(struct http_request *r, const struct tts_instance *i,
                           const struct speech_request *ask,
                           void (*fail)(struct http_request *r,
                                        const struct speech_answer *a));
/* An error of the module's form: JSON with message, field, status. */
enum http_result layer_refuse(struct http_request *r, int status,
                              const char *field, const char *message);

#endif
