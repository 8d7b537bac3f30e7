/*
 * The auth filter: asks the rules one after the other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/auth.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "event/task.h"
#include "http/filter/authorization.h"
#include "http/filter/filter.h"
#include "net/password.h"
#include "net/share.h"

#define REMEMBERED 512      /* passwords that were right */
#define REMEMBERED_MS 60000 /* for so long */
#define CHECKS_MAX 16       /* passwords on the threads at a time */
#define BUSY_RETRY_SECONDS "1"

/* A check for which an exchange waits; the exchange may end before it. */
struct password_check {
    struct task task;
    struct exchange *x;        /* NULL: gone */
    struct str password, hash; /* in pool */
    struct pool *pool;         /* owned */
    struct tally_holder client;
    bool fits;
};

/* Where the filter is with a request. */
struct auth_try {
    struct authorization given;
    bool has_header;              /* it was given in one */
    size_t rule;                  /* the one that is asked */
    struct password_check *check; /* on a thread */
    bool checked, fits;           /* what it found */
    bool wrong_token, no_right;   /* a bearer token was looked at */
    const char *why;
};

static struct {
    uint8_t key[DIGEST_SHA256];
    bool ready;
    struct {
        uint8_t digest[DIGEST_SHA256];
        int64_t until_ms;
    } remembered[REMEMBERED];
    unsigned checks; /* on the threads now */
} all;

struct tally_pool auth_pools[] = {
    { .name = "http.password_checks", .scope = TALLY_PROCESS },
    { .name = NULL },
};

/* ---- passwords that were right a moment ago ---- */

/* Under a key of this process: what is remembered tells nobody a password. */
static void
digest_of(const struct auth_user *user, struct str password,
          uint8_t out[DIGEST_SHA256])
{
    struct buf b;

    if (!all.ready) {
        rand_bytes(all.key, sizeof(all.key));
        all.ready = true;
    }
    buf_init(&b, PASSWORD_MAX + PASSWORD_HASH_MAX + 1);
    buf_add_str(&b, user->hash); /* has its own salt: one user's alone */
    buf_add(&b, "", 1);
    if (buf_add_str(&b, password) == -1) { /* fits nobody */
        rand_bytes(out, DIGEST_SHA256);
    } else {
        digest_hmac_sha256(all.key, sizeof(all.key), buf_data(&b), buf_len(&b),
                           out);
        explicit_bzero(b.mem, b.size);
    }
    buf_clear(&b);
}

static size_t
place_of(const uint8_t digest[DIGEST_SHA256])
{
    return (digest[0] | (size_t)digest[1] << 8) % REMEMBERED;
}

static bool
is_remembered(const uint8_t digest[DIGEST_SHA256], int64_t now_ms)
{
    size_t i = place_of(digest);

    return all.remembered[i].until_ms > now_ms &&
           digest_equal(all.remembered[i].digest, digest, DIGEST_SHA256);
}

static void
remember(const uint8_t digest[DIGEST_SHA256], int64_t now_ms)
{
    size_t i = place_of(digest);

    memcpy(all.remembered[i].digest, digest, DIGEST_SHA256);
    all.remembered[i].until_ms = now_ms + REMEMBERED_MS;
}

/* ---- checking one on a thread ---- */

static void
free_check(struct password_check *check)
{
    struct pool *pool = check->pool;

    explicit_bzero((char *)(uintptr_t)check->password.ptr, check->password.len);
    pool_free(&pool);
}

static void
on_work(struct task *task)
{
    struct password_check *check = LIST_ITEM(task, struct password_check, task);

    check->fits = password_fits(check->password, check->hash);
}

static void
on_checked(struct task *task)
{
    struct password_check *check = LIST_ITEM(task, struct password_check, task);
    struct exchange *x = check->x;

    all.checks--;
    tally_leave(&auth_pools[0], &check->client);
    if (x != NULL) {
        x->auth->check = NULL;
        x->auth->checked = true;
        x->auth->fits = check->fits && !task->cancelled;
        http_on_cancel(&x->pub, NULL, NULL);
        http_resume(&x->pub);
    }
    free_check(check);
}

static void
on_cancel(void *arg)
{
    struct auth_try *t = arg;

    if (t->check != NULL) {
        t->check->x = NULL;
        t->check = NULL;
    }
}

