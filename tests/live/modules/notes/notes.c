/*
 * A module for tests: a table of notes in the store, asked over HTTP.
 *
 *   /notes/add?name=N&text=T   409 when there is one of that name
 *   /notes/set?name=N&text=T   404 when there is none
 *   /notes/move?from=A&name=B  both or none; 404 when A is not there
 *   /notes/get?name=N          its text, read on the loop
 *   /notes/count               how many, read on a thread
 *   /notes/long?steps=N        a read that takes a while
 *   /notes/heard               what this worker heard: notices, the last one,
 *                              and how often some may have been missed
 *   /notes/wrong               a statement that fails
 *
 * Each answers 200, or 409, 404, 503 with the store's words, or 500.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <unistd.h>

#include "app/module.h"
#include "base/mem.h"
#include "store/store.h"

static const struct store_migration migrations[] = {
    { .sqlite = "CREATE TABLE note (name TEXT PRIMARY KEY,"
                " text TEXT NOT NULL CHECK (text <> 'never'))" },
    { .sqlite = NULL },
};

enum { ADD, SET, REMOVE, GET, COUNT, LONG };
static const struct store_statement statements[] = {
    [ADD] = { .name = "add", .sql = "INSERT INTO note VALUES ($1, $2)" },
    [SET] = { .name = "set",
              .sql = "UPDATE note SET text = $2 WHERE name = $1" },
    [REMOVE] = { .name = "remove", .sql = "DELETE FROM note WHERE name = $1" },
    [GET] = { .name = "get",
              .sql = "SELECT text FROM note WHERE name = $1",
              .quick = true },
    [COUNT] = { .name = "count", .sql = "SELECT count(*) FROM note" },
    [LONG] = { .name = "long",
               .sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                      "SELECT i + 1 FROM n WHERE i < $1) "
                      "SELECT max(i), (SELECT count(*) FROM note) FROM n" },
    { .name = NULL },
};

static const struct store_schema schema = {
    .name = "notes",
    .migrations = migrations,
    .statements = statements,
};

/* A request that waits for the store. */
struct ask {
    struct store_call *call;
    struct http_request *request;
    enum store_status status;
    struct buf text;
};

static struct {
    unsigned heard, missed;
    char last[64];
} told;

static void
on_heard(void *arg, struct str text)
{
    (void)arg;
    if (text.len == 0) {
        told.missed++;
        return;
    }
    told.heard++;
    str_copy(told.last, sizeof(told.last), text);
}

/* ---- asking ---- */

static void
done(void *arg, const struct store_result *result)
{
    struct ask *a = arg;

    a->call = NULL;
    a->status = result->status;
    if (result->steps > 0) {
        const struct store_rows *rows = &result->answer[0];

        for (size_t i = 0; i < rows->rows * rows->columns; i++) {
            const struct store_value *v = &rows->cells[i];

            if (v->type == STORE_INT) {
                buf_printf(&a->text, "%lld ", (long long)v->n);
            } else {
                buf_add_str(&a->text, v->s);
            }
        }
        buf_printf(&a->text, "\n%zu rows, %lld changed\n", rows->rows,
                   (long long)rows->changed);
    }
    http_resume(a->request);
}

static void
on_cancel(void *arg)
{
    struct ask *a = arg;

    store_cancel(&a->call);
    buf_clear(&a->text);
}

static struct store_value
value(struct http_request *r, const char *name)
{
    struct str text;

    if (!http_query(r, name, &text)) {
        text = STR_NONE;
    }
    return store_text(text);
}

static void
read_it(struct http_request *r, struct ask *a, int statement)
{
    struct store_value key = value(r, "name");
    int64_t steps;

    if (statement == LONG &&
        str_to_int(value(r, "steps").s, 1, 1000000000, &steps)) {
        key = store_int(steps);
    }
    a->call = store_read(&statements[statement], &key, 1, done, a);
}

static void
write_it(struct http_request *r, struct ask *a, int statement)
{
    struct store_value values[] = { value(r, "name"), value(r, "text") };
    struct store_value from = value(r, "from");
    struct store_step steps[] = {
        { &statements[REMOVE], &from, 1, .must_change = true },
        { &statements[statement], values, 2, .must_change = true },
    };
    struct store_notice notice = { "notes", values[0].s };
    bool moves = from.s.len > 0;

    a->call =
        store_write(moves ? steps : steps + 1, moves ? 2 : 1, &notice, done, a);
}

static enum http_result
ask(struct http_request *r)
{
    static const struct {
        const char *path;
        int statement;
        bool writes;
    } ways[] = {
        { "/add", ADD, true },    { "/set", SET, true },
        { "/move", ADD, true },   { "/wrong", ADD, true },
        { "/get", GET, false },   { "/count", COUNT, false },
        { "/long", LONG, false },
    };
    struct ask *a = pool_zero(r->pool, sizeof(*a));

    a->request = r;
    buf_init(&a->text, STORE_ROWS_MAX);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (str_ends(r->path, str_from(ways[i].path))) {
            r->context = a;
            http_on_cancel(r, on_cancel, a);
            (ways[i].writes ? write_it : read_it)(r, a, ways[i].statement);
            return HTTP_WAIT;
        }
    }
    return http_reply(r, 404, NULL, STR_NONE);
}

static enum http_result
answer(struct http_request *r, struct ask *a)
{
    static const int codes[] = {
        [STORE_OK] = 200,     [STORE_CONFLICT] = 409, [STORE_MISSING] = 404,
        [STORE_BUSY] = 503,   [STORE_DOWN] = 503,     [STORE_FULL] = 507,
        [STORE_FAILED] = 500,
    };
    struct str text = a->status == STORE_OK
                          ? buf_str(&a->text)
                          : str_from(store_status_text(a->status));

    http_reply(r, codes[a->status], "text/plain", text);
    buf_clear(&a->text);
    return HTTP_DONE;
}

static enum http_result
on_notes(struct http_request *r, void *state)
{
    (void)state;
    if (r->context != NULL) {
        return answer(r, r->context);
    }
    if (str_ends(r->path, STR("/heard"))) {
        struct str text = pool_printf(r->pool, "%d %u %u %s\n", (int)getpid(),
                                      told.heard, told.missed, told.last);

        return http_reply(r, 200, "text/plain", text);
    }
    return ask(r);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    (void)layer;
    (void)state;
    (void)r;
    (void)err;
    store_listen("notes", on_heard, NULL);
    return 0;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_notes },
    { .path = NULL },
};

const struct module notes_module = {
    .name = "notes",
    .about = "keeps notes in the store, for tests",
    .start = start,
    .routes = routes,
    .store = &schema,
};
