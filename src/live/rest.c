/*
 * Copies of frames that go.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/rest.h"

#include <string.h>

#include "base/mem.h"

/* It goes when all its players have gone. */
static const struct rest *being_cut;

/* Whether a copy has the very bytes that the player stands in. */
static bool
serves(const struct rest *r, const struct live_player *p)
{
    return r->frame == p->at.frame && r->view.framing == p->view.framing &&
           batch_is_common(&r->view) && batch_is_common(&p->view);
}

static struct rest *
find(const struct live_player *p)
{
    LIST_EACH (node, &p->hs->rests) {
        struct rest *r = LIST_ITEM(node, struct rest, link);

        if (serves(r, p)) {
            return r;
        }
    }
    return NULL;
}

static void
let_go(struct rest *r)
{
    list_remove(&r->link);
    unsent_set(&r->unsent, 0, 0);
    mem_free(&r);
}

/* Too much is kept for all that take nothing.  To close one may close others
 * with it. */
static void
cut(struct unsent *u)
{
    struct rest *r = LIST_ITEM(u, struct rest, unsent);

    being_cut = r;
    while (!list_empty(&r->players)) {
        player_too_slow(
            LIST_ITEM(r->players.next, struct live_player, in_rest),
            "too slow: too much was kept for those who take nothing");
    }
    being_cut = NULL;
    let_go(r);
}

static void
copy_frame(struct rest *r, struct stream *s)
{
    struct cursor at = { .frame = r->frame };
    uint32_t done = 0;

    while (done < r->len) {
        batch_fill(&hub.own, s, &r->view, at, r->frame + 1);
        for (int i = 0; i < hub.own.count; i++) {
            memcpy(r->bytes + done, hub.own.ranges[i].iov_base,
                   hub.own.ranges[i].iov_len);
            done += (uint32_t)hub.own.ranges[i].iov_len;
        }
        at = hub.own.to;
    }
}

static struct rest *
new_rest(const struct live_player *p)
{
    struct stream *s = p->hs->stream;
    const struct frame *f = frame_at(s, p->at.frame);
    uint32_t len = batch_frame_size(s, &p->view, p->at.frame);
    struct rest *r = try_alloc(sizeof(*r) + len);

    if (r == NULL) {
        return NULL;
    }
    *r = (struct rest){
        .frame = p->at.frame,
        .view = p->view,
        .len = len,
        .video = f->type == MEDIA_VIDEO ? f->payload_len : 0,
        .audio = f->type == MEDIA_AUDIO ? f->payload_len : 0,
    };
    list_init(&r->players);
    copy_frame(r, s);
    list_init(&r->link);
    list_prepend(&p->hs->rests, &r->link);
    unsent_init(&r->unsent, cut);
    unsent_set(&r->unsent, sizeof(*r) + len, 0);
    return r;
}

int
rest_save(struct live_player *p)
{
    struct rest *r = find(p);

    if (r == NULL) {
        r = new_rest(p);
    }
    if (r == NULL) {
        return -1;
    }
    list_append(&r->players, &p->in_rest);
    p->rest = r;
    p->rest_done = p->at.offset;
    return 0;
}

void
rest_took(struct live_player *p, size_t n)
{
    struct rest *r = p->rest;

    p->rest_done += (uint32_t)n;
    r->taken += n;
    unsent_set(&r->unsent, sizeof(*r) + r->len, r->taken);
}

void
rest_drop(struct live_player *p)
{
    struct rest *r = p->rest;

    if (r == NULL) {
        return;
    }
    p->rest = NULL;
    list_remove(&p->in_rest);
    if (list_empty(&r->players) && r != being_cut) {
        let_go(r);
    }
}
