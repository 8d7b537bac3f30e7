/*
 * The words of weirctl.  They run in the master: the fetcher is asked, and
 * run() is called again when it has answered.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "downloads.h"

#include <stdio.h>
#include <string.h>

#include "app/control/ask.h"
#include "app/settings/settings.h"
#include "base/pack.h"
#include "request.h"
#include "json/read.h"

#define ORDER_MAX 65536 /* bytes of an order: a line has fewer */
#define IDS_MOST 20     /* of a command */

static enum control_result
fail_unwanted(struct control_call *command)
{
    return control_fail(command, "failed",
                        "no location of weir.conf has module downloads");
}

/* ---- show downloads ---- */

struct showing { /* the control_state() */
    struct control_ask ask;
    int what;      /* enum downloads_shown */
    int64_t shown; /* rows */
    bool begun;    /* the table has its head */
};

static const struct control_column queue_columns[] = {
    { "instance", 12 }, { "engine", 8 }, { "version", 12 }, { "pending", 8 },
    { "queue", 6 },     { "done", 6 },   { "running", 8 },  { "free_mb", 8 },
    { "error", 0 },     { NULL, 0 },
};
static const struct control_column entry_columns[] = {
    { "instance", 12 }, { "list", 8 },      { "status", 14 }, { "percent", 8 },
    { "speed", 10 },    { "eta", 6 },       { "size", 12 },   { "url", 40 },
    { "title", 24 },    { "filename", 24 }, { "msg", 0 },     { NULL, 0 },
};

static void
cell_number(struct control_call *out, int64_t n)
{
    if (n < 0) {
        control_cell(out, STR_NONE);
    } else {
        control_cell_int(out, n);
    }
}

enum { QUEUE_TEXTS = 4, QUEUE_NUMBERS = 5, ENTRY_TEXTS = 7, ENTRY_NUMBERS = 4 };

/* out is NULL when the bytes are only looked at. */
static void
read_queue(struct unpack *in, struct control_call *out)
{
    struct str texts[QUEUE_TEXTS];
    int64_t numbers[QUEUE_NUMBERS];

    for (int i = 0; i < QUEUE_TEXTS; i++) {
        texts[i] = unpack_text(in);
    }
    for (int i = 0; i < QUEUE_NUMBERS; i++) {
        numbers[i] = unpack_int(in);
    }
    for (int i = 0; out != NULL && i < QUEUE_TEXTS - 1; i++) {
        control_cell(out, texts[i]);
    }
    for (int i = 0; out != NULL && i < QUEUE_NUMBERS - 1; i++) {
        cell_number(out, numbers[i]);
    }
    if (out != NULL) {
        cell_number(out, numbers[QUEUE_NUMBERS - 1] < 0
                             ? -1
                             : numbers[QUEUE_NUMBERS - 1] >> 20);
        control_cell_words(out, texts[QUEUE_TEXTS - 1]);
    }
}

static void
read_entry(struct unpack *in, struct control_call *out)
{
    struct str texts[ENTRY_TEXTS];
    int64_t numbers[ENTRY_NUMBERS];

    for (int i = 0; i < ENTRY_TEXTS; i++) {
        texts[i] = unpack_text(in);
    }
    for (int i = 0; i < ENTRY_NUMBERS; i++) {
        numbers[i] = unpack_int(in);
    }
    for (int i = 0; out != NULL && i < 3; i++) {
        control_cell(out, texts[i]);
    }
    for (int i = 0; out != NULL && i < ENTRY_NUMBERS; i++) {
        cell_number(out,
                    i == 0 && numbers[0] >= 0 ? numbers[0] / 1000 : numbers[i]);
    }
    for (int i = 3; out != NULL && i < ENTRY_TEXTS - 1; i++) {
        control_cell(out, texts[i]);
    }
    if (out != NULL) {
        control_cell_words(out, texts[ENTRY_TEXTS - 1]);
    }
}

/* Another process wrote the bytes: they are read twice, the first time to see
 * whether they are whole.  Returns the number of rows, or -1. */
