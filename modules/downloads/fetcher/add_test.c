/*
 * The call add: what its answer says, and when.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/queue_fake.h"
#include "fetcher/selection.h"

/* ---- the worker ---- */

static char said[4096]; /* "200 {...};503 {...};" */

void
fetcher_answer(struct rpc_request **r, int code, int64_t retry_after,
               struct str body)
{
    size_t n = strlen(said);

    (void)retry_after;
    snprintf(said + n, sizeof(said) - n, "%d %.*s;", code, STR_ARGS(body));
    *r = NULL;
}

void
fetcher_answer_error(struct rpc_request **r, int code, int64_t retry_after,
                     const char *msg)
{
    fetcher_answer(r, code, retry_after, str_from(msg));
}

void
rpc_refuse(struct rpc_request **r, const char *text)
{
    (void)text;
    *r = NULL;
}

#define assert_said(expected)                \
    do {                                     \
        assert_string_equal(said, expected); \
        said[0] = '\0';                      \
    } while (0)

/* ---- engines ---- */

struct extraction {
    struct list link;
    uint64_t client;
    extract_handler *handler;
    void *arg;
};

static struct list extractions = { &extractions, &extractions };

struct extraction *
extract_start(struct queue *q, const struct download_wish *w,
              extract_handler *handler, void *arg, struct errmsg *err)
{
    struct extraction *x = mem_zero(sizeof(*x));

    (void)q;
    (void)err;
    x->client = w->client.words[1];
    x->handler = handler;
    x->arg = arg;
    list_append(&extractions, &x->link);
    return x;
}

void
extract_cancel(struct extraction *x)
{
    (void)x;
}

void
extract_free(struct extraction **x)
{
    if (*x != NULL) {
        list_remove(&(*x)->link);
        mem_free(x);
    }
}

const struct fetch_engine *
fetch_engine_of(struct queue *q)
{
    static const struct fetch_engine fake = { .name = "fake" };

    (void)q;
    return &fake;
}

int
selection_check(struct str quality, struct str format, struct errmsg *err)
{
    (void)quality;
    (void)format;
    (void)err;
    return 0;
}

int
fetch_engine_check(const struct fetch_engine *e, struct str quality,
                   struct str format, struct errmsg *err)
{
    (void)e;
    return selection_check(quality, format, err);
}

int
place_check_folder(struct place *p, struct str folder, bool make,
                   struct errmsg *err)
{
    (void)p;
    (void)folder;
    (void)make;
    (void)err;
    return 0;
}

/* ---- asking ---- */

#define URL_A "http://example.net/a"
#define URL_B "http://example.net/b"

static struct rpc_request requests[256];

static void
ask_of(uint64_t client, const char *url, bool auto_start)
{
    static size_t next;
    struct download_wish w = { .client = { { 1, client } },
                               .instance = STR("main"),
                               .url = str_from(url),
                               .quality = STR("best"),
                               .format = STR("any"),
                               .strict = -1,
                               .limit = -1,
                               .auto_start = auto_start };

    add_wish(&fetcher, &requests[next++ % 256], &w);
}

static void
ask_url(const char *url, bool auto_start)
{
    ask_of(0, url, auto_start);
}

static const struct extracted_item items[] = {
    { .url = { URL_A, sizeof(URL_A) - 1 },
      .fetch = { URL_A, sizeof(URL_A) - 1 },
      .title = { "A", 1 } },
    { .url = { URL_B, sizeof(URL_B) - 1 },
      .fetch = { URL_B, sizeof(URL_B) - 1 },
      .title = { "B", 1 } },
};
static const struct extracted one = { .ok = true, .items = items, .count = 1 };
static const struct extracted both = {
    .ok = true, .playlist = true, .items = items, .count = 2
};

/* The oldest extraction has ended. */
static void
find(const struct extracted *x)
{
    struct extraction *oldest =
        LIST_ITEM(extractions.next, struct extraction, link);

    assert_false(list_empty(&extractions));
    list_remove(&oldest->link); /* no other is the oldest from now on */
    oldest->handler(oldest->arg, x);
    turns();
}

