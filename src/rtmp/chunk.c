/*
 * The chunk reader.
 *
 * reader->expect names the function that reads what comes next.  It takes
 * bytes from the input and says GO_ON, MORE (the input is used up), STOP (the
 * handler wants to) or FAILED.
 *
 * Whether a fmt 3 chunk repeats the extended timestamp differs between
 * senders and cannot be asked for, so it is compared, byte by byte: as soon
 * as a byte differs from every value it could be, what was compared is
 * payload and is read again as such.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/chunk.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

#define EXTENDED 0xffffff /* in a 24 bit timestamp: see the extended field */
#define FIRST_BUFFER 256  /* bytes taken for the start of a message */

enum step { GO_ON, MORE, STOP, FAILED };

enum expect {
    EXPECT_BASIC,    /* fmt and a short chunk stream id */
    EXPECT_ID_1,     /* one more byte of the id */
    EXPECT_ID_2,     /* two more */
    EXPECT_MESSAGE,  /* 11, 7 or 3 bytes of message header */
    EXPECT_EXTENDED, /* the extended timestamp of that header */
    EXPECT_REPEATED, /* maybe that timestamp again, maybe payload */
    EXPECT_PAYLOAD,
};

enum { MAY_BE_FIELD = 1, MAY_BE_TIME = 2 };

struct chunk_stream {
    uint32_t csid;
    uint32_t timestamp; /* absolute, of the current or last message */
    uint32_t field;     /* timestamp field of the last header: time or delta */
    uint32_t stream_id;
    uint32_t len; /* as declared */
    uint32_t got; /* bytes received of an unfinished message */
    uint32_t room;
    uint32_t used;    /* reader's clock at the last chunk */
    uint8_t *payload; /* owned: got bytes, room for more */
    uint8_t type;
    bool extended;   /* field came as an extended timestamp */
    bool absolute;   /* field is a time, not a delta */
    bool unfinished; /* chunks of the current message are still to come */
};

struct input {
    const uint8_t *p;
    size_t n;
    chunk_handler *on_message;
    void *arg;
    struct errmsg *err;
};

void
chunk_reader_init(struct chunk_reader *r, uint32_t max_message,
                  uint32_t max_memory)
{
    memset(r, 0, sizeof(*r));
    r->max_message = max_message;
    r->max_memory = max_memory;
    r->chunk_size = CHUNK_SIZE_START;
    r->expect = EXPECT_BASIC;
}

/* Gives back what was received of an unfinished message. */
static void
drop_partial(struct chunk_reader *r, struct chunk_stream *s)
{
    r->memory -= s->room;
    mem_free(&s->payload);
    s->room = 0;
    s->got = 0;
    s->unfinished = false;
}

void
chunk_reader_clear(struct chunk_reader *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        drop_partial(r, &r->streams[i]);
    }
    mem_free(&r->streams);
    r->count = 0;
    r->room = 0;
}

int
chunk_set_size(struct chunk_reader *r, uint32_t size, struct errmsg *err)
{
    size &= 0x7fffffff;
    if (size == 0) {
        return errmsg_set(err, "a chunk size of 0");
    }
    r->chunk_size = size < CHUNK_SIZE_MAX ? size : CHUNK_SIZE_MAX;
    return 0;
}

void
chunk_abort(struct chunk_reader *r, uint32_t csid)
{
    for (unsigned i = 0; i < r->count; i++) {
        if (r->streams[i].csid == csid) {
            drop_partial(r, &r->streams[i]);
        }
    }
}

/* ---- the table of chunk streams ---- */

/* The least used stream that is not in the middle of a message, or NULL. */
static struct chunk_stream *
least_used(struct chunk_reader *r)
{
    struct chunk_stream *found = NULL;
    for (unsigned i = 0; i < r->count; i++) {
        struct chunk_stream *s = &r->streams[i];
        if (s->unfinished) {
            continue;
        }
        if (found == NULL || r->clock - s->used > r->clock - found->used) {
            found = s;
        }
    }
    return found;
}

