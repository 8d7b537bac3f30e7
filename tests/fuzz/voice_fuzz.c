/*
 * Fuzz target: voice files of a data directory, and what clients ask of it.
 *
 * The first line is what is asked.  Then come files: "=PATH" begins one, "!v/"
 * in front of the path tells a variant.  Any name that a catalogue takes is
 * found again, its texts are fit for JSON, and no text lies beyond the input.
 *
 * covers: modules/tts/voice_file.c modules/tts/catalogue_near.c
 * covers: modules/tts/catalogue_json.c modules/tts/catalogue_tag.c
 * covers: modules/tts/catalogue.c:catalogue_takes_name,catalogue_add_voice
 * covers: modules/tts/catalogue.c:catalogue_add_variant,catalogue_find
 * covers: modules/tts/catalogue.c:catalogue_variant,catalogue_variant_at
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "../../modules/tts/catalogue_impl.h"
#include "base/utf8.h"

static bool
lies_in(struct str part, struct str all)
{
    return part.len == 0 ||
           (part.ptr >= all.ptr && part.len <= all.len &&
            (size_t)(part.ptr - all.ptr) <= all.len - part.len);
}

static void
look_at_file(struct str text)
{
    struct voice_facts f;

    voice_file_read(text, &f);
    require(lies_in(f.display, text) && utf8_valid(f.display));
    require(f.language_count <= VOICE_LANGUAGES);
    for (size_t i = 0; i < f.language_count; i++) {
        require(f.languages[i].tag.len > 0);
        require(lies_in(f.languages[i].tag, text));
        require(f.languages[i].priority >= 0);
        require(f.languages[i].priority <= 127);
    }
}

/* Each in a memory of its own, so that the sanitizer sees its end. */
static void
add_file(struct catalogue *c, struct str path, struct str text)
{
    char *copy = malloc(text.len + 1);
    struct str own = { copy, text.len };

    require(copy != NULL);
    memcpy(copy, text.ptr, text.len);
    look_at_file(own);
    if (str_starts(path, STR("!v/"))) {
        catalogue_add_variant(c, str_skip(path, 3), own);
    } else {
        catalogue_add_voice(c, path, own);
    }
    free(copy);
}

static void
add_files(struct catalogue *c, struct str all)
{
    while (all.len > 0) {
        struct str path = str_cut(&all, '\n');
        size_t n = 0;

        while (n < all.len &&
               !(all.ptr[n] == '=' && (n == 0 || all.ptr[n - 1] == '\n'))) {
            n++;
        }
        add_file(c, path, str_first(all, n));
        all = str_skip(all, n + 1);
    }
}

static void
all_are_found(const struct catalogue *c)
{
    for (size_t i = 0; i < catalogue_voices(c); i++) {
        const struct catalogue_voice *v = catalogue_voice_at(c, i);

        require(catalogue_find(c, v->name) == v);
        require(catalogue_find(c, v->file) != NULL);
        require(catalogue_find(c, v->display) != NULL);
        require(catalogue_find(c, v->language) != NULL);
        require(i == 0 ||
                str_compare(catalogue_voice_at(c, i - 1)->name, v->name) < 0);
    }
    require(catalogue_voice_at(c, catalogue_voices(c)) == NULL);
    for (size_t i = 1; i <= catalogue_variants(c); i++) {
        struct str name = catalogue_variant_at(c, (int64_t)i);

        require(name.len > 0 && str_eq(catalogue_variant(c, name), name));
    }
    require(catalogue_variant_at(c, 0).len == 0);
    require(catalogue_variant_at(c, -1).ptr == NULL);
}

static void
ask(const struct catalogue *c, struct str asked)
{
    struct str variant = catalogue_variant(c, asked);
    struct buf near;

    require(variant.len == 0 || str_eq(catalogue_variant(c, variant), variant));
    catalogue_find(c, asked);
    buf_init(&near, 1024);
    catalogue_nearest(c, asked, &near);
    catalogue_nearest_variant(c, asked, &near);
    require(utf8_valid(buf_str(&near)));
    buf_clear(&near);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);
    struct str asked = str_cut(&input, '\n');
    struct catalogue *c = catalogue_new();
    struct buf json;

    add_files(c, input.len > 0 && input.ptr[0] == '=' ? str_skip(input, 1)
                                                      : input);
    catalogue_sort(c);
    all_are_found(c);
    ask(c, asked);
    buf_init(&json, (size_t)64 << 20);
    require(catalogue_json(c, 22050, &json) == 0);
    buf_clear(&json);
    catalogue_free(&c);
    return 0;
}
