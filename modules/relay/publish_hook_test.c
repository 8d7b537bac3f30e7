/*
 * Publishers and their keys, when answers of the store and news of changed
 * keys come in any order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "api_keys.h"
#include "app/service/rtmp_service.h"
#include "fake_store.h"
#include "settings.h"

#define KEY "aaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY_X KEY "x"
#define KEY_DEEP KEY "/x"
#define DEEP_KEY "x/" KEY
#define OTHER "aaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbc"

/* ---- what stands around ---- */

struct metric relay_metrics[RELAY_METRIC_COUNT + 1];

static struct rtmp_application_settings application_settings;
static struct relay_application settings;
static const struct rtmp_application application = {
    .settings = &application_settings,
};
static struct conn conn;

struct peer {
    struct rtmp_request r;
    char room[64]; /* "" until it is renamed */
    bool decided, closed;
    enum rtmp_hook_result result;
    struct rtmp_refusal no;
};

static struct peer *
peer_of(struct rtmp_request *r)
{
    return r->context;
}

const struct relay_application *
relay_application_of(const struct rtmp_application_settings *a)
{
    assert_ptr_equal(a, &application_settings);
    return &settings;
}

const struct rtmp_application *
rtmp_service_application_of(const struct rtmp_request *r)
{
    (void)r;
    return &application;
}

int
rtmp_service_rename(struct rtmp_request *r, struct str name)
{
    str_copy(peer_of(r)->room, sizeof(peer_of(r)->room), name);
    return str_eq(name, STR("too long")) ? -1 : 0;
}

void
rtmp_service_decide(struct rtmp_request *r, enum rtmp_hook_result result,
                    const struct rtmp_refusal *no)
{
    struct peer *p = peer_of(r);

    assert_false(p->decided);
    p->decided = true;
    p->result = result;
    if (result == HOOK_REFUSE) {
        p->no = *no;
        relay_publish_hooks.on_end(r);
    }
}

struct conn *
rtmp_session_conn(struct rtmp_session *s)
{
    (void)s;
    return &conn;
}

void
rtmp_session_finish(struct rtmp_request *r, const char *level, const char *code,
                    const char *description)
{
    assert_string_equal(level, "error");
    assert_string_equal(code, "NetStream.Publish.BadName");
    assert_string_equal(description, "the stream key was reset or deleted");
    peer_of(r)->closed = true;
    relay_publish_hooks.on_end(r);
}

/* ---- doing ---- */

static enum rtmp_hook_result
publish(struct peer *p, const char *name)
{
    *p = (struct peer){ .r = { .name = str_from(name), .context = p } };
    return relay_publish_hooks.on_publish(&p->r, &p->no);
}

static void
publish_well(struct peer *p, const char *room)
{
    assert_int_equal(publish(p, KEY), HOOK_WAIT);
    fake_answer(STORE_OK, room, KEY);
    assert_true(p->decided);
    assert_int_equal(p->result, HOOK_DONE);
    assert_string_equal(p->room, room);
}

static void
leave(struct peer *p)
{
    relay_publish_hooks.on_end(&p->r);
}

static bool
is_refused(const struct peer *p, const char *words)
{
    assert_true(p->decided);
    return p->result == HOOK_REFUSE &&
           strstr(p->no.reason.text, words) != NULL &&
           strstr(p->no.reason.text, "aaaa") == NULL;
}

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    application_settings.publish = STR("key");
    settings = (struct relay_application){ .key_grace = 60000 };
    conn.loop = loop_new(&err);
    return conn.loop == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
    (void)state;
    if (fake_heard != NULL) { /* nothing is left for the next test */
        fake_heard(NULL, STR("room"));
    }
    assert_int_equal(fake_waiting(), 0);
    loop_free(&conn.loop);
    return 0;
}

/* ---- tests ---- */

static void
who_is_let_in(void **state)
{
    struct peer p;

    (void)state;
    publish_well(&p, "room");
    leave(&p);
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_answer(STORE_OK, NULL, NULL);
    assert_true(is_refused(&p, "no room has this key"));
    assert_int_equal(p.no.why, RTMP_REFUSED_KEY);
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_answer(STORE_OK, "room", OTHER); /* as good as impossible */
    assert_true(is_refused(&p, "no room has this key"));
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_answer(STORE_OK, "too long", KEY);
    assert_true(is_refused(&p, "too long"));
    assert_int_equal(fake_waiting(), 0);
}

static void
what_is_no_key_is_not_asked_for(void **state)
{
    static const char *const names[] = { "room",   KEY_X, KEY_DEEP,
                                         DEEP_KEY, "",    "a/b" };
    struct peer p;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(publish(&p, names[i]), HOOK_REFUSE);
        assert_int_equal(p.no.why, RTMP_REFUSED_KEY);
        assert_int_equal(fake_waiting(), 0);
    }
    application_settings.publish = STR("open");
    assert_int_equal(publish(&p, KEY), HOOK_NEXT);
    assert_int_equal(publish(&p, "room"), HOOK_NEXT);
    assert_int_equal(fake_waiting(), 0);
}

