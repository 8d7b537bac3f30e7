/*
 * Fuzz target: events of Wyoming, and sentences.
 *
 * The first two bytes choose the limit and how large the pieces are in which
 * the rest arrives.  Events that come in pieces must be those that come at
 * once; no event is longer than the limit; a sentence lies within its text, and
 * is the same one however the text is cut, also when more comes behind it.
 *
 * covers: modules/tts/wyoming_read.c
 * covers: modules/tts/wyoming_text.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../../modules/tts/wyoming.h"

#include "base/pool.h"
#include "fuzz.h"

struct seen {
    size_t events;
    size_t done;   /* bytes */
    uint64_t hash; /* of types and texts */
    bool wrong;
};

static void
look_at_text(struct str text)
{
    struct wyoming_scan scan = { .at = 0 }, bits = { .at = 0 };
    size_t n = wyoming_sentence(&scan, text);
    size_t part = 0;

    require(n <= text.len && scan.at <= text.len && scan.behind <= text.len);
    for (size_t i = 0; part == 0 && i <= text.len; i++) {
        part = wyoming_sentence(&bits, str_first(text, i));
        require(part <= i);
    }
    require(part == n);
}

static void
add(struct seen *s, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        s->hash = (s->hash ^ (uint8_t)text.ptr[i]) * 1099511628211u;
    }
}

static void
take_event(struct seen *s, const struct wyoming_event *e)
{
    const struct json_value *text = wyoming_member(e, "text");

    s->events++;
    add(s, e->type);
    if (text != NULL && text->kind == JSON_STRING) {
        add(s, text->text);
        look_at_text(text->text);
    }
}

/* All that can be read of the front; returns bytes that are done with. */
static size_t
read_events(struct wyoming_reader *r, struct seen *s, struct str bytes)
{
    size_t done = 0;

    while (done < bytes.len && !s->wrong) {
        struct str rest = str_skip(bytes, done);
        struct pool *pool = pool_new(256);
        struct wyoming_event e;
        struct errmsg err = { "" };
        char *copy = malloc(rest.len); /* reading behind it is seen */
        ssize_t n;

        memcpy(copy, rest.ptr, rest.len);
        n = wyoming_read(r, pool, str_of(copy, rest.len), &e, &err);
        require(n <= (ssize_t)rest.len && (n != -1 || err.text[0] != '\0'));
        s->wrong = n == -1;
        if (n > 0 && e.type.len > 0) {
            require((size_t)n <= r->limit);
            take_event(s, &e);
        }
        free(copy);
        pool_free(&pool);
        if (n <= 0) {
            break;
        }
        done += (size_t)n;
    }
    return done;
}

/* As a connection does: what is not done with comes again with more. */
static struct seen
feed(struct str input, size_t limit, size_t step)
{
    struct wyoming_reader r = { .limit = limit };
    struct seen s = { .hash = 14695981039346656037u };

    for (size_t end = 0; end < input.len && !s.wrong;) {
        size_t more = input.len - end < step ? input.len - end : step;

        end += more;
        s.done += read_events(&r, &s, str_of(input.ptr + s.done, end - s.done));
        require(s.wrong || end - s.done < limit);
    }
    return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    size_t limit = 64 + (size_t)take_byte(&input) * 8;
    size_t step = 1 + take_byte(&input);
    struct seen whole = feed(input, limit, step);
    struct seen bits = feed(input, limit, 1);

    require(whole.events == bits.events && whole.hash == bits.hash &&
            whole.wrong == bits.wrong);
    look_at_text(str_first(input, 300));
    return 0;
}