static struct password_check *
new_check(struct exchange *x, struct str hash)
{
    struct pool *pool = pool_new(sizeof(struct password_check) + 512);
    struct password_check *check = pool_zero(pool, sizeof(*check));

    check->pool = pool;
    check->x = x;
    check->hash = pool_str(pool, hash);
    check->password = pool_str(pool, x->auth->given.password);
    check->task.work = on_work;
    check->task.done = on_checked;
    return check;
}

/* Whether it is on a thread now, as one of its client's share. */
static bool
runs(struct exchange *x, struct str hash, const struct tally_holder *client)
{
    struct auth_try *t = x->auth;

    if (all.checks >= CHECKS_MAX) {
        return false;
    }
    t->check = new_check(x, hash);
    t->check->client = *client;
    if (task_run(x->c->server->threads, &t->check->task) == -1) {
        free_check(t->check);
        t->check = NULL;
        return false;
    }
    all.checks++;
    http_on_cancel(&x->pub, on_cancel, t);
    return true;
}

static enum filter_result
run_check(struct exchange *x, struct str hash)
{
    const struct share_want want = { .pool = &auth_pools[0],
                                     .client = share_client(&x->pub.client),
                                     .size = CHECKS_MAX };
    enum share_answer answer = share_claim(&want);

    if (answer == SHARE_GRANTED && runs(x, hash, &want.client)) {
        return FILTER_WAIT;
    }
    if (answer == SHARE_GRANTED) {
        tally_leave(&auth_pools[0], &want.client);
    }
    http_set_header(&x->pub, "Retry-After", STR(BUSY_RETRY_SECONDS));
    return http_filter_reject(
        x, REFUSE_BUSY,
        answer == SHARE_OVER
            ? "your address has its share of passwords to check: try again"
            : "too many passwords to check: try again");
}

/* FILTER_PASS: the answer is there at once. */
static enum filter_result
start_check(struct exchange *x, struct str hash)
{
    struct auth_try *t = x->auth;

    if (x->c->server->threads != NULL) {
        return run_check(x, hash);
    }
    t->checked = true;
    t->fits = password_fits(t->given.password, hash);
    return FILTER_PASS;
}

/* ---- what a rule says: PASS in *met, WAIT, REJECT ---- */

/* A name that nobody has costs as much time as one that somebody has. */
static enum filter_result
ask_basic(struct exchange *x, const struct auth_rule *rule, bool *met)
{
    struct auth_try *t = x->auth;
    const struct auth_user *user = auth_find_user(rule, t->given.user);
    uint8_t digest[DIGEST_SHA256];
    int64_t now = loop_now(x->pub.loop);

    if (t->given.kind != AUTHORIZATION_BASIC) {
        return FILTER_PASS;
    }
    if (user != NULL) {
        digest_of(user, t->given.password, digest);
    }
    if (!t->checked && (user == NULL || !is_remembered(digest, now))) {
        enum filter_result result =
            start_check(x, (user != NULL ? user : rule->users)->hash);

        if (result != FILTER_PASS) {
            return result;
        }
    } else if (!t->checked) {
        t->fits = true;
    }
    if (user != NULL && t->fits) {
        remember(digest, now);
        x->pub.user = user->name;
        *met = true;
    }
    t->why = "wrong user or password";
    t->checked = t->fits = false;
    return FILTER_PASS;
}

/* In the header, or, where there is none, in the query. */
static bool
find_token(struct exchange *x, const struct auth_rule *rule, struct str *token)
{
    const struct auth_try *t = x->auth;

    *token = t->given.token;
    return t->given.kind == AUTHORIZATION_BEARER ||
           (!t->has_header && auth_query_token(&x->pub, rule, token));
}

static void
ask_bearer(struct exchange *x, const struct auth_rule *rule, bool *met)
{
    struct auth_try *t = x->auth;
    struct str token;

    if (!find_token(x, rule, &token)) {
        return;
    }
    if (auth_knows_token(rule, token)) {
        x->pub.user = STR("bearer");
        *met = true;
        return;
    }
    t->wrong_token = true;
    t->why = "the token is not known";
}

