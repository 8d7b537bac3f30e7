/*
 * How many passwords the auth filter hashes: what it costs to ask, which must
 * not tell whether there is a user of that name.
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

#include <crypt.h>
#include <sys/syscall.h>
#include <time.h>

#include "http/filter/auth.h"
#include "serve.h"

/* "ann" and "zoe"; what crypt() below makes of "secret". */
#define HASH "$2y$04$R9KAWhGvJ6DFiKQi6keiVO0bjPNYbRUgusG/WG/E/LiEwXgpsNtYG"
#define ANN "Authorization: Basic YW5uOnNlY3JldA==\r\n"
#define ANN_WRONG "Authorization: Basic YW5uOndyb25n\r\n"
#define BOB "Authorization: Basic Ym9iOnNlY3JldA==\r\n"
#define NO_NAME "Authorization: Basic OnNlY3JldA==\r\n"

static unsigned hashed;

/* In place of the library's, which takes its time. */
char *
crypt_rn(const char *phrase, const char *setting, void *data, int size)
{
    char *made = data;

    assert_true((size_t)size > strlen(setting));
    hashed++;
    memcpy(made, setting, strlen(setting) + 1);
    if (strcmp(phrase, "secret") != 0) {
        made[strlen(made) - 1] ^= 1;
    }
    return made;
}

static int64_t later_s; /* seconds that have gone by, as clocks say */

int
clock_gettime(clockid_t clock, struct timespec *t)
{
    long rc = syscall(SYS_clock_gettime, clock, t);

    t->tv_sec += later_s;
    return (int)rc;
}

static enum http_result
on_tell(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "text/plain",
                      pool_printf(r->pool, "<user %.*s>", STR_ARGS(r->user)));
}

static const struct http_route routes[] = {
    { "GET", "/*", on_tell, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = {
    { .module = "tell", .routes = routes },
};
static struct auth_rule rule;
static const struct http_auth auth = { &rule, 1 };
static struct http_location location = { .path = { "/", 1 },
                                         .client_max_body_size = 10,
                                         .layers = layers,
                                         .layer_count = 1,
                                         .auth = &auth };
static struct http_server server = { .settings = SERVE_SETTINGS,
                                     .locations = &location,
                                     .location_count = 1 };
static struct loop *l;
static struct pool *pool;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    pool = pool_new(1024);
    rule = (struct auth_rule){ .kind = AUTH_BASIC, .realm = STR("home") };
    return l == NULL
               ? -1
               : auth_make_basic(pool, STR("ann:" HASH "\nzoe:" HASH "\n"),
                                 &rule, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    loop_free(&l);
    pool_free(&pool);
    return 0;
}

/* Passwords hashed for a request with these headers; it is let in or not. */
static unsigned
cost(const char *headers, bool in)
{
    struct client c = client_open(l, &server);
    struct buf b;

    hashed = 0;
    buf_init(&b, 4096);
    buf_printf(
        &b, "GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n",
        headers);
    client_send(&c, buf_str(&b));
    assert_true(client_hears_end(&c));
    assert_int_equal(client_find(&c, "200 OK") != NULL, in);
    assert_int_equal(client_find(&c, "401 Unauthorized") != NULL, !in);
    buf_clear(&b);
    client_close(&c);
    return hashed;
}

static void
who_is_unknown_costs_what_who_is_known_costs(void **state)
{
    (void)state;
    assert_int_equal(cost(ANN_WRONG, false), 1);
    assert_int_equal(cost(BOB, false), 1);
    assert_int_equal(cost(NO_NAME, false), 1);
    assert_int_equal(cost(BOB, false), 1); /* each time */
    assert_int_equal(cost(ANN_WRONG, false), 1);
}

static void
a_password_that_was_right_costs_nothing_for_a_while(void **state)
{
    (void)state;
    assert_int_equal(cost(ANN, true), 1);
    assert_int_equal(cost(ANN, true), 0);
    assert_int_equal(cost(ANN_WRONG, false), 1);
    assert_int_equal(cost(ANN, true), 0);
    later_s += 61;
    assert_int_equal(cost(ANN, true), 1);
    assert_int_equal(cost(ANN, true), 0);
}

static void
who_says_nothing_costs_nothing(void **state)
{
    (void)state;
    assert_int_equal(cost("", false), 0);
    assert_int_equal(cost("Authorization: Bearer x\r\n", false), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_unknown_costs_what_who_is_known_costs),
        cmocka_unit_test(a_password_that_was_right_costs_nothing_for_a_while),
        cmocka_unit_test(who_says_nothing_costs_nothing),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
