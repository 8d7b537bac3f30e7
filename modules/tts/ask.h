/*
 * From what a client sends to a struct speech_request.
 *
 * The body of POST / is JSON; the query of GET / has the same fields as texts.
 * Each mistake names its field, its value and what is allowed.  Fields that are
 * not known are ignored, and null is as if the field was not there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_ASK_H
#define MODULES_TTS_ASK_H

#include "tts.h"

struct json_reader; /* json/read.h */
struct json_value;

struct ask_error {
    int status;        /* 400 or 413 */
    const char *field; /* static; "": the body as a whole */
    struct errmsg message;
};

/* The defaults of an instance: a request without text.  The speaker knows its
 * voice and variant. */
void ask_defaults(const struct tts_instance *i, struct speech_request *out);
/* The fields of a JSON body; texts lie in the pool.  -1 with err. */
int ask_json(struct pool *pool, const struct tts_instance *i,
             struct json_reader *body, struct speech_request *out,
             struct ask_error *err);
/* The fields of a query. */
int ask_query(struct http_request *r, const struct tts_instance *i,
              struct speech_request *out, struct ask_error *err);
/* A text that came any other way: bounds, UTF-8, controls.  Sets out->text,
 * which is text itself or lies in the pool. */
int ask_text(struct pool *pool, const struct tts_instance *i, struct str text,
             struct speech_request *out, struct ask_error *err);

/* Reads a body that has to be a JSON object.  NULL with err. */
const struct json_value *ask_body(struct json_reader *body,
                                  struct ask_error *err);
/* Sets err: the value of a field is not what it must be, for example "a number
 * from 0 to 1".  Returns -1. */
int ask_refuse(struct ask_error *err, const char *field, const char *must,
               const struct json_value *value);
/* A voice or variant cut to what a request may hold; no name of the catalogue
 * is as long, so that a cut one is as unknown as the whole. */
struct str ask_name(struct str name);

/* Of a request that may not be read to its end. */
enum tts_voice_class ask_voice_class(const struct speech_request *ask);

/* "wav": of a format; NULL behind the last one that clients may name. */
const char *ask_format_name(enum speech_format f);
/* Whether weir was built with the library that makes it. */
bool ask_format_is_built(enum speech_format f);
/* "audio/wav"; of SPEECH_TIMINGS "application/json". */
const char *ask_format_type(enum speech_format f);

#endif
