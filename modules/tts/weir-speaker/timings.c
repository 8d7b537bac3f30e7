/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "timings.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "request.h"
#include "json/json.h"

#include <string.h>

void
timings_init(struct timings *t)
{
    memset(t, 0, sizeof(*t));
}

void
timings_clear(struct timings *t)
{
    mem_free(&t->words.items);
    mem_free(&t->sentences.items);
}

/* ---- what comes ---- */

/* No list is longer than the longest text. */
static void
add(struct timings *t, struct timing_list *list, struct timing item)
{
    if (list->n == list->size) {
        size_t size = list->size == 0 ? 64 : 2 * list->size;
        struct timing *items =
            size > 2 * SPEECH_TEXT_MAX
                ? NULL
                : try_resize(list->items, size * sizeof(*items));

        if (items == NULL) {
            t->failed = true;
            return;
        }
        list->items = items;
        list->size = size;
    }
    list->items[list->n++] = item;
}

void
timings_end(struct timings *t, int64_t sample)
{
    if (t->open && t->words.n > 0) {
        t->words.items[t->words.n - 1].end = sample;
        t->open = false;
    }
}

void
timings_word(struct timings *t, int64_t sample, size_t from, size_t to)
{
    timings_end(t, sample);
    add(t, &t->words, (struct timing){ sample, sample, from, to });
    t->open = true;
}

void
timings_sentence(struct timings *t, int64_t sample, size_t from)
{
    add(t, &t->sentences, (struct timing){ sample, sample, from, from });
}

/* ---- the answer ---- */

/* Walks through a text, forward only where it can: characters to bytes. */
struct place {
    struct str text;
    size_t character, byte;
};

static size_t
byte_of(struct place *p, size_t character)
{
    if (character < p->character) {
        p->character = p->byte = 0;
    }
    while (p->character < character && p->byte < p->text.len) {
        size_t n = utf8_char(str_skip(p->text, p->byte));

        p->byte += n > 0 ? n : 1;
        p->character++;
    }
    return p->byte;
}

static void
put_seconds(struct json_out *o, const char *key, int64_t samples, unsigned rate)
{
    json_key(o, key);
    json_thousandths(o, (samples * 1000 + rate / 2) / rate);
}

static void
put_timing(struct json_out *o, const struct timings_of *of, struct place *place,
           const struct timing *t)
{
    size_t from = byte_of(place, t->from);
    size_t to = byte_of(place, t->to);

    json_open(o);
    json_put_str(o, "text", str_of(of->text.ptr + from, to - from));
    put_seconds(o, "start", t->start, of->rate);
    put_seconds(o, "end", t->end, of->rate);
    json_put_int(o, "from", (int64_t)t->from);
    json_put_int(o, "to", (int64_t)t->to);
    json_close(o);
}

static void
put_list(struct json_out *o, const char *key, const struct timings_of *of,
         const struct timing_list *list)
{
    struct place place = { of->text, 0, 0 };

    json_key(o, key);
    json_open_array(o);
    for (size_t i = 0; i < list->n; i++) {
        put_timing(o, of, &place, &list->items[i]);
    }
    json_close(o);
}

/* A sentence is what its words are.  One without words is none. */
static void
close_sentences(struct timings *t)
{
    struct timing_list *list = &t->sentences;
    size_t word = 0, kept = 0;

    for (size_t i = 0; i < list->n; i++) {
        bool last = i + 1 == list->n;
        int64_t until = last ? INT64_MAX : list->items[i + 1].start;
        size_t first = word;

        while (word < t->words.n &&
               (last || t->words.items[word].start < until)) {
            word++;
        }
        if (word > first) {
            list->items[kept++] = (struct timing){
                t->words.items[first].start, t->words.items[word - 1].end,
                t->words.items[first].from, t->words.items[word - 1].to
            };
        }
    }
    list->n = kept;
}

int
timings_json(struct timings *t, const struct timings_of *of, struct buf *out)
{
    struct json_out o;

    timings_end(t, of->samples);
    close_sentences(t);
    json_begin(&o, out, false);
    json_open(&o);
    json_put_str(&o, "voice", of->voice);
    json_put_int(&o, "sample_rate", of->rate);
    put_seconds(&o, "duration", of->samples, of->rate);
    put_list(&o, "words", of, &t->words);
    put_list(&o, "sentences", of, &t->sentences);
    json_close(&o);
    return json_end(&o) == -1 || t->failed ? -1 : 0;
}