static int64_t
read_page(const struct showing *s, bool *more, struct control_call *out)
{
    struct unpack in = { .rest = str_of(s->ask.data, s->ask.len) };
    int64_t rows = 0;
    uint8_t mark;

    while ((mark = unpack_u8(&in)) == 1) {
        if (s->what == SHOWN_QUEUES) {
            read_queue(&in, out);
        } else {
            read_entry(&in, out);
        }
        rows++;
    }
    *more = mark == 2 && rows > 0;
    return unpack_ends(&in) && mark <= 2 ? rows : -1;
}

static enum control_result
ask_page(struct control_call *command, struct showing *s, struct str instance)
{
    enum control_result result;
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, downloads_methods[DOWNLOADS_SHOW].request_max);
    pack_text(&out, instance);
    pack_u8(&out, (uint8_t)s->what);
    pack_int(&out, s->shown);
    result = control_ask(command, &s->ask, &downloads_methods[DOWNLOADS_SHOW],
                         buf_data(&b), buf_len(&b));
    buf_clear(&b);
    return result;
}

static const struct downloads_instance *
find_instance(const struct control_call *command, struct str name)
{
    const struct conf_groups *all =
        &downloads_root_of(control_settings(command))->instances;
    const struct downloads_instance *items = all->items;

    for (size_t i = 0; i < all->count; i++) {
        if (str_eq(items[i].name, name) || (name.len == 0 && all->count == 1)) {
            return &items[i];
        }
    }
    return NULL;
}

static int
list_of(struct str word)
{
    static const char *const words[] = { [SHOWN_PENDING] = "pending",
                                         [SHOWN_QUEUE] = "queue",
                                         [SHOWN_DONE] = "done" };

    for (int i = SHOWN_PENDING; i <= SHOWN_DONE; i++) {
        if (str_eq(word, str_from(words[i]))) {
            return i;
        }
    }
    return -1;
}

/* [INSTANCE] [LIST]; no instance has a list's name. */
static int
read_words(const struct control_call *command, struct str *instance, int *what)
{
    size_t count = control_words(command);
    struct str last = control_word(command, count > 0 ? count - 1 : 0);
    int list = count > 0 ? list_of(last) : -1;

    *instance = STR_NONE;
    *what = list != -1 ? list : count > 0 ? SHOWN_ENTRIES : SHOWN_QUEUES;
    if (count == 2 || (count == 1 && list == -1)) {
        *instance = control_word(command, 0);
    }
    return count == 2 && list == -1 ? -1 : 0;
}

static enum control_result
show_page(struct control_call *command, struct showing *s)
{
    bool more;
    int64_t rows = read_page(s, &more, NULL);

    if (rows == -1) {
        return s->begun ? CONTROL_DONE
                        : control_ask_senseless(command, &s->ask);
    }
    if (!s->begun) {
        control_table(command,
                      s->what == SHOWN_QUEUES ? queue_columns : entry_columns);
        s->begun = true;
    }
    s->shown += read_page(s, &more, command);
    control_ask_clear(&s->ask);
    return more ? CONTROL_MORE : CONTROL_DONE;
}

/* A table that is begun ends where no more can be had. */
static enum control_result
on_show(struct control_call *command)
{
    struct showing *s = control_state(command, sizeof(*s), control_ask_done);
    enum control_result result;
    struct str instance;

    if (read_words(command, &instance, &s->what) == -1) {
        return control_usage(command);
    }
    if (!downloads_wanted(control_settings(command))) {
        return s->begun ? CONTROL_DONE : fail_unwanted(command);
    }
    if (!s->ask.asked && !s->begun && instance.len > 0 &&
        find_instance(command, instance) == NULL) {
        return control_fail(command, "missing",
                            "there is no downloads \"%.*s\"",
                            STR_ARGS(instance));
    }
    if (!s->ask.asked) {
        return ask_page(command, s, instance);
    }
    if (s->begun && s->ask.call == NULL && s->ask.failed) {
        return CONTROL_DONE;
    }
    return control_answered(command, &s->ask, 0, &result)
               ? show_page(command, s)
               : result;
}

/* ---- orders ---- */

