/*
 * For tests of tell*.c: a channel and a fetcher that the test plays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_TELL_HELP_H
#define MODULES_DOWNLOADS_FETCHER_TELL_HELP_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "fetcher/tell.h"
#include "fetcher/tell_impl.h"

#define EMITS 4096
#define PART 500 /* bytes of a snapshot's part */

/* ---- the channel ---- */

struct emitted {
    char *endpoint, *event, *key, *stales, *json; /* owned */
    int64_t at_ms;
};

static struct emitted emits[EMITS];
static size_t emitted, looked_at;
static unsigned stales, renewed;
static bool full;

static char *
copy_of(struct str s)
{
    return mem_dup(s.ptr, s.len);
}

int
sio_emit(const struct sio_target *to, const struct sio_message *m,
         struct errmsg *err)
{
    if (full) {
        return errmsg_set(err, "it is full");
    }
    assert_true(emitted < EMITS);
    assert_string_equal(to->module, "downloads");
    assert_string_equal(to->namespace_name, "/");
    emits[emitted++] = (struct emitted){
        .endpoint = copy_of(to->endpoint),
        .event = copy_of(str_from(m->event)),
        .key = copy_of(m->key),
        .stales = copy_of(str_from(m->stales)),
        .json = copy_of(m->args.json),
        .at_ms = clock_ms(),
    };
    return 0;
}

int
sio_stale(const struct sio_target *to, const char *snapshot, struct errmsg *err)
{
    (void)to;
    assert_non_null(snapshot);
    stales += !full;
    return full ? errmsg_set(err, "it is full") : 0;
}

int
sio_renew(const struct sio_target *to, struct errmsg *err)
{
    (void)to;
    renewed += !full;
    return full ? errmsg_set(err, "it is full") : 0;
}

/* ---- calls ---- */

struct rpc_method downloads_methods[] = {
    [DOWNLOADS_ALL] = { .answer_max = PART },
    [DOWNLOADS_CONFIGURATION] = { .answer_max = PART },
    [DOWNLOADS_CUSTOM_DIRS] = { .answer_max = PART },
    [DOWNLOADS_OPTIONS_CHANGED] = { .answer_max = PART },
    [DOWNLOADS_OPTIONS_ALIAS] = { .answer_max = PART },
};

static struct buf answer; /* of the last request */
static unsigned window, parts;
static enum { OPEN, ANSWERED, REFUSED } state_of_request;

int
rpc_part(struct rpc_request *r, const void *data, size_t len, int fd)
{
    (void)r;
    assert_int_equal(fd, -1);
    assert_true(len <= PART);
    if (window == 0) {
        return -1;
    }
    window--;
    parts++;
    return buf_add(&answer, data, len);
}

void
rpc_reply(struct rpc_request **r, const void *data, size_t len, int fd)
{
    assert_int_equal(fd, -1);
    assert_true(len <= PART);
    buf_add(&answer, data, len);
    state_of_request = ANSWERED;
    *r = NULL;
}

void
rpc_refuse(struct rpc_request **r, const char *text)
{
    assert_true(text[0] != '\0');
    state_of_request = REFUSED;
    *r = NULL;
}

/* ---- the fetcher ---- */

static struct fetcher f;
static struct queue q;
static bool has_file;

struct queue *
fetcher_find(struct fetcher *fetcher, struct str instance)
{
    assert_ptr_equal(fetcher, &f);
    return str_eq(instance, q.plan.name) ? &q : NULL;
}

const char *
entry_status_name(int status)
{
    return status == STATUS_DOWNLOADING ? "downloading" : "pending";
}

const char *
entry_list_name(int list)
{
    static const char *const names[] = { "pending", "queue", "done" };

    return names[list];
}

struct str
place_folders(const struct place *p)
{
    (void)p;
    return STR("[\"\",\"sub\"]");
}

void
place_look(struct place *p, place_looked *looked, void *arg)
{
    (void)p;
    looked(arg);
}

void
place_look_forget(struct place *p, const void *arg)
{
    (void)p;
    (void)arg;
}

bool
options_last(const struct options *o, struct options_told *out)
{
    (void)o;
    *out = (struct options_told){ true, "", 1795253316852943 };
    return has_file;
}

