/*
 * Fuzz target: what clients of speech send, as bodies and as queries.
 *
 * The first byte says which.  A request that is taken has values within their
 * bounds and a text that the library does not take for commands; packed for
 * the speaker, it is unpacked as the same.  One that is refused names a field
 * and says what is wrong in UTF-8.
 *
 * covers: modules/tts/ask.c
 * covers: modules/tts/request.c:speech_pack_request,speech_unpack_request
 * covers: modules/tts/request.c:request_is_allowed,within
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/tts/ask.h"
#include "base/utf8.h"
#include "json/read.h"

#define TEXT_MAX 64

enum { AS_JSON, AS_QUERY, AS_TEXT, WAYS };

static const struct tts_instance instance = {
    .name = { "main", 4 },
    .speaker = { "f2", 2 },
    .max_text = TEXT_MAX,
    .max_audio = 600000,
    .buffer = 65536,
    .length_scale = SPEECH_MILLION,
    .noise_scale = -1,
};

static bool
is_speakable(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < ' ' && strchr("\t\n\r", c) == NULL) || c == '\0' ||
            c == 0x7f) {
            return false;
        }
    }
    return s.len > 0 && s.len <= TEXT_MAX && utf8_valid(s);
}

static void
pack_and_unpack(const struct speech_request *r)
{
    struct speech_request again;
    struct unpack u;
    struct buf b;
    struct pack p = { .to = &b };

    buf_init(&b, SPEECH_REQUEST_MAX);
    speech_pack_request(&p, r);
    require(!p.full);
    u = (struct unpack){ .rest = buf_str(&b) };
    require(speech_unpack_request(&u, &again) == 0);
    require(str_eq(again.text, r->text) && str_eq(again.voice, r->voice));
    require(str_eq(again.speaker, r->speaker));
    require(again.speaker_id == r->speaker_id && again.ssml == r->ssml);
    require(again.length_scale == r->length_scale);
    require(again.sentence_silence == r->sentence_silence);
    require(again.format == r->format && again.stream == r->stream);
    buf_clear(&b);
}

static void
look_at(int result, const struct speech_request *r, const struct ask_error *err)
{
    if (result == 0) {
        require(is_speakable(r->text));
        require(r->voice.len <= SPEECH_VOICE_MAX && utf8_valid(r->voice));
        require(r->speaker.len <= SPEECH_VOICE_MAX && utf8_valid(r->speaker));
        pack_and_unpack(r);
        return;
    }
    require(err->status == 400 || err->status == 413);
    require(err->field != NULL && err->message.text[0] != '\0');
    require(utf8_valid(str_from(err->message.text)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    unsigned how = take_byte(&input) % WAYS;
    struct pool *pool = pool_new(1024);
    struct http_request r = { .pool = pool, .query = input };
    struct speech_request out;
    struct ask_error err = { .status = 0 };
    int result;

    if (how == AS_JSON) {
        result = ask_json(pool, &instance, json_reader_whole(pool, input), &out,
                          &err);
    } else if (how == AS_QUERY) {
        result = ask_query(&r, &instance, &out, &err);
    } else {
        ask_defaults(&instance, &out);
        result = ask_text(pool, &instance, input, &out, &err);
    }
    look_at(result, &out, &err);
    pool_free(&pool);
    return 0;
}
