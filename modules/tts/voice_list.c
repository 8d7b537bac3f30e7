/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "voice_list.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define LIST_MAX ((off_t)16 << 20) /* bytes */
#define NEXT_MS 10                 /* until it waits for the next one */
#define AGAIN_MS 1000              /* the same where none came */

struct voice_list {
    struct loop *loop;     /* borrowed */
    struct str instance;   /* borrowed */
    struct rpc_call *call; /* waits for another list */
    struct timer again;
    char *json; /* owned; NULL: there never was one */
    size_t len;
    char tag[SPEECH_TAG_MAX + 1];
};

struct str
voice_list_get(const struct voice_list *v, struct str *tag)
{
    *tag = str_from(v->tag);
    return v->json != NULL ? str_of(v->json, v->len) : STR_NONE;
}

/* ---- what comes ---- */

/* The bytes of a memfd that the speaker has sealed. */
static int
read_file(struct voice_list *v, int fd, struct str tag, struct errmsg *err)
{
    struct stat st;
    char *json;

    if (fd == -1 || fstat(fd, &st) == -1 || st.st_size <= 0 ||
        st.st_size > LIST_MAX) {
        return errmsg_set(err, "the speaker's list of voices makes no sense");
    }
    json = try_alloc((size_t)st.st_size);
    if (json == NULL) {
        return errmsg_set(err, "there is no memory for the list of voices");
    }
    if (pread(fd, json, (size_t)st.st_size, 0) != st.st_size) {
        mem_free(&json);
        return errmsg_set(err, "the list of voices cannot be read");
    }
    mem_free(&v->json);
    v->json = json;
    v->len = (size_t)st.st_size;
    str_copy(v->tag, sizeof(v->tag), tag);
    return 0;
}

int
voice_list_take(struct voice_list *v, const struct rpc_answer *got,
                struct errmsg *err)
{
    struct unpack u = { .rest = str_of(got->data, got->len) };
    struct speech_answer a;

    if (got->status != RPC_OK) {
        return errmsg_set(err, "%.*s", (int)got->len, (const char *)got->data);
    }
    if (speech_unpack_answer(&u, &a) == -1) {
        return errmsg_set(err, "the speaker's answer makes no sense");
    }
    if (a.status == 304 && v->json != NULL) {
        return 0;
    }
    return a.status == 200 ? read_file(v, got->fd, a.tag, err)
                           : errmsg_set(err, "%.*s", STR_ARGS(a.message));
}

/* ---- asking ---- */

struct rpc_call *
voice_list_ask(const struct voice_list *v, const struct rpc_options *o,
               bool wait, struct errmsg *err)
{
    struct rpc_call *call;
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, TTS_VOICES_MAX);
    pack_text(&out, v->instance);
    pack_text(&out, str_from(v->tag));
    pack_u8(&out, wait);
    call = rpc_call(&tts_methods[TTS_VOICES], o, buf_data(&b), buf_len(&b), -1,
                    err);
    buf_clear(&b);
    return call;
}

static void on_answer(void *arg, struct rpc_answer *got);

/* The call goes to each next speaker, until one has another list. */
static void
wait_for_next(struct voice_list *v)
{
    const struct rpc_options o = { .timeout_ms = RPC_WAIT_MAX,
                                   .resend = true,
                                   .on_answer = on_answer,
                                   .arg = v };
    struct errmsg err;

    v->call = voice_list_ask(v, &o, true, &err);
    if (v->call == NULL) {
        timer_set(v->loop, &v->again, AGAIN_MS);
    }
}

static void
on_again(struct timer *t)
{
    wait_for_next(LIST_ITEM(t, struct voice_list, again));
}

/* It rests where it got none: a speaker that has just begun may not know of the
 * instance yet. */
static void
on_answer(void *arg, struct rpc_answer *got)
{
    struct voice_list *v = arg;
    struct errmsg err;

    v->call = NULL;
    timer_set(v->loop, &v->again,
              voice_list_take(v, got, &err) == 0 ? NEXT_MS : AGAIN_MS);
}

/* ---- life ---- */

struct voice_list *
voice_list_new(struct loop *l, struct str instance)
{
    struct voice_list *v = mem_zero(sizeof(*v));

    v->loop = l;
    v->instance = instance;
    timer_init(&v->again, on_again);
    wait_for_next(v);
    return v;
}

void
voice_list_free(struct voice_list **list)
{
    struct voice_list *v = *list;

    if (v == NULL) {
        return;
    }
    *list = NULL;
    timer_stop(v->loop, &v->again);
    rpc_cancel(&v->call);
    mem_free(&v->json);
    mem_free(&v);
}