static struct entry *
add(int list, const char *url, int64_t number)
{
    struct entry *e = mem_zero(sizeof(*e));
    struct entry_facts *facts = mem_zero(sizeof(*facts));

    *facts = (struct entry_facts){
        .url = str_from(url),
        .asked = STR("http://asked/"),
        .id = STR("id"),
        .title = STR("A \"title\""),
        .quality = STR("best"),
        .format = STR("any"),
        .folder = STR(""),
        .prefix = STR(""),
        .timestamp_ns = 1795253359138739573,
    };
    e->queue = &q;
    e->number = number;
    e->facts = facts;
    e->list = (uint8_t)list;
    e->percent = e->speed = e->eta = e->size = -1;
    e->started_ms = e->finished_ms = -1;
    e->filename = e->msg = e->error = STR_NONE;
    list_append(&q.lists[list], &e->link);
    q.counts[list]++;
    return e;
}

static void
drop(struct entry *e)
{
    tell_forget(e);
    list_remove(&e->link);
    mem_free_raw((void *)(uintptr_t)e->facts);
    mem_free(&e);
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    hash_init();
    f = (struct fetcher){ .loop = loop_new(&err) };
    q = (struct queue){ .fetcher = &f, .loaded = true };
    q.plan.name = STR("main");
    q.plan.max_concurrent = 3;
    q.plan.custom_dirs = true;
    q.plan.template = STR("%(title)s.%(ext)s");
    q.plan.playlist_template = STR("");
    for (int i = 0; i < ENTRY_LISTS; i++) {
        list_init(&q.lists[i]);
    }
    full = has_file = false;
    emitted = looked_at = 0;
    stales = renewed = 0;
    buf_init(&answer, (size_t)64 << 20);
    tell_start(&q);
    return 0;
}

static void
drop_all(void)
{
    for (int i = 0; i < ENTRY_LISTS; i++) {
        LIST_EACH (node, &q.lists[i]) {
            drop(LIST_ITEM(node, struct entry, link));
        }
    }
}

static int
tear_down(void **state)
{
    (void)state;
    drop_all();
    tell_stop(&q);
    loop_free(&f.loop);
    for (size_t i = 0; i < emitted; i++) {
        mem_free(&emits[i].endpoint);
        mem_free(&emits[i].event);
        mem_free(&emits[i].key);
        mem_free(&emits[i].stales);
        mem_free(&emits[i].json);
    }
    buf_clear(&answer);
    return 0;
}

/* ---- helpers ---- */

static inline void
turns(int64_t ms)
{
    int64_t end = clock_ms() + ms;

    do {
        loop_turn(f.loop, 1);
    } while (clock_ms() < end);
}

static inline void
assert_emit(const char *endpoint, const char *event, const char *json)
{
    const struct emitted *e = &emits[looked_at];

    assert_true(looked_at < emitted);
    assert_string_equal(e->endpoint, endpoint);
    assert_string_equal(e->event, event);
    assert_string_equal(e->json, json);
    looked_at++;
}

/* An event as an object, and the same quoted. */
static inline void
assert_both(const char *event, const char *json)
{
    struct buf quoted;

    buf_init(&quoted, 65536);
    tell_quote(str_from(json), &quoted);
    buf_add(&quoted, "", 1);
    assert_emit("main", event, json);
    assert_emit("main/string", event, (const char *)buf_data(&quoted));
    buf_clear(&quoted);
}

static struct rpc_request request;

static inline void
ask(rpc_handler *handler, const char *text)
{
    request =
        (struct rpc_request){ .data = text, .len = strlen(text), .fd = -1 };
    buf_take(&answer, buf_len(&answer));
    state_of_request = OPEN;
    window = UINT32_MAX;
    parts = 0;
    handler(&f, &request);
}

static inline void
assert_answer(const char *text)
{
    assert_int_equal(state_of_request, ANSWERED);
    assert_int_equal(buf_len(&answer), strlen(text));
    assert_memory_equal(buf_data(&answer), text, strlen(text));
}

static inline void
assert_has(const char *text)
{
    assert_non_null(
        memmem(buf_data(&answer), buf_len(&answer), text, strlen(text)));
}

#define OBJECT(url, list)                                                     \
    "{\"id\":\"id\",\"title\":\"A \\\"title\\\"\",\"url\":\"" url             \
    "\",\"asked\":\"http://asked/\",\"quality\":\"best\",\"format\":\"any\"," \
    "\"folder\":\"\",\"custom_name_prefix\":\"\",\"playlist_item_limit\":0,"  \
    "\"timestamp\":1795253359138739573,\"added_at\":1795253359138,\"list\":"  \
    "\"" list "\",\"status\":\"pending\",\"msg\":null,\"percent\":null,"      \
    "\"speed\":null,\"eta\":null,\"size\":null,\"started_at\":null,"          \
    "\"finished_at\":null,\"error\":null,\"filename\":null}"

#endif
