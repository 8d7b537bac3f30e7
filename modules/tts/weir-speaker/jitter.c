/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "jitter.h"

#include <espeak-ng/speak_lib.h>
#include <string.h>

#include "base/mem.h"
#include "request.h"

#define COMMAND_MAX 8  /* bytes */
#define IN_CLAUSE 200  /* commands; the library has room for 248 */
#define CLAUSE_MAX 700 /* bytes; the library cuts a clause at 800 */

/* A factor of 1 +- a quarter where noise_w_scale is 1. */
#define REACH 250

/* ---- rates ---- */

int
jitter_rate(int64_t factor)
{
    /* Measured over languages and texts, in steps of 15 words a minute. */
    static const struct {
        int rate, factor;
    } table[] = {
        { 110, 1600 }, { 125, 1405 }, { 140, 1250 }, { 155, 1130 },
        { 175, 1000 }, { 185, 945 },  { 200, 875 },  { 215, 810 },
        { 230, 760 },  { 245, 712 },  { 260, 670 },  { 275, 632 },
        { 290, 600 },  { 305, 568 },  { 320, 540 },  { 335, 513 },
        { 350, 490 },
    };
    size_t last = sizeof(table) / sizeof(table[0]) - 1, i = 1;

    while (i < last && table[i].factor > factor) {
        i++;
    }
    return table[i].rate + (int)((table[i].factor - factor) *
                                 (table[i - 1].rate - table[i].rate) /
                                 (table[i].factor - table[i - 1].factor));
}

/* ---- changing a text ---- */

struct work {
    struct jitter *j;
    const struct jitter_options *o;
    struct str text;
    size_t at;         /* byte of the text that is next */
    size_t characters; /* of the changed text, so far */
    size_t added;      /* of them of commands */
    uint64_t random;
    int64_t balance;    /* bytes of words, times how much longer they last */
    int rate;           /* of the last command */
    size_t in_clause;   /* bytes of the changed text */
    size_t commands;    /* of the clause */
    bool at_word;       /* behind a space, or an element that separates */
    struct str outside; /* an element whose inside is not touched, or empty */
    bool failed;
};

static uint64_t
next_random(struct work *w)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void
copy(struct work *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w->characters += ((unsigned char)w->text.ptr[w->at + i] & 0xc0) != 0x80;
    }
    w->failed |= buf_add(&w->j->text, w->text.ptr + w->at, n) == -1;
    w->in_clause += n;
    w->at += n;
}

static void
note_place(struct work *w, size_t length)
{
    struct jitter *j = w->j;

    if (j->n == j->size) {
        size_t size = j->size == 0 ? 64 : 2 * j->size;
        struct jitter_place *places =
            try_resize(j->places, size * sizeof(*places));

        if (places == NULL) {
            w->failed = true;
            return;
        }
        j->places = places;
        j->size = size;
    }
    j->places[j->n++] =
        (struct jitter_place){ w->characters, length, w->added };
    w->characters += length;
    w->added += length;
}

/* In SSML a rate is told as a difference: <prosody> may have changed it. */
static void
command(struct work *w, int rate)
{
    size_t before = buf_len(&w->j->text);

    if (rate == w->rate) {
        return;
    }
    w->failed |= buf_printf(&w->j->text, w->o->ssml ? "\x01%+dS" : "\x01%dS",
                            w->o->ssml ? rate - w->rate : rate) == -1;
    w->rate = rate;
    w->commands++;
    w->in_clause += buf_len(&w->j->text) - before;
    note_place(w, buf_len(&w->j->text) - before);
}