/* An entry of URL_A waits. */
static struct entry *
pending(void)
{
    struct entry *e;

    ask_url(URL_A, false);
    find(&one);
    fake_answer(STORE_OK);
    turns();
    assert_said("200 {\"status\":\"ok\"};");
    e = queue_find(queue, STR(URL_A));
    assert_int_equal(queue_state_of(e), STATE_PENDING);
    return e;
}

/* ---- one that is late ---- */

struct mark {
    struct timer timer;
    bool passed;
};

static void
on_mark(struct timer *t)
{
    LIST_ITEM(t, struct mark, timer)->passed = true;
}

/* The timers that were set for `ms` or less have passed. */
static void
let_pass(int64_t ms)
{
    struct mark m = { .passed = false };

    timer_init(&m.timer, on_mark);
    timer_set(fetcher.loop, &m.timer, ms + 1);
    while (!m.passed) {
        loop_turn(fetcher.loop, 10);
    }
}

static void
test_late_write_is_waited_for(void **state)
{
    (void)state;
    queue->plan.extract_timeout = 1;
    queue->plan.timeout = 60000;
    ask_url(URL_A, true);
    find(&one);
    assert_asks("add");
    let_pass(1);
    assert_said("");
    fake_answer(STORE_OK);
    turns();
    assert_said("200 {\"status\":\"ok\"};");
}

static void
test_write_that_is_too_late(void **state)
{
    (void)state;
    queue->plan.extract_timeout = 1;
    queue->plan.timeout = 4;
    ask_url(URL_A, true);
    find(&one);
    let_pass(1);
    let_pass(4);
    assert_said("503 It is not written yet: it may be added later.;");
    fake_answer(STORE_OK);
    turns();
    assert_said("");
    assert_non_null(queue_find(queue, STR(URL_A)));
}

/* The answer waits for both, which are committed in time. */
static void
test_late_list(void **state)
{
    (void)state;
    queue->plan.extract_timeout = 1;
    queue->plan.timeout = 60000;
    ask_url(URL_A, true);
    find(&both);
    let_pass(1);
    assert_said("");
    fake_answer(STORE_OK);
    turns();
    assert_said("");
    fake_answer(STORE_OK);
    turns();
    assert_said("200 {\"status\":\"ok\",\"added\":2};");
}

static void
test_late_start_is_waited_for(void **state)
{
    struct entry *e = pending();

    (void)state;
    queue->plan.extract_timeout = 1;
    queue->plan.timeout = 60000;
    ask_url(URL_A, true);
    turns();
    assert_asks("start");
    let_pass(1);
    assert_said("");
    fake_answer(STORE_OK);
    turns();
    assert_said("200 {\"status\":\"ok\",\"msg\":\"Already in queue: A\"};");
    assert_int_equal(queue_state_of(e), STATE_QUEUE);
}

static void
test_start_that_fails(void **state)
{
    struct entry *e = pending();

    (void)state;
    ask_url(URL_A, true);
    turns();
    fake_answer(STORE_FULL);
    turns();
    assert_said("503 the store is down;");
    assert_int_equal(queue_state_of(e), STATE_PENDING);
}

/* ---- two of one address ---- */

/* The second finds what the first has made, and starts it. */
static void
test_other_request_was_faster(void **state)
{
    (void)state;
    queue->plan.max_extractions = 2;
    ask_url(URL_A, false);
    ask_url(URL_A, true);
    find(&one);
    find(&one);
    assert_asks("add_waiting");
    fake_answer(STORE_OK);
    assert_said("200 {\"status\":\"ok\"};");
    assert_asks("add");
    fake_answer(STORE_CONFLICT);
    turns();
    assert_said("");
    assert_asks("start");
    fake_answer(STORE_OK);
    turns();
    assert_said("200 {\"status\":\"ok\",\"msg\":\"Already in queue: A\"};");
    assert_int_equal(queue_state_of(queue_find(queue, STR(URL_A))),
                     STATE_QUEUE);
}

/* The same, and the second does not ask for a start. */
static void
test_other_request_was_faster_and_waits(void **state)
{
    (void)state;
    queue->plan.max_extractions = 2;
    ask_url(URL_A, false);
    ask_url(URL_A, false);
    find(&one);
    find(&one);
    fake_answer(STORE_OK);
    fake_answer(STORE_CONFLICT);
    turns();
    assert_int_equal(fake_waiting(), 0);
    assert_said("200 {\"status\":\"ok\"};200 {\"status\":\"ok\",\"msg\":"
                "\"Already in queue: A\"};");
    assert_int_equal(queue_state_of(queue_find(queue, STR(URL_A))),
                     STATE_PENDING);
}