/* A place for one more stream, or NULL. */
static struct chunk_stream *
new_place(struct chunk_reader *r)
{
    if (r->count == CHUNK_STREAMS_MAX) {
        return least_used(r);
    }
    if (r->count == r->room) {
        unsigned room = r->room == 0 ? 2 : r->room * 2U;
        r->streams = mem_resize(r->streams, room * sizeof(*r->streams));
        r->room = (uint8_t)room;
    }
    return &r->streams[r->count++];
}

/* Makes the stream of r->csid the current one; NULL when there is no place.
 * One never seen starts with zeros: time 0, length 0, message stream 0. */
static struct chunk_stream *
select_stream(struct chunk_reader *r)
{
    unsigned at = r->current;
    r->clock++;
    for (unsigned i = 0; i < r->count; i++, at++) {
        at = at < r->count ? at : 0;
        if (r->streams[at].csid == r->csid) {
            r->current = (uint8_t)at;
            r->streams[at].used = r->clock;
            return &r->streams[at];
        }
    }
    struct chunk_stream *s = new_place(r);
    if (s != NULL) {
        memset(s, 0, sizeof(*s));
        s->csid = r->csid;
        s->used = r->clock;
        r->current = (uint8_t)(s - r->streams);
    }
    return s;
}

static struct chunk_stream *
current(struct chunk_reader *r)
{
    return &r->streams[r->current];
}

/* ---- input ---- */

/* n bytes in one piece, from the input or put together in r->head; NULL
 * when they have not all come. */
static const uint8_t *
take(struct chunk_reader *r, struct input *in, size_t n)
{
    assert(n <= sizeof(r->head));
    if (r->have == 0 && in->n >= n) {
        const uint8_t *at = in->p;
        in->p += n;
        in->n -= n;
        return at;
    }
    size_t part = n - r->have < in->n ? n - r->have : in->n;
    memcpy(r->head + r->have, in->p, part);
    r->have = (uint8_t)(r->have + part);
    in->p += part;
    in->n -= part;
    if (r->have < n) {
        return NULL;
    }
    r->have = 0;
    return r->head;
}

/* ---- messages ---- */

static enum step
deliver(struct input *in, const struct chunk_stream *s, const uint8_t *payload)
{
    struct chunk_message m = {
        .type = s->type,
        .csid = s->csid,
        .stream_id = s->stream_id,
        .timestamp = s->timestamp,
        .payload = payload,
        .len = s->len,
    };
    return in->on_message(in->arg, &m) == 0 ? GO_ON : STOP;
}

/* The handler is given a message that the reader knows no more, so that it
 * may do anything to the reader. */
static enum step
finish_message(struct chunk_reader *r, struct input *in)
{
    struct chunk_stream *s = current(r);
    struct chunk_stream done = *s;
    s->payload = NULL;
    r->memory -= s->room;
    s->room = 0;
    s->got = 0;
    s->unfinished = false;
    enum step step = deliver(in, &done, done.payload);
    mem_free(&done.payload);
    return step;
}

/* The header is complete: payload comes next, if there is any. */
static enum step
begin_payload(struct chunk_reader *r, struct input *in)
{
    struct chunk_stream *s = current(r);
    uint32_t rest = s->len - s->got;
    r->left = rest < r->chunk_size ? rest : r->chunk_size;
    s->unfinished = rest > 0;
    if (rest > 0) {
        r->expect = EXPECT_PAYLOAD;
        return GO_ON;
    }
    r->expect = EXPECT_BASIC;
    return finish_message(r, in);
}

static int
grow(struct chunk_reader *r, struct chunk_stream *s, size_t n,
     struct errmsg *err)
{
    size_t want = s->got + n;
    if (want <= s->room) {
        return 0;
    }
    size_t room = s->room == 0 ? FIRST_BUFFER : (size_t)s->room * 2;
    room = room < want ? want : room;
    room = room > s->len ? s->len : room;
    if (r->memory - s->room + room > r->max_memory) {
        return errmsg_set(err, "half-received messages of more than %u bytes",
                          r->max_memory);
    }
    uint8_t *p = try_resize(s->payload, room);
    if (p == NULL) {
        return errmsg_set(err, "no memory for a message");
    }
    r->memory += (uint32_t)room - s->room;
    s->payload = p;
    s->room = (uint32_t)room;
    return 0;
}

