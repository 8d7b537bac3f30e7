/*
 * Snapshots: what the joining sockets of a hall are told first.
 *
 * A snapshot is asked of the module's role when a socket needs it, and is used
 * for all that join until an event says that it is stale.  Sockets that need
 * one wait for it; they join at the moment at which the last of theirs was
 * made, which is when the role sent its first part.
 *
 *     a socket is accepted -> all are there: it joins at once
 *            |
 *        it waits -> asked -> parts come -> made: all that wait join
 *                      |  ^
 *                      '--'  refused, late, dead: again, half a second later
 *
 * Events that go out while some snapshots are made and others are not yet are
 * kept (`missed`): a socket that joins gets those that its snapshots do not
 * have in them.
 *
 * Four versions of a snapshot are alive at most: the newest, and those that
 * wait in the queues of slow clients.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sio/snapshot_impl.h"

#define RETRY_MS 500 /* after a failure */
#define LOOK_MS 100  /* while four versions are alive */
#define WINDOW 16    /* parts that the role may send ahead */

/* ---- versions ---- */

/* Nobody but us holds it, and nobody will be sent it. */
static bool
is_spent(const struct snapshot *s, unsigned i)
{
    bool usable = s->made && i == s->newest && s->stale_at == 0;

    return s->versions[i].frame == NULL ||
           (!usable && s->versions[i].frame->holders == 1);
}

/* A place for one more version; SNAPSHOT_VERSIONS: there is none. */
static unsigned
free_place(const struct snapshot *s)
{
    unsigned i = 0;

    while (i < SNAPSHOT_VERSIONS && !is_spent(s, i)) {
        i++;
    }
    return i;
}

bool
snapshot_is_ready(const struct snapshot *s)
{
    return s->made && (s->stale_at == 0 || (snapshots_are_waited_for(s->all) &&
                                            s->stale_at > s->all->missed.from));
}

/* ---- events ---- */

static void
make_stale(struct snapshot *s, uint64_t event)
{
    if (s->made && s->stale_at == 0) {
        s->stale_at = event;
    }
    if (s->answering && s->next_stale_at == 0) {
        s->next_stale_at = event;
    }
}

/* Too much happens while the role answers: everything is asked anew. */
static void
start_anew(struct snapshots *all)
{
    missed_forget(&all->missed, all->events);
    for (size_t i = 0; i < all->count; i++) {
        struct snapshot *s = &all->items[i];

        rpc_cancel(&s->call);
        buf_clear(&s->parts);
        s->answering = false;
        if (!snapshot_is_ready(s)) {
            snapshot_ask(s);
        }
    }
}

static struct snapshot *
find_event(struct snapshots *all, const char *event)
{
    for (size_t i = 0; event != NULL && i < all->count; i++) {
        if (strcmp(all->items[i].what->event, event) == 0) {
            return &all->items[i];
        }
    }
    return NULL;
}

uint32_t
snapshots_bit(const struct sio_hall *h, const char *event)
{
    return h->snapshots == NULL
               ? 0
               : snapshot_bit(h->snapshots, find_event(h->snapshots, event));
}

void
snapshots_stale(struct snapshots *all, const char *event)
{
    struct snapshot *s = find_event(all, event);

    if (s != NULL) {
        make_stale(s, ++all->events);
    }
}

/* Whether one that waits may need an event that changes that snapshot (NULL:
 * none): what was not made yet will have it in it. */
static bool
is_missed(const struct snapshots *all, const struct snapshot *changes)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct snapshot *s = &all->items[i];

        if ((changes == NULL || changes == s) && !snapshot_is_ready(s) &&
            !s->answering) {
            return false;
        }
    }
    return true;
}

void
snapshots_note(struct snapshots *all, const struct sio_message *m,
               const struct aim *a, const struct sio_frames *f)
{
    struct snapshot *changes = find_event(all, m->stales);
    struct missed_event what = { .event = ++all->events };
    bool missed;

    missed = !m->is_volatile && snapshots_are_waited_for(all) &&
             is_missed(all, changes);
    if (changes != NULL) {
        make_stale(changes, all->events);
    }
    if (!missed) {
        return;
    }
    what.changes = snapshot_bit(all, changes);
    what.position = recovery_position(recovery_of(all->hall));
    if (!missed_keep(&all->missed, &what, a, f)) {
        start_anew(all);
    }
}

void
snapshots_renew(struct snapshots *all)
{
    all->events++;
    for (size_t i = 0; i < all->count; i++) {
        make_stale(&all->items[i], all->events);
    }
    start_anew(all);
    LIST_EACH (node, &all->hall->sockets) {
        snapshots_outdate(LIST_ITEM(node, struct sio_socket, in_hall),
                          ((uint32_t)1 << all->count) - 1);
    }
}

/* ---- asking ---- */

static void
again(struct snapshot *s, int64_t delay_ms)
{
    timer_set(snapshots_loop(s->all), &s->retry, delay_ms);
}

static void
failed(struct snapshot *s, const char *why)
{
    buf_clear(&s->parts);
    s->answering = false;
    snapshots_count(CHANNEL_SNAPSHOT_FAILED);
    if (!s->complained) {
        log_write(LOG_WARN, "sio: %s: no snapshot \"%s\": %s",
                  s->all->hall->point->module, s->what->event, why);
        s->complained = true;
    }
    again(s, RETRY_MS);
}