/* The words behind the instance's: "instance=NAME" may be any of them. */
static const struct downloads_instance *
instance_for(const struct control_call *command)
{
    struct str name = STR_NONE;

    for (size_t i = 0; i < control_words(command); i++) {
        struct str value = control_word(command, i);

        if (str_starts(value, STR("instance="))) {
            name = str_skip(value, sizeof("instance=") - 1);
        }
    }
    return find_instance(command, name);
}

static enum control_result
fail_instance(struct control_call *command)
{
    const struct conf_groups *all =
        &downloads_root_of(control_settings(command))->instances;
    const struct downloads_instance *items = all->items;
    char names[512] = "";
    size_t len = 0;

    for (size_t i = 0; i < all->count; i++) {
        len =
            str_append(names, sizeof(names), len, i > 0 ? STR(", ") : STR(""));
        len = str_append(names, sizeof(names), len, items[i].name);
    }
    return control_fail(command, "usage", "instance=NAME must name one of %s",
                        names);
}

static enum control_result
send_order(struct control_call *command, struct control_ask *a, char kind,
           const struct buf *body, int64_t timeout_ms)
{
    enum control_result result;
    struct buf b;

    buf_init(&b, ORDER_MAX);
    buf_add(&b, &kind, 1);
    buf_add_str(&b, buf_str(body));
    result = control_ask_within(command, a, &downloads_methods[DOWNLOADS_ORDER],
                                buf_str(&b), timeout_ms);
    buf_clear(&b);
    return result;
}

static enum control_result
tell_answer(struct control_call *command, const struct json_value *v)
{
    const struct json_value *missing = json_member(v, "not_found");
    struct str msg = json_member_str(v, "msg");

    if (!str_eq(json_member_str(v, "status"), STR("ok"))) {
        return control_fail(command, "failed", "%.*s", STR_ARGS(msg));
    }
    if (missing != NULL && missing->kind == JSON_ARRAY &&
        missing->first != NULL) {
        return control_fail(command, "missing", "there is no \"%.*s\" there",
                            STR_ARGS(missing->first->text));
    }
    return control_ok(command, "%.*s", STR_ARGS(msg));
}

static enum control_result
answer_order(struct control_call *command, const struct control_ask *a)
{
    enum control_result result;
    struct downloads_answer head;
    const struct json_value *v;
    struct errmsg err;
    struct pool *pool;
    struct str body;

    if (!control_answered(command, a, 0, &result)) {
        return result;
    }
    if (downloads_answer_unpack(str_of(a->data, a->len), &head, &body) == -1) {
        return control_ask_senseless(command, a);
    }
    pool = pool_new(1024);
    v = json_read(pool, body, &err);
    result =
        v != NULL ? tell_answer(command, v) : control_ask_senseless(command, a);
    pool_free(&pool);
    return result;
}

/* ---- downloads add ---- */

static bool
read_yes(struct str s, bool *out)
{
    *out = str_eq(s, STR("true"));
    return *out || str_eq(s, STR("false"));
}

/* One NAME=VALUE of an add, under the names that the API has. */
static bool
read_option(struct str word, struct download_wish *w)
{
    struct str value = word;
    struct str name = str_cut(&value, '=');
    bool yes;

    if (str_eq(name, STR("quality"))) {
        w->quality = value;
    } else if (str_eq(name, STR("format"))) {
        w->format = value;
    } else if (str_eq(name, STR("folder"))) {
        w->folder = value;
    } else if (str_eq(name, STR("custom_name_prefix"))) {
        w->prefix = value;
    } else if (str_eq(name, STR("playlist_item_limit"))) {
        return str_to_int(value, 0, DOWNLOAD_LIMIT_MAX, &w->limit);
    } else if (str_eq(name, STR("playlist_strict_mode"))) {
        w->strict = read_yes(value, &yes) && yes;
        return read_yes(value, &yes);
    } else if (str_eq(name, STR("auto_start"))) {
        return read_yes(value, &w->auto_start);
    } else {
        return str_eq(name, STR("instance"));
    }
    return true;
}

