/*
 * Snapshots: the first that joining clients are told.
 *
 * A snapshot is a text in a sealed memfd, so that it goes out in parts while
 * the lists change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "fetcher/tell_impl.h"
#include "http/escape.h"

#define SMALL_MAX ((size_t)4 << 20) /* bytes of all but "all" */
#define PART_MAX ((size_t)256 << 10)
#define FOLDERS_MS 5000 /* folders may come and go without us */

enum what { ALL, CONFIGURATION, CUSTOM_DIRS, OPTIONS, OPTIONS_ALIAS };

/* A snapshot that is asked for. */
struct answer {
    struct list link;
    struct told *told;
    struct rpc_request *request;
    enum what what;
    int payload;
    int fd;             /* owned; -1: it waits for the lists, or events */
    int64_t at, length; /* bytes: sent, in all */
    size_t part;        /* bytes of a part, at most */
};

/* ---- texts ---- */

static void
put_flag(struct buf *b, const char *name, bool flag)
{
    buf_printf(b, ",\"%s\":%s", name, flag ? "true" : "false");
}

/* All but flags are texts in the original. */
static void
put_count(struct buf *b, const char *name, int64_t n, int payload)
{
    const char *quote = payload == PAYLOAD_STRING ? "\"" : "";

    buf_printf(b, ",\"%s\":%s%lld%s", name, quote, (long long)n, quote);
}

static void
put_template(struct buf *b, const char *name, struct str text)
{
    buf_printf(b, ",\"%s\":", name);
    http_json_string(b, text);
}

/* Names are the original's; docs/downloads.md has the list. */
static void
write_configuration(const struct queue *q, int payload, struct buf *b)
{
    const struct downloads_instance *p = &q->plan;

    buf_add_str(b, STR("{\"PUBLIC_HOST_URL\":\"download/\","
                       "\"PUBLIC_HOST_AUDIO_URL\":\"download/\","
                       "\"DEFAULT_FOLDER\":\"\""));
    put_flag(b, "CUSTOM_DIRS", p->custom_dirs);
    put_flag(b, "CREATE_CUSTOM_DIRS", p->create_custom_dirs);
    put_flag(b, "DELETE_FILE_ON_TRASHCAN", p->delete_files);
    put_flag(b, "DEFAULT_OPTION_PLAYLIST_STRICT_MODE", p->playlist_strict_mode);
    put_count(b, "DEFAULT_OPTION_PLAYLIST_ITEM_LIMIT", p->playlist_item_limit,
              payload);
    put_count(b, "MAX_CONCURRENT_DOWNLOADS", p->max_concurrent, payload);
    put_count(b, "CLEAR_COMPLETED_AFTER", p->clear_completed_after / 1000,
              payload);
    put_template(b, "OUTPUT_TEMPLATE", p->template);
    put_template(b, "OUTPUT_TEMPLATE_PLAYLIST", p->playlist_template);
    buf_add_str(b, STR("}"));
}

static void
write_folders(struct told *t, struct buf *b)
{
    const struct queue *q = t->queue;
    struct str folders = STR("[\"\"]");

    if (!q->plan.custom_dirs) {
        return;
    }
    if (q->place != NULL) {
        folders = place_folders(q->place);
    }
    buf_add_str(b, STR("{\"download_dir\":"));
    buf_add_str(b, folders);
    buf_add_str(b, STR(",\"audio_download_dir\":"));
    buf_add_str(b, folders);
    buf_add_str(b, STR("}"));
    if (!timer_is_set(&t->folders)) {
        timer_set(t->loop, &t->folders, FOLDERS_MS);
    }
}

static void
on_folders(struct timer *timer)
{
    struct told *t = LIST_ITEM(timer, struct told, folders);

    if (!tell_stale(t, "custom_dirs")) {
        timer_set(t->loop, timer, FOLDERS_MS);
    }
}

void
tell_write_options(const struct queue *q, struct buf *to)
{
    struct options_told told;

    if (q->options == NULL || !options_last(q->options, &told)) {
        return;
    }
    buf_printf(to, "{\"success\":%s,\"msg\":", told.success ? "true" : "false");
    http_json_string(to, str_from(told.msg));
    if (told.modified_us < 0) {
        buf_add_str(to, STR(",\"update_time\":null}"));
    } else {
        buf_printf(to, ",\"update_time\":%lld.%06lld}",
                   (long long)(told.modified_us / 1000000),
                   (long long)(told.modified_us % 1000000));
    }
}

static void
write_small(const struct answer *a, struct buf *to)
{
    switch (a->what) {
    case CONFIGURATION:
        write_configuration(a->told->queue, a->payload, to);
        return;
    case CUSTOM_DIRS:
        write_folders(a->told, to);
        return;
    case OPTIONS_ALIAS:
        if (a->payload == PAYLOAD_STRING) {
            tell_write_options(a->told->queue, to);
        }
        return;
    case OPTIONS:
        tell_write_options(a->told->queue, to);
        return;
    case ALL:
        return;
    }
}

/* Its text; -1 with err. */
static int
make_small(struct answer *a, struct errmsg *err)
{
    struct buf object, quoted;
    struct str text;

    buf_init(&object, SMALL_MAX);
    buf_init(&quoted, 2 * SMALL_MAX);
    write_small(a, &object);
    text = buf_str(&object);
    if (text.len > 0 && a->payload == PAYLOAD_STRING) {
        tell_quote(text, &quoted);
        text = buf_str(&quoted);
    }
    a->length = (int64_t)text.len;
    a->fd = tell_memory(text, err);
    buf_clear(&object);
    buf_clear(&quoted);
    return a->fd == -1 ? -1 : 0;
}