/* The event, of the arguments that came. */
static void
make_frame(struct snapshot *s, struct ws_frame **frame, struct errmsg *err)
{
    struct recovery *r = recovery_of(s->all->hall);
    struct sio_args args = { .json = buf_str(&s->parts) };
    char text[RECOVERY_OFFSET];
    struct sio_frames f;

    if (args.json.len == 0 || sio_check_args(&args, err) == -1) {
        return;
    }
    sio_packet_event(&f, s->all->hall->name, str_from(s->what->event), &args,
                     recovery_offset(r, s->next_position, text));
    if (f.count == 0) {
        errmsg_set(err, "no memory for %zu bytes", args.json.len);
        return;
    }
    *frame = ws_frame_hold(f.frame[0]);
    (*frame)->bounded = true;
    sio_frames_let_go(&f);
}

static void
finish(struct snapshot *s)
{
    struct ws_frame *frame = NULL;
    struct errmsg err = { "" };
    unsigned place = free_place(s);

    make_frame(s, &frame, &err);
    if (place == SNAPSHOT_VERSIONS && err.text[0] == '\0') {
        errmsg_set(&err, "clients that are slow still take the last %u",
                   SNAPSHOT_VERSIONS);
    }
    if (err.text[0] != '\0') {
        ws_frame_let_go(&frame);
        failed(s, err.text);
        return;
    }
    ws_frame_let_go(&s->versions[place].frame);
    s->versions[place] = (struct version){ frame, ++s->all->versions };
    s->newest = place;
    s->made = true;
    s->made_at = s->next_made_at;
    s->stale_at = s->next_stale_at;
    s->answering = s->complained = false;
    buf_clear(&s->parts);
    snapshots_tell(s->all);
    snapshot_ask(s); /* those that came late, if it was stale for them */
}

static void
on_answer(void *arg, struct rpc_answer *a)
{
    struct snapshot *s = arg;
    bool good = a->status == RPC_MORE || a->status == RPC_OK;
    struct errmsg why;

    if (a->status != RPC_MORE) {
        s->call = NULL;
    }
    if (good && !s->answering) {
        s->answering = true;
        s->next_made_at = s->all->events;
        s->next_stale_at = 0;
        s->next_position = recovery_position(recovery_of(s->all->hall));
    }
    if (!good) {
        errmsg_set(&why, "%.*s", (int)a->len, (const char *)a->data);
        failed(s, a->len > 0 ? why.text : "its role does not answer");
    } else if (buf_add(&s->parts, a->data, a->len) == -1) {
        rpc_cancel(&s->call);
        failed(s, "it is larger than 16 MB");
    } else if (a->status == RPC_OK) {
        finish(s);
    } else {
        rpc_grant(s->call, 1);
    }
}

static void
call(struct snapshot *s)
{
    const struct sio_endpoint *e = &s->all->hall->point->endpoint;
    int64_t most = s->all->hall->point->settings.connect_timeout;
    struct rpc_options o = {
        .window = WINDOW, .resend = true, .on_answer = on_answer, .arg = s
    };
    struct errmsg err;
    struct buf request;

    o.timeout_ms = most > 0 && most < RPC_WAIT_MAX ? most : RPC_WAIT_MAX;
    buf_init(&request, e->name.len + e->variant.len + 1);
    buf_add_str(&request, e->name);
    buf_add(&request, "\n", 1);
    buf_add_str(&request, e->variant);
    s->call = rpc_call(s->what->method, &o, buf_data(&request),
                       buf_len(&request), -1, &err);
    buf_clear(&request);
    if (s->call == NULL) {
        failed(s, err.text);
    } else {
        snapshots_count(CHANNEL_SNAPSHOT_ASKED);
    }
}

void
snapshot_ask(struct snapshot *s)
{
    if (!snapshots_are_waited_for(s->all) || snapshot_is_ready(s) ||
        s->call != NULL || timer_is_set(&s->retry)) {
        return;
    }
    if (free_place(s) == SNAPSHOT_VERSIONS) {
        again(s, LOOK_MS);
        return;
    }
    call(s);
}

static void
on_retry(struct timer *t)
{
    snapshot_ask(LIST_ITEM(t, struct snapshot, retry));
}

/* ---- their life ---- */

struct snapshots *
snapshots_new(struct sio_hall *h)
{
    const struct sio_snapshot *what = h->what->snapshots;
    struct snapshots *all;

    if (what == NULL || what[0].event == NULL) {
        return NULL;
    }
    all = mem_zero(sizeof(*all));
    all->hall = h;
    list_init(&all->waiting);
    list_init(&all->behind);
    missed_init(&all->missed);
    while (what[all->count].event != NULL) {
        all->count++;
    }
    assert(all->count <= SNAPSHOTS_MAX);
    all->items = mem_zero(all->count * sizeof(all->items[0]));
    for (size_t i = 0; i < all->count; i++) {
        all->items[i].all = all;
        all->items[i].what = &what[i];
        buf_init(&all->items[i].parts, SNAPSHOT_MAX);
        timer_init(&all->items[i].retry, on_retry);
    }
    return all;
}

void
snapshots_free(struct snapshots **snapshots)
{
    struct snapshots *all = *snapshots;

    if (all == NULL) {
        return;
    }
    missed_forget(&all->missed, all->events);
    for (size_t i = 0; i < all->count; i++) {
        struct snapshot *s = &all->items[i];

        rpc_cancel(&s->call);
        timer_stop(snapshots_loop(all), &s->retry);
        buf_clear(&s->parts);
        for (unsigned v = 0; v < SNAPSHOT_VERSIONS; v++) {
            ws_frame_let_go(&s->versions[v].frame);
        }
    }
    mem_free(&all->items);
    mem_free(snapshots);
}