/* How long a word shall last: away from what the words before have it. */
static int64_t
factor_of(struct work *w, size_t length)
{
    int64_t reach = REACH * w->o->amount / SPEECH_MILLION;
    uint64_t random = next_random(w);
    int64_t by = reach * (int64_t)(random & 0xffff) / 0xffff;
    bool shorter = w->balance == 0 ? (random >> 16) % 2 : w->balance > 0;

    by = shorter ? -by : by;
    w->balance += by * (int64_t)length;
    return 1000 + by;
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static size_t
word_length(const struct work *w)
{
    size_t end = w->at;

    while (end < w->text.len && !is_space(w->text.ptr[end]) &&
           !(w->o->ssml && w->text.ptr[end] == '<')) {
        end++;
    }
    return end - w->at;
}

static void
take_word(struct work *w)
{
    size_t length = word_length(w);
    char last;

    if (is_of_word(w->text.ptr[w->at]) && w->at_word && w->outside.len == 0 &&
        w->commands < IN_CLAUSE &&
        w->in_clause + length + COMMAND_MAX < CLAUSE_MAX) {
        command(w, jitter_rate(factor_of(w, length)));
    }
    copy(w, length);
    w->at_word = false;
    last = w->text.ptr[w->at - 1];
    if (strchr(".,;:!?", last) != NULL && last != '\0') {
        w->in_clause = 0;
        w->commands = 0;
    }
}

/* ---- tags ---- */

static bool
is_tag(const struct work *w)
{
    char c = w->at + 1 < w->text.len ? w->text.ptr[w->at + 1] : ' ';

    return w->o->ssml && w->text.ptr[w->at] == '<' &&
           ((is_of_word(c) && !(c >= '0' && c <= '9')) || c == '/' ||
            c == '!' || c == '?');
}

static bool
is_one_of(struct str name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (str_eq_nocase(name, str_from(*names))) {
            return true;
        }
    }
    return false;
}

/* Elements whose text is not read as words. */
static const char *const literal[] = { "say-as",   "sub",       "phoneme",
                                       "audio",    "tts:style", "style",
                                       "emphasis", NULL };
/* Elements that end a word: others may stand inside one. */
static const char *const separating[] = { "speak",   "p",     "s",
                                          "prosody", "voice", NULL };

static void
take_tag(struct work *w)
{
    size_t end = str_find(w->text, '>', w->at);
    struct str tag = str_of(w->text.ptr + w->at + 1, end - w->at - 1);
    bool closes = str_starts(tag, STR("/"));
    bool empty = str_ends(tag, STR("/"));
    struct str name = str_skip(tag, closes);
    size_t length = 0;

    while (length < name.len && !is_space(name.ptr[length]) &&
           name.ptr[length] != '/') {
        length++;
    }
    name = str_first(name, length);
    if (str_eq_nocase(name, STR("prosody")) && w->outside.len == 0) {
        command(w, espeakRATE_NORMAL);
    }
    w->at_word |= is_one_of(name, separating);
    if (closes && str_eq_nocase(name, w->outside)) {
        w->outside = STR_NONE;
    } else if (!closes && !empty && w->outside.len == 0 &&
               is_one_of(name, literal)) {
        command(w, espeakRATE_NORMAL);
        w->outside = name;
    }
    copy(w, end == w->text.len ? end - w->at : end + 1 - w->at);
}

int
jitter_make(struct jitter *j, struct str text, const struct jitter_options *o)
{
    struct work w = { .j = j,
                      .o = o,
                      .text = text,
                      .random = o->seed,
                      .rate = espeakRATE_NORMAL,
                      .at_word = true };

    memset(j, 0, sizeof(*j));
    buf_init(&j->text, (COMMAND_MAX + 1) * (text.len + 1));
    while (w.at < text.len && !w.failed) {
        if (is_tag(&w)) {
            take_tag(&w);
        } else if (is_space(text.ptr[w.at]) ||
                   (o->ssml && text.ptr[w.at] == '<')) {
            w.at_word = is_space(text.ptr[w.at]);
            copy(&w, 1);
        } else {
            take_word(&w);
        }
    }
    return w.failed || buf_add(&j->text, "", 1) == -1 ? -1 : 0;
}

void
jitter_clear(struct jitter *j)
{
    buf_clear(&j->text);
    mem_free(&j->places);
}

size_t
jitter_original(const struct jitter *j, size_t character)
{
    size_t low = 0, high = j->n;
    const struct jitter_place *p;

    while (low < high) { /* the first place behind it */
        size_t middle = low + (high - low) / 2;

        if (j->places[middle].at <= character) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return character;
    }
    p = &j->places[low - 1];
    if (character < p->at + p->length) {
        character = p->at + p->length;
    }
    return character - p->before - p->length;
}
