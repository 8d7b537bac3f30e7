/*
 * Batches of writes on the database.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/writer.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/ledger.h"
#include "store/sqlite/migrate.h"

#define PATIENCE_MS 1000           /* while somebody else has a lock */
#define COPY_DOUBLED 5             /* times, at most: 3.2 s */
#define COPY_PATIENCE_MS 100       /* while readers are in the log */
#define LOG_PART (4 << 20)         /* bytes of a log that is copied */
#define LOG_WHOLE (16 << 20)       /* and that readers have to leave */
#define OWNERS 64                  /* that a batch may forget rows of */
#define OWNERS_BYTES (1024 * 1024) /* of a list of them */

struct writer {
    struct sqlite *db;
    uint64_t boot;
    bool (*alive)(slot_owner);
};

/* ---- calls ---- */

struct writer_call *
writer_call_new(slot_owner from, struct str data)
{
    struct writer_call *c = mem_zero(sizeof(*c));
    struct unpack in = { .rest = data };

    c->from = from;
    c->topic = c->text = STR_NONE;
    list_init(&c->link);
    buf_init(&c->answer, WIRE_ANSWER_MAX);
    if (!wire_get_request(&in, &c->head)) {
        mem_free(&c);
        return NULL;
    }
    c->data = mem_dup(in.rest.ptr, in.rest.len);
    c->len = in.rest.len;
    return c;
}

void
writer_call_free(struct writer_call **c)
{
    mem_free(&(*c)->data);
    buf_clear(&(*c)->answer);
    mem_free(c);
}

/* The answer is the head alone. */
static void
set_status(struct writer_call *c, enum store_status status)
{
    const struct store_result r = { .status = status };
    struct pack out = { .to = &c->answer };

    c->status = status;
    buf_clear(&c->answer);
    wire_put_answer(&out, c->head.number, &r);
}

/* ---- the ledger ---- */

static enum store_status
say(struct writer *w, int what, const struct store_value *params, size_t count,
    struct errmsg *why)
{
    struct schema_place place = { .statement = (uint16_t)what };

    return sqlite_run(w->db, place, params, count, NULL, why);
}

/* The one row with one value that a statement of the ledger gives, or none:
 * STR_NONE.  For mem_free(). */
static enum store_status
find(struct writer *w, const struct store_value *key, char **text, size_t *len,
     struct errmsg *why)
{
    struct schema_place place = { .statement = LEDGER_FIND };
    enum store_status status;
    struct rows found;

    *text = NULL;
    rows_init(&found, WIRE_ANSWER_MAX + ROWS_CELL_BYTES);
    status = sqlite_run(w->db, place, key, 3, &found, why);
    if (status == STORE_OK && found.used > 0) {
        struct str s = rows_finish(&found)->answer[0].cells[0].s;

        *text = mem_dup(s.ptr, s.len);
        *len = s.len;
    }
    rows_clear(&found);
    return status;
}

/* Whether the answer is in the ledger; then it is given again. */
static enum store_status
replay(struct writer *w, struct writer_call *c, bool *found)
{
    struct store_value key[] = { store_int((int64_t)w->boot),
                                 store_int((int64_t)c->from),
                                 store_int((int64_t)c->head.number) };
    char *text;
    size_t len = 0;
    enum store_status status = find(w, key, &text, &len, &c->why);

    *found = status == STORE_OK && text != NULL;
    if (*found) {
        buf_clear(&c->answer);
        buf_add(&c->answer, text, len);
        c->status = STORE_OK;
    }
    mem_free(&text);
    return status;
}

static enum store_status
enter(struct writer *w, struct writer_call *c)
{
    struct store_value row[] = { store_int((int64_t)w->boot),
                                 store_int((int64_t)c->from),
                                 store_int((int64_t)c->head.number),
                                 store_text(buf_str(&c->answer)) };

    return say(w, LEDGER_ADD, row, 4, &c->why);
}

/* The newest news of each process about what it has been answered. */
static void
forget_answered(struct writer *w, const struct writer_batch *b,
                struct errmsg *why)
{
    const struct writer_call *last[OWNERS];
    size_t n = 0;

    LIST_EACH (node, &b->calls) {
        const struct writer_call *c = LIST_ITEM(node, struct writer_call, link);
        size_t i = 0;

        while (i < n && last[i]->from != c->from) {
            i++;
        }
        if (i < OWNERS) {
            last[i] = c;
            n = i == n ? n + 1 : n;
        }
    }
    for (size_t i = 0; i < n; i++) {
        struct store_value key[] = { store_int((int64_t)w->boot),
                                     store_int((int64_t)last[i]->from),
                                     store_int((int64_t)last[i]->head.oldest) };

        say(w, LEDGER_FORGET, key, 3, why);
    }
}

