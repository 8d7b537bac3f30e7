/*
 * Starting players: from waiting to the first bytes.
 *
 * A player starts at the stream's newest start frame, behind the metadata and
 * codec headers in force; one that fell behind starts again in the same way.
 * One that has paused does so, too, where a start came meanwhile; else it goes
 * on where it stopped, for its time never goes back.
 * A player that waited for the stream starts at its first one, however many
 * frames came at once.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/player.h"

#include "base/log.h"
#include "live/init_headers.h"
#include "live/metrics.h"
#include "net/ws_head.h"

static int
add_chunks(struct buf *to, const struct live_player *p, uint32_t chunk_size,
           enum media_type type, uint32_t timestamp, struct str payload)
{
    uint8_t head[RTMP_HEADER_MAX];
    size_t n = media_rtmp_header(head, type, timestamp, (uint32_t)payload.len,
                                 p->view.stream_id);
    int bad = buf_add(to, head, n);

    for (size_t done = 0; done < payload.len;) {
        size_t left = payload.len - done;
        size_t part = left < chunk_size ? left : chunk_size;

        if (done > 0) {
            n = media_rtmp_continue(head, type, timestamp);
            bad |= buf_add(to, head, n);
        }
        bad |= buf_add(to, payload.ptr + done, part);
        done += part;
    }
    return bad;
}

/* One message in the player's framing, from memory of our own. */
static int
add_message(struct buf *to, const struct live_player *p, uint32_t chunk_size,
            const struct prologue_item *item, const uint8_t *payload,
            uint32_t timestamp)
{
    enum media_type type = (enum media_type)item->type;
    uint8_t head[RTMP_HEADER_MAX];
    int bad = 0;

    if (p->view.framing != LIVE_RTMP) {
        media_flv_tag_header(head, type, timestamp, item->len);
        bad |= buf_add(to, head, FLV_TAG_HEADER);
        bad |= buf_add(to, payload, item->len);
        media_flv_tag_trailer(head, item->len);
        return bad | buf_add(to, head, FLV_TAG_TRAILER);
    }
    if (p->view.set_data_frame && (item->flags & MEDIA_META) != 0) {
        struct buf both;

        buf_init(&both, MEDIA_SET_DATA_FRAME + (size_t)item->len);
        bad |= buf_add(&both, media_set_data_frame, MEDIA_SET_DATA_FRAME);
        bad |= buf_add(&both, payload, item->len);
        bad |= add_chunks(to, p, chunk_size, type, timestamp, buf_str(&both));
        buf_clear(&both);
        return bad;
    }
    return add_chunks(to, p, chunk_size, type, timestamp,
                      str_of(payload, item->len));
}

/* Pictures that are switched off have no header either: they start anew when
 * they are switched on.  Sound then goes on at once, so its header is there. */
static bool
gets_item(const struct live_player *p, const struct prologue_item *item)
{
    return item->type != MEDIA_VIDEO || !p->view.no_video;
}

/* The items of the prologue that are metadata, or those that are not. */
static int
add_items(struct buf *to, const struct live_player *p, bool metadata,
          uint32_t timestamp)
{
    const struct prologue *prologue = prologue_of(p->hs->stream);
    struct prologue_item item;
    int bad = 0;

    for (uint32_t i = 0; prologue != NULL && prologue_item(prologue, i, &item);
         i++) {
        if ((item.type == MEDIA_DATA) == metadata && gets_item(p, &item)) {
            bad |= add_message(to, p, p->hs->stream->chunk_size, &item,
                               prologue->bytes + item.offset, timestamp);
        }
    }
    return bad;
}

/* Adds the bytes before the very first frame: the file's header, and metadata
 * at time 0 (ffmpeg takes later metadata for subtitles). */
static int
add_beginning(struct buf *to, const struct live_player *p)
{
    uint32_t tracks = atomic_load(&p->hs->stream->tracks);
    uint8_t header[FLV_FILE_HEADER];
    int bad = 0;

    if (p->view.framing != LIVE_RTMP) {
        media_flv_file_header(header, (tracks & TRACK_AUDIO) != 0,
                              (tracks & TRACK_VIDEO) != 0);
        bad |= buf_add(to, header, sizeof(header));
    }
    return bad | add_items(to, p, true, 0);
}

static void
count_headers(struct live_player *p)
{
    const struct prologue *prologue = prologue_of(p->hs->stream);
    uint64_t video = 0, audio = 0;
    struct prologue_item item;

    for (uint32_t i = 0; prologue != NULL && prologue_item(prologue, i, &item);
         i++) {
        if (!gets_item(p, &item)) {
            continue;
        }
        video += item.type == MEDIA_VIDEO ? item.len : 0;
        audio += item.type == MEDIA_AUDIO ? item.len : 0;
    }
    player_count(p, video, audio);
}

/* All of it is one message of a WebSocket: mpegts.js and flv.js want more than
 * the file's header in the first one.  The message's header ends at byte
 * WS_HEAD_ROOM. */
static int
write_message(const struct live_player *p, struct buf *bytes)
{
    uint8_t *all = bytes->mem + bytes->head, *from = all;

    if (p->view.framing == LIVE_FLV_WS) {
        from = ws_put_head(all + WS_HEAD_ROOM, WS_HEAD_BINARY,
                           buf_len(bytes) - WS_HEAD_ROOM);
    }
    return conn_write(p->conn, from, buf_len(bytes) - (size_t)(from - all));
}