static enum step
expect_payload(struct chunk_reader *r, struct input *in)
{
    struct chunk_stream *s = current(r);
    if (s->got == 0 && r->left == s->len && in->n >= s->len) {
        /* All of it is here: no need for a copy. */
        const uint8_t *payload = in->p;
        in->p += s->len;
        in->n -= s->len;
        s->unfinished = false;
        r->expect = EXPECT_BASIC;
        struct chunk_stream done = *s;
        return deliver(in, &done, payload);
    }
    size_t n = r->left < in->n ? r->left : in->n;
    if (grow(r, s, n, in->err) != 0) {
        return FAILED;
    }
    memcpy(s->payload + s->got, in->p, n);
    in->p += n;
    in->n -= n;
    s->got += (uint32_t)n;
    r->left -= (uint32_t)n;
    if (r->left > 0) {
        return MORE;
    }
    r->expect = EXPECT_BASIC;
    return s->got == s->len ? finish_message(r, in) : GO_ON;
}

/* ---- headers ---- */

/* The time of a message whose header is complete. */
static void
apply_time(struct chunk_stream *s)
{
    if (s->absolute) {
        s->timestamp = s->field;
    } else {
        s->timestamp += s->field;
    }
}

/* fmt 3 starts a message that is like the one before, as much later as that
 * was.  After an absolute time the time itself is the delta (RTMP 1.0,
 * 5.3.1.2.4); when it is an extended one (4.6 h) nobody means that. */
static void
repeat_message(struct chunk_stream *s)
{
    if (!(s->absolute && s->extended)) {
        s->timestamp += s->field;
    }
}

static enum step
begin_fmt3(struct chunk_reader *r, struct input *in)
{
    struct chunk_stream *s = current(r);
    if (!s->unfinished) {
        repeat_message(s);
    }
    if (!s->extended) {
        return begin_payload(r, in);
    }
    r->may_be = MAY_BE_FIELD | MAY_BE_TIME;
    r->expect = EXPECT_REPEATED;
    return GO_ON;
}

static enum step
begin_chunk(struct chunk_reader *r, struct input *in)
{
    struct chunk_stream *s = select_stream(r);
    if (s == NULL) {
        errmsg_set(in->err, "more than %d unfinished messages",
                   CHUNK_STREAMS_MAX);
        return FAILED;
    }
    if (r->fmt == 3) {
        return begin_fmt3(r, in);
    }
    drop_partial(r, s);
    r->expect = EXPECT_MESSAGE;
    return GO_ON;
}

static enum step
expect_basic(struct chunk_reader *r, struct input *in)
{
    const uint8_t *p = take(r, in, 1);
    if (p == NULL) {
        return MORE;
    }
    r->fmt = *p >> 6;
    r->csid = *p & 0x3f;
    if (r->csid < 2) {
        r->expect = r->csid == 0 ? EXPECT_ID_1 : EXPECT_ID_2;
        return GO_ON;
    }
    return begin_chunk(r, in);
}

static enum step
expect_id_1(struct chunk_reader *r, struct input *in)
{
    const uint8_t *p = take(r, in, 1);
    if (p == NULL) {
        return MORE;
    }
    r->csid = 64U + p[0];
    return begin_chunk(r, in);
}

static enum step
expect_id_2(struct chunk_reader *r, struct input *in)
{
    const uint8_t *p = take(r, in, 2);
    if (p == NULL) {
        return MORE;
    }
    r->csid = 64U + p[0] + 256U * p[1];
    return begin_chunk(r, in);
}

