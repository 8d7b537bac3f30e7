/*
 * Clears records that are too many or too old, as a client does, but leaves
 * their files.  Removes a file of this node when its record was cleared at
 * another node.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/clock.h"
#include "base/log.h"
#include "fetcher/queue.h"

#define AGAIN_MS 1000 /* after a write that failed, at least */
#define MOST 128      /* are cleared at once; the others come next */
#define LOOK_MS 60000 /* at the clock of the wall, which may jump */

static void
on_cleared(void *arg, struct entry *e, enum store_status status)
{
    struct queue *q = arg;

    (void)e;
    if (--q->tidying == 0) {
        timer_set(q->fetcher->loop, &q->tidy,
                  status == STORE_OK ? 0 : AGAIN_MS);
    }
}

/* In how many ms it has to be looked at again; 0: it is to go now. */
static int64_t
time_left(const struct queue *q, const struct entry *e, int64_t now)
{
    int64_t after = q->plan.clear_completed_after;
    int64_t left = e->finished_ms + after - now;

    if (after <= 0 || left > LOOK_MS) {
        return LOOK_MS;
    }
    return left > 0 ? left : 0;
}

static size_t
count_over(const struct queue *q)
{
    size_t have = q->counts[LIST_DONE], most = (size_t)q->plan.max_done;

    return q->plan.max_done > 0 && have > most ? have - most : 0;
}

static void
on_due(struct timer *timer)
{
    struct queue *q = LIST_ITEM(timer, struct queue, tidy);
    int64_t now = clock_wall_ms(), next = LOOK_MS;
    size_t over = count_over(q);

    if (q->retired || !q->loaded || q->tidying > 0) {
        return;
    }
    LIST_EACH (node, &q->lists[LIST_DONE]) {
        struct entry *e = LIST_ITEM(node, struct entry, link);
        int64_t left = over > 0 ? 0 : time_left(q, e, now);

        over -= over > 0;
        next = left < next ? left : next;
        if (left == 0 && list_empty(&e->ops) && q->tidying < MOST) {
            q->tidying++;
            queue_wipe(e, on_cleared, q);
        }
    }
    if (q->tidying == 0 && q->plan.clear_completed_after > 0 &&
        !list_empty(&q->lists[LIST_DONE])) {
        timer_set(q->fetcher->loop, timer, next > 0 ? next : AGAIN_MS);
    }
}

void
tidy_look(struct queue *q)
{
    timer_set(q->fetcher->loop, &q->tidy, 0);
}

static void
on_file_removed(void *arg, bool ok, struct str name, const char *msg,
                int64_t size)
{
    const struct queue *q = arg;

    (void)name;
    (void)size;
    if (!ok) {
        log_warn("downloads %.*s: a file that another node has cleared stays: "
                 "%s",
                 STR_ARGS(q->plan.name), msg);
    }
}

void
tidy_file(const struct entry *e)
{
    struct queue *q = e->queue;

    if (e->wiped && e->where.len == 0 && q->plan.delete_files &&
        q->place != NULL && e->filename.len > 0) {
        place_remove(q->place, e->facts->folder, e->filename, on_file_removed,
                     q);
    }
}

void
tidy_start(struct queue *q)
{
    timer_init(&q->tidy, on_due);
}

void
tidy_stop(struct queue *q)
{
    timer_stop(q->fetcher->loop, &q->tidy);
}