static void
drop_dead(struct writer *w, const struct store_rows *owners, struct errmsg *why)
{
    for (size_t i = 0; i < owners->rows; i++) {
        struct store_value key[] = { store_int((int64_t)w->boot),
                                     owners->cells[i] };

        if (!w->alive((slot_owner)owners->cells[i].n)) {
            say(w, LEDGER_DROP, key, 2, why);
        }
    }
}

static void
sweep(struct writer *w, struct errmsg *why)
{
    struct schema_place place = { .statement = LEDGER_OWNERS };
    struct store_value boot = store_int((int64_t)w->boot);
    struct rows found;

    rows_init(&found, OWNERS_BYTES);
    if (sqlite_run(w->db, place, &boot, 1, &found, why) == STORE_OK) {
        drop_dead(w, &rows_finish(&found)->answer[0], why);
    }
    rows_clear(&found);
}

/* ---- one call ---- */

/* Names the statement for readers of the log. */
static void
name_step(struct writer_call *c, struct schema_place place)
{
    const struct store_statement *s = schema_statement(place);
    const struct store_schema *schema = schema_at(place.schema);

    errmsg_prefix(&c->why,
                  "statement %s of schema %s: ", s != NULL ? s->name : "?",
                  schema != NULL ? schema->name : "?");
}

static enum store_status
run_step(struct writer *w, struct writer_call *c, struct unpack *in,
         struct rows *rows)
{
    struct wire_step step;
    enum store_status status;

    if (!wire_get_step(in, &step)) {
        errmsg_set(&c->why, "its request is damaged");
        return STORE_FAILED;
    }
    if (step.place.schema == 0) { /* transactions, and what was done already */
        errmsg_set(&c->why, "a statement of the keeper's own");
        return STORE_FAILED;
    }
    status =
        sqlite_run(w->db, step.place, step.params, step.count, rows, &c->why);
    if (status == STORE_OK && step.must_change && sqlite_changed(w->db) == 0) {
        status = STORE_MISSING;
    }
    if (status == STORE_FAILED) {
        name_step(c, step.place);
    }
    return status;
}

/* Packs what came of its steps. */
static void
set_rows(struct writer_call *c, struct rows *rows)
{
    struct pack out = { .to = &c->answer };

    buf_clear(&c->answer);
    wire_put_answer(&out, c->head.number, rows_finish(rows));
}

static enum store_status
run_steps(struct writer *w, struct writer_call *c)
{
    struct unpack in = { .rest = str_of(c->data, c->len) };
    enum store_status status = STORE_OK;
    struct rows rows;

    rows_init(&rows, STORE_ROWS_MAX);
    for (uint32_t i = 0; i < c->head.steps && status == STORE_OK; i++) {
        status = run_step(w, c, &in, &rows);
    }
    if (status == STORE_OK) {
        set_rows(c, &rows);
    }
    rows_clear(&rows);
    if (status == STORE_OK && !wire_get_notice(&in, &c->topic, &c->text)) {
        errmsg_set(&c->why, "its notice is damaged");
        status = STORE_FAILED;
    }
    return status == STORE_OK ? enter(w, c) : status;
}

/* Whether a transaction can go on after it. */
static bool
concerns_all(enum store_status status)
{
    return status == STORE_FULL || status == STORE_DOWN || status == STORE_BUSY;
}

/* Whether it stands twice in this batch and was just done, which holds only if
 * the transaction does: so it is not `replayed`. */
static enum store_status
find_twin(struct writer *w, struct writer_call *c, bool *found)
{
    *found = false;
    return c->head.again != 0 ? replay(w, c, found) : STORE_OK;
}

/* STORE_OK, whatever came of the call, or why the transaction cannot go
 * on. */
static enum store_status
run_call(struct writer *w, struct writer_call *c)
{
    bool is_twin;
    enum store_status status = find_twin(w, c, &is_twin);

    if (status != STORE_OK || is_twin) {
        return status;
    }
    if (clock_ms() > c->head.due) { /* it was told STORE_DOWN by itself */
        set_status(c, STORE_DOWN);
        return STORE_OK;
    }
    status = say(w, LEDGER_SAVE, NULL, 0, &c->why);
    if (status != STORE_OK) {
        return status;
    }
    status = run_steps(w, c);
    if (concerns_all(status) || !sqlite_in_transaction(w->db)) {
        return status == STORE_OK ? STORE_DOWN : status;
    }
    if (status != STORE_OK) {
        c->topic = STR_NONE;
        set_status(c, status);
        say(w, LEDGER_UNDO, NULL, 0, &c->why);
    }
    c->status = status;
    return say(w, LEDGER_RELEASE, NULL, 0, &c->why);
}

/* ---- all of them ---- */

/* Calls that were done before stay so, whatever the result of the others is. */
static enum store_status
replay_all(struct writer *w, struct writer_batch *b)
{
    LIST_EACH (node, &b->calls) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        if (c->head.again != 0 && replay(w, c, &c->replayed) != STORE_OK) {
            b->why = c->why;
            return STORE_DOWN;
        }
    }
    return STORE_OK;
}