/* Sends the messages before the first frame, the very first or after skipped
 * frames. */
static int
send_prologue(struct live_player *p, bool first, uint32_t timestamp)
{
    static const uint8_t room[WS_HEAD_ROOM];
    size_t before = p->view.framing == LIVE_FLV_WS ? sizeof(room) : 0;
    struct buf bytes;
    int bad = 0;

    buf_init(&bytes, 4 * PROLOGUE_BYTES);
    bad |= buf_add(&bytes, room, before);
    if (first) {
        bad |= add_beginning(&bytes, p);
    }
    bad |= add_items(&bytes, p, false, timestamp);
    if (bad == 0 && buf_len(&bytes) > before) {
        bad = write_message(p, &bytes);
    }
    buf_clear(&bytes);
    if (bad == 0) {
        count_headers(p);
    }
    return bad;
}

/* A frame that is kept, and that the player may start at. */
static bool
may_start_at(const struct live_player *p, uint64_t frame)
{
    return frame != FRAME_NONE && frame >= p->not_before &&
           frame >= atomic_load(&p->hs->stream->head);
}

/* Where who came before the first start begins: there; of sound alone at any
 * frame that came after it. */
static uint64_t
first_frame(const struct live_player *p)
{
    struct stream *s = p->hs->stream;
    /* In this order: a new publisher forgets the first before it writes. */
    uint64_t tail = atomic_load(&s->tail);
    uint64_t first = atomic_load(&s->first);
    bool pictures = (atomic_load(&s->tracks) & TRACK_VIDEO) != 0;

    if (!pictures && first < p->not_before && p->not_before < tail) {
        return p->not_before;
    }
    return first;
}

/* Whether a player that has paused can go on where it stands: the next frame is
 * kept, and needs none that the player has not had. */
static bool
goes_on(const struct live_player *p)
{
    struct stream *s = p->hs->stream;

    return p->unbroken && p->at.frame >= atomic_load(&s->head) &&
           p->at.frame < atomic_load(&s->tail);
}

/* The frame to start at, or FRAME_NONE.  A player that came before the first
 * one gets it even from a publisher that has left again, and waits while the
 * newest one came with other codec headers. */
static uint64_t
start_frame(const struct live_player *p)
{
    struct stream *s = p->hs->stream;
    uint64_t start = atomic_load(&s->start);
    uint64_t first;

    if (p->paused || player_shut_out(p)) {
        return FRAME_NONE;
    }
    if (p->early && !p->started) {
        first = first_frame(p);
        if (first == FRAME_NONE || may_start_at(p, first)) {
            return first;
        }
    }
    if (atomic_load(&s->writer) != 0 && may_start_at(p, start)) {
        return start;
    }
    return goes_on(p) ? p->at.frame : FRAME_NONE;
}

static void
say_start(struct live_player *p)
{
    char peer[ADDR_TEXT];

    log_limited_if(
        player_debugged(p), LOG_DEBUG, "player %.*s: %s starts after %lld ms",
        STR_ARGS(record_name(p->record)), addr_text(&p->record->peer, peer),
        (long long)(loop_now(hub.loop) - p->asked_ms));
}

/* Of sound alone a player may start at metadata, which have no time. */
static uint32_t
time_at(struct stream *s, uint64_t frame)
{
    const struct frame *f = frame_at(s, frame);

    return (f->flags & MEDIA_META) != 0 ? atomic_load(&s->last_times[0])
                                        : f->timestamp;
}

/* Starts a waiting player; it is in no list of hs before and after. */
static void
start(struct live_player *p, uint64_t frame)
{
    struct hub_stream *hs = p->hs;
    bool first = !p->started;
    bool same = p->unbroken && frame == p->at.frame;
    uint32_t timestamp = time_at(hs->stream, frame);

    p->waiting = p->unbroken = false;
    p->started = true;
    p->sent_frames += p->at.frame - p->first_frame;
    p->first_frame = frame;
    p->at = (struct cursor){ .frame = frame };
    if (first) {
        p->began_time = timestamp;
        metric_observe(&live_metrics[LIVE_FIRST_FRAME], 0,
                       loop_now(hub.loop) - p->asked_ms);
        p->turns->last = p;
        say_start(p);
        p->handlers->on_start(p->arg, hs->stream->chunk_size);
    } else {
        player_take_turn(p);
    }
    if (!p->stopped && !same && send_prologue(p, first, timestamp) != 0) {
        player_stop(p, "the connection takes nothing at the start");
    }
}

void
players_start(struct hub_stream *hs)
{
    struct list ready;

    list_init(&ready);
    if (list_empty(&hs->waiting)) {
        return;
    }
    LIST_EACH (node, &hs->waiting) {
        struct live_player *p = LIST_ITEM(node, struct live_player, link);

        if (start_frame(p) != FRAME_NONE) {
            list_remove(node);
            list_append(&ready, node);
        }
    }
    while (!list_empty(&ready)) {
        struct live_player *p = LIST_ITEM(ready.next, struct live_player, link);
        uint64_t frame = start_frame(p);

        list_remove(&p->link);
        if (frame == FRAME_NONE) {
            list_append(&hs->waiting, &p->link);
            continue;
        }
        list_append(&hs->behind, &p->link);
        start(p, frame);
        hub_activate(hs);
        /* A start never waits for others to be gathered. */
        hub_release_frames(hs);
    }
}
