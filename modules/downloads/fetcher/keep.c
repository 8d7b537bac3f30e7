/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/keep.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "net/sha256.h"

/* ---- tables ---- */

#define COLUMNS(number)                                                      \
    "create table downloads_entries ("                                       \
    "number " number ", "                                                    \
    "instance text not null, list bigint not null, canceled bigint not null" \
    ", url_hash text not null, url text not null, fetch_url text not null, " \
    "asked text not null, id text not null, title text not null, "           \
    "quality text not null, format text not null, folder text not null, "    \
    "prefix text not null, name text not null, item_limit bigint not null, " \
    "item bigint not null, added_ns bigint not null, started bigint not "    \
    "null, "                                                                 \
    "finished bigint not null, status bigint not null, "                     \
    "size bigint not null, filename text not null, msg text not null, "      \
    "note text not null, runner text not null)"

/* A migration that was released is never changed: another one goes behind. */
static const struct store_migration migrations[] = {
    { .sqlite = COLUMNS("integer not null primary key autoincrement"),
      .postgres = COLUMNS("bigserial primary key") },
    { .sqlite = "create index downloads_numbers on downloads_entries "
                "(instance, number)" },
    { .sqlite = "create unique index downloads_active on downloads_entries "
                "(instance, url_hash) where list < 2" },
    { .sqlite = "create unique index downloads_ended on downloads_entries "
                "(instance, url_hash) where list = 2" },
    { .sqlite = NULL },
};

#define ROW                                                              \
    "select number, list, canceled, status, url, fetch_url, asked, id, " \
    "title, quality, format, folder, prefix, name, item_limit, "         \
    "added_ns, started, finished, size, filename, msg, note, runner "    \
    "from downloads_entries "

/* A list is a word, because there are no more parameters. */
#define ADD_TO(list)                                                         \
    "insert into downloads_entries (instance, list, canceled, url_hash, "    \
    "url, fetch_url, asked, id, title, quality, format, folder, prefix, "    \
    "name, "                                                                 \
    "item_limit, added_ns, started, finished, status, size, filename, msg, " \
    "note, runner, item) values ($1, " list                                  \
    ", 0, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "         \
    "-1, -1, 0, -1, '', '', $15, '', $16) returning number"

enum statement {
    SQL_ADD_WAITING,
    SQL_ADD,
    SQL_START,
    SQL_CLAIM,
    SQL_REPLACE,
    SQL_FINISH,
    SQL_CANCEL,
    SQL_REMOVE,
    SQL_PAGE,
    SQL_ONE,
    SQL_NEW,
    SQL_COUNT
};

/* Each statement asks for the state of the row that it expects, because another
 * node may have been quicker. */
static const struct store_statement statements[] = {
    [SQL_ADD_WAITING] = { .name = "add_waiting", .sql = ADD_TO("0") },
    [SQL_ADD] = { .name = "add", .sql = ADD_TO("1") },
    [SQL_START] = { .name = "start",
                    .alone = true,
                    .sql = "update downloads_entries set list = 1 "
                           "where number = $1 and list = 0" },
    [SQL_CLAIM] = { .name = "claim",
                    .alone = true,
                    .sql = "update downloads_entries set started = $2, "
                           "runner = $3 where number = $1 and list = 1 "
                           "and canceled = 0" },
    [SQL_REPLACE] = { .name = "replace",
                      .sql = "delete from downloads_entries where "
                             "instance = $1 and url_hash = $2 and list = 2" },
    [SQL_FINISH] = { .name = "finish",
                     .alone = true,
                     .sql = "update downloads_entries set list = 2, "
                            "status = $2, finished = $3, size = $4, "
                            "filename = $5, msg = $6 "
                            "where number = $1 and list = 1 and canceled = 0 "
                            "and runner = $7" },
    [SQL_CANCEL] = { .name = "cancel",
                     .alone = true,
                     .sql = "update downloads_entries set canceled = 1 "
                            "where number = $1 and list = 1" },
    [SQL_REMOVE] = { .name = "remove",
                     .alone = true,
                     .sql = "delete from downloads_entries "
                            "where number = $1 and list = $2" },
    [SQL_PAGE] = { .name = "page",
                   .quick = true,
                   .sql = ROW "where instance = $1 and number > $2 "
                              "order by number limit $3" },
    [SQL_ONE] = { .name = "one",
                  .quick = true,
                  .sql = ROW "where number = $1" },
    [SQL_NEW] = { .name = "new",
                  .quick = true,
                  .sql = ROW "where instance = $1 and url_hash = $2 "
                             "and list < 2" },
    [SQL_COUNT] = { .name = NULL },
};