static enum store_status
run_calls(struct writer *w, struct writer_batch *b)
{
    LIST_EACH (node, &b->calls) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);
        enum store_status status = c->replayed ? STORE_OK : run_call(w, c);

        if (status != STORE_OK) {
            b->why = c->why;
            return status;
        }
    }
    forget_answered(w, b, &b->why);
    if (b->sweep) {
        sweep(w, &b->why);
    }
    return STORE_OK;
}

static enum store_status
transact(struct writer *w, struct writer_batch *b)
{
    struct errmsg ignored;
    enum store_status status;

    if (!sqlite_in_place(w->db)) {
        errmsg_set(&b->why, "its file was moved or removed");
        return STORE_DOWN;
    }
    status = say(w, LEDGER_BEGIN, NULL, 0, &b->why);
    if (status != STORE_OK) {
        return status;
    }
    status = replay_all(w, b);
    if (status == STORE_OK) {
        status = run_calls(w, b);
    }
    if (status == STORE_OK) {
        status = say(w, LEDGER_COMMIT, NULL, 0, &b->why);
    }
    if (sqlite_in_transaction(w->db)) {
        say(w, LEDGER_ROLLBACK, NULL, 0, &ignored);
    }
    return status;
}

/* Nothing is changed, and what one call saw of another was not so. */
static void
fail_all(struct writer_batch *b)
{
    LIST_EACH (node, &b->calls) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        if (!c->replayed) {
            c->topic = STR_NONE;
            c->why.text[0] = '\0';
            set_status(c, b->status);
        }
    }
}

void
writer_run(struct writer *w, struct writer_batch *b)
{
    int64_t begin = clock_us();

    b->why.text[0] = '\0';
    b->status = transact(w, b);
    if (b->status == STORE_BUSY) {
        errmsg_set(&b->why, "another program has locked it");
    }
    if (b->status != STORE_OK) {
        b->status = b->status == STORE_FULL ? STORE_FULL : STORE_DOWN;
        fail_all(b);
    }
    b->us = clock_us() - begin;
}

bool
writer_wants_checkpoint(const struct writer *w)
{
    return sqlite_log_bytes(w->db) >= LOG_PART;
}

/* For readers that are in the log; more, the more there is in it. */
static int
copy_patience(int64_t bytes)
{
    int64_t times = bytes / LOG_WHOLE - 1;

    return times < COPY_DOUBLED ? COPY_PATIENCE_MS << times
                                : COPY_PATIENCE_MS << COPY_DOUBLED;
}

/* Readers hold it back only as long as a read takes.  When they do so again
 * and again, writes wait until all that are in the log have ended: those that
 * come meanwhile do not hold it back. */
bool
writer_checkpoint(struct writer *w)
{
    int64_t bytes = sqlite_log_bytes(w->db);
    bool whole = bytes >= LOG_WHOLE, done;

    sqlite_patience(w->db, whole ? copy_patience(bytes) : 0);
    done = sqlite_checkpoint(w->db, whole);
    sqlite_patience(w->db, PATIENCE_MS);
    return done;
}

int64_t
writer_log_bytes(const struct writer *w)
{
    return sqlite_log_bytes(w->db);
}

/* ---- life ---- */

/* Writes in any case: the first write that is synced makes the log's place
 * in its folder durable, for which the folder has to be opened. */
static int
forget_others(struct writer *w, struct errmsg *err)
{
    struct store_value row[] = { store_int((int64_t)w->boot), store_int(0),
                                 store_int(0), store_text(STR_NONE) };

    if (say(w, LEDGER_BEGIN, NULL, 0, err) != STORE_OK ||
        say(w, LEDGER_OTHERS, row, 1, err) != STORE_OK ||
        say(w, LEDGER_ADD, row, 4, err) != STORE_OK ||
        say(w, LEDGER_COMMIT, NULL, 0, err) != STORE_OK) {
        return -1;
    }
    return 0;
}

struct writer *
writer_open(struct str path, uint64_t boot, bool (*alive)(slot_owner),
            struct errmsg *err)
{
    struct writer *w = mem_zero(sizeof(*w));

    w->boot = boot;
    w->alive = alive;
    w->db = sqlite_open(path, true, err);
    if (w->db == NULL) {
        mem_free(&w);
        return NULL;
    }
    if (migrate_all(w->db, err) == -1 || sqlite_prepare_all(w->db, err) == -1 ||
        forget_others(w, err) == -1) {
        errmsg_prefix(err, "cannot use %.*s: ", STR_ARGS(path));
        writer_close(&w);
        return NULL;
    }
    sqlite_patience(w->db, PATIENCE_MS);
    return w;
}

void
writer_close(struct writer **w)
{
    if (*w != NULL) {
        sqlite_checkpoint((*w)->db, false);
        sqlite_close(&(*w)->db);
        mem_free(w);
    }
}
