/*
 * The counter: the one process that changes counts.
 *
 * A request is a job until the store has answered: nothing is acknowledged that
 * is not on the disk.  No count is kept in memory, so a counter that is killed
 * takes none with it, and several weirs may have one database.
 *
 * It goes on through reloads: describe() in the master tells configure() here
 * what the new weir.conf says.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "visits.h"

#include <string.h>

#include "app/settings/settings.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pack.h"

struct counter {
    struct pool *pool;                 /* owned: has the next */
    struct visits_instance *instances; /* name and max_rooms of weir.conf */
    size_t count;                      /* of them */
    struct list jobs;                  /* struct job */
};

struct job {
    struct list link;            /* in counter.jobs */
    struct rpc_request *request; /* its answer is ours to give */
    struct store_call *call;
};

/* ---- what weir.conf says ---- */

static void
describe(const struct settings *s, struct buf *to)
{
    const struct conf_groups *all = &visits_root_of(s)->instances;
    const struct visits_instance *items = all->items;
    struct pack out = { .to = to };

    pack_int(&out, (int64_t)all->count);
    for (size_t i = 0; i < all->count; i++) {
        pack_text(&out, items[i].name);
        pack_int(&out, items[i].max_rooms);
    }
}

static void
configure(void *state, struct str description)
{
    struct unpack in = { .rest = description };
    struct counter *c = state;
    size_t count = unpack_count(&in, PACK_TEXT + sizeof(int64_t));

    pool_free(&c->pool);
    c->pool = pool_new(1024);
    c->instances = pool_zero(c->pool, (count + 1) * sizeof(*c->instances));
    for (c->count = 0; c->count < count; c->count++) {
        struct visits_instance *one = &c->instances[c->count];

        one->name = pool_str(c->pool, unpack_text(&in));
        one->max_rooms = unpack_int(&in);
    }
    if (!unpack_ends(&in)) {
        log_alert("visits: the master's description makes no sense");
    }
}

/* NULL: a reload took it away, and the worker that asks is older. */
static const struct visits_instance *
find_instance(const struct counter *c, struct str name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (str_eq(c->instances[i].name, name)) {
            return &c->instances[i];
        }
    }
    return NULL;
}

/* ---- jobs ---- */

static struct job *
job_new(struct counter *c, struct rpc_request *r)
{
    struct job *j = mem_zero(sizeof(*j));

    j->request = r;
    list_append(&c->jobs, &j->link);
    return j;
}

static void
job_end(struct job *j)
{
    list_remove(&j->link);
    mem_free(&j);
}

static void
job_refuse(struct job *j, const char *why)
{
    rpc_refuse(&j->request, why);
    job_end(j);
}

static void
job_reply(struct job *j, const void *data, size_t len)
{
    rpc_reply(&j->request, data, len, -1);
    job_end(j);
}

/* Whether the store did it; if not, the job is refused. */
static bool
job_succeeded(struct job *j, const struct store_result *r)
{
    j->call = NULL;
    if (r->status != STORE_OK) {
        job_refuse(j, store_status_text(r->status));
    }
    return r->status == STORE_OK;
}

/* ---- requests ---- */

/* Another process wrote the bytes: the texts are names, or there is nothing. */
static bool
take_place(struct visits_place *to, const struct rpc_request *r)
{
    if (r->len != sizeof(*to)) {
        return false;
    }
    memcpy(to, r->data, sizeof(*to));
    to->instance[VISITS_NAME_MAX] = to->room[VISITS_NAME_MAX] = '\0';
    return visits_is_name(str_from(to->instance)) &&
           visits_is_name(str_from(to->room));
}

static void
on_added(void *arg, const struct store_result *r)
{
    struct visits_answer a = { .full = 1 };
    struct job *j = arg;

    if (!job_succeeded(j, r)) {
        return;
    }
    if (r->answer->rows > 0) {
        a = (struct visits_answer){ .visits = r->answer->cells[0].n };
        metric_add(&visits_metrics[VISITS_COUNTED], 0, 1);
    }
    job_reply(j, &a, sizeof(a));
}

static void
on_count(void *arg, struct rpc_request *r)
{
    const struct visits_instance *one;
    struct store_value values[3];
    const struct store_step step = { .statement = &visits_statements[SQL_ADD],
                                     .params = values,
                                     .count = 3 };
    struct visits_place place;
    struct job *j;

    if (!take_place(&place, r)) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    one = find_instance(arg, str_from(place.instance));
    if (one == NULL) {
        rpc_refuse(&r, "weir.conf has no such visits any more");
        return;
    }
    values[0] = store_text(str_from(place.instance));
    values[1] = store_text(str_from(place.room));
    values[2] = store_int(one->max_rooms);
    j = job_new(arg, r);
    j->call = store_write(&step, 1, NULL, on_added, j);
}

static void
on_removed(void *arg, const struct store_result *r)
{
    struct job *j = arg;

    if (job_succeeded(j, r)) {
        const struct visits_answer a = { .visits = r->answer->changed };

        job_reply(j, &a, sizeof(a));
    }
}

static void
on_reset(void *arg, struct rpc_request *r)
{
    struct store_value name = store_text(str_of(r->data, r->len));
    const struct store_step step = { .statement = &visits_statements[SQL_RESET],
                                     .params = &name,
                                     .count = 1 };
    struct job *j;

    if (!visits_is_name(name.s)) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    j = job_new(arg, r);
    j->call = store_write(&step, 1, NULL, on_removed, j);
}

static void
on_sums(void *arg, const struct store_result *r)
{
    struct pack out;
    struct job *j = arg;
    struct buf b;

    if (!job_succeeded(j, r)) {
        return;
    }
    buf_init(&b, visits_methods[VISITS_SHOW].answer_max);
    out = (struct pack){ .to = &b };
    pack_int(&out, (int64_t)r->answer->rows);
    for (size_t i = 0; i < r->answer->rows; i++) {
        const struct store_value *cells =
            &r->answer->cells[i * r->answer->columns];

        pack_text(&out, cells[0].s);
        pack_int(&out, cells[1].n);
        pack_int(&out, cells[2].n);
    }
    if (out.full) {
        job_refuse(j, "the answer is too long");
    } else {
        job_reply(j, buf_data(&b), buf_len(&b));
    }
    buf_clear(&b);
}

static void
on_show(void *arg, struct rpc_request *r)
{
    const struct store_value most = store_int(VISITS_SHOWN);
    struct job *j = job_new(arg, r);

    j->call = store_read(&visits_statements[SQL_SUMS], &most, 1, on_sums, j);
}

/* ---- life ---- */

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    struct counter *c = mem_zero(sizeof(*c));

    (void)err;
    *state = c;
    list_init(&c->jobs);
    configure(c, p->description);
    rpc_serve(&visits_methods[VISITS_COUNT], on_count, c);
    rpc_serve(&visits_methods[VISITS_RESET], on_reset, c);
    rpc_serve(&visits_methods[VISITS_SHOW], on_show, c);
    return 0;
}

/* The requests go with the process, so no answer of the store may find them. */
static void
stop(void *state)
{
    struct counter *c = state;

    LIST_EACH (node, &c->jobs) {
        struct job *j = LIST_ITEM(node, struct job, link);

        store_cancel(&j->call);
        job_refuse(j, "the counter stops");
    }
    pool_free(&c->pool);
    mem_free(&c);
}

const struct role visits_roles[] = {
    { .name = "counter",
      .count = 1,
      .wanted = visits_wanted,
      .start = start,
      .stop = stop,
      .describe = describe,
      .configure = configure },
    { .name = NULL },
};