const struct store_schema downloads_schema = {
    .name = "downloads",
    .migrations = migrations,
    .statements = statements,
};

/* ---- writing ---- */

static_assert(KEEP_HASH == 2 * DIGEST_SHA256 + 1, "a digit is half a byte");

/* Addresses are too long for an index. */
struct str
keep_hash(struct str url, char room[static KEEP_HASH])
{
    uint8_t digest[DIGEST_SHA256];

    digest_sha256(url.ptr, url.len, digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(room + 2 * i, 3, "%02x", digest[i]);
    }
    return str_from(room);
}

/* The notice of an add has the hash of its address, because no number is known
 * yet. */
static struct store_call *
write_steps(struct entry *e, const struct store_step *steps, size_t count,
            store_done *done, void *arg)
{
    char text[DOWNLOADS_NAME_MAX + 160], room[KEEP_HASH];
    struct store_notice notice = { .topic = KEEP_TOPIC };

    if (!e->queue->fetcher->shared) {
        return store_write(steps, count, NULL, done, arg);
    }
    if (e->listed) {
        snprintf(text, sizeof(text), "%s %s%" PRId64 " %.*s",
                 e->queue->fetcher->tag, e->wiped ? "-" : "", e->number,
                 STR_ARGS(e->queue->plan.name));
    } else {
        snprintf(text, sizeof(text), "%s #%s %.*s", e->queue->fetcher->tag,
                 keep_hash(e->facts->url, room).ptr,
                 STR_ARGS(e->queue->plan.name));
    }
    notice.text = str_from(text);
    return store_write(steps, count, &notice, done, arg);
}

static struct store_call *
write_one(struct entry *e, enum statement which,
          const struct store_value *params, size_t count, store_done *done,
          void *arg)
{
    const struct store_step step = { .statement = &statements[which],
                                     .params = params,
                                     .count = count,
                                     .must_change = true };

    return write_steps(e, &step, 1, done, arg);
}

static struct store_call *
write_add(struct entry *e, bool waits, store_done *done, void *arg)
{
    const struct entry_facts *f = e->facts;
    char room[KEEP_HASH];
    const struct store_value params[] = {
        store_text(e->queue->plan.name),
        store_text(keep_hash(f->url, room)),
        store_text(f->url),
        store_text(f->fetch),
        store_text(f->asked),
        store_text(f->id),
        store_text(f->title),
        store_text(f->quality),
        store_text(f->format),
        store_text(f->folder),
        store_text(f->prefix),
        store_text(f->name),
        store_int(f->limit),
        store_int(f->timestamp_ns),
        store_text(f->note),
        store_int(f->item),
    };

    return write_one(e, waits ? SQL_ADD_WAITING : SQL_ADD, params, 16, done,
                     arg);
}

static struct store_call *
write_finish(struct entry *e, store_done *done, void *arg)
{
    char room[KEEP_HASH];
    const struct store_value which[] = {
        store_text(e->queue->plan.name),
        store_text(keep_hash(e->facts->url, room)),
    };
    const struct store_value params[] = {
        store_int(e->number),
        store_int(e->status),
        store_int(e->finished_ms),
        store_int(e->size),
        store_text(e->filename),
        store_text(e->msg),
        store_text(e->queue->fetcher->node),
    };
    const struct store_step steps[] = {
        { .statement = &statements[SQL_REPLACE], .params = which, .count = 2 },
        { .statement = &statements[SQL_FINISH],
          .params = params,
          .count = 7,
          .must_change = true },
    };

    return write_steps(e, steps, 2, done, arg);
}