/* ---- one that is being canceled ---- */

#define HELD "503 It is being canceled, and an add of it waits; try again.;"

static void
test_one_add_waits_for_a_cancellation(void **state)
{
    struct entry *e = pending();

    (void)state;
    queue->plan.max_extractions = 2;
    queue_start(e, NULL, NULL);
    queue_cancel(e, NULL, NULL);
    turns();
    fake_answer(STORE_OK);
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_int_equal(queue_state_of(e), STATE_CANCELED);
    ask_url(URL_A, true);
    ask_url(URL_A, true);
    find(&one);
    assert_int_equal(fake_waiting(), 0);
    assert_said("");
    find(&one); /* it was asked for before the first was held */
    assert_said(HELD);
    ask_url(URL_A, true);
    assert_said(HELD);
    assert_true(list_empty(&extractions));
    queue_ask(e, TRIGGER_GONE, NULL, NULL);
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_asks("add");
    fake_answer(STORE_OK);
    turns();
    assert_said("200 {\"status\":\"ok\"};");
}

/* ---- clients ---- */

#define NOTHING "200 nothing;"

/* The digits of those whose extractions run. */
#define assert_extracts(expected)                                         \
    do {                                                                  \
        char running[32] = "";                                            \
        size_t n = 0;                                                     \
        LIST_EACH (node, &extractions) {                                  \
            running[n++] =                                                \
                (char)('0' +                                              \
                       LIST_ITEM(node, struct extraction, link)->client); \
        }                                                                 \
        assert_string_equal(running, expected);                           \
    } while (0)

static const struct extracted nothing = { .ok = false,
                                          .msg = { "nothing", 7 } };

/* One that has all extractions keeps nobody waiting. */
static void
test_clients_extract_in_turn(void **state)
{
    (void)state;
    queue->plan.max_extractions = 2;
    for (int i = 0; i < 5; i++) {
        ask_of(1, URL_A, true);
    }
    assert_extracts("11");
    ask_of(2, URL_B, true);
    assert_extracts("112");
    ask_of(2, URL_B, true);
    ask_of(3, URL_B, true);
    assert_extracts("1123");
    ask_of(4, URL_B, true); /* as many as max_extractions have one */
    assert_extracts("1123");
    find(&nothing);
    find(&nothing);
    assert_extracts("231"); /* of those that wait it came first */
    find(&nothing);
    assert_extracts("312");
    find(&nothing);
    assert_extracts("124");
    find(&nothing);
    assert_extracts("241");
    assert_said(NOTHING NOTHING NOTHING NOTHING NOTHING);
}

static void
test_one_of_many_gives_way(void **state)
{
    (void)state;
    for (int i = 0; i < 1 + DOWNLOADS_WAITING; i++) {
        ask_of(1, URL_A, true);
    }
    assert_said("");
    ask_of(1, URL_A, true);
    assert_said("503 Too many addresses wait to be looked at; try again.;");
    ask_of(2, URL_B, true);
    ask_of(2, URL_B, true);
    assert_said("503 This client has its share of what is looked at at once; "
                "try again.;");
    assert_extracts("12");
    assert_int_equal(queue->waits, DOWNLOADS_WAITING);
}

static int
setup_adds(void **state)
{
    setup(state);
    said[0] = '\0';
    queue->plan.extract_timeout = queue->plan.timeout = 60000;
    queue->plan.max_extractions = 1;
    queue->plan.template = STR("%(title)s.%(ext)s");
    queue->plan.playlist_template = STR("%(title)s.%(ext)s");
    return 0;
}

#define ADD(name) cmocka_unit_test_setup_teardown(name, setup_adds, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ADD(test_late_write_is_waited_for),
        ADD(test_write_that_is_too_late),
        ADD(test_late_list),
        ADD(test_late_start_is_waited_for),
        ADD(test_start_that_fails),
        ADD(test_other_request_was_faster),
        ADD(test_other_request_was_faster_and_waits),
        ADD(test_one_add_waits_for_a_cancellation),
        ADD(test_clients_extract_in_turn),
        ADD(test_one_of_many_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
