/*
 * Session records: one for each publisher and player of all processes, read for
 * statistics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_RECORD_H
#define LIVE_RECORD_H

#include "live/arena.h"

struct record_text {
    struct str name, url;
    struct addr peer;
    uint32_t stream_id;
    enum live_kind kind;
    enum session_role role;
};

/* NULL with err, which is counted: its client's share of live.max_sessions is
 * in use, or all of them are. */
struct session_record *record_take(const struct record_text *t,
                                   struct errmsg *err);
void record_free(struct session_record **r);
/* The name; only the owner may ask. */
struct str record_name(const struct session_record *r);
/* Of any record, whatever is written there. */
enum live_kind record_kind(const struct session_record *r);
/* A copy of the record, for any process; false: it is free, or changes all the
 * time. */
bool record_view(const struct session_record *r, struct live_session_view *v);
/* Whether r, a player of that name, is one too many: `most` others of all
 * processes came before it, where pushes to other servers do not count.  Each
 * of those that come at once is before or behind each other one, so that `most`
 * may play. */
bool record_is_beyond(const struct session_record *r, struct str name,
                      uint32_t most);
/* Whether r, a player of that name, is beyond what the operator allows for the
 * stream at present (net/exceptions.h). */
bool record_is_too_many(const struct session_record *r, struct str name);
/* Owner: payload bytes of whole messages. */
static inline void
record_count(struct session_record *r, int64_t now, uint64_t video,
             uint64_t audio)
{
    meter_add(&r->meter, now, video, audio);
}
/* Owner: the name is the publisher's now. */
void record_publishes(struct session_record *r);

/* Master, when the arena has been made. */
void records_begin(void);
/* Master, from time to time: gives the memory of some thousand free records
 * back to the system. */
void records_trim(void);

#endif
