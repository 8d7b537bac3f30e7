/*
 * One table has the fields of JSON bodies and of queries.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ask.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json/read.h"

#define SHOWN 60 /* bytes of a value that an error shows */

struct asking {
    struct pool *pool;
    struct speech_request *out;
    struct ask_error *err;
    bool timings; /* instead of sound */
};

/* ---- errors ---- */

static int
refuse(struct ask_error *err, int status, const char *field, const char *text)
{
    err->status = status;
    err->field = field;
    errmsg_set(&err->message, "%s", text);
    return -1;
}

/* A text as it is shown, cut between characters. */
static struct str
shown(struct str s)
{
    return str_first(s, utf8_length(str_first(s, SHOWN)));
}

int
ask_refuse(struct ask_error *err, const char *field, const char *must,
           const struct json_value *value)
{
    static const char *const kinds[] = {
        [JSON_NULL] = "null",       [JSON_BOOL] = "true or false",
        [JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
        [JSON_ARRAY] = "an array",  [JSON_OBJECT] = "an object",
    };
    struct str text = shown(value->text);
    const char *dots = text.len < value->text.len ? "..." : "";

    err->status = 400;
    err->field = field;
    if (value->kind == JSON_STRING) {
        errmsg_set(&err->message, "%s must be %s, not \"%.*s%s\"", field, must,
                   STR_ARGS(text), dots);
    } else if (value->kind == JSON_NUMBER) {
        errmsg_set(&err->message, "%s must be %s, not %.*s%s", field, must,
                   STR_ARGS(text), dots);
    } else {
        errmsg_set(&err->message, "%s must be %s, not %s", field, must,
                   value->kind == JSON_BOOL ? value->truth ? "true" : "false"
                                            : kinds[value->kind]);
    }
    return -1;
}

/* ---- texts ---- */

/* The library takes control characters for commands. */
static bool
is_control(char c)
{
    unsigned char b = (unsigned char)c;

    return (b < ' ' && b != '\t' && b != '\n' && b != '\r') || b == 0x7f;
}

/* Each becomes a space, so that places in the text stay what they were. */
static struct str
without_controls(struct pool *pool, struct str text)
{
    size_t i = 0;
    struct str copy;
    char *at;

    while (i < text.len && !is_control(text.ptr[i])) {
        i++;
    }
    if (i == text.len) {
        return text;
    }
    at = pool_cstr(pool, text);
    copy = str_of(at, text.len);
    for (; i < text.len; i++) {
        at[i] = is_control(at[i]) ? ' ' : at[i];
    }
    return copy;
}

static bool
is_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != ' ' && (s.ptr[i] < '\t' || s.ptr[i] > '\r')) {
            return false;
        }
    }
    return true;
}

int
ask_text(struct pool *pool, const struct tts_instance *i, struct str text,
         struct speech_request *out, struct ask_error *err)
{
    err->field = "text";
    err->status = 400;
    if (is_blank(text)) {
        return errmsg_set(&err->message, "the text must not be empty");
    }
    if (text.len > (size_t)i->max_text) {
        err->status = 413;
        return errmsg_set(&err->message,
                          "the text has %zu bytes, at most %lld are taken",
                          text.len, (long long)i->max_text);
    }
    if (!utf8_valid(text)) {
        return errmsg_set(&err->message,
                          "the text is not UTF-8: see its byte %zu",
                          utf8_length(text));
    }
    out->text = without_controls(pool, text);
    return 0;
}

struct str
ask_name(struct str name)
{
    return str_first(name, utf8_length(str_first(name, SPEECH_VOICE_MAX)));
}

enum tts_voice_class
ask_voice_class(const struct speech_request *ask)
{
    if (ask->speaker_id >= 0 || ask->speaker.len > 0 ||
        str_find(ask->voice, '+', 0) < ask->voice.len) {
        return TTS_VOICE_VARIANT;
    }
    return ask->voice.len > 0 ? TTS_VOICE_NAMED : TTS_VOICE_DEFAULT;
}

/* ---- formats ---- */

/* A build without one of the libraries has -DHAVE_...=0. */
#ifndef HAVE_FLAC
#define HAVE_FLAC 1
#endif
#ifndef HAVE_OPUSENC
#define HAVE_OPUSENC 1
#endif
#ifndef HAVE_LAME
#define HAVE_LAME 1
#endif

static const struct {
    const char *name, *type;
    bool built;
} formats[SPEECH_FORMATS] = {
    [SPEECH_WAV] = { "wav", "audio/wav", true },
    [SPEECH_PCM] = { "pcm", "audio/pcm", true },
    [SPEECH_MULAW] = { "mulaw", "audio/wav", true },
    [SPEECH_FLAC] = { "flac", "audio/flac", HAVE_FLAC },
    [SPEECH_OPUS] = { "opus", "audio/ogg", HAVE_OPUSENC },
    [SPEECH_MP3] = { "mp3", "audio/mpeg", HAVE_LAME },
    [SPEECH_TIMINGS] = { NULL, "application/json", true },
};