static enum step
expect_message(struct chunk_reader *r, struct input *in)
{
    static const uint8_t sizes[3] = { 11, 7, 3 };
    const uint8_t *p = take(r, in, sizes[r->fmt]);
    if (p == NULL) {
        return MORE;
    }
    struct chunk_stream *s = current(r);
    s->field = get_be24(p);
    s->extended = s->field == EXTENDED;
    s->absolute = r->fmt == 0;
    if (r->fmt < 2) {
        s->len = get_be24(p + 3);
        s->type = p[6];
    }
    if (r->fmt == 0) {
        s->stream_id = get_le32(p + 7);
    }
    if (s->len > r->max_message) {
        errmsg_set(in->err, "a message of %u bytes, over %u", s->len,
                   r->max_message);
        return FAILED;
    }
    if (s->extended) {
        r->expect = EXPECT_EXTENDED;
        return GO_ON;
    }
    apply_time(s);
    return begin_payload(r, in);
}

static enum step
expect_extended(struct chunk_reader *r, struct input *in)
{
    const uint8_t *p = take(r, in, 4);
    if (p == NULL) {
        return MORE;
    }
    struct chunk_stream *s = current(r);
    s->field = get_be32(p);
    apply_time(s);
    return begin_payload(r, in);
}

/* The compared bytes are no timestamp: they are read again, as payload. */
static enum step
not_repeated(struct chunk_reader *r, struct input *in)
{
    /* Only bytes that were read again can follow here, and they fit. */
    memcpy(r->back, r->head, r->have);
    r->back_len = r->have;
    r->have = 0;
    return begin_payload(r, in);
}

static enum step
expect_repeated(struct chunk_reader *r, struct input *in)
{
    struct chunk_stream *s = current(r);
    uint8_t field[4], time[4];
    put_be32(field, s->field);
    put_be32(time, s->timestamp);
    while (in->n > 0) {
        uint8_t c = *in->p;
        unsigned may_be = r->may_be;
        may_be &= ~(unsigned)(c != field[r->have] ? MAY_BE_FIELD : 0);
        may_be &= ~(unsigned)(c != time[r->have] ? MAY_BE_TIME : 0);
        r->may_be = (uint8_t)may_be;
        if (may_be == 0) {
            return not_repeated(r, in);
        }
        r->head[r->have++] = c;
        in->p++;
        in->n--;
        if (r->have == 4) {
            r->have = 0;
            return begin_payload(r, in);
        }
    }
    return MORE;
}

typedef enum step expect_step(struct chunk_reader *r, struct input *in);

static expect_step *const steps[] = {
    [EXPECT_BASIC] = expect_basic,       [EXPECT_ID_1] = expect_id_1,
    [EXPECT_ID_2] = expect_id_2,         [EXPECT_MESSAGE] = expect_message,
    [EXPECT_EXTENDED] = expect_extended, [EXPECT_REPEATED] = expect_repeated,
    [EXPECT_PAYLOAD] = expect_payload,
};

/* Runs until the input is used up, or until bytes are to be read again. */
static enum step
run(struct chunk_reader *r, struct input *in)
{
    while (in->n > 0 && r->back_len == 0) {
        enum step step = steps[r->expect](r, in);
        if (step == STOP || step == FAILED) {
            return step;
        }
    }
    return MORE;
}

/* Reads the bytes in r->back before anything else. */
static enum step
run_back(struct chunk_reader *r, const struct input *in)
{
    while (r->back_len > 0) {
        uint8_t bytes[sizeof(r->back)];
        memcpy(bytes, r->back, sizeof(bytes));
        struct input again = *in;
        again.p = bytes;
        again.n = r->back_len;
        r->back_len = 0;
        enum step step = run(r, &again);
        /* Its unread bytes come after those to be read again. */
        assert(r->back_len + again.n <= sizeof(r->back));
        memcpy(r->back + r->back_len, again.p, again.n);
        r->back_len = (uint8_t)(r->back_len + again.n);
        if (step == STOP || step == FAILED) {
            return step;
        }
    }
    return MORE;
}

ssize_t
chunk_read(struct chunk_reader *r, const uint8_t *data, size_t n,
           chunk_handler *on_message, void *arg, struct errmsg *err)
{
    struct input in = { data, n, on_message, arg, err };
    enum step step = MORE;
    while (step == MORE && (in.n > 0 || r->back_len > 0)) {
        step = run_back(r, &in);
        if (step == MORE) {
            step = run(r, &in);
        }
    }
    return step == FAILED ? -1 : (ssize_t)(n - in.n);
}
