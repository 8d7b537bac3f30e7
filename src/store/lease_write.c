/*
 * The writes of leases, and their results.
 *
 * One write is under way at a time.  It renews, and includes all leases to be
 * given back or claimed and all states to be written by then.  So the changes
 * of one lease come to the database in their order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/lease_impl.h"

#include "base/log.h"
#include "base/rand.h"
#include "store/lease_schema.h"
#include "json/json.h"

#define SAY_MS 1000 /* between states, at least */
/* This part of its time before the end a node stops: for noticing late, and
 * for last words. */
#define MARGIN_PART 8

/* ---- writing ---- */

static struct str
names_json(struct pool *pool, bool (*wanted)(const struct lease *l), bool state)
{
    struct json_out o;
    struct str text = STR_NONE;

    json_begin_own(&o, false);
    json_open_array(&o);
    LIST_EACH (node, &leases.all) {
        const struct lease *l = LIST_ITEM(node, struct lease, link);

        if (!wanted(l)) {
            continue;
        }
        if (state) {
            json_open_array(&o);
        }
        json_str(&o, str_from(l->name));
        if (state) {
            json_str(&o, str_from(l->state));
            json_close(&o);
        }
    }
    json_close(&o);
    return json_end_pool(&o, pool, &text) == 0 ? text : STR("[]");
}

static bool
is_asked(const struct lease *l)
{
    return l->asked;
}

static bool
is_released(const struct lease *l)
{
    return l->released;
}

static bool
is_said(const struct lease *l)
{
    return l->said;
}

struct pending {
    bool claims, releases, says;
};

/* Finds the work to do; mark: notes it in the leases. */
static struct pending
find_pending(bool mark)
{
    struct pending p = { false, false, false };
    int64_t now = lease_now();

    LIST_EACH (node, &leases.all) {
        struct lease *l = LIST_ITEM(node, struct lease, link);
        bool claim = l->wanted && !l->held && now >= l->try_at;
        bool release = !l->wanted && l->ours;
        bool say = l->held && l->dirty && now >= leases.say_at;

        p.claims |= claim;
        p.releases |= release;
        p.says |= say;
        if (mark) {
            l->asked = claim;
            l->ours |= claim;
            l->released = release;
            l->said = say;
            l->dirty = l->dirty && !say;
        }
    }
    return p;
}

bool
lease_is_pending(void)
{
    const struct pending p = find_pending(false);

    return p.claims || p.releases || p.says;
}

static void
send(enum write_kind kind, const struct store_step *steps, size_t count,
     bool tell, store_done *done)
{
    const struct store_notice notice = { LEASE_TOPIC, str_from(leases.node) };

    leases.writing = kind;
    leases.sent_at = lease_now();
    leases.write = store_write(steps, count, tell ? &notice : NULL, done, NULL);
}

static store_done on_synced, on_opened, on_closed;

/* A step of statement with the session and, unless it is NULL, a text. */
static void
add_step(struct store_step *step, enum lease_statement statement,
         struct store_value *values, const struct str *text)
{
    values[0] = store_int(leases.session);
    if (text != NULL) {
        values[1] = store_text(*text);
    }
    *step = (struct store_step){ &lease_statements[statement], values,
                                 text != NULL ? 2 : 1, false };
}

void
lease_write_sync(void)
{
    const struct pending p = find_pending(true);
    struct store_value values[STORE_STEPS][3];
    struct store_step steps[STORE_STEPS];
    struct pool *pool = pool_new(4096);
    struct str text;
    size_t n = 1;

    values[0][0] = store_int(leases.session);
    values[0][1] = store_int(leases.expiry);
    values[0][2] = store_text(str_from(leases.role));
    steps[0] = (struct store_step){ &lease_statements[LEASE_RENEW], values[0],
                                    3, true };
    if (p.releases) {
        text = names_json(pool, is_released, false);
        add_step(&steps[n], LEASE_RELEASE, values[n], &text);
        n++;
    }
    if (p.says) {
        text = names_json(pool, is_said, true);
        add_step(&steps[n], LEASE_SAY, values[n], &text);
        n++;
    }
    leases.forget_step = leases.claim_step = 0;
    if (p.claims) {
        leases.forget_step = n;
        steps[n++] =
            (struct store_step){ .statement =
                                     &lease_statements[LEASE_FORGET_NODES] };
        steps[n++] =
            (struct store_step){ .statement = &lease_statements[LEASE_FORGET] };
        leases.claim_step = n;
        text = names_json(pool, is_asked, false);
        add_step(&steps[n], LEASE_CLAIM, values[n], &text);
        n++;
    }
    send(WRITE_SYNC, steps, n, n > 1, on_synced);
    pool_free(&pool);
}