static void
who_leaves_is_not_decided_on(void **state)
{
    struct peer p;

    (void)state;
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    leave(&p);
    assert_int_equal(fake_waiting(), 0);
    assert_false(p.decided);
}

static void
a_reset_closes(void **state)
{
    struct peer mine, other;

    (void)state;
    publish_well(&mine, "room");
    publish_well(&other, "elsewhere");
    fake_heard(NULL, STR("room"));
    assert_int_equal(fake_waiting(), 1);
    fake_answer(STORE_OK, NULL, NULL);
    assert_true(mine.closed);
    assert_false(other.closed);
    fake_heard(NULL, STR("nobody"));
    assert_int_equal(fake_waiting(), 0);
    leave(&other);
    fake_heard(NULL, STR("elsewhere"));
}

static void
the_new_key_is_not_closed(void **state)
{
    struct peer p;

    (void)state;
    publish_well(&p, "room"); /* came before the news of its own reset */
    fake_heard(NULL, STR("room"));
    fake_answer(STORE_OK, "room", KEY);
    assert_false(p.closed);
    fake_heard(NULL, STR("room"));
    fake_answer(STORE_OK, "other", KEY);
    assert_true(p.closed);
}

static void
an_answer_from_before_the_reset_lets_nobody_in(void **state)
{
    struct peer p;

    (void)state;
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_heard(NULL, STR("room"));
    fake_answer(STORE_OK, "room", KEY);
    assert_false(p.decided); /* asked again */
    fake_answer(STORE_OK, NULL, NULL);
    assert_true(is_refused(&p, "no room"));
    /* Also while it is looked at again. */
    publish_well(&p, "room");
    fake_heard(NULL, STR("room"));
    fake_heard(NULL, STR("room"));
    fake_answer(STORE_OK, "room", KEY);
    assert_int_equal(fake_waiting(), 1);
    fake_answer(STORE_OK, NULL, NULL);
    assert_true(p.closed);
}

static void
keep_means_that_it_stays(void **state)
{
    struct peer p;

    (void)state;
    settings.on_key_change = KEY_CHANGE_KEEP;
    publish_well(&p, "room");
    fake_heard(NULL, STR("room"));
    fake_answer(STORE_OK, NULL, NULL);
    assert_false(p.closed);
    leave(&p);
    /* It has left for good: the key is none that was good lately. */
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_answer(STORE_DOWN, NULL, NULL);
    assert_true(is_refused(&p, "the store is down"));
}

static void
missed_news_look_at_all(void **state)
{
    struct peer a, b;

    (void)state;
    publish_well(&a, "room");
    publish_well(&b, "elsewhere");
    fake_heard(NULL, STR_NONE);
    while (fake_waiting() > 0) { /* both, and what is remembered */
        fake_answer(STORE_OK, "room", KEY);
    }
    assert_false(a.closed);
    assert_true(b.closed);
    leave(&a);
    fake_heard(NULL, STR("elsewhere"));
}

static void
grace_without_the_store(void **state)
{
    struct peer p, late;

    (void)state;
    assert_int_equal(publish(&p, OTHER), HOOK_WAIT);
    fake_answer(STORE_DOWN, NULL, NULL);
    assert_true(is_refused(&p, "the store is down"));
    publish_well(&p, "room");
    leave(&p);
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_answer(STORE_DOWN, NULL, NULL);
    assert_int_equal(p.result, HOOK_DONE);
    assert_string_equal(p.room, "room");
    /* News of a reset takes it out, and the store's silence does not help who
     * is live on it. */
    fake_heard(NULL, STR("room"));
    fake_answer(STORE_DOWN, NULL, NULL);
    assert_true(p.closed);
    assert_int_equal(publish(&late, KEY), HOOK_WAIT);
    fake_answer(STORE_DOWN, NULL, NULL);
    assert_true(is_refused(&late, "the store is down"));
    settings.key_grace = -1; /* less than no time has gone by */
    publish_well(&p, "room");
    leave(&p);
    assert_int_equal(publish(&p, KEY), HOOK_WAIT);
    fake_answer(STORE_DOWN, NULL, NULL);
    assert_true(is_refused(&p, "the store is down"));
}

static void
silence_after_missed_news_closes_nobody(void **state)
{
    struct peer p;

    (void)state;
    publish_well(&p, "room");
    fake_heard(NULL, STR_NONE);
    while (fake_waiting() > 0) {
        fake_answer(STORE_DOWN, NULL, NULL);
    }
    assert_false(p.closed);
    leave(&p);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(who_is_let_in),
        TEST(what_is_no_key_is_not_asked_for),
        TEST(who_leaves_is_not_decided_on),
        TEST(a_reset_closes),
        TEST(the_new_key_is_not_closed),
        TEST(an_answer_from_before_the_reset_lets_nobody_in),
        TEST(keep_means_that_it_stays),
        TEST(missed_news_look_at_all),
        TEST(grace_without_the_store),
        TEST(silence_after_missed_news_closes_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
