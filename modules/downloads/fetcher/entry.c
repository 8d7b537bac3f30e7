/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/entry.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* ---- texts ---- */

/* Places of the texts in struct entry_facts, and how many bytes are kept. */
static const struct {
    size_t at, most;
} texts[] = {
    { offsetof(struct entry_facts, url), ENTRY_URL_MAX },
    { offsetof(struct entry_facts, fetch), ENTRY_URL_MAX },
    { offsetof(struct entry_facts, asked), ENTRY_URL_MAX },
    { offsetof(struct entry_facts, id), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, title), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, quality), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, format), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, folder), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, prefix), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, name), ENTRY_TEXT_MAX },
    { offsetof(struct entry_facts, note), ENTRY_TEXT_MAX },
};
#define TEXTS (sizeof(texts) / sizeof(*texts))

static struct str *
text_at(struct entry_facts *f, size_t i)
{
    return (struct str *)(void *)((char *)f + texts[i].at);
}

/* At most `most` bytes of s, no character cut in two. */
static struct str
cut(struct str s, size_t most)
{
    size_t n = s.len < most ? s.len : most;

    while (n > 0 && n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80) {
        n--;
    }
    return str_first(s, n);
}

/* The store takes UTF-8 without U+0000 alone: other bytes become '?'. */
static void
mend(char *to, struct str s)
{
    size_t i = 0;

    while (i < s.len) {
        size_t n = utf8_char(str_skip(s, i));

        if (n == 0 || s.ptr[i] == '\0') {
            to[i++] = '?';
            continue;
        }
        memcpy(to + i, s.ptr + i, n);
        i += n;
    }
    to[s.len] = '\0';
}

void
entry_set_text(struct str *to, struct str s)
{
    char *had = (char *)(uintptr_t)to->ptr;
    size_t len = to->len;
    char *text = NULL;

    s = cut(s, ENTRY_TEXT_MAX);
    if (s.len > 0) {
        text = mem_alloc(s.len + 1);
        mend(text, s);
    }
    *to = text != NULL ? str_of(text, s.len) : STR_NONE;
    if (len > 0) {
        mem_free(&had);
    }
}

/* The texts of an entry often repeat its address, which then stands there
 * once. */
struct entry_facts *
entry_facts_copy(const struct entry_facts *facts)
{
    struct entry_facts short_facts = *facts, *f;
    size_t size = sizeof(*f);
    bool again[TEXTS] = { false };
    char *at;

    for (size_t i = 0; i < TEXTS; i++) {
        struct str *s = text_at(&short_facts, i);

        *s = cut(*s, texts[i].most);
        again[i] = i > 0 && s->len > 0 && str_eq(*s, short_facts.url);
        size += again[i] ? 0 : s->len + 1;
    }
    f = mem_alloc(size);
    *f = short_facts;
    at = (char *)(f + 1);
    for (size_t i = 0; i < TEXTS; i++) {
        struct str *s = text_at(f, i);

        if (again[i]) {
            *s = f->url;
            continue;
        }
        mend(at, *s);
        *s = str_of(at, s->len);
        at += s->len + 1;
    }
    return f;
}

/* ---- life ---- */

struct entry *
entry_new(struct queue *q, struct entry_facts *facts)
{
    struct entry *e = mem_zero(sizeof(*e));

    list_init(&e->link);
    list_init(&e->ops);
    e->queue = q;
    e->facts = facts;
    e->started_ms = e->finished_ms = -1;
    e->percent = e->speed = e->eta = e->size = -1;
    e->filename = e->msg = e->where = STR_NONE;
    e->error = facts->note;
    return e;
}

void
entry_free(struct entry **entry)
{
    struct entry *e = *entry;
    struct entry_facts *facts = (struct entry_facts *)(uintptr_t)e->facts;

    list_remove(&e->link);
    entry_set_text(&e->filename, STR_NONE);
    entry_set_text(&e->msg, STR_NONE);
    entry_set_text(&e->where, STR_NONE);
    mem_free(&facts);
    mem_free(entry);
}

/* ---- names ---- */

const char *
entry_status_name(int status)
{
    static const char *const names[] = {
        [STATUS_PENDING] = "pending",
        [STATUS_PREPARING] = "preparing",
        [STATUS_DOWNLOADING] = "downloading",
        [STATUS_POSTPROCESSING] = "postprocessing",
        [STATUS_FINISHED] = "finished",
        [STATUS_ERROR] = "error",
    };

    return status >= 0 && status <= STATUS_ERROR ? names[status] : "";
}

const char *
entry_list_name(int list)
{
    static const char *const names[ENTRY_LISTS] = {
        [LIST_PENDING] = "pending",
        [LIST_QUEUE] = "queue",
        [LIST_DONE] = "done",
    };

    return list >= 0 && list < ENTRY_LISTS ? names[list] : "";
}