struct store_call *
keep_write(struct entry *e, enum queue_trigger trigger, enum queue_state from,
           store_done *done, void *arg)
{
    struct store_value params[] = {
        store_int(e->number),
        store_int(from == STATE_CANCELED ? LIST_QUEUE : (int64_t)from),
        store_text(e->queue->fetcher->node)
    };

    switch (trigger) {
    case TRIGGER_ADD_WAITING:
    case TRIGGER_ADD:
        return write_add(e, trigger == TRIGGER_ADD_WAITING, done, arg);
    case TRIGGER_START:
        return write_one(e, SQL_START, params, 1, done, arg);
    case TRIGGER_CLAIM:
        params[1] = store_int(e->started_ms);
        return write_one(e, SQL_CLAIM, params, 3, done, arg);
    case TRIGGER_FINISH:
        return write_finish(e, done, arg);
    case TRIGGER_CANCEL:
        if (from == STATE_QUEUE) {
            return write_one(e, SQL_CANCEL, params, 1, done, arg);
        }
        return write_one(e, SQL_REMOVE, params, 2, done, arg);
    case TRIGGER_GONE:
    case TRIGGER_CLEAR:
    case QUEUE_TRIGGERS:
        break;
    }
    return write_one(e, SQL_REMOVE, params, 2, done, arg);
}

/* ---- reading ---- */

struct store_call *
keep_page(const struct queue *q, int64_t behind, store_done *done, void *arg)
{
    const struct store_value params[] = { store_text(q->plan.name),
                                          store_int(behind),
                                          store_int(KEEP_PAGE) };

    return store_read(&statements[SQL_PAGE], params, 3, done, arg);
}

struct store_call *
keep_one(int64_t number, store_done *done, void *arg)
{
    const struct store_value param = store_int(number);

    return store_read(&statements[SQL_ONE], &param, 1, done, arg);
}

struct store_call *
keep_new(const struct queue *q, struct str hash, store_done *done, void *arg)
{
    const struct store_value params[] = { store_text(q->plan.name),
                                          store_text(hash) };

    return store_read(&statements[SQL_NEW], params, 2, done, arg);
}

static enum queue_state
state_of_row(const struct store_value *c)
{
    if (c[2].n != 0) {
        return STATE_CANCELED;
    }
    return c[1].n >= LIST_PENDING && c[1].n <= LIST_DONE
               ? (enum queue_state)c[1].n
               : STATE_NONE;
}

void
keep_take_row(const struct store_rows *rows, size_t i, struct keep_row *out)
{
    const struct store_value *c = rows->cells + i * rows->columns;

    *out = (struct keep_row){
        .number = c[0].n,
        .state = state_of_row(c),
        .status = (int)c[3].n,
        .facts = { .url = c[4].s,
                   .fetch = c[5].s,
                   .asked = c[6].s,
                   .id = c[7].s,
                   .title = c[8].s,
                   .quality = c[9].s,
                   .format = c[10].s,
                   .folder = c[11].s,
                   .prefix = c[12].s,
                   .name = c[13].s,
                   .limit = c[14].n,
                   .timestamp_ns = c[15].n,
                   .note = c[21].s,
                   .item = c[23].n },
        .started_ms = c[16].n,
        .finished_ms = c[17].n,
        .size = c[18].n,
        .filename = c[19].s,
        .msg = c[20].s,
        .runner = c[22].s,
    };
}

struct entry *
keep_entry(struct queue *q, const struct keep_row *row)
{
    struct entry *e = entry_new(q, entry_facts_copy(&row->facts));

    e->number = row->number;
    keep_update(e, row);
    return e;
}

/* The node that has the file of an ended one; empty: this one.  Rows without a
 * runner are those of a weir that did not keep it. */
static struct str
file_elsewhere(const struct fetcher *f, struct str runner)
{
    if (!f->shared || str_eq(runner, f->node)) {
        return STR_NONE;
    }
    return runner.len > 0 ? runner : STR("?");
}

void
keep_update(struct entry *e, const struct keep_row *row)
{
    bool ended = row->state == STATE_DONE;

    e->started_ms = row->started_ms;
    if (!ended) {
        return;
    }
    e->status = row->status == STATUS_FINISHED ? STATUS_FINISHED : STATUS_ERROR;
    e->finished_ms = row->finished_ms;
    e->size = row->size;
    e->percent = e->status == STATUS_FINISHED ? 100000 : -1;
    e->speed = e->eta = -1;
    entry_set_text(&e->filename, row->filename);
    entry_set_text(&e->msg, row->msg);
    entry_set_text(&e->where, file_elsewhere(e->queue->fetcher, row->runner));
}
