/*
 * The voices, as clients of Wyoming read them, and the call by which a worker
 * asks for them.
 *
 * Variants are the speakers of a voice.  Any voice can have any of them, but
 * they are listed at one voice alone, the instance's own: clients wait for a
 * second, and ten thousand entries may take them longer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "wyoming.h"

#include <unistd.h>

#include "speaker.h"
#include "json/json.h"

#define TAG_MAX 64 /* bytes of a language tag */

static void
put_attribution(struct json_out *o)
{
    json_key(o, "attribution");
    json_open(o);
    json_put_str(o, "name", STR("eSpeak NG"));
    json_put_str(o, "url", STR("https://github.com/espeak-ng/espeak-ng"));
    json_close(o);
    json_put_bool(o, "installed", true);
    json_put_null(o, "version");
}

/* The region of "en-us" in capitals, as most write it. */
static void
put_language(struct json_out *o, struct str language)
{
    char tag[TAG_MAX];
    size_t n = str_copy(tag, sizeof(tag), language);
    size_t at = str_find(str_of(tag, n), '-', 0) + 1;

    if (at + 2 == n || (at + 2 < n && tag[at + 2] == '-')) {
        for (size_t i = at; i < at + 2; i++) {
            tag[i] = tag[i] >= 'a' && tag[i] <= 'z' ? (char)(tag[i] - 'a' + 'A')
                                                    : tag[i];
        }
    }
    json_key(o, "languages");
    json_open_array(o);
    json_str(o, str_of(tag, n));
    json_close(o);
}

static void
put_speakers(struct json_out *o, const struct catalogue *c)
{
    json_key(o, "speakers");
    json_open_array(o);
    for (size_t i = 1; i <= catalogue_variants(c); i++) {
        json_open(o);
        json_put_str(o, "name", catalogue_variant_at(c, (int64_t)i));
        json_close(o);
    }
    json_close(o);
}

static void
put_voice(struct json_out *o, const struct catalogue *c,
          const struct catalogue_voice *v, bool own)
{
    json_open(o);
    json_put_str(o, "name", v->name);
    json_put_str(o, "description", v->display);
    put_attribution(o);
    put_language(o, v->language);
    if (own) {
        put_speakers(o, c);
    } else {
        json_put_null(o, "speakers");
    }
    json_close(o);
}

static void
put_program(struct json_out *o, const struct catalogue *c,
            const struct catalogue_voice *own)
{
    json_open(o);
    json_put_str(o, "name", STR("weir"));
    json_put_str(o, "description", STR("weir, with voices of eSpeak NG"));
    put_attribution(o);
    json_put_bool(o, "supports_synthesize_streaming", true);
    json_key(o, "voices");
    json_open_array(o);
    for (size_t i = 0; i < catalogue_voices(c); i++) {
        const struct catalogue_voice *v = catalogue_voice_at(c, i);

        put_voice(o, c, v, v == own);
    }
    json_close(o);
    json_close(o);
}

int
wyoming_info(const struct catalogue *c, struct str voice, struct buf *out)
{
    static const char *const others[] = { "asr",  "handle", "intent",
                                          "wake", "mic",    "snd" };
    struct json_out o;

    json_begin(&o, out, false);
    json_open(&o);
    json_key(&o, "tts");
    json_open_array(&o);
    put_program(&o, c, catalogue_find(c, voice));
    json_close(&o);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        json_key(&o, others[i]);
        json_open_array(&o);
        json_close(&o);
    }
    json_close(&o);
    return json_end(&o);
}

/* ---- the call ---- */

/* A memory file of the list; -1 with err. */
static int
make_list(const struct desk *d, int64_t *length, struct errmsg *err)
{
    struct buf json;
    int fd = -1;

    buf_init(&json, WYOMING_INFO_MAX);
    if (wyoming_info(d->catalogue, d->plan.voice, &json) == -1) {
        errmsg_set(err, "the list of voices is too long");
    } else {
        *length = (int64_t)buf_len(&json);
        fd = desk_memory(buf_str(&json), err);
    }
    buf_clear(&json);
    return fd;
}

void
wyoming_on_describe(void *arg, struct rpc_request *r)
{
    const struct desk *d = desk_find(arg, str_of(r->data, r->len));
    struct speech_answer a = { .status = 503, .length = -1, .duration = -1 };
    struct errmsg err;
    struct buf b;
    struct pack out = { .to = &b };
    int fd = -1;

    if (d == NULL || d->catalogue == NULL) {
        a.message = STR("weir.conf has no such tts any more");
    } else {
        fd = make_list(d, &a.length, &err);
        a.status = fd != -1 ? 200 : 503;
        a.message = fd != -1 ? STR_NONE : str_from(err.text);
    }
    buf_init(&b, SPEECH_ANSWER_MAX);
    speech_pack_answer(&out, &a);
    rpc_reply(&r, buf_data(&b), buf_len(&b), fd);
    buf_clear(&b);
    if (fd != -1) {
        close(fd);
    }
}
