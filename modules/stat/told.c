/*
 * The rows as they were sent, and changes of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "told.h"

#include "base/hash.h"
#include "base/mem.h"
#include "http/escape.h"

#define PLACES 2048 /* of a hash; more than twice TOLD_ROWS */
#define FIRST_ROWS 16
#define TEXT_MAX (16 * 1024 * 1024) /* of a round */

struct row {
    uint64_t id;
    uint32_t round; /* it was in last; 0: free */
    uint32_t sums[TOLD_MEMBERS];
};

struct told {
    struct row *rows; /* owned; room of them */
    uint32_t room;
    uint16_t places[PLACES];      /* number + 1; 0: empty */
    uint32_t end;                 /* rows from here on were never used */
    uint32_t free;                /* a hint: none below is */
    uint32_t round, more, before; /* more of the round before */
    bool want_whole;
    struct buf changes, whole; /* owned; rows of this round */
    struct buf value;          /* owned; of a member */
    /* The row under way. */
    struct row *row;
    uint32_t member;
    bool fresh, differs, first;
};

struct told *
told_new(void)
{
    struct told *t = mem_zero(sizeof(*t));

    t->room = FIRST_ROWS;
    t->rows = mem_zero(t->room * sizeof(*t->rows));
    buf_init(&t->changes, TEXT_MAX);
    buf_init(&t->whole, TEXT_MAX);
    buf_init(&t->value, TOLD_VALUE_MAX);
    return t;
}

void
told_free(struct told **t)
{
    if (*t != NULL) {
        mem_free(&(*t)->rows);
        buf_clear(&(*t)->changes);
        buf_clear(&(*t)->whole);
        buf_clear(&(*t)->value);
        mem_free(t);
    }
}

/* ---- rows by their id ---- */

/* The place of that id, or the empty one where it would be. */
static uint16_t *
place_of(struct told *t, uint64_t id)
{
    uint32_t at = (uint32_t)id % PLACES;

    while (t->places[at] != 0 && t->rows[t->places[at] - 1].id != id) {
        at = (at + 1) % PLACES;
    }
    return &t->places[at];
}

/* The places anew, without those that are gone. */
static void
place_all(struct told *t)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        t->places[i] = 0;
    }
    for (uint32_t n = 0; n < t->end; n++) {
        if (t->rows[n].round != 0) {
            *place_of(t, t->rows[n].id) = (uint16_t)(n + 1);
        }
    }
}

static struct row *
new_row(struct told *t)
{
    while (t->free < t->end && t->rows[t->free].round != 0) {
        t->free++;
    }
    if (t->free == TOLD_ROWS) {
        return NULL;
    }
    if (t->free == t->room) {
        t->room = t->room * 2 < TOLD_ROWS ? t->room * 2 : TOLD_ROWS;
        t->rows = mem_resize(t->rows, t->room * sizeof(*t->rows));
    }
    t->end = t->free >= t->end ? t->free + 1 : t->end;
    return &t->rows[t->free];
}

/* ---- a round ---- */

void
told_begin(struct told *t, bool whole)
{
    t->round++;
    t->want_whole = whole;
    t->before = t->more;
    t->more = 0;
    t->row = NULL;
    buf_take(&t->changes, buf_len(&t->changes));
    buf_take(&t->whole, buf_len(&t->whole));
}

static void
end_row(struct told *t)
{
    if (t->row == NULL) {
        return;
    }
    if (t->differs) {
        buf_add_str(&t->changes, STR("}]"));
    }
    if (t->want_whole) {
        buf_add_str(&t->whole, STR("}]"));
    }
    t->row = NULL;
}

bool
told_row(struct told *t, uint64_t id)
{
    uint16_t *place = place_of(t, id);
    struct row *row = *place != 0 ? &t->rows[*place - 1] : new_row(t);

    end_row(t);
    if (row == NULL || row->round == t->round) {
        t->more += row == NULL;
        return false;
    }
    t->fresh = *place == 0;
    if (t->fresh) {
        *row = (struct row){ .id = id };
        *place = (uint16_t)(row - t->rows + 1);
    }
    row->round = t->round;
    t->row = row;
    t->member = 0;
    t->differs = false;
    t->first = true;
    return true;
}

/* The row's beginning, or what stands between two of its members. */
static void
add_member(struct told *t, struct buf *to, bool begins, const char *name)
{
    if (begins) {
        buf_printf(to, "%s[%u,{", buf_len(to) > 0 ? "," : "",
                   (unsigned)(t->row - t->rows));
    } else {
        buf_add_str(to, STR(","));
    }
    buf_printf(to, "\"%s\":", name);
    buf_add_str(to, buf_str(&t->value));
}

/* value is the member's. */
static void
tell(struct told *t, const char *name)
{
    uint32_t sum = (uint32_t)hash_str(buf_str(&t->value));

    if (t->fresh || t->row->sums[t->member] != sum) {
        add_member(t, &t->changes, !t->differs, name);
        t->differs = true;
    }
    if (t->want_whole) {
        add_member(t, &t->whole, t->first, name);
    }
    t->first = false;
    t->row->sums[t->member++] = sum;
    buf_take(&t->value, buf_len(&t->value));
}

void
told_int(struct told *t, const char *name, int64_t value)
{
    buf_printf(&t->value, "%lld", (long long)value);
    tell(t, name);
}

void
told_str(struct told *t, const char *name, struct str value)
{
    http_json_string(&t->value, value);
    tell(t, name);
}

void
told_raw(struct told *t, const char *name, struct str raw)
{
    buf_add_str(&t->value, raw);
    tell(t, name);
}

/* ---- the end of a round ---- */

/* The numbers of rows that were not in this round. */
static void
forget_gone(struct told *t, struct buf *numbers)
{
    for (uint32_t n = 0; n < t->end; n++) {
        if (t->rows[n].round != 0 && t->rows[n].round != t->round) {
            buf_printf(numbers, "%s%u", buf_len(numbers) > 0 ? "," : "", n);
            t->rows[n].round = 0;
        }
    }
    if (buf_len(numbers) > 0) {
        t->free = 0;
        place_all(t);
    }
}

static void
add_rows(const char *reset, const struct buf *rows, struct buf *to)
{
    buf_printf(to, "{%s\"rows\":[", reset);
    buf_add_str(to, buf_str(rows));
    buf_add_str(to, STR("]"));
}

void
told_end(struct told *t, struct buf *changes, struct buf *whole)
{
    struct buf *gone = &t->value;

    end_row(t);
    forget_gone(t, gone);
    if (buf_len(&t->changes) > 0 || buf_len(gone) > 0 || t->more != t->before) {
        add_rows("", &t->changes, changes);
        buf_printf(changes, ",\"gone\":[%.*s],\"more\":%u}",
                   STR_ARGS(buf_str(gone)), t->more);
    }
    if (t->want_whole) {
        add_rows("\"reset\":true,", &t->whole, whole);
        buf_printf(whole, ",\"more\":%u}", t->more);
    }
    buf_take(gone, buf_len(gone));
}

uint64_t
told_rounded(uint64_t value)
{
    uint64_t unit = 1;

    while (value / unit >= 1000) {
        unit *= 10;
    }
    return (value / unit + (value % unit >= (unit + 1) / 2 && unit > 1)) * unit;
}
