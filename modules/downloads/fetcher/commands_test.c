/*
 * The calls delete and start: what their answers say.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/commands.h"
#include "fetcher/queue_fake.h"
#include "fetcher/selection.h"

/* ---- the worker ---- */

static int status; /* of the last answer; 0: there is none yet */
static char said[4096];

struct queue *
fetcher_queue(struct fetcher *f, struct rpc_request **r, struct str instance)
{
    (void)f;
    (void)r;
    (void)instance;
    return queue;
}

void
fetcher_answer(struct rpc_request **r, int code, int64_t retry_after,
               struct str body)
{
    (void)retry_after;
    status = code;
    str_copy(said, sizeof(said), body);
    *r = NULL;
}

void
fetcher_answer_error(struct rpc_request **r, int code, int64_t retry_after,
                     const char *msg)
{
    fetcher_answer(r, code, retry_after, str_from(msg));
}

void
rpc_reply(struct rpc_request **r, const void *data, size_t len, int fd)
{
    (void)data;
    (void)len;
    (void)fd;
    *r = NULL;
}

void
rpc_refuse(struct rpc_request **r, const char *text)
{
    (void)text;
    *r = NULL;
}

int
tell_history(struct queue *q, int64_t *length, struct errmsg *err)
{
    (void)q;
    (void)length;
    (void)err;
    return -1;
}

bool
fetch_engine_hold(struct queue *q, struct rpc_request *r,
                  void (*again)(void *arg, struct rpc_request *r))
{
    (void)q;
    (void)r;
    (void)again;
    return false;
}

struct str
fetch_engine_trouble(const struct queue *q)
{
    (void)q;
    return STR_NONE;
}

void
add_wish(struct fetcher *f, struct rpc_request *r,
         const struct download_wish *w)
{
    (void)f;
    (void)r;
    (void)w;
}

int
selection_check(struct str quality, struct str format, struct errmsg *err)
{
    (void)quality;
    (void)format;
    (void)err;
    return 0;
}

static struct rpc_request request;

static void
ask_delete(bool done, const char *first, const char *second)
{
    const struct str ids[] = { str_from(first), str_from(second) };
    const struct download_ids i = { .instance = STR("main"),
                                    .done = done,
                                    .ids = ids,
                                    .count = second[0] != '\0' ? 2 : 1 };
    const struct tally_holder client = { { 1, 2 } };
    static char bytes[4096]; /* they live as long as the request */
    struct buf b;

    list_init(&fetcher.jobs);
    status = 0;
    buf_init(&b, sizeof(bytes));
    download_client_pack(&client, &b);
    download_ids_pack(&i, &b);
    memcpy(bytes, buf_data(&b), buf_len(&b));
    request =
        (struct rpc_request){ .data = bytes, .len = buf_len(&b), .fd = -1 };
    commands_on_delete(&fetcher, &request);
    turns();
    buf_clear(&b);
}

#define assert_said(code, body)          \
    do {                                 \
        assert_int_equal(status, code);  \
        assert_string_equal(said, body); \
    } while (0)

/* ---- cancel ---- */

static void
test_cancel_of_one_that_is_not_there(void **state)
{
    (void)state;
    make(STATE_DONE);
    ask_delete(false, "a", "b");
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[\"a\",\"b\"]}");
}

/* Its end is written first. */
static void
test_cancel_of_one_that_ends(void **state)
{
    struct entry *e = make(STATE_QUEUE);

    (void)state;
    queue_ask(e, TRIGGER_FINISH, NULL, NULL);
    turns();
    ask_delete(false, "a", "");
    assert_int_equal(status, 0);
    assert_asks("finish");
    fake_answer(STORE_OK);
    turns();
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[\"a\"]}");
    assert_int_equal(queue_state_of(e), STATE_DONE);
}

/* Another node has written its end first. */
static void
test_cancel_of_one_that_has_ended_elsewhere(void **state)
{
    (void)state;
    make(STATE_QUEUE);
    ask_delete(false, "a", "");
    assert_asks("cancel");
    fake_answer(STORE_MISSING);
    turns();
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[\"a\"]}");
    assert_asks("one"); /* its row is read */
    fake_answer(STORE_DOWN);
}

static void
test_cancel_of_one_that_is_named_twice(void **state)
{
    (void)state;
    make(STATE_QUEUE);
    ask_delete(false, "a", "a");
    fake_answer(STORE_OK);
    turns();
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[]}");
}

static void
test_cancel_of_a_waiting_one_twice(void **state)
{
    (void)state;
    make(STATE_PENDING);
    ask_delete(false, "a", "a");
    fake_answer(STORE_OK);
    turns();
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[]}");
    assert_log("canceled a;");
}

/* ---- clear ---- */

static struct entry *
with_file(void)
{
    struct entry *e = make(STATE_DONE);

    queue->plan.delete_files = true;
    entry_set_text(&e->filename, STR("a.mp4"));
    return e;
}

static void
test_clear_with_its_file(void **state)
{
    (void)state;
    with_file();
    ask_delete(true, "a", "");
    fake_done("remove", true, "");
    turns();
    assert_asks("remove");
    assert_string_equal(fake_oldest()->notice, "");
    fake_answer(STORE_OK);
    turns();
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[]}");
    assert_log("cleared a;");
}

static void
test_a_record_whose_file_stays_is_kept(void **state)
{
    (void)state;
    with_file();
    ask_delete(true, "a", "b");
    fake_done("remove", false, "");
    turns();
    assert_said(500, "the file of a stays, and its record: No space left on "
                     "device");
    assert_int_equal(fake_waiting(), 0);
    assert_int_equal(queue->counts[LIST_DONE], 1);
}

/* The file of that name here is of somebody else. */
static void
test_clear_of_one_whose_file_is_elsewhere(void **state)
{
    struct entry *e = with_file();

    (void)state;
    fetcher.shared = true;
    str_copy(fetcher.tag, sizeof(fetcher.tag), STR("tag"));
    entry_set_text(&e->where, STR("b"));
    ask_delete(true, "a", "");
    assert_true(list_empty(&fake_works));
    assert_asks("remove");
    assert_string_equal(fake_oldest()->notice, "tag -1 main");
    fake_answer(STORE_OK);
    turns();
    assert_said(200, "{\"status\":\"ok\",\"not_found\":[]}");
    assert_log("cleared a;");
}

/* A node that follows: it removes its own file, if a client has asked. */
static void
test_the_node_that_ran_it_removes_the_file(void **state)
{
    static const struct {
        bool wiped, removes;
        const char *elsewhere;
    } rows[] = { { true, true, "" },
                 { true, false, "b" },
                 { false, false, "" } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct entry *e = with_file();

        e->wiped = rows[i].wiped;
        entry_set_text(&e->where, str_from(rows[i].elsewhere));
        queue_follow(e, STATE_NONE);
        assert_int_equal(!list_empty(&fake_works), rows[i].removes);
        if (rows[i].removes) {
            fake_done("remove", true, "");
        }
        assert_log("cleared a;");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_cancel_of_one_that_is_not_there),
        ROW(test_cancel_of_one_that_ends),
        ROW(test_cancel_of_one_that_has_ended_elsewhere),
        ROW(test_cancel_of_one_that_is_named_twice),
        ROW(test_cancel_of_a_waiting_one_twice),
        ROW(test_clear_with_its_file),
        ROW(test_a_record_whose_file_stays_is_kept),
        ROW(test_clear_of_one_whose_file_is_elsewhere),
        ROW(test_the_node_that_ran_it_removes_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