bool
ask_format_is_built(enum speech_format f)
{
    return formats[f].built;
}

const char *
ask_format_name(enum speech_format f)
{
    return formats[f].name;
}

const char *
ask_format_type(enum speech_format f)
{
    return formats[f].type;
}

static bool
find_format(struct str name, enum speech_format *out)
{
    for (enum speech_format f = SPEECH_WAV; f < SPEECH_TIMINGS; f++) {
        if (formats[f].built &&
            str_eq_nocase(name, str_from(formats[f].name))) {
            *out = f;
            return true;
        }
    }
    return false;
}

/* ---- fields ---- */

enum kind { NAME, NUMBER, INTEGER, BOOL, FORMAT, TIMINGS };

struct field {
    const char *name;
    enum kind kind;
    size_t offset;      /* in struct speech_request */
    double least, most; /* NUMBER, INTEGER: as the client writes it */
    int64_t unit;       /* of one in the request */
};

#define AT(member) offsetof(struct speech_request, member)

static const struct field fields[] = {
    { "voice", NAME, AT(voice), 0, 0, 0 },
    { "speaker", NAME, AT(speaker), 0, 0, 0 },
    { "speaker_id", INTEGER, AT(speaker_id), 0, INT32_MAX, 1 },
    { "length_scale", NUMBER, AT(length_scale), 0.1, 10, SPEECH_MILLION },
    { "noise_scale", NUMBER, AT(noise_scale), 0, 10, SPEECH_MILLION },
    { "noise_w_scale", NUMBER, AT(noise_w_scale), 0, 2, SPEECH_MILLION },
    { "pitch", INTEGER, AT(pitch), 0, 99, 1 },
    { "range", INTEGER, AT(range), 0, 99, 1 },
    { "volume", INTEGER, AT(volume), 0, 200, 1 },
    { "sentence_silence", NUMBER, AT(sentence_silence), 0, 10, 1000 },
    { "ssml", BOOL, AT(ssml), 0, 0, 0 },
    { "stream", BOOL, AT(stream), 0, 0, 0 },
    { "timings", TIMINGS, 0, 0, 0, 0 },
    { "format", FORMAT, AT(format), 0, 0, 0 },
    { "sample_rate", INTEGER, AT(sample_rate), 8000, 48000, 1 },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static void *
place(const struct asking *a, const struct field *f)
{
    return (char *)a->out + f->offset;
}

static int
take_name(const struct asking *a, const struct field *f,
          const struct json_value *v)
{
    struct str *to = place(a, f);

    if (v->kind != JSON_STRING) {
        return ask_refuse(a->err, f->name, "a string", v);
    }
    if (v->text.len > 0) {
        *to = ask_name(v->text);
    }
    return 0;
}

/* v->number is within the field's bounds, none of which is below 0. */
static bool
is_whole(const struct json_value *v)
{
    return (double)(int64_t)v->number == v->number;
}

static int
take_number(const struct asking *a, const struct field *f,
            const struct json_value *v)
{
    int64_t *to = place(a, f);
    bool whole = f->kind == INTEGER;
    char must[80];

    if (v->kind == JSON_NUMBER && v->number >= f->least &&
        v->number <= f->most && (!whole || is_whole(v))) {
        *to = (int64_t)(v->number * (double)f->unit + 0.5);
        return 0;
    }
    snprintf(must, sizeof(must), "a %snumber from %.10g to %.10g",
             whole ? "whole " : "", f->least, f->most);
    return ask_refuse(a->err, f->name, must, v);
}

static int
take_bool(const struct asking *a, const struct field *f,
          const struct json_value *v, bool *to)
{
    if (v->kind != JSON_BOOL) {
        return ask_refuse(a->err, f->name, "true or false", v);
    }
    *to = v->truth;
    return 0;
}

static int
take_format(const struct asking *a, const struct field *f,
            const struct json_value *v)
{
    char must[80] = "one of";
    size_t len = strlen(must);

    if (v->kind == JSON_STRING && find_format(v->text, &a->out->format)) {
        return 0;
    }
    for (enum speech_format n = SPEECH_WAV; n < SPEECH_TIMINGS; n++) {
        if (formats[n].built) {
            len = str_append(must, sizeof(must), len,
                             n == SPEECH_WAV ? STR(" ") : STR(", "));
            len =
                str_append(must, sizeof(must), len, str_from(formats[n].name));
        }
    }
    return ask_refuse(a->err, f->name, must, v);
}

static int
take(struct asking *a, const struct field *f, const struct json_value *v)
{
    if (v->kind == JSON_NULL) {
        return 0;
    }
    switch (f->kind) {
    case NAME:
        return take_name(a, f, v);
    case NUMBER:
    case INTEGER:
        return take_number(a, f, v);
    case BOOL:
        return take_bool(a, f, v, place(a, f));
    case FORMAT:
        return take_format(a, f, v);
    case TIMINGS:
        return take_bool(a, f, v, &a->timings);
    }
    return 0;
}

/* ---- whole requests ---- */

void
ask_defaults(const struct tts_instance *i, struct speech_request *out)
{
    *out = (struct speech_request){
        .instance = i->name,
        .text = STR_NONE,
        .voice = STR_NONE,
        .speaker = STR_NONE,
        .speaker_id = -1,
        .length_scale = i->length_scale,
        .noise_scale = i->noise_scale,
        .noise_w_scale = i->noise_w_scale,
        .pitch = -1,
        .range = -1,
        .volume = -1,
        .sentence_silence = i->sentence_silence,
        .format = SPEECH_WAV,
        .buffer = i->buffer,
        .max_audio = i->max_audio,
    };
}

static int
finish(struct asking *a)
{
    if (a->timings) {
        a->out->format = SPEECH_TIMINGS;
    }
    return 0;
}

const struct json_value *
ask_body(struct json_reader *body, struct ask_error *err)
{
    struct errmsg why;
    const struct json_value *v;

    if (json_reader_is_empty(body)) {
        refuse(err, 400, "", "the body is empty: it must be a JSON object");
        return NULL;
    }
    v = json_reader_end(body, &why);
    if (v == NULL) {
        refuse(err, 400, "", why.text);
    } else if (v->kind != JSON_OBJECT) {
        refuse(err, 400, "", "the body must be a JSON object");
        v = NULL;
    }
    return v;
}

int
ask_json(struct pool *pool, const struct tts_instance *i,
         struct json_reader *body, struct speech_request *out,
         struct ask_error *err)
{
    struct asking a = { pool, out, err, false };
    const struct json_value *all = ask_body(body, err), *v;

    ask_defaults(i, out);
    if (all == NULL) {
        return -1;
    }
    v = json_member(all, "text");
    if (v == NULL || v->kind == JSON_NULL) {
        return refuse(err, 400, "text", "text is missing");
    }
    if (v->kind != JSON_STRING) {
        return ask_refuse(err, "text", "a string", v);
    }
    if (ask_text(pool, i, v->text, out, err) == -1) {
        return -1;
    }
    for (size_t n = 0; n < FIELDS; n++) {
        v = json_member(all, fields[n].name);
        if (v != NULL && take(&a, &fields[n], v) == -1) {
            return -1;
        }
    }
    return finish(&a);
}

/* ---- queries ---- */

/* Texts become what the field has to be, if they can. */
static void
read_number(struct json_value *v)
{
    char text[JSON_READ_NUMBER + 1];
    char *end;

    if (v->text.len == 0 || v->text.len >= sizeof(text)) {
        return;
    }
    for (size_t i = 0; i < v->text.len; i++) {
        if (str_find(STR("0123456789.+-eE"), v->text.ptr[i], 0) == 15) {
            return;
        }
    }
    str_copy(text, sizeof(text), v->text);
    v->number = strtod(text, &end);
    if (*end == '\0') {
        v->kind = JSON_NUMBER;
    }
}

static void
read_bool(struct json_value *v)
{
    v->truth = str_eq(v->text, STR("true")) || str_eq(v->text, STR("1"));
    if (v->truth || str_eq(v->text, STR("false")) ||
        str_eq(v->text, STR("0"))) {
        v->kind = JSON_BOOL;
    }
}

static int
take_query(struct asking *a, const struct field *f, struct str text)
{
    struct json_value v = { .kind = JSON_STRING, .text = text };

    if (text.len == 0) {
        return 0; /* an input of a form that was left empty */
    }
    if (!utf8_valid(text)) {
        a->err->status = 400;
        a->err->field = f->name;
        return errmsg_set(&a->err->message, "%s is not UTF-8", f->name);
    }
    if (f->kind == NUMBER || f->kind == INTEGER) {
        read_number(&v);
    } else if (f->kind == BOOL || f->kind == TIMINGS) {
        read_bool(&v);
    }
    return take(a, f, &v);
}

/* As a name that stands twice in JSON. */
static int
refuse_twice(const char *field, struct ask_error *err)
{
    err->status = 400;
    err->field = field;
    return errmsg_set(&err->message, "%s stands twice in the query", field);
}

int
ask_query(struct http_request *r, const struct tts_instance *i,
          struct speech_request *out, struct ask_error *err)
{
    struct asking a = { r->pool, out, err, false };
    struct str text, raw;

    ask_defaults(i, out);
    if (http_query_count(r, "text", &raw) > 1) {
        return refuse_twice("text", err);
    }
    if (!http_query(r, "text", &text)) {
        return refuse(err, 400, "text", "text is missing");
    }
    if (ask_text(r->pool, i, text, out, err) == -1) {
        return -1;
    }
    for (size_t n = 0; n < FIELDS; n++) {
        if (http_query_count(r, fields[n].name, &raw) > 1) {
            return refuse_twice(fields[n].name, err);
        }
        if (http_query(r, fields[n].name, &text) &&
            take_query(&a, &fields[n], text) == -1) {
            return -1;
        }
    }
    return finish(&a);
}
