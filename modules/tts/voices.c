/*
 * The call tts.voices: the list of a desk's voices, for GET /voices.
 *
 * A caller names the list that it has, by its tag, and may wait for another
 * one: so each worker keeps the newest (voice_list.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "speaker.h"

#include <unistd.h>

#include "base/mem.h"
#include "reply.h"

#define VOICES_MAX ((size_t)16 << 20) /* bytes of the JSON */

struct watcher { /* a caller that has the newest list */
    struct list link;
    struct rpc_request *request;
};

/* ---- the list ---- */

static int
make(struct desk *d, struct errmsg *err)
{
    struct buf json;
    struct str bytes;

    if (d->voices != -1) {
        return 0;
    }
    buf_init(&json, VOICES_MAX);
    if (catalogue_json(d->catalogue, (unsigned)d->rate, &json) == -1) {
        buf_clear(&json);
        return errmsg_set(err, "the list of voices is too long");
    }
    bytes = buf_str(&json);
    digest_sha256(bytes.ptr, bytes.len, d->voices_digest);
    d->voices_length = (int64_t)bytes.len;
    d->voices = desk_memory(bytes, err);
    buf_clear(&json);
    return d->voices == -1 ? -1 : 0;
}

static void
close_list(struct desk *d)
{
    if (d->voices != -1) {
        close(d->voices);
    }
    d->voices = -1;
}

/* ---- answers ---- */

static void
reply(struct desk *d, struct rpc_request **r)
{
    struct speech_answer a = { .status = 200, .length = -1, .duration = -1 };
    char tag[SPEECH_TAG_MAX + 1];
    struct errmsg err;
    int fd = -1;

    if (make(d, &err) == -1) {
        a.status = 503;
        a.message = str_from(err.text);
    } else {
        reply_tag(d->voices_digest, tag);
        a.length = d->voices_length;
        a.sample_rate = d->rate;
        a.tag = str_from(tag);
        fd = d->voices;
    }
    reply_last(r, &a, fd);
}

/* ---- callers that wait ---- */

static void
on_gone(void *arg)
{
    struct watcher *w = arg;

    list_remove(&w->link);
    rpc_refuse(&w->request, "gone");
    mem_free(&w);
}

static void
watch(struct desk *d, struct rpc_request *r)
{
    struct watcher *w = mem_zero(sizeof(*w));

    w->request = r;
    r->arg = w;
    r->on_gone = on_gone;
    list_append(&d->watchers, &w->link);
}

/* Each may come again. */
static void
tell_watchers(struct desk *d,
              void (*tell)(struct desk *, struct rpc_request **))
{
    while (!list_empty(&d->watchers)) {
        struct watcher *w = LIST_ITEM(d->watchers.next, struct watcher, link);

        list_remove(&w->link);
        tell(d, &w->request);
        mem_free(&w);
    }
}

static void
refuse(struct desk *d, struct rpc_request **r)
{
    speaker_refuse(d->speaker, r);
}

void
voices_forget(struct desk *d)
{
    close_list(d);
    tell_watchers(d, reply);
}

void
voices_end(struct desk *d)
{
    close_list(d);
    tell_watchers(d, refuse);
}

/* ---- the call ---- */

static bool
has_it(struct desk *d, struct str tag)
{
    char newest[SPEECH_TAG_MAX + 1];
    struct errmsg err;

    if (tag.len == 0 || make(d, &err) == -1) {
        return false;
    }
    reply_tag(d->voices_digest, newest);
    return str_eq(tag, str_from(newest));
}

void
voices_on_request(void *arg, struct rpc_request *r)
{
    struct unpack in = { .rest = str_of(r->data, r->len) };
    struct str name = unpack_text(&in), tag = unpack_text(&in);
    bool wait = unpack_u8(&in) != 0;
    struct desk *d = unpack_ends(&in) ? desk_find(arg, name) : NULL;

    if (d == NULL) {
        speaker_refuse(arg, &r);
    } else if (d->catalogue == NULL) {
        reply_unavailable(&r, SPEECH_LACKS_VOICE,
                          "no data directory has voices", 1);
    } else if (!has_it(d, tag)) {
        reply(d, &r);
    } else if (wait) {
        watch(d, r);
    } else {
        reply_error(&r, 304, "");
    }
}