void
lease_write_open(void)
{
    int64_t session;

    rand_bytes(&session, sizeof(session));
    session = (session & INT64_MAX) | 1;
    const struct store_value values[] = { store_text(str_from(leases.node)),
                                          store_text(str_from(leases.role)),
                                          store_text(str_from(leases.place)),
                                          store_int(session),
                                          store_int(leases.expiry) };
    const struct store_step steps[] = {
        { .statement = &lease_statements[LEASE_FORGET_NODES] },
        { &lease_statements[LEASE_OPEN], values, 5, true },
    };

    send(WRITE_OPEN, steps, 2, true, on_opened);
}

void
lease_write_close(void)
{
    struct store_value values[2][1];
    struct store_step steps[2];

    add_step(&steps[0], LEASE_CLOSE, values[0], NULL);
    add_step(&steps[1], LEASE_LEAVE, values[1], NULL);
    send(WRITE_CLOSE, steps, 2, true, on_closed);
}

/* ---- what came of it ---- */

static void
end_write(void)
{
    leases.write = NULL;
    leases.writing = WRITE_NONE;
}

static void
write_failed(enum store_status status)
{
    leases.retry_at = lease_now() + lease_tick();
    log_limited(LOG_WARN, "leases cannot be renewed: %s",
                store_status_text(status));
}

static void
confirmed(void)
{
    leases.valid_to =
        leases.sent_at + leases.expiry - leases.expiry / MARGIN_PART;
    leases.renew_at = leases.sent_at + leases.expiry / 3;
}

static void
on_opened(void *arg, const struct store_result *r)
{
    (void)arg;
    end_write();
    if (r->status == STORE_MISSING) {
        leases.retry_at = lease_now() + lease_tick();
        log_limited(LOG_WARN,
                    "node \"%s\" is another weir's on this database "
                    "(store.node tells them apart), or of one that was killed: "
                    "it gets no lease until that one is silent for its "
                    "store.node_expiry",
                    leases.node);
    } else if (r->status != STORE_OK) {
        write_failed(r->status);
    } else {
        leases.session = r->answer[1].cells[0].n;
        leases.alone = false;
        confirmed();
        leases.renew_at = 0; /* that tells who else is there */
        log_info("node \"%s\" holds leases in the store", leases.node);
    }
    lease_act();
}

static void
tell_dead(const struct store_rows *rows)
{
    for (size_t i = 0; i < rows->rows; i++) {
        const struct str node = rows->cells[i * rows->columns].s;

        log_limited(LOG_NOTICE,
                    "node \"%.*s\" has been silent for too long: its leases "
                    "are free",
                    STR_ARGS(node));
    }
}

static void
mark_got(const struct store_rows *rows)
{
    for (size_t i = 0; i < rows->rows; i++) {
        struct lease *l = lease_find(rows->cells[i * rows->columns].s);

        if (l != NULL) {
            l->got = true;
        }
    }
}

/* The write is done: whose each lease of it is now.  An answer that came so
 * late that its time is over gives nothing: the next renewal asks again. */
static void
settle(struct lease *l)
{
    bool asked = l->asked, got = l->got;

    if (l->released || (asked && !got)) {
        l->ours = false;
    }
    l->asked = l->got = l->released = l->said = false;
    if (asked && !got) {
        l->try_at = LEASE_NEVER;
        leases.look_wanted = true;
    } else if (asked && l->wanted && lease_now() < leases.valid_to) {
        lease_take(l);
    }
    lease_free_if_done(l);
}

static void
synced(const struct store_result *r)
{
    confirmed();
    leases.alone = r->answer[0].cells[0].n == 0;
    if (leases.told_alone) {
        log_notice("the store is back: leases are renewed");
        leases.told_alone = false;
    }
    if (leases.claim_step != 0) {
        tell_dead(&r->answer[leases.forget_step]);
        mark_got(&r->answer[leases.claim_step]);
    }
    LIST_EACH (node, &leases.all) {
        struct lease *l = LIST_ITEM(node, struct lease, link);

        leases.say_at = l->said ? lease_now() + SAY_MS : leases.say_at;
        settle(l);
    }
    leases.look_wanted |= leases.held < (int64_t)leases.count;
}

/* It is not known whether it was done: all of it is asked again. */
static void
unsettle(void)
{
    LIST_EACH (node, &leases.all) {
        struct lease *l = LIST_ITEM(node, struct lease, link);

        l->dirty |= l->said;
        l->asked = l->released = l->said = false;
    }
}

static void
on_synced(void *arg, const struct store_result *r)
{
    (void)arg;
    end_write();
    if (r->status == STORE_OK) {
        synced(r);
    } else {
        unsettle();
        if (r->status == STORE_MISSING) {
            leases.session = 0;
            lease_lose_all(
                "this node was not heard of in time, and another one "
                "gave its leases away",
                true);
        } else {
            write_failed(r->status);
        }
    }
    lease_act();
}

static void
on_closed(void *arg, const struct store_result *r)
{
    (void)arg;
    end_write();
    leases.stopped = true;
    if (r->status != STORE_OK) {
        log_notice("leases are not given back, others have to wait for their "
                   "end: %s",
                   store_status_text(r->status));
    }
}