static void
ask_jwt(struct exchange *x, const struct auth_rule *rule, bool *met)
{
    struct auth_try *t = x->auth;
    enum jwt_result result;
    struct str token;

    if (!find_token(x, rule, &token)) {
        return;
    }
    result = jwt_check(x->pub.pool, &rule->jwt, token, clock_wall_ms() / 1000,
                       &x->pub.user);
    if (result == JWT_GOOD) {
        *met = true;
        return;
    }
    x->pub.user = STR_NONE;
    t->wrong_token = true;
    t->no_right |= result == JWT_CLAIMS;
    t->why = jwt_result_text(result);
}

static enum filter_result
ask(struct exchange *x, const struct auth_rule *rule, bool *met)
{
    switch (rule->kind) {
    case AUTH_BASIC:
        return ask_basic(x, rule, met);
    case AUTH_BEARER:
        ask_bearer(x, rule, met);
        break;
    case AUTH_JWT:
        ask_jwt(x, rule, met);
        break;
    }
    return FILTER_PASS;
}

/* ---- no ---- */

/* RFC 6750, 3: a client that gave no token gets no error code. */
static const char *
bearer_error(const struct auth_try *t)
{
    if (t->no_right) {
        return ", error=\"insufficient_scope\"";
    }
    return t->wrong_token ? ", error=\"invalid_token\"" : "";
}

/* RFC 9110, 11.6.1: one for each way to get in. */
static void
challenge(struct exchange *x, const struct http_auth *auth)
{
    bool bearer = false;

    for (size_t i = 0; i < auth->rule_count; i++) {
        const struct auth_rule *rule = &auth->rules[i];
        struct str text;

        if (rule->kind == AUTH_BASIC) {
            text = pool_printf(x->pub.pool,
                               "Basic realm=\"%.*s\", charset=\"UTF-8\"",
                               STR_ARGS(rule->realm));
        } else if (!bearer) {
            bearer = true;
            text = pool_printf(x->pub.pool, "Bearer realm=\"%.*s\"%s",
                               STR_ARGS(rule->realm), bearer_error(x->auth));
        } else {
            continue;
        }
        http_set_header(&x->pub, "WWW-Authenticate", text);
    }
}

static enum filter_result
deny(struct exchange *x, const struct http_auth *auth)
{
    const struct auth_try *t = x->auth;

    challenge(x, auth);
    if (t->why != NULL) {
        http_note(&x->pub, "auth: %s", t->why);
    }
    if (t->no_right) {
        return http_filter_reject(x, REFUSE_RIGHT,
                                  "the token does not give this right");
    }
    return http_filter_reject(x, REFUSE_AUTH,
                              t->why != NULL ? t->why : "who are you?");
}

/* ---- the filter ---- */

/* False when there are two headers: which one counts? */
static bool
read_authorization(struct exchange *x, struct auth_try *t)
{
    const struct str *value = NULL;

    t->given.kind = AUTHORIZATION_OTHER;
    for (size_t i = 0; i < x->pub.header_count; i++) {
        if (!str_eq_nocase(x->pub.headers[i].name, STR("Authorization"))) {
            continue;
        }
        if (value != NULL) {
            return false;
        }
        value = &x->pub.headers[i].value;
    }
    if (value != NULL) {
        authorization_parse(x->pub.pool, *value, &t->given);
        t->has_header = true;
        t->why = "nothing of it is known here";
    }
    return t->given.kind != AUTHORIZATION_BAD;
}

enum filter_result
http_auth_filter(struct exchange *x)
{
    const struct http_auth *auth = x->pub.location->auth;
    bool met = false;

    if (auth == NULL) {
        return FILTER_PASS;
    }
    if (x->auth == NULL) {
        x->auth = pool_zero(x->pub.pool, sizeof(*x->auth));
        if (!read_authorization(x, x->auth)) {
            return http_filter_reject(x, REFUSE_AUTHORIZATION,
                                      "malformed Authorization header");
        }
        if (!x->auth->has_header && auth_is_signed(&x->pub)) {
            return FILTER_PASS;
        }
    }
    for (; x->auth->rule < auth->rule_count; x->auth->rule++) {
        enum filter_result result = ask(x, &auth->rules[x->auth->rule], &met);

        if (result != FILTER_PASS) {
            return result;
        }
        if (met) {
            return FILTER_PASS;
        }
    }
    return deny(x, auth);
}
