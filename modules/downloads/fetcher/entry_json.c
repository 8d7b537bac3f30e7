/*
 * The JSON object of a download, which clients, /history and snapshots get.
 *
 * There may be ten thousand of them in one answer, so it is written by hand:
 * json/json.h takes several times as long.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/entry.h"

#include "http/escape.h"

#define DIGITS 20
#define NS_IN_MS 1000000

struct out {
    struct buf *to;
    int bad; /* it was full */
};

static void
put(struct out *o, struct str text)
{
    o->bad |= buf_add_str(o->to, text);
}

static void
put_text(struct out *o, struct str key, struct str value)
{
    put(o, key);
    o->bad |= http_json_string(o->to, value);
}

/* Empty: null. */
static void
put_known(struct out *o, struct str key, struct str value)
{
    if (value.len > 0) {
        put_text(o, key, value);
    } else {
        put(o, key);
        put(o, STR("null"));
    }
}

static void
put_digits(struct out *o, uint64_t n)
{
    char text[DIGITS];
    size_t at = DIGITS;

    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    put(o, str_of(text + at, DIGITS - at));
}

/* Below 0: null. */
static void
put_number(struct out *o, struct str key, int64_t n)
{
    put(o, key);
    if (n < 0) {
        put(o, STR("null"));
    } else {
        put_digits(o, (uint64_t)n);
    }
}

/* 21450 is written as 21.45. */
static void
put_thousandths(struct out *o, struct str key, int64_t n)
{
    put_number(o, key, n < 0 ? -1 : n / 1000);
    if (n > 0 && n % 1000 != 0) {
        char rest[4] = { '.', (char)('0' + n / 100 % 10),
                         (char)('0' + n / 10 % 10), (char)('0' + n % 10) };
        size_t len = sizeof(rest);

        while (rest[len - 1] == '0') {
            len--;
        }
        put(o, str_of(rest, len));
    }
}

static void
put_facts(struct out *o, const struct entry_facts *f)
{
    put_text(o, STR("{\"id\":"), f->id);
    put_text(o, STR(",\"title\":"), f->title);
    put_text(o, STR(",\"url\":"), f->url);
    put_text(o, STR(",\"asked\":"), f->asked);
    put_text(o, STR(",\"quality\":"), f->quality);
    put_text(o, STR(",\"format\":"), f->format);
    put_text(o, STR(",\"folder\":"), f->folder);
    put_text(o, STR(",\"custom_name_prefix\":"), f->prefix);
    put_number(o, STR(",\"playlist_item_limit\":"), f->limit);
    put_number(o, STR(",\"timestamp\":"), f->timestamp_ns);
    put_number(o, STR(",\"added_at\":"), f->timestamp_ns / NS_IN_MS);
}

static void
put_state(struct out *o, const struct entry *e)
{
    put_text(o, STR(",\"list\":"), str_from(entry_list_name(e->list)));
    put_text(o, STR(",\"status\":"), str_from(entry_status_name(e->status)));
    put_known(o, STR(",\"msg\":"), e->msg);
    put_thousandths(o, STR(",\"percent\":"), e->percent);
    put_number(o, STR(",\"speed\":"), e->speed);
    put_number(o, STR(",\"eta\":"), e->eta);
    put_number(o, STR(",\"size\":"), e->size);
    put_number(o, STR(",\"started_at\":"), e->started_ms);
    put_number(o, STR(",\"finished_at\":"), e->finished_ms);
    put_known(o, STR(",\"error\":"), e->error);
    put_known(o, STR(",\"filename\":"), e->filename);
    put(o, STR("}"));
}

int
entry_write_json(const struct entry *e, struct buf *to)
{
    struct out o = { .to = to };

    put_facts(&o, e->facts);
    put_state(&o, e);
    return o.bad;
}
