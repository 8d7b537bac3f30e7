/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "resolve.h"

#include <stdio.h>

#define NAMES_MAX 512 /* bytes of names that are near */

struct question {
    const struct catalogue *catalogue;
    const struct resolve_defaults *defaults;
    const struct speech_request *asked;
    struct speech_answer *no;
    struct errmsg *err;
};

typedef void find_near(const struct catalogue *c, struct str asked,
                       struct buf *out);

/* "there is no voice "xx": near are "a", "b"".  `what` is missing; `field` has
 * asked for it. */
static int
refuse(const struct question *q, int status, const char *what,
       const char *field, struct str asked, find_near *nearest)
{
    char escaped[4 * SPEECH_VOICE_MAX + 1];
    struct buf near;

    str_escape(escaped, sizeof(escaped), asked);
    buf_init(&near, NAMES_MAX);
    if (nearest != NULL) {
        nearest(q->catalogue, asked, &near);
    }
    errmsg_set(q->err, "there is no %s \"%s\"%s%.*s", what, escaped,
               buf_len(&near) > 0 ? ": near are " : "",
               STR_ARGS(buf_str(&near)));
    buf_clear(&near);
    *q->no = (struct speech_answer){ .status = status,
                                     .unlisted = true,
                                     .length = -1,
                                     .duration = -1,
                                     .field = str_from(field),
                                     .message = str_from(q->err->text) };
    return -1;
}

static int
refuse_default(const struct question *q)
{
    errmsg_set(q->err, "the default voice \"%.*s\" is not there",
               STR_ARGS(q->defaults->voice));
    *q->no = (struct speech_answer){ .status = 503,
                                     .lack = SPEECH_LACKS_VOICE,
                                     .length = -1,
                                     .duration = -1,
                                     .message = str_from(q->err->text) };
    return -1;
}

/* Leaves in *variant what stands behind the last '+'. */
static const struct catalogue_voice *
find_voice(const struct catalogue *c, struct str asked, struct str *variant)
{
    const struct catalogue_voice *v = catalogue_find(c, asked);
    size_t at = asked.len;

    *variant = STR_NONE;
    if (v != NULL) {
        return v;
    }
    while (at > 0 && asked.ptr[at - 1] != '+') {
        at--;
    }
    if (at == 0) {
        return NULL;
    }
    *variant = str_skip(asked, at);
    return catalogue_find(c, str_first(asked, at - 1));
}

/* "+f3" is the default voice with that variant, as espeak-ng has it. */
static const struct catalogue_voice *
find_default(const struct question *q, struct str asked, struct str *variant)
{
    struct str own;
    const struct catalogue_voice *v =
        find_voice(q->catalogue, q->defaults->voice, &own);

    *variant = asked.len > 0 ? str_skip(asked, 1) : own;
    return v;
}

static int
choose_voice(const struct question *q, const struct catalogue_voice **voice,
             struct str *variant)
{
    struct str asked = q->asked->voice;

    bool variant_alone = asked.len > 1 && asked.ptr[0] == '+';

    *voice = NULL;
    if (asked.len > 0 && !variant_alone) {
        *voice = find_voice(q->catalogue, asked, variant);
    }
    if (*voice == NULL &&
        (asked.len == 0 || variant_alone || q->defaults->lenient)) {
        *voice = find_default(q, variant_alone ? asked : STR_NONE, variant);
        if (*voice == NULL) {
            return refuse_default(q);
        }
    }
    return *voice != NULL
               ? 0
               : refuse(q, 404, "voice", "voice", asked, catalogue_nearest);
}

/* The variant whose name is asked. */
static int
name_variant(const struct question *q, struct str asked, const char *field,
             struct str *variant)
{
    *variant = catalogue_variant(q->catalogue, asked);
    if (variant->len == 0 && q->defaults->lenient) {
        *variant = catalogue_variant(q->catalogue, q->defaults->speaker);
        return 0;
    }
    return variant->len > 0 ? 0
                            : refuse(q, 400, "speaker", field, asked,
                                     catalogue_nearest_variant);
}

static int
number_variant(const struct question *q, int64_t index, struct str *variant)
{
    char number[24];
    bool none = index > (int64_t)catalogue_variants(q->catalogue);

    *variant = none || index == 0 ? STR_NONE
                                  : catalogue_variant_at(q->catalogue, index);
    if (index == 0 || variant->len > 0) {
        return 0;
    }
    if (q->defaults->lenient) {
        *variant = catalogue_variant(q->catalogue, q->defaults->speaker);
        return 0;
    }
    snprintf(number, sizeof(number), "%lld", (long long)index);
    return refuse(q, 400, "speaker_id", "speaker_id", str_from(number), NULL);
}

/* `behind`: the variant that stands in the voice's name. */
static int
choose_variant(const struct question *q, struct str behind, struct str *variant)
{
    const struct speech_request *asked = q->asked;

    if (asked->speaker_id >= 0) {
        return number_variant(q, asked->speaker_id, variant);
    }
    if (asked->speaker.len > 0) {
        return name_variant(q, asked->speaker, "speaker", variant);
    }
    if (behind.len > 0) {
        return name_variant(q, behind, "voice", variant);
    }
    /* That of weir.conf belongs to its voice as much as to any other. */
    if (q->defaults->speaker.len > 0) {
        return name_variant(q, q->defaults->speaker, "speaker", variant);
    }
    *variant = STR_NONE;
    return 0;
}

int
resolve_voice(const struct catalogue *c, const struct resolve_defaults *d,
              const struct speech_request *asked, struct resolved *out,
              struct speech_answer *no, struct errmsg *err)
{
    const struct question q = { c, d, asked, no, err };
    const struct catalogue_voice *voice;
    struct str behind, variant;

    if (choose_voice(&q, &voice, &behind) == -1 ||
        choose_variant(&q, behind, &variant) == -1) {
        return -1;
    }
    out->file = voice->file;
    out->variant = variant;
    snprintf(out->name, sizeof(out->name), "%.*s%s%.*s", STR_ARGS(voice->name),
             variant.len > 0 ? "+" : "", STR_ARGS(variant));
    return 0;
}