static int
make_all(struct answer *a, struct errmsg *err)
{
    const struct tell_text *text = tell_all(a->told, a->payload, err);

    if (text == NULL) {
        return -1;
    }
    a->length = text->length;
    a->fd = fcntl(text->fd, F_DUPFD_CLOEXEC, 0);
    return a->fd == -1 ? errmsg_sys(err, "cannot hold a memory file") : 0;
}

/* ---- answers ---- */

static void
free_answer(struct answer *a)
{
    struct place *place = a->told->queue->place;

    list_remove(&a->link);
    if (place != NULL) {
        place_look_forget(place, a);
    }
    if (a->fd != -1) {
        close(a->fd);
    }
    mem_free(&a);
}

static void
refuse(struct answer *a, const char *why)
{
    rpc_refuse(&a->request, why);
    free_answer(a);
}

/* The next part, if the channel takes it. False: no more now, or it is over. */
static bool
send_part(struct answer *a, char *room)
{
    int64_t left = a->length - a->at;
    size_t n = left < (int64_t)a->part ? (size_t)left : a->part;

    if (pread(a->fd, room, n, a->at) != (ssize_t)n) {
        refuse(a, "the snapshot cannot be read");
        return false;
    }
    if ((int64_t)n == left) {
        rpc_reply(&a->request, room, n, -1);
        free_answer(a);
        return false;
    }
    if (rpc_part(a->request, room, n, -1) == -1) {
        return false;
    }
    a->at += (int64_t)n;
    return true;
}

static void
send_parts(struct answer *a)
{
    char *room = try_alloc(a->part);

    if (room == NULL) {
        refuse(a, "no memory");
        return;
    }
    while (send_part(a, room)) {
    }
    mem_free(&room);
}

static void
on_room(void *arg)
{
    struct answer *a = arg;

    if (a->fd != -1) {
        send_parts(a);
    }
}

static void
on_gone(void *arg)
{
    refuse(arg, "nobody waits for it");
}

static void
make(void *arg)
{
    struct answer *a = arg;
    struct errmsg err;
    int rc = a->what == ALL ? make_all(a, &err) : make_small(a, &err);

    if (rc == -1) {
        refuse(a, err.text);
    } else {
        send_parts(a);
    }
}

/* A thread may have to look for folders first. */
static void
begin(struct answer *a)
{
    struct place *place = a->told->queue->place;

    if (a->what == CUSTOM_DIRS && place != NULL) {
        place_look(place, make, a);
    } else {
        make(a);
    }
}

static void
on_request(struct fetcher *f, struct rpc_request *r, enum what what, int method)
{
    size_t most = downloads_methods[method].answer_max;
    struct str instance;
    struct queue *q = NULL;
    struct answer *a;
    int payload;

    if (downloads_endpoint_read(str_of(r->data, r->len), &instance, &payload)) {
        q = fetcher_find(f, instance);
    }
    if (q == NULL || q->told == NULL) {
        rpc_refuse(&r, "there is no such queue");
        return;
    }
    a = mem_zero(sizeof(*a));
    a->told = q->told;
    a->request = r;
    a->what = what;
    a->payload = payload;
    a->fd = -1;
    a->part = most < PART_MAX ? most : PART_MAX;
    r->on_room = on_room;
    r->on_gone = on_gone;
    r->arg = a;
    list_append(&a->told->answers, &a->link);
    tell_snapshots_go_on(a->told);
}

void
tell_on_all(void *arg, struct rpc_request *r)
{
    on_request(arg, r, ALL, DOWNLOADS_ALL);
}

void
tell_on_configuration(void *arg, struct rpc_request *r)
{
    on_request(arg, r, CONFIGURATION, DOWNLOADS_CONFIGURATION);
}

void
tell_on_custom_dirs(void *arg, struct rpc_request *r)
{
    on_request(arg, r, CUSTOM_DIRS, DOWNLOADS_CUSTOM_DIRS);
}

void
tell_on_options(void *arg, struct rpc_request *r)
{
    on_request(arg, r, OPTIONS, DOWNLOADS_OPTIONS_CHANGED);
}

void
tell_on_options_alias(void *arg, struct rpc_request *r)
{
    on_request(arg, r, OPTIONS_ALIAS, DOWNLOADS_OPTIONS_ALIAS);
}

/* ---- life ---- */

void
tell_snapshots_start(struct told *t)
{
    list_init(&t->answers);
    timer_init(&t->folders, on_folders);
}

/* Events that wait go first: a snapshot has them in it. */
void
tell_snapshots_go_on(struct told *t)
{
    if (!t->queue->loaded || t->lost || !list_empty(&t->waiting)) {
        return;
    }
    LIST_EACH (node, &t->answers) {
        struct answer *a = LIST_ITEM(node, struct answer, link);

        if (a->fd == -1) {
            begin(a);
        }
    }
}

void
tell_snapshots_stop(struct told *t)
{
    LIST_EACH (node, &t->answers) {
        refuse(LIST_ITEM(node, struct answer, link), "the queue ends");
    }
    timer_stop(t->loop, &t->folders);
}