static enum control_result
send_wish(struct control_call *command, struct control_ask *a,
          const struct downloads_instance *i, struct download_wish *w)
{
    enum control_result result;
    struct buf b;

    w->instance = i->name;
    buf_init(&b, ORDER_MAX);
    download_wish_pack(w, &b);
    result = send_order(command, a, 'a', &b, i->timeout + i->extract_timeout);
    buf_clear(&b);
    return result;
}

static enum control_result
on_add(struct control_call *command)
{
    struct control_ask *a =
        control_state(command, sizeof(*a), control_ask_done);
    const struct downloads_instance *i;
    struct download_wish w;
    struct errmsg err;

    if (a->asked) {
        return answer_order(command, a);
    }
    download_wish_defaults(&w);
    w.url = control_word(command, 0);
    for (size_t n = 1; n < control_words(command); n++) {
        if (!read_option(control_word(command, n), &w)) {
            return control_usage(command);
        }
    }
    if (control_words(command) == 0) {
        return control_usage(command);
    }
    if (download_wish_check(&w, &err) == -1) {
        return control_fail(command, "usage", "%s", err.text);
    }
    if (!downloads_wanted(control_settings(command))) {
        return fail_unwanted(command);
    }
    i = instance_for(command);
    return i != NULL ? send_wish(command, a, i, &w) : fail_instance(command);
}

/* ---- downloads start, cancel, clear ---- */

static enum control_result
send_ids(struct control_call *command, struct control_ask *a, char kind,
         bool done)
{
    const struct downloads_instance *i = instance_for(command);
    struct str ids[IDS_MOST + 1];
    struct download_ids order = { .done = done, .ids = ids };
    enum control_result result;
    struct buf b;

    for (size_t n = 0; n < control_words(command) && n <= IDS_MOST; n++) {
        if (!str_starts(control_word(command, n), STR("instance="))) {
            ids[order.count++] = control_word(command, n);
        }
    }
    if (order.count == 0) {
        return control_usage(command);
    }
    if (i == NULL) {
        return fail_instance(command);
    }
    order.instance = i->name;
    buf_init(&b, ORDER_MAX);
    download_ids_pack(&order, &b);
    result = send_order(command, a, kind, &b, i->timeout);
    buf_clear(&b);
    return result;
}

static enum control_result
run_ids(struct control_call *command, char kind, bool done)
{
    struct control_ask *a =
        control_state(command, sizeof(*a), control_ask_done);

    if (a->asked) {
        return answer_order(command, a);
    }
    return downloads_wanted(control_settings(command))
               ? send_ids(command, a, kind, done)
               : fail_unwanted(command);
}

static enum control_result
on_start(struct control_call *command)
{
    return run_ids(command, 's', false);
}

static enum control_result
on_cancel(struct control_call *command)
{
    return run_ids(command, 'd', false);
}

static enum control_result
on_clear(struct control_call *command)
{
    return run_ids(command, 'd', true);
}

const struct control_verb downloads_verbs[] = {
    { .words = "show downloads",
      .arguments = "[INSTANCE] [pending|queue|done]",
      .help = "Queues of downloads; with an instance or a list: their "
              "downloads.",
      .level = CONTROL_OPERATOR,
      .most = 2,
      .run = on_show },
    { .words = "downloads add",
      .arguments = "URL [NAME=VALUE ...]",
      .help = "Adds a video or playlist; names are those of POST add, and "
              "instance.",
      .level = CONTROL_OPERATOR,
      .most = 9,
      .run = on_add },
    { .words = "downloads start",
      .arguments = "URL ... [instance=NAME]",
      .help = "Pending downloads start.",
      .level = CONTROL_OPERATOR,
      .most = IDS_MOST,
      .run = on_start },
    { .words = "downloads cancel",
      .arguments = "URL ... [instance=NAME]",
      .help = "Downloads that run or wait end, and their files go.",
      .level = CONTROL_OPERATOR,
      .most = IDS_MOST,
      .run = on_cancel },
    { .words = "downloads clear",
      .arguments = "URL ... [instance=NAME]",
      .help = "Records of ended downloads go.",
      .level = CONTROL_OPERATOR,
      .most = IDS_MOST,
      .run = on_clear },
    { .words = NULL },
};
